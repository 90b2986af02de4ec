"""Drawing helpers that several figures share: labels that do not collide, frontiers, short texts of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from matplotlib.axes import Axes

from kvwall.artifacts.figure import Series
from kvwall.artifacts.rounding import decimals

# From the middle of the text's left end; without a patch the line is not cut where it enters the text's margin.
_LEADER = {"arrowstyle": "-", "linewidth": 0.8, "shrinkA": 1.5, "shrinkB": 0, "relpos": (0, 0.5), "patchA": None}


def spread(positions: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Positions at least ``gap`` apart inside ``[low, high]``, in the same order and as near to the given as can be."""
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    # Least squares under the gap: pool neighbours that are too near, place each pool about its mean.
    pools: list[list[float]] = []  # [sum, count] of position - rank * gap
    for rank, index in enumerate(order):
        pools.append([positions[index] - rank * gap, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    placed = [total / count for total, count in pools for _ in range(int(count))]
    room = high - gap * (len(order) - 1)
    result = [0.0] * len(positions)
    for rank, index in enumerate(order):
        result[index] = min(max(placed[rank], low), max(room, low)) + rank * gap
    return result


def end_labels(
    ax: Axes, labels: Iterable[tuple[str, Series, str]], gap: float = 0.062, size: float = 6.5, low: float = 0.0
) -> None:
    """Name each series right of its last point: ``(text, series, colour of the leader)``; limits must be set before.

    The leader meets the left end of its own text, at half height.
    """
    labels = list(labels)
    ends = [ax.transData.transform((series.x[-1], series.y[-1])) for _, series, _ in labels]
    inside = [ax.transAxes.inverted().transform(end)[1] for end in ends]
    for (text, series, colour), height in zip(labels, spread(inside, gap, low), strict=True):
        ax.annotate(
            text,
            (series.x[-1], series.y[-1]),
            (1.05, height),
            textcoords="axes fraction",
            va="center",
            fontsize=size,
            arrowprops={**_LEADER, "color": colour},
        )


def note(ax: Axes, text: str, x: float, y: float, **style: Any) -> None:
    """A text at a place of the axes (0 to 1), on white so that lines do not run through it."""
    box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
    ax.text(x, y, text, transform=ax.transAxes, **{"fontsize": 6.5, "bbox": box, **style})


def frontier(points: Iterable[tuple[float, float]], better: str) -> list[tuple[float, float]]:
    """The points that no other beats in both: more to the right, and ``better`` ("higher" or "lower") in y."""
    sign = 1 if better == "higher" else -1
    kept: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], sign * point[1]), reverse=True):
        if not kept or sign * y > sign * kept[-1][1]:
            kept.append((x, y))
    return kept[::-1]


def by_level(labels: Iterable[tuple[str, Series]]) -> dict[float, list[str]]:
    """Names of horizontal lines by their height, so that lines which coincide get one label."""
    levels: dict[float, list[str]] = {}
    for name, series in labels:
        levels.setdefault(series.y[-1], []).append(name)
    return levels


def stacks(heights: Sequence[float], size: float) -> list[list[int]]:
    """Indices of labels that stand on lines at these heights, from the lowest line up.

    Where a label would reach the next line, the two labels share a stack, which stands on the upper line.
    """
    found: list[list[int]] = []
    for index in sorted(range(len(heights)), key=lambda index: heights[index]):
        if found and heights[found[-1][-1]] + len(found[-1]) * size > heights[index]:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def level_labels(ax: Axes, labels: Mapping[float, str], gap: float = 0.05) -> None:
    """Name horizontal lines at their left end, just above them; limits must be set before.

    Lines that lie nearer than a label is high get one stack of labels, in the order of the lines.
    """
    levels = list(labels)
    inside = [ax.transAxes.inverted().transform(ax.transData.transform((1, level)))[1] for level in levels]
    for stack in stacks(inside, gap):
        text = "\n".join(labels[levels[index]] for index in reversed(stack))
        place = (0, inside[stack[-1]])
        ax.annotate(text, place, (3, 2), "axes fraction", "offset points", fontsize=6.5, color="#444444", va="bottom")


def duration(seconds: Fraction) -> str:
    """A time as a reader says it: ``25.0 s``, ``0.66 s``, ``12 ms``."""
    if seconds < Fraction(1, 10):
        return f"{decimals(0).show(seconds, 'ms')} ms"
    return f"{decimals(1 if seconds >= 1 else 2).show(seconds, 's')} s"
