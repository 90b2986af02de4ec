"""Tables: cells take quantities, never floats, and every number that is shown enters the ledger."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kvwall import units
from kvwall.artifacts.rounding import Rounding
from kvwall.evidence.ledger import Row, make_row, write_fragment
from kvwall.evidence.quantity import Quantity

ABSENT = "—"
_WIDE = 7  # columns that fit on a page as they are; a wider table is scaled to the width of the text
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?\s*[%x×]?")
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "—": "---", "×": r"$\times$", "≤": r"$\le$", "≥": r"$\ge$",
    "σ": r"$\sigma$", "φ": r"$\phi$", "λ": r"$\lambda$", "β": r"$\beta$", "π": r"$\pi$", "→": r"$\to$", "·": r"$\cdot$",
    "κ": r"$\kappa$", "²": r"$^2$", "∞": r"$\infty$", "Σ": r"$\Sigma$", "<": r"$<$", ">": r"$>$", "|": r"$|$",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of labels, or of numbers in one unit and rounding. ``key`` is its part of a ledger id."""

    key: str
    title: str
    unit: str = ""
    rounding: Rounding | None = None  # None: a column of labels
    unit_label: str | None = None  # how the unit is printed, if not as written

    @property
    def is_label(self) -> bool:
        return self.rounding is None

    @property
    def heading(self) -> str:
        unit = self.unit if self.unit_label is None else self.unit_label
        return f"{self.title} [{unit}]" if unit else self.title


@dataclass(frozen=True)
class Cell:
    """A quantity that is shown in another rounding or unit than its column's, or with a footnote mark."""

    quantity: Quantity
    rounding: Rounding | None = None


class Table:
    """A table under construction.

    ``id`` is the artifact (``table_4``), ``notes`` are footnotes; each number of a note must be named in words or stand
    in a cell. Raises TypeError if a number column gets anything but a quantity, and ValueError if a label is a number.
    """

    def __init__(self, id: str, caption: str, columns: Sequence[Column], notes: Sequence[str] = ()) -> None:
        self.id, self.caption, self.columns, self.notes = id, caption, list(columns), list(notes)
        self._lines: list[list[str]] = []
        self._ledger: list[Row] = []

    def add(self, row: str, cells: Mapping[str, Quantity | Cell | str | None]) -> None:
        """Add a row. ``cells`` maps column keys to quantities (numbers), texts (labels) or None (nothing to show)."""
        unknown = sorted(set(cells) - {column.key for column in self.columns})
        if unknown:
            raise ValueError(f"{self.id}/{row}: found the columns {unknown}, which the table does not have")
        self._lines.append([self._show(row, column, cells.get(column.key)) for column in self.columns])

    def _show(self, row: str, column: Column, cell: Quantity | Cell | str | None) -> str:
        place = f"{self.id}/{row}/{column.key}"
        if cell is None:
            return ABSENT
        if column.is_label:
            if not isinstance(cell, str):
                raise TypeError(f"{place}: found {type(cell).__name__}, expected a label")
            if _NUMBER.fullmatch(cell):
                raise ValueError(f"{place}: found the number {cell!r} as a label; numbers go through quantities")
            return cell
        if isinstance(cell, Quantity):
            cell = Cell(cell)
        if not isinstance(cell, Cell):
            raise TypeError(f"{place}: found {type(cell).__name__}, expected a quantity; only quantities are shown")
        if not units.same_dimension(cell.quantity.unit, column.unit):
            raise TypeError(f"{place}: found a quantity in {cell.quantity.unit!r}, expected {column.unit!r}")
        rounding = cell.rounding or column.rounding
        display = rounding.show(cell.quantity.value, column.unit)
        unit = column.unit if column.unit_label is None else column.unit_label
        self._ledger.append(make_row(self.id, row, column.key, cell.quantity, display, unit, rounding.text))
        return display

    @property
    def frame(self) -> pd.DataFrame:
        """The shown texts as a frame, for display in a notebook."""
        return pd.DataFrame(self._lines, columns=[column.heading for column in self.columns], dtype="object")

    def write(self, folder: str, ledger: str) -> None:
        """Write ``<id>.csv``, ``.md``, ``.tex`` into ``folder`` and the ledger fragment to the path ``ledger``."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        _write(target / f"{self.id}.csv", self.frame.to_csv(index=False, lineterminator="\n"))
        _write(target / f"{self.id}.md", self._markdown())
        _write(target / f"{self.id}.tex", self._latex())
        write_fragment(ledger, self._ledger)

    def _markdown(self) -> str:
        shown = self.frame.map(_escape_markdown)
        shown.columns = [_escape_markdown(name) for name in shown.columns]
        align = ["left" if column.is_label else "right" for column in self.columns]
        body = shown.to_markdown(index=False, colalign=align, disable_numparse=True)
        notes = "".join(f"\n- {_escape_markdown(note)}" for note in self.notes)
        return f"**{self._title()}.** {_escape_markdown(self.caption)}\n\n{body}\n" + (f"{notes}\n" if notes else "")

    def _latex(self) -> str:
        shown = self.frame.map(_escape_latex)
        shown.columns = [_escape_latex(name) for name in shown.columns]
        align = "".join("l" if column.is_label else "r" for column in self.columns)
        body = shown.to_latex(index=False, escape=False, column_format=align)
        notes = "".join(f"\\par\\footnotesize {_escape_latex(note)}\n" for note in self.notes)
        if len(self.columns) > _WIDE:
            body = f"\\resizebox{{\\textwidth}}{{!}}{{%\n{body.rstrip()}}}\n"
        label = self.id.replace("_", ":", 1)
        return (
            "% needs \\usepackage{booktabs} and \\usepackage{graphicx}\n"
            f"\\begin{{table*}}\n\\centering\n\\caption{{{_escape_latex(self.caption)}}}\n\\label{{{label}}}\n"
            f"{body}{notes}\\end{{table*}}\n"
        )

    def _title(self) -> str:
        return self.id.replace("_", " ").capitalize()


def _escape_markdown(text: str) -> str:
    escaped = html.escape(text, quote=False)
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", escaped)


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
