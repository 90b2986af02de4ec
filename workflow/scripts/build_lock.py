"""One build at a time in a checkout, by a lock that the system drops when its process ends, however it ends."""

import fcntl
import os
import uuid
from pathlib import Path
from typing import TextIO


class HeldError(Exception):
    """Another build holds the lock."""


def take(path: Path) -> TextIO:
    """Hold the lock until this process ends, and name this build to the runners that it starts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = path.open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.seek(0)
        owner = handle.read().strip() or "?"
        handle.close()
        raise HeldError(f"another build is running here (process {owner}); wait for it or stop it") from None
    handle.truncate(0)
    handle.write(str(os.getpid()))
    handle.flush()
    os.environ["KVWALL_BUILD"] = f"{os.getpid()}:{path.resolve()}"
    return handle


def mark_checkout(path: Path) -> None:
    """Create the file once; its content is unique, because Snakemake compares small files by content."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(uuid.uuid4().hex, encoding="utf-8")
