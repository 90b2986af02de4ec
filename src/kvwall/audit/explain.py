"""The story of one number of the ledger, for a person: form, steps, inputs, sources, rounding."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class UnknownIdError(LookupError):
    """No row of the ledger has the id; the message offers the nearest ones."""


def explain(identifier: str, ledger: str = "ledger/ledger.json", forms: str = "build/forms.json") -> str:
    """The story of a ledger id as text. Raises :class:`UnknownIdError`."""
    rows = {row["id"]: row for row in json.loads(Path(ledger).read_text(encoding="utf-8"))}
    if identifier not in rows:
        nearest = difflib.get_close_matches(identifier, rows, n=5, cutoff=0.3)
        raise UnknownIdError(f"no number has the id {identifier!r}; the nearest are:\n  " + "\n  ".join(nearest))
    row = rows[identifier]
    stored = json.loads(Path(forms).read_text(encoding="utf-8")) if Path(forms).is_file() else []
    return "\n".join(_story(row, {form["name"]: form for form in stored})) + "\n"


def _story(row: dict[str, Any], forms: dict[str, dict]) -> Iterator[str]:
    yield f"{row['id']} = {row['display']} {row['display_unit']}".rstrip()
    yield f"  evidence  {row['evidence']}"
    yield f"  exact     {row['value']} {row['unit']}".rstrip()
    yield f"  shown     {row['rounding']}"
    if row["assumptions"]:
        yield f"  assumes   {row['assumptions']}"
    yield from _lineage("", row["lineage"], forms, 1)


def _lineage(symbol: str, lineage: dict[str, Any], forms: dict[str, dict], depth: int) -> Iterator[str]:
    pad = "  " * depth
    head = f"{symbol} = {lineage['value']} {lineage['unit']}".strip(" =") if symbol else ""
    if "form" in lineage:
        form = forms.get(lineage["form"], {})
        section = f"(section {form['section']})" if form.get("section") else "(not in the paper)"
        text = f"{form.get('title', lineage['form'])} {section}: {form.get('latex', '')}"
        yield f"{pad}{head}{'  <- ' if head else ''}{text}"
        for name, child in lineage["inputs"].items():
            yield from _lineage(name, child, forms, depth + 1)
        return
    where = [lineage[key] for key in ("at", "source", "locator", "name") if lineage.get(key)]
    yield f"{pad}{head}{'  <- ' if head else ''}{lineage.get('kind', 'measured')}: {'; '.join(where)}"
