"""The story of one number of the ledger, for a person: form, steps, inputs, sources, rounding."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from kvwall.algebra import ClosedForm
from kvwall.audit.outputs import FORMS, LEDGER, read_forms, read_rows


class UnknownIdError(LookupError):
    """No row of the ledger has the id; the message offers the nearest ones."""


def explain(identifier: str, ledger: str = LEDGER, forms: str = FORMS) -> str:
    """The story of a ledger id as text, or the ids below an artifact or row. Raises :class:`UnknownIdError`."""
    rows = read_rows(ledger)
    below = [name for name in rows if name.startswith(f"{identifier.rstrip('/')}/")]
    if below:
        return f"{len(below)} numbers below {identifier}:\n" + "".join(f"  {name}\n" for name in below)
    if identifier not in rows:
        nearest = difflib.get_close_matches(identifier[:200], rows, n=5, cutoff=0.3)
        offer = "; the nearest are:\n  " + "\n  ".join(nearest) if nearest else "; ids begin with table_N or figure_N"
        raise UnknownIdError(f"no number has the id {identifier[:200]!r}{offer}")
    row = rows[identifier]
    return "\n".join(_story(row, read_forms(forms))) + "\n"


def _story(row: dict[str, Any], forms: dict[str, ClosedForm]) -> Iterator[str]:
    yield f"{row['id']} = {row['display']} {row['display_unit']}".rstrip()
    yield f"  evidence  {row['evidence']}"
    yield f"  exact     {row['value']} {row['unit']}".rstrip()
    yield f"  shown     {row['rounding']}"
    if row["assumptions"]:
        yield f"  assumes   {row['assumptions']}"
    yield from _lineage("", row["lineage"], forms, 1)


def _lineage(symbol: str, lineage: dict[str, Any], forms: dict[str, ClosedForm], depth: int) -> Iterator[str]:
    pad = "  " * depth
    head = f"{symbol} = {_readable(lineage)}" if symbol else ""
    if "form" in lineage:
        form = forms[lineage["form"]]
        section = f"(section {form.section})" if form.section else "(not in the paper)"
        text = f"{form.title} {section}: {form.expr}"
        yield f"{pad}{head}{'  <- ' if head else ''}{text}"
        for name, child in lineage["inputs"].items():
            yield from _lineage(name, child, forms, depth + 1)
        return
    where = [lineage[key] for key in ("at", "source", "locator", "name") if lineage.get(key)]
    yield f"{pad}{head}{'  <- ' if head else ''}{lineage.get('kind', 'measured')}: {'; '.join(where)}"


def _readable(lineage: dict[str, Any]) -> str:
    """The exact value, and where it is no short number also its size: ``503316480000 byte (5.033e+11)``."""
    exact = lineage["value"]
    size = f" ({float(Fraction(exact)):.4g})" if "/" in exact or len(exact) > 6 else ""
    return f"{exact} {lineage['unit']}".rstrip() + size
