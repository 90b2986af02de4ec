"""What a source prints beside what we find: shown in each notebook, and no reason to stop a build.

A maintainer who changes a datasheet value wants to see that a printed number no longer comes out, not a build that
fails. That the paper's own edition does reproduce them is asserted by the tests.
"""

from __future__ import annotations

import pandas as pd

AGREES, DIFFERS = "agrees", "differs"


class Checks:
    """Pairs of texts: the number as printed, and ours in the same rounding."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, str, str, str]] = []

    def add(self, what: str, found: str, printed: str) -> None:
        """Note one comparison; both texts are in the printed unit and precision."""
        self._lines.append((what, printed, found, AGREES if found == printed else DIFFERS))

    @property
    def frame(self) -> pd.DataFrame:
        """The comparisons as a table, for display."""
        return pd.DataFrame(self._lines, columns=["number", "printed", "found", "verdict"], dtype="object")
