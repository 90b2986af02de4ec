"""What is wrong in a spec file, and where; all faults of a run are told at once."""

from __future__ import annotations

from dataclasses import dataclass

# More than this is one mistake made many times; a reader needs its beginning.
MAX_FAULTS = 200


def printable(text: str) -> str:
    """``text`` on one line: what a terminal would act on (line breaks, escape codes) is shown as its escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


@dataclass(frozen=True, order=True)
class Fault:
    """One fault. Lines and columns count from 1, as editors do."""

    path: str
    line: int
    column: int
    key: str
    message: str

    def __str__(self) -> str:
        return printable(f"{self.path}:{self.line}:{self.column}: {self.key}: {self.message}")


class SpecErrors(Exception):  # noqa: N818 - it carries many errors
    """The faults found in the spec files that were read: ``count`` in all, the first of them as ``faults``."""

    def __init__(self, faults: list[Fault]) -> None:
        ordered = sorted(set(faults))
        self.count = len(ordered)
        self.faults = ordered[:MAX_FAULTS]
        if self.count > MAX_FAULTS:
            first = ordered[MAX_FAULTS]
            more = f"and {self.count - MAX_FAULTS} more faults from here on; only the first {MAX_FAULTS} are told"
            self.faults.append(Fault(first.path, first.line, first.column, first.key, more))
        super().__init__("\n".join(map(str, self.faults)))
