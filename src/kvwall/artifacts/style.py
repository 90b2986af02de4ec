"""One look for all figures: colours that survive greyscale and colour blindness, and fonts that every machine has.

Colours are Okabe and Ito's, ordered by lightness; neighbouring series also differ in dash pattern and marker.
Derived points are filled, reported points are open with a cross: the two never share a marker.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import font_manager

COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
# Eight dash patterns beside seven colours: the pair comes back only after 56 series.
_DASHES = (
    *("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)), (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1))),
    *((0, (10, 2, 3, 2)), (0, (1.2, 3))),
)
_REFERENCE_DASHES = ("-", "--", ":", "-.", (0, (10, 3)), (0, (3, 1, 1, 1, 1, 1)))
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
    """Keywords of the ``index``-th derived curve: colour and dash pattern, a pair of its own up to the 56th."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": _DASHES[index % len(_DASHES)]}


def derived_point(index: int) -> dict[str, Any]:
    """Keywords of a derived point: a filled marker."""
    marker = _DERIVED_MARKERS[index % len(_DERIVED_MARKERS)]
    return {"color": COLOURS[index % len(COLOURS)], "marker": marker, "linestyle": "none"}


def reported_point(index: int) -> dict[str, Any]:
    """Keywords of a reported point: an open stroke marker that no derived point uses."""
    marker = _REPORTED_MARKERS[index % len(_REPORTED_MARKERS)]
    return {"color": COLOURS[index % len(COLOURS)], "marker": marker, "linestyle": "none", "markeredgewidth": 1.5}


def reference(index: int = 0) -> dict[str, Any]:
    """Keywords of a reference line (a capacity, ridge or limit): thin and grey, so that it is no curve; six kinds."""
    return {"color": "#555555", "linewidth": 0.8, "linestyle": _REFERENCE_DASHES[index % len(_REFERENCE_DASHES)]}


def bar(index: int | None, hatched: bool = False) -> dict[str, Any]:
    """Keywords of a bar; hatched where the value is lossy or a bound. Without an index only the hatch shows."""
    face = "white" if index is None else COLOURS[index % len(COLOURS)]
    return {"facecolor": face, "edgecolor": "black", "linewidth": 0.5, "hatch": "////" if hatched else None}


def region(name: str) -> dict[str, Any]:
    """Keywords of a shaded regime; in greyscale they differ in lightness, and over capacity is hatched too."""
    return {
        "weight-bound": {"facecolor": "#d6ebf7", "edgecolor": "none", "linewidth": 0},
        "KV-bound": {"facecolor": "#E69F00", "edgecolor": "none", "linewidth": 0},
        "over capacity": {"facecolor": "#f2f2f2", "edgecolor": "#999999", "hatch": "////", "linewidth": 0},
    }[name]
