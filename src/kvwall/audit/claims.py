"""The verdict on each claim of the audited texts, computed exactly.

A claims file (``data/claims/<source>.yaml``) says what a text prints and where the number can be recomputed; this
module recomputes and decides. No number is rounded before the decision: printed numbers and recomputations are
fractions.

The verdict ``agrees`` is given only to a derived quantity: a row of the merged ledger whose evidence is derived, or a
closed form evaluated here, which enters the ledger as ``claims/<file>/<claim>/recomputed``. A printed number that
equals a reported fact is ``reported only``: nothing was recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import sympy

from kvwall import units
from kvwall.algebra.parser import to_sympy
from kvwall.algebra.printed import expand
from kvwall.artifacts.rounding import significant
from kvwall.evidence.forms import Forms
from kvwall.evidence.ledger import Row
from kvwall.evidence.quantity import DERIVED, Evaluation, Leaf, Quantity, Reduction, defined
from kvwall.specs.catalogue import Catalogue
from kvwall.specs.claims_schema import AnotherReading, Claim, Claims, FormCall, Reference, number, places
from kvwall.specs.values import Datum

# "about" allows a twentieth; "up to" must be reached within a twentieth.
_SLACK = Fraction(1, 20)


class Kind(StrEnum):
    """The closed list of verdicts."""

    AGREES = "agrees"
    CUT = "agrees only if cut"
    ASSUMPTION = "agrees under a named assumption"
    AMBIGUOUS = "unit ambiguous"
    DIFFERS = "differs"
    INCONSISTENT = "inconsistent with another claim"
    MISATTRIBUTED = "misattributed"
    REPORTED = "reported only"
    UNSOURCED = "unsourced"


# The verdicts that a reader of the text has to know about.
FAILING = (Kind.CUT, Kind.AMBIGUOUS, Kind.DIFFERS, Kind.INCONSISTENT, Kind.MISATTRIBUTED, Kind.UNSOURCED)


class ClaimError(ValueError):
    """A claim that cannot be judged: an unknown ledger id, a wrong dimension, a bound that is not derived."""


@dataclass(frozen=True)
class Verdict:
    """What the audit says of one claim. ``detail`` names the factor, the reading, the source or the other claim.

    ``printed`` is the text's number (reported), ``recomputed`` ours (derived), ``stated`` a reported fact, ``bound``
    the right side of a statement (derived). ``pointer`` is the ledger id that holds the recomputation.
    """

    kind: Kind
    detail: str = ""
    printed: Quantity | None = None
    recomputed: Quantity | None = None
    stated: Quantity | None = None
    bound: Quantity | None = None
    pointer: str = ""
    factor: Fraction | None = None

    @property
    def text(self) -> str:
        """The verdict as tables show it: ``differs (factor 4.23)``."""
        return f"{self.kind} ({self.detail})" if self.detail else str(self.kind)


def judge_all(catalogue: Catalogue, rows: Iterable[Row], forms: Forms) -> dict[str, Verdict]:
    """The verdict of every claim of every file, by ``<file>/<claim id>``, in the order of the texts."""
    ledger = {row.id: row for row in rows}
    return {
        f"{source.id}/{claim.id}": judge(claim, source, ledger, forms, catalogue)
        for source in sorted(catalogue.claims.values(), key=lambda item: item.text)
        for claim in source.claims
    }


def judge(claim: Claim, source: Claims, rows: Mapping[str, Row], forms: Forms, catalogue: Catalogue) -> Verdict:
    """The verdict on one claim.

    The first of these that applies: a statement (``compare``), a formula, a recomputation (``ledger`` or ``form``),
    what the primary source says, nothing to check against (``unsourced``). A contradiction with another claim decides
    where nothing else has failed; where something has, it is added to the detail. Raises :class:`ClaimError`.
    """
    bench = _Bench(claim, source, rows, forms, catalogue)
    if claim.compare is not None:
        verdict = _statement(bench)
    elif claim.formula is not None:
        verdict = _formula(bench)
    elif claim.ledger is not None or claim.form is not None:
        verdict = _recomputation(bench)
    elif claim.primary is not None:
        verdict = _primary(bench)
    elif claim.unsourced is not None:
        verdict = Verdict(Kind.UNSOURCED, claim.unsourced)
    else:
        verdict = Verdict(Kind.REPORTED)
    verdict = _with_conflict(claim, replace(verdict, printed=_printed(claim, source)))
    if verdict.kind in (Kind.AGREES, Kind.CUT, Kind.ASSUMPTION) and not (
        verdict.recomputed and verdict.recomputed.evidence == DERIVED and verdict.pointer
    ):
        raise ClaimError(f"{bench.id}: {verdict.kind} without a derived recomputation in the ledger")
    return verdict


# --- the rules of printed precision -----------------------------------------------------------------------------------


def holds(value: Fraction, printed: str, precision: str, digits: int | None = None) -> bool:
    """Whether ``value`` (in the printed unit) is what ``printed`` says, by the rule of its precision.

    rounded: no further from the printed number than half of its last printed decimal, or of its last of ``digits``
    significant digits (2,100 with two digits: half of 100). exact: equal. about: rounded, or within a twentieth of the
    printed number. up to: not above the printed number once rounded, and reached within a twentieth. more than, at
    least, less than, at most: the plain inequality with the printed number, and no slack.
    """
    target, half = number(printed), _step(printed, digits) / 2
    close = abs(value - target) <= half
    rules: dict[str, Callable[[], bool]] = {
        "rounded": lambda: close,
        "exact": lambda: value == target,
        "about": lambda: close or abs(value - target) <= _SLACK * abs(target),
        "up to": lambda: close or (1 - _SLACK) * target <= value <= target,
        "more than": lambda: value > target,
        "at least": lambda: value >= target,
        "less than": lambda: value < target,
        "at most": lambda: value <= target,
    }
    return rules[precision]()


def holds_cut(value: Fraction, printed: str, precision: str, digits: int | None = None) -> bool:
    """Whether a rounded number is what is left of ``value`` when the digits after the last printed one are dropped."""
    target, step = number(printed), _step(printed, digits)
    return precision == "rounded" and abs(target) <= abs(value) < abs(target) + step and value * target > 0


def _step(printed: str, digits: int | None) -> Fraction:
    """The worth of the last digit that counts; zero for a fraction such as 1/64, which is exact."""
    if "/" in printed:
        return Fraction(0)
    if digits is None:
        return Fraction(1, 10 ** places(printed))
    value, exponent = abs(number(printed)), 0
    while value >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while value and value < Fraction(10) ** exponent:
        exponent -= 1
    return Fraction(10) ** (exponent - digits + 1)


# --- what a claim is checked against ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Bench:
    """One claim with all that is needed to judge it."""

    claim: Claim
    source: Claims
    rows: Mapping[str, Row]
    forms: Forms
    catalogue: Catalogue

    @property
    def id(self) -> str:
        return f"{self.source.id}/{self.claim.id}"

    @property
    def own_row(self) -> str:
        return f"claims/{self.id}/recomputed"

    def row(self, name: str) -> Quantity:
        if name not in self.rows:
            raise ClaimError(f"{self.id}: the ledger has no row {name!r}")
        return requantify(self.rows[name].lineage)

    def call(self, form: FormCall) -> Quantity:
        inputs = {symbol: self.resolve(reference) for symbol, reference in form.inputs.items()}
        return self.forms.evaluate(form.name, *form.assumptions, **inputs)

    def resolve(self, reference: Reference) -> Quantity:
        if reference.ledger is not None:
            return self.row(reference.ledger)
        if reference.form is not None:
            return self.call(reference.form)
        if reference.spec is not None:
            return self._fact(reference.spec)
        value = reference.value
        if reference.why is not None:
            return defined(value, reference.why)
        cited = self.catalogue.sources[f"data/claims/{self.source.id}.yaml"][reference.source].cite()
        return Quantity(value.value, value.unit, Leaf("reported", value.at, cited, reference.locator))

    def _fact(self, path: str) -> Quantity:
        file, keys = path.split(":")
        kind, name = file.split("/")
        try:
            item: Any = getattr(self.catalogue, kind)[name]
            for key in keys.split("."):
                item = item[int(key)] if key.isdigit() else getattr(item, key)
        except (AttributeError, KeyError, IndexError) as error:
            raise ClaimError(f"{self.id}: no spec that was read has the fact {path!r}") from error
        if not isinstance(item, Datum):
            raise ClaimError(f"{self.id}: {path!r} is no fact")
        cited = self.catalogue.source_of(item).cite()
        return Quantity(item.value, item.unit, Leaf("reported", item.at, cited, item.locator))

    def read_as(self, unit: str, ledger: str | None, form: FormCall | None) -> tuple[Quantity, str, str]:
        quantity = self.row(ledger) if ledger is not None else self.call(form)
        if not units.same_dimension(quantity.unit, unit):
            raise ClaimError(f"{self.id}: the text prints {unit!r}, the recomputation is in {quantity.unit!r}")
        return quantity, ledger or self.own_row, unit


def requantify(story: Mapping[str, Any]) -> Quantity:
    """The quantity whose lineage a ledger row tells; the reverse of :func:`kvwall.evidence.ledger.lineage`."""
    if "form" in story:
        inputs = tuple(sorted((symbol, requantify(child)) for symbol, child in story["inputs"].items()))
        found: Any = Evaluation(story["form"], inputs, tuple(story.get("assumptions", ())))
    elif "statistic" in story:
        found = Reduction(story["statistic"], story["run"], tuple(requantify(item) for item in story["samples"]))
    else:
        found = Leaf(**{key: value for key, value in story.items() if key not in ("value", "unit")})
    return Quantity(Fraction(story["value"]), story["unit"], found)


# --- the four ways to judge -------------------------------------------------------------------------------------------


def _recomputation(bench: _Bench) -> Verdict:
    claim = bench.claim
    quantity, pointer, unit = bench.read_as(claim.unit, claim.ledger, claim.form)
    if quantity.evidence != DERIVED:
        return _against_fact(claim, quantity)
    shown = quantity.value / units.factor(unit)
    given = (claim.printed, claim.precision, claim.digits)
    found = Verdict(Kind.AGREES, recomputed=quantity, pointer=pointer)
    if holds(shown, *given):
        return _under_assumptions(bench, found)
    if holds_cut(shown, *given):
        return replace(_under_assumptions(bench, found), kind=Kind.CUT)
    details = [_factor_text(shown, number(claim.printed))]
    for reading in claim.readings:
        other, factor_text = _reread(bench, reading)
        if holds(other, *given):
            return replace(found, kind=Kind.AMBIGUOUS, detail=f"agrees as {reading.label}; as written {details[0]}")
        details.append(f"as {reading.label}: {factor_text}")
    factor = shown / number(claim.printed) if number(claim.printed) else None
    return replace(found, kind=Kind.DIFFERS, detail="; ".join(details), factor=factor)


def _reread(bench: _Bench, reading: AnotherReading) -> tuple[Fraction, str]:
    """The recomputed value in another reading, and its factor to the printed number."""
    claim = bench.claim
    own = (claim.ledger, claim.form) if reading.ledger is None and reading.form is None else None
    ledger, form = own or (reading.ledger, reading.form)
    unit = claim.unit if reading.unit is None else reading.unit
    value = bench.read_as(unit, ledger, form)[0].value / units.factor(unit)
    return value, _factor_text(value, number(claim.printed))


def _against_fact(claim: Claim, fact: Quantity) -> Verdict:
    """The number is a fact that a source prints; equal or not, nothing was recomputed."""
    cited = ", ".join(part for part in (fact.lineage.source, fact.lineage.locator) if part)
    shown = fact.value / units.factor(claim.unit)
    if holds(shown, claim.printed, claim.precision, claim.digits):
        return Verdict(Kind.REPORTED, cited, stated=fact)
    return Verdict(Kind.MISATTRIBUTED, f"{_plain(shown)} in {cited}", stated=fact)


def _under_assumptions(bench: _Bench, found: Verdict) -> Verdict:
    """``agrees`` becomes ``agrees under a named assumption`` if the text itself does not state that assumption."""
    stated = {item.assumption for item in bench.source.states}
    named = {*found.recomputed.assumptions, *([bench.claim.assumption] if bench.claim.assumption else [])}
    ours = sorted(named - stated)
    return replace(found, kind=Kind.ASSUMPTION, detail=", ".join(ours)) if ours else found


def _formula(bench: _Bench) -> Verdict:
    """Printed and derived form are the same function: their difference simplifies to zero."""
    claim, forms = bench.claim, {form.name: form for form in bench.forms.values()}
    quantity = bench.call(claim.form)
    derived, printed = expand(forms[claim.form.name].expr, forms), expand(to_sympy(claim.formula), forms)
    found = Verdict(Kind.AGREES, recomputed=quantity, pointer=bench.own_row)
    ratio = sympy.simplify(derived / printed)
    if ratio == 1:
        return _under_assumptions(bench, found)
    text = str(ratio).replace("**", "^").replace("n_gen", "T")
    factor = Fraction(int(ratio.p), int(ratio.q)) if ratio.is_Rational else None
    return replace(found, kind=Kind.DIFFERS, detail=f"derived over printed form: {text}", factor=factor)


def _statement(bench: _Bench) -> Verdict:
    compare = bench.claim.compare
    left, right = bench.resolve(compare.left), bench.resolve(compare.right)
    if left.evidence != DERIVED or right.evidence != DERIVED:
        raise ClaimError(f"{bench.id}: both sides of a statement must be derived; put facts through a form")
    if not units.same_dimension(left.unit, right.unit):
        raise ClaimError(f"{bench.id}: found {left.unit!r} and {right.unit!r}, which do not compare")
    difference = left.value - right.value
    true = {
        "less than": difference < 0,
        "at most": difference <= 0,
        "equal to": difference == 0,
        "at least": difference >= 0,
        "more than": difference > 0,
    }[compare.relation]
    found = Verdict(Kind.AGREES, recomputed=left, bound=right, pointer=compare.left.ledger or bench.own_row)
    if true:
        return _under_assumptions(bench, found)
    factor = left.value / right.value if right.value else None
    unit = shown_unit(left.unit)
    first, second = (_plain(side.value / units.factor(unit)) for side in (left, right))
    sides = f"{first} is not {compare.relation} {second} {unit}".rstrip()
    about = f"; {_factor_text(left.value, right.value)}" if factor is not None and factor > 0 and factor != 1 else ""
    return replace(found, kind=Kind.DIFFERS, detail=sides + about, factor=factor)


def _primary(bench: _Bench) -> Verdict:
    claim, primary = bench.claim, bench.claim.primary
    cited = bench.catalogue.sources[f"data/claims/{bench.source.id}.yaml"][primary.source].cite()
    where = f"{cited}, {primary.locator}"
    if primary.value is None:
        if primary.finding == "contradicts":
            return Verdict(Kind.MISATTRIBUTED, f"{primary.states} — {where}")
        unseen = " (source not read; cited by the text)" if primary.finding == "not seen" else ""
        return Verdict(Kind.REPORTED, where + unseen)
    value = primary.value
    if not units.same_dimension(value.unit, claim.unit):
        raise ClaimError(f"{bench.id}: the text prints {claim.unit!r}, the primary source {value.unit!r}")
    stated = Quantity(value.value, value.unit, Leaf("quality", value.at, cited, primary.locator))
    if holds(value.value / units.factor(claim.unit), claim.printed, claim.precision, claim.digits):
        return Verdict(Kind.REPORTED, where, stated=stated)
    return Verdict(Kind.MISATTRIBUTED, f"{primary.states} — {where}", stated=stated)


def _with_conflict(claim: Claim, verdict: Verdict) -> Verdict:
    if claim.conflicts_with is None:
        return verdict
    conflict = f"{claim.conflicts_with.claim}: {claim.conflicts_with.why}"
    if verdict.kind in (Kind.AGREES, Kind.ASSUMPTION, Kind.REPORTED):
        return replace(verdict, kind=Kind.INCONSISTENT, detail=conflict)
    return replace(verdict, detail="; ".join(part for part in (verdict.detail, f"also against {conflict}") if part))


def _printed(claim: Claim, source: Claims) -> Quantity | None:
    """The text's number as a reported quantity; nothing may compute with it."""
    try:
        value = number(claim.printed or "")
    except ValueError:
        return None
    leaf = Leaf("printed", claim.at, source.text, f"line {claim.line}")
    return Quantity(value * units.factor(claim.unit), claim.unit, leaf)


def shown_unit(unit: str) -> str:
    """The unit in which a statement's sides are shown: GB for bytes, ktoken for tokens."""
    base = {"byte": "GB", "token": "ktoken", "flop": "PFLOP", "byte/second": "TB/s"}
    return next((name for known, name in base.items() if units.same_dimension(unit, known)), unit)


def _factor_text(value: Fraction, printed: Fraction) -> str:
    return f"factor {_plain(value / printed)}" if printed else f"{_plain(value)} instead of 0"


def _plain(value: Fraction) -> str:
    """Three significant digits, with a power of ten where plain digits would be long."""
    if value == 0:
        return "0"
    exponent = 0
    while abs(value) >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(10) ** exponent:
        exponent -= 1
    if -4 <= exponent < 6:
        return significant(max(3, min(exponent + 1, 4))).show(value)
    return f"{significant(3).show(value / Fraction(10) ** exponent)}e{exponent}"


__all__ = [
    "FAILING",
    "ClaimError",
    "Kind",
    "Verdict",
    "holds",
    "holds_cut",
    "judge",
    "judge_all",
    "requantify",
    "shown_unit",
]
