"""Ends a notebook run whose build is gone, so that a killed build cannot write into the next one.

A build that is killed outright leaves its runners and their kernels behind. The build names itself in the
environment (KVWALL_BUILD) and in its lock file; a runner whose build is no longer the one in the lock file,
or whose process is gone, ends its kernel and itself.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

INTERVAL = 0.3  # seconds between two looks at the build


def build_is_gone(pid: int, lock: Path) -> bool:
    if not psutil.pid_exists(pid):
        return True
    try:
        return lock.read_text() != str(pid)
    except OSError:
        return True


def _watch(pid: int, lock: Path) -> None:
    pause = threading.Event()
    while not pause.wait(INTERVAL):
        if build_is_gone(pid, lock):
            for child in psutil.Process().children(recursive=True):
                child.kill()
            os._exit(1)


def start(environment: dict[str, str]) -> None:
    """Watch the build that started this process; a runner started by hand has none to watch."""
    named = environment.get("KVWALL_BUILD")
    if named:
        pid, lock = named.split(":", 1)
        threading.Thread(target=_watch, args=(int(pid), Path(lock)), daemon=True).start()


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Wait until no other runner works on this notebook: one left by a killed build is about to end."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
