"""What moved between two ledgers, and which leaf moved it.

Rows are matched by id. For a number that moved, the changed leaves are found by walking both lineages together; each
is told with the elasticity of the number to it: the factor by which a small relative change of the leaf is passed on.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import sympy

from kvwall.algebra import ClosedForm
from kvwall.algebra.symbols import SYMBOLS
from kvwall.audit.outputs import LEDGER, OutputError, read_rows, rows_from_text

_Lineage = dict[str, Any]
_Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Cause:
    """A leaf that changed below a number."""

    symbol: str
    at: str
    before: str
    after: str
    elasticity: str | None  # exact; None where the form has no derivative there


@dataclass(frozen=True)
class Move:
    """A number whose value, class, form or source changed."""

    id: str
    changed: tuple[str, ...]  # value, evidence, form, source
    before: str
    after: str
    factor: str | None
    display_before: str
    display_after: str
    causes: tuple[Cause, ...] = ()

    @property
    def shown_changed(self) -> bool:
        return self.display_before != self.display_after


@dataclass(frozen=True)
class Difference:
    """Two ledgers compared."""

    moved: tuple[Move, ...] = ()
    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    unmoved: int = 0

    def __bool__(self) -> bool:
        return bool(self.moved or self.appeared or self.vanished)


def read_ledger(name: str) -> _Rows:
    """Rows by id, from a file, or from ledger/ledger.json of a commit. Raises :class:`OutputError`."""
    if Path(name).is_file():
        return read_rows(name)
    done = subprocess.run(
        ["git", "show", "--end-of-options", f"{name}:{LEDGER}"], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise OutputError(f"found neither a ledger file nor a commit with a ledger named {name!r}")
    return rows_from_text(done.stdout, f"{name}:{LEDGER}")


def compare(before: _Rows, after: _Rows, forms: dict[str, ClosedForm]) -> Difference:
    """Compare two ledgers; ``forms`` are those of the later one, for the elasticities."""
    shared = [name for name in after if name in before]
    moves = [move for name in shared if (move := _move(before[name], after[name], forms))]
    return Difference(
        moved=tuple(moves),
        appeared=tuple(name for name in after if name not in before),
        vanished=tuple(name for name in before if name not in after),
        unmoved=len(shared) - len(moves),
    )


def _move(before: dict, after: dict, forms: dict[str, ClosedForm]) -> Move | None:
    keys = ("value", "evidence", "form", "source")
    changed = tuple(key for key in keys if before[key] != after[key])
    if not changed:
        return None
    old, new = Fraction(before["value"]), Fraction(after["value"])
    return Move(
        id=after["id"],
        changed=changed,
        before=before["value"],
        after=after["value"],
        factor=str(new / old) if old else None,
        display_before=before["display"],
        display_after=after["display"],
        causes=tuple(dict.fromkeys(_causes("", before["lineage"], after["lineage"], Fraction(1), forms))),
    )


def _causes(
    symbol: str, before: _Lineage, after: _Lineage, passed: Fraction | None, forms: dict[str, ClosedForm]
) -> Iterator[Cause]:
    if "form" not in before or "form" not in after:
        if before["value"] != after["value"] or before.get("source") != after.get("source"):
            place = after.get("at", f"form {after.get('form')}")
            yield Cause(symbol, place, before["value"], after["value"], None if passed is None else str(passed))
        return
    if before["form"] != after["form"]:
        yield Cause(symbol, f"form {after['form']}", before["value"], after["value"], None)
        return
    for name, child in after["inputs"].items():
        if name in before["inputs"]:
            own = _elasticity(forms.get(before["form"]), name, before["inputs"])
            both = None if own is None or passed is None else own * passed
            yield from _causes(name, before["inputs"][name], child, both, forms)


def _elasticity(form: ClosedForm | None, name: str, inputs: dict[str, _Lineage]) -> Fraction | None:
    """d ln f / d ln x at the earlier values; None where it does not exist, as at a step of a ceiling."""
    if form is None or form.expr.has(sympy.ceiling, sympy.floor, sympy.Max, sympy.Min):
        return None
    values = {SYMBOLS[key]: sympy.Rational(child["value"]) for key, child in inputs.items()}
    symbol = SYMBOLS[name]
    slope = (sympy.diff(form.expr, symbol) * symbol / form.expr).xreplace(values)
    return Fraction(int(slope.p), int(slope.q)) if slope.is_Rational else None


def to_json(difference: Difference) -> str:
    """For machines."""
    moved = [{**asdict(move), "shown_changed": move.shown_changed} for move in difference.moved]
    story = {
        "moved": moved,
        "appeared": difference.appeared,
        "vanished": difference.vanished,
        "unmoved": difference.unmoved,
    }
    return json.dumps(story, indent=1, ensure_ascii=False) + "\n"


def to_markdown(difference: Difference) -> str:
    """For a pull request."""
    counts = (
        f"**{len(difference.moved)} moved**, {len(difference.appeared)} appeared, "
        f"{len(difference.vanished)} vanished, {difference.unmoved} did not move.\n"
    )
    lines = [counts]
    if difference.moved:
        lines += ["| number | before | after | factor | shown | cause (elasticity) |", "|---|---|---|---|---|---|"]
        lines += [_line(move) for move in difference.moved]
    for title, names in (("Appeared", difference.appeared), ("Vanished", difference.vanished)):
        if names:
            lines += ["", f"{title}: " + ", ".join(f"`{name}`" for name in names)]
    return "\n".join(lines) + "\n"


def _line(move: Move) -> str:
    shown = f"{move.display_before} → {move.display_after}" if move.shown_changed else f"{move.display_after}, same"
    causes = "; ".join(
        f"{cause.symbol or 'value'} at `{cause.at}`" + (f" ({_short(cause.elasticity)})" if cause.elasticity else "")
        for cause in move.causes
    )
    others = [key for key in move.changed if key != "value"]
    note = f" [{', '.join(others)} changed]" if others else ""
    cells = (f"`{move.id}`{note}", _short(move.before), _short(move.after), _short(move.factor), shown, causes)
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _short(exact: str | None) -> str:
    return "—" if exact is None else f"{float(Fraction(exact)):.6g}"
