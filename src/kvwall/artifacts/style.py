"""One look for all figures: colours that survive greyscale and colour blindness, and fonts that every machine has.

Colours are Okabe and Ito's, ordered by lightness; every series also has a dash pattern and a marker of its own.
Derived points are filled, reported points are open with a cross: the two never share a marker.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import font_manager

COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), "-")
_DERIVED_MARKERS = ("o", "s", "^", "D", "v", "P", "h")
_REPORTED_MARKERS = ("x", "+", "1", "2", "3", "4", "|")


def use() -> None:
    """Apply the style, from the library's defaults on, with the fonts that ship with matplotlib only."""
    mpl.rcdefaults()
    with resources.as_file(resources.files("kvwall.artifacts") / "kvwall.mplstyle") as path:
        mpl.style.use(path)
    own = Path(mpl.get_data_path())
    manager = font_manager.fontManager
    manager.ttflist = [entry for entry in manager.ttflist if own in Path(entry.fname).parents]


def line(index: int) -> dict[str, Any]:
    """Keywords of the ``index``-th derived curve: colour and dash pattern."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": _DASHES[index % len(_DASHES)]}


def derived_point(index: int) -> dict[str, Any]:
    """Keywords of a derived point: a filled marker."""
    marker = _DERIVED_MARKERS[index % len(_DERIVED_MARKERS)]
    return {"color": COLOURS[index % len(COLOURS)], "marker": marker, "linestyle": "none"}


def reported_point(index: int) -> dict[str, Any]:
    """Keywords of a reported point: an open stroke marker that no derived point uses."""
    marker = _REPORTED_MARKERS[index % len(_REPORTED_MARKERS)]
    return {"color": COLOURS[index % len(COLOURS)], "marker": marker, "linestyle": "none", "markeredgewidth": 1.5}
