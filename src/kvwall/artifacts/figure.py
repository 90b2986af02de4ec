"""Figures: every plotted point is a pair of quantities, written beside the picture and into the ledger."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from matplotlib.figure import Figure as Canvas

from kvwall import units
from kvwall.artifacts.rounding import significant
from kvwall.evidence.ledger import Row, make_row, write_fragment
from kvwall.evidence.quantity import Quantity

# Plotted positions are shown with six digits in the points file: finer than any reader of a plot can see.
_SHOWN = significant(6)
_COLUMNS = ("series", "point", "x", "x_unit", "y", "y_unit", "evidence", "id")


class Series:
    """The points of one curve or marker set, in one pair of units."""

    def __init__(self, figure: Figure, name: str, x_unit: str, y_unit: str) -> None:
        self._figure, self.name, self.x_unit, self.y_unit = figure, name, x_unit, y_unit
        self.x: list[float] = []
        self.y: list[float] = []

    def add(self, point: str, x: Quantity, y: Quantity) -> None:
        """Add a point; ``point`` is its part of a ledger id, such as ``s=128000``."""
        self.x.append(_position(x, self.x_unit))
        self.y.append(_position(y, self.y_unit))
        self._figure._record(self, point, x, y)


class Figure:
    """A figure under construction: ``id`` is the artifact (``figure_3``)."""

    def __init__(self, id: str, caption: str) -> None:
        self.id, self.caption = id, caption
        self._lines: list[tuple[str, ...]] = []
        self._ledger: list[Row] = []

    def series(self, name: str, x_unit: str, y_unit: str) -> Series:
        """A new series whose points are plotted in the given units."""
        return Series(self, name, x_unit, y_unit)

    def _record(self, series: Series, point: str, x: Quantity, y: Quantity) -> None:
        name = f"{series.name}/{point}"
        x_text, y_text = _SHOWN.show(x.value, series.x_unit), _SHOWN.show(y.value, series.y_unit)
        self._ledger.append(make_row(self.id, name, "x", x, x_text, series.x_unit, _SHOWN.text))
        self._ledger.append(make_row(self.id, name, "y", y, y_text, series.y_unit, _SHOWN.text))
        self._lines.append(
            (series.name, point, x_text, series.x_unit, y_text, series.y_unit, y.evidence, f"{self.id}/{name}")
        )

    def write(self, canvas: Canvas, folder: str, ledger: str) -> None:
        """Write ``<id>.svg``, ``.pdf``, ``.png``, ``.csv`` into ``folder`` and the ledger fragment to ``ledger``."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        canvas.savefig(target / f"{self.id}.svg", metadata={"Date": None, "Creator": None, "Title": self.caption})
        canvas.savefig(target / f"{self.id}.pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
        canvas.savefig(target / f"{self.id}.png", metadata={"Software": None})
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(self._lines)
        (target / f"{self.id}.csv").write_text(buffer.getvalue(), encoding="utf-8", newline="\n")
        write_fragment(ledger, self._ledger)


def _position(quantity: Quantity, unit: str) -> float:
    if not units.same_dimension(quantity.unit, unit):
        raise ValueError(f"found a quantity in {quantity.unit}, expected {unit}")
    return float(quantity.value / units.factor(unit))
