"""What is wrong in a spec file, and where; all faults of a run are told at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Fault:
    """One fault. Lines and columns count from 1, as editors do."""

    path: str
    line: int
    column: int
    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.key}: {self.message}"


class SpecErrors(Exception):  # noqa: N818 - it carries many errors
    """All faults found in the spec files that were read."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(set(faults))
        super().__init__("\n".join(map(str, self.faults)))
