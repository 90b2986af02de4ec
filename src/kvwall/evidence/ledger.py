"""The ledger: one row for each number of each table and figure, with its class and lineage."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from kvwall.evidence.quantity import Evaluation, Leaf, Quantity, base_unit_text


class DoubleIdError(ValueError):
    """Two numbers with one id."""


@dataclass(frozen=True)
class Row:
    """One number where it is shown. ``value`` is exact, in ``unit``; ``display`` is what the reader sees."""

    id: str
    artifact: str
    row: str
    column: str
    value: str
    unit: str
    display: str
    display_unit: str
    rounding: str
    evidence: str
    form: str
    inputs: str
    source: str
    locator: str
    assumptions: str
    lineage: dict[str, Any]


def exact_text(value: Fraction) -> str:
    """``3/8`` or ``327680``: the exact value as text, the form that :class:`fractions.Fraction` reads back."""
    return str(value)


def make_row(artifact: str, row: str, column: str, quantity: Quantity, display: str, unit: str, rounding: str) -> Row:
    """The ledger row of a quantity shown in an artifact."""
    leaves = dict.fromkeys((symbol, leaf.lineage) for symbol, leaf in quantity.leaves())
    sources = dict.fromkeys(leaf.source for _, leaf in leaves if leaf.source)
    locators = dict.fromkeys(leaf.locator for _, leaf in leaves if leaf.locator)
    return Row(
        id="/".join(part for part in (artifact, row, column) if part),
        artifact=artifact,
        row=row,
        column=column,
        value=exact_text(quantity.value),
        unit=base_unit_text(quantity.unit),
        display=display,
        display_unit=unit,
        rounding=rounding,
        evidence=quantity.evidence,
        form=quantity.form,
        inputs="; ".join(f"{symbol}={leaf.at}" if symbol else leaf.at for symbol, leaf in leaves),
        source="; ".join(sources),
        locator="; ".join(locators),
        assumptions="; ".join(quantity.assumptions),
        lineage=lineage(quantity),
    )


def lineage(quantity: Quantity) -> dict[str, Any]:
    """The whole story of a quantity as nested plain data."""
    found = quantity.lineage
    story: dict[str, Any] = {"value": exact_text(quantity.value), "unit": base_unit_text(quantity.unit)}
    if isinstance(found, Leaf):
        story |= {key: value for key, value in asdict(found).items() if value}
    elif isinstance(found, Evaluation):
        inputs = {symbol: lineage(child) for symbol, child in found.inputs}
        story |= {"form": found.form, "inputs": inputs}
        if found.assumptions:
            story["assumptions"] = list(found.assumptions)
    else:
        story |= {"statistic": found.statistic, "run": found.run}
        story["samples"] = [lineage(sample) for sample in found.samples]
    return story


def write_fragment(path: str, rows: Iterable[Row]) -> None:
    """Write the rows of one artifact; each artifact has a fragment of its own, so that jobs never share a file."""
    _write(Path(path), _json([asdict(row) for row in rows]))


def read_fragment(path: str) -> list[Row]:
    """Read back what :func:`write_fragment` wrote."""
    return [Row(**item) for item in json.loads(Path(path).read_text(encoding="utf-8"))]


def write_ledger(folder: str, rows: Iterable[Row], outputs: Iterable[str]) -> None:
    """Write ledger.csv, ledger.json and outputs.sha256 (of text outputs and ledger, as ``sha256sum -c`` reads).

    Raises :class:`DoubleIdError` if two rows share an id.
    """
    ordered = sorted(rows, key=lambda row: natural_key(row.id))
    ids = [row.id for row in ordered]
    twice = sorted({name for name in ids if ids.count(name) > 1}) if len(set(ids)) < len(ids) else []
    if twice:
        raise DoubleIdError(f"these ledger ids are given twice: {', '.join(twice[:10])}")
    target = Path(folder)
    _write(target / "ledger.csv", render_csv(ordered))
    _write(target / "ledger.json", _json([asdict(row) for row in ordered]))
    digests = {name: _digest(Path(name)) for name in outputs}
    # The ledger may be made in another folder first; its digests stand under the name it is published by.
    digests |= {f"ledger/{name}": _digest(target / name) for name in ("ledger.csv", "ledger.json")}
    _write(target / "outputs.sha256", "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)))


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """Sort key that puts table_2 before table_10 and b=8 before b=32."""
    parts, number = [], ""
    for char in f"{text}\0":
        if char.isdigit():
            number += char
            continue
        if number:
            parts.append((0, int(number), ""))
            number = ""
        parts.append((1, 0, char))
    return parts


def render_csv(rows: list[Row]) -> str:
    """The rows as ledger.csv holds them: all columns but the nested lineage."""
    names = [name for name in Row.__dataclass_fields__ if name != "lineage"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)
    return buffer.getvalue()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _json(rows: list[dict]) -> str:
    """One line a row: a changed number is one changed line in a review."""
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, sort_keys=True) for row in rows)
    return f"[\n{lines}\n]\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(path)
