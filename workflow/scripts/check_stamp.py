"""Remembers by content what the last check has passed, so that an unchanged input is not checked again."""

import hashlib
import os
from pathlib import Path


def _digest(files: list[str]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        # Names count too: a renamed or removed file is a change.
        # A name may be any bytes, not only UTF-8.
        digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        total.update(os.fsencode(name) + f"\0{digest}\n".encode())
    return total.hexdigest()


def holds(stamp: Path, files: list[str]) -> bool:
    return stamp.exists() and stamp.read_text(encoding="utf-8") == _digest(files)


def write(stamp: Path, files: list[str]) -> None:
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(_digest(files), encoding="utf-8")
