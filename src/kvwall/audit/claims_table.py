"""The claims table, its summary by source and verdict, and the arithmetic behind a verdict as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kvwall import units
from kvwall.artifacts.rounding import Rounding, decimals, significant
from kvwall.artifacts.table import ABSENT, Cell, Column, Table
from kvwall.audit.claims import FAILING, Kind, Verdict, shown_unit
from kvwall.evidence.forms import Forms
from kvwall.evidence.ledger import Row, make_row, write_fragment
from kvwall.evidence.quantity import Evaluation, Quantity, constant
from kvwall.specs.catalogue import Catalogue
from kvwall.specs.claims_schema import Claim, Claims

_COLUMNS = (
    Column("claim", "Claim"),
    Column("line", "Line"),
    Column("says", "The text says"),
    Column("printed", "Printed", rounding=decimals(0)),
    Column("recomputed", "Recomputed", rounding=decimals(0)),
    Column("bound", "Against", rounding=decimals(0)),
    Column("stated", "Source states", rounding=decimals(0)),
    Column("verdict", "Verdict"),
    Column("basis", "Recomputed by"),
)
_NOTES = (
    "Printed numbers and what sources state are reported; recomputed numbers and the sides of statements are derived.",
    "A factor is the recomputed over the printed number.",
    "The rules of about, up to and more than, and of each verdict, stand in docs/claims.md.",
)


@dataclass(frozen=True)
class Shown:
    """A quantity in a unit of its own, since each claim has one; ``text`` where it is shown as the text prints it."""

    quantity: Quantity
    unit: str
    rounding: Rounding
    text: str = ""


class ClaimsTable(Table):
    """A table whose number cells carry their own units."""

    def _show(self, row: str, column: Column, cell: Quantity | Cell | Shown | str | None) -> str:
        if not isinstance(cell, Shown):
            return super()._show(row, column, cell)
        if column.is_label or not units.same_dimension(cell.quantity.unit, cell.unit):
            raise TypeError(f"{self.id}/{row}/{column.key}: found a quantity in {cell.quantity.unit!r}")
        display = cell.text or cell.rounding.show(cell.quantity.value, cell.unit)
        rounding = "as printed" if cell.text else cell.rounding.text
        self._ledger.append(make_row(self.id, row, column.key, cell.quantity, display, cell.unit, rounding))
        return f"{display} {cell.unit}".rstrip()

    @property
    def rows(self) -> list[Row]:
        return list(self._ledger)


def claims_table(catalogue: Catalogue, verdicts: Mapping[str, Verdict]) -> ClaimsTable:
    """One line a claim, in the order of the texts."""
    table = ClaimsTable("claims", "What the three texts print, and what a recomputation gives.", _COLUMNS, _NOTES)
    for name, verdict in verdicts.items():
        table.add(name, _line(name, find(catalogue, name)[1], verdict))
    return table


def summary_table(catalogue: Catalogue, verdicts: Mapping[str, Verdict]) -> ClaimsTable:
    """How many claims of each text got each verdict."""
    files = sorted(catalogue.claims.values(), key=lambda item: item.text)
    columns = [
        Column("verdict", "Verdict"),
        *(Column(file.id, file.id.capitalize(), rounding=decimals(0)) for file in files),
    ]
    columns.append(Column("all", "All", rounding=decimals(0)))
    caption = "Claims of the three texts by verdict: " + "; ".join(f"{file.id} is {file.text}" for file in files) + "."
    table = ClaimsTable("claims_summary", caption, columns)
    for kind in [*Kind, None]:
        chosen = [name for name, verdict in verdicts.items() if kind in (verdict.kind, None)]
        cells = {
            file.id: _count([name for name in chosen if name.startswith(f"{file.id}/")], file.id) for file in files
        }
        label = str(kind or "all")
        table.add(label.replace(" ", "-"), {"verdict": label, "all": _count(chosen, "*"), **cells})
    return table


def write(tables: Mapping[str, ClaimsTable], folder: str, ledger: str) -> None:
    """Write the files of all tables, and one ledger fragment with the rows of all of them."""
    for table in tables.values():
        table.write(folder, ledger)
    write_fragment(ledger, [row for table in tables.values() for row in table.rows])


def failing(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """The verdicts that a reader of the texts has to know about."""
    return {name: verdict for name, verdict in verdicts.items() if verdict.kind in FAILING}


def story(name: str, catalogue: Catalogue, verdict: Verdict, forms: Forms) -> str:
    """One claim with its arithmetic, as Markdown with LaTeX."""
    source, claim = find(catalogue, name)
    parts = [f"### {name}", f"`{source.text}`, line {claim.line}: {claim.paraphrase}."]
    if claim.printed:
        precision = "" if claim.precision == "rounded" else f" ({claim.precision})"
        parts.append(f"**Printed:** {claim.printed} {claim.unit}".rstrip() + precision)
    if claim.formula:
        parts.append(f"**Printed form:** `{claim.formula}`")
    if verdict.recomputed is not None:
        parts.append("**Recomputed:**\n\n" + "\n".join(_arithmetic("", verdict.recomputed, forms, 0)))
    if verdict.bound is not None:
        parts.append(f"**Statement:** {claim.compare.relation} {_plain(verdict.bound)}")
    parts.append(f"**Verdict:** {verdict.text}")
    return "\n\n".join(parts + ([f"*Note:* {claim.note}"] if claim.note else []))


def find(catalogue: Catalogue, name: str) -> tuple[Claims, Claim]:
    """The file and the claim of ``<file>/<claim id>``."""
    file, _, identifier = name.partition("/")
    source = catalogue.claims[file]
    return source, next(claim for claim in source.claims if claim.id == identifier)


def _line(name: str, claim: Claim, verdict: Verdict) -> dict[str, Shown | str | None]:
    digits = max(4, sum(char.isdigit() for char in claim.printed or ""))
    own = claim.compare is None and claim.formula is None

    def number(quantity: Quantity | None) -> Shown | None:
        if quantity is None:
            return None
        unit = claim.unit if own else shown_unit(quantity.unit)
        shown = quantity.value / units.factor(unit)
        whole = shown.denominator == 1 and abs(shown) < 10**9
        return Shown(quantity, unit, decimals(0) if whole else significant(digits))

    printed = verdict.printed and Shown(verdict.printed, claim.unit, significant(digits), claim.printed)
    says = claim.paraphrase + (f" ({claim.precision})" if claim.precision not in ("rounded", "exact") else "")
    return {
        "claim": name,
        "line": f"line {claim.line}",
        "says": f"{says}: {claim.formula or claim.printed}"
        if printed is None and (claim.formula or claim.printed)
        else says,
        "printed": printed,
        "recomputed": number(verdict.recomputed),
        "bound": number(verdict.bound),
        "stated": number(verdict.stated),
        "verdict": verdict.text,
        "basis": _basis(verdict),
    }


def _basis(verdict: Verdict) -> str:
    if not verdict.pointer:
        return ABSENT
    return verdict.pointer if not verdict.pointer.startswith("claims/") else f"form {verdict.recomputed.form}"


def _count(names: list[str], file: str) -> Quantity:
    return constant(len(names), "", "claims with this verdict, counted", f"data/claims/{file}.yaml")


def _arithmetic(symbol: str, quantity: Quantity, forms: Forms, depth: int) -> Iterator[str]:
    pad, head = "  " * depth, f"{symbol} = " if symbol else ""
    found = quantity.lineage
    if isinstance(found, Evaluation):
        form = forms[found.form]
        yield f"{pad}- {head}{_plain(quantity)} by {form.title}: ${form.latex}$"
        for name, child in found.inputs:
            yield from _arithmetic(name, child, forms, depth + 1)
        return
    where = "; ".join(part for part in (found.source, found.locator, found.name, found.at) if part)
    yield f"{pad}- {head}{_plain(quantity)} ({where})"


def _plain(quantity: Quantity) -> str:
    """The exact value, or twelve significant digits where it is no short decimal."""
    value, unit = quantity.value / units.factor(shown_unit(quantity.unit)), shown_unit(quantity.unit)
    exact = len(str(value.denominator)) < 6 and set(_factors(value.denominator)) <= {2, 5}
    text = f"{float(value):,.10g}" if exact and abs(value) < 10**10 else significant(6).show(value)
    return f"{text} {unit}".rstrip()


def _factors(number: int) -> Iterator[int]:
    for prime in (2, 5):
        while number % prime == 0:
            number //= prime
            yield prime
    if number > 1:
        yield number
