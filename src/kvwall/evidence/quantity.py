"""Quantities: an exact value, its unit and its lineage; the evidence class is computed from the lineage.

The protocol (the paper's App. C): a number is exactly one of *derived* (a closed form over reported, defined or assumed
leaves), *reported* (printed in a source) or *measured* (reduced from recorded samples). Nothing mixes: a form over a
measured value, or over a quality that some paper reports, is an error that names the leaves.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kvwall import units
from kvwall.specs.schema import Assumption, Datum
from kvwall.specs.values import Choice, Source

DERIVED, REPORTED, MEASURED = "derived", "reported", "measured"
# What a leaf is -> the class of a number that shows the leaf itself.
_CLASS_OF_LEAF = {
    "reported": REPORTED,
    "quality": REPORTED,
    "printed": REPORTED,  # what one of the audited texts prints: shown beside a recomputation, never computed with
    "defined": DERIVED,
    "assumed": DERIVED,
    "sample": MEASURED,
}
_MAY_ENTER_A_FORM = ("reported", "defined", "assumed")
_STATISTICS = {"median": statistics.median, "minimum": min, "maximum": max}


class EvidenceError(ValueError):
    """Numbers of different evidence classes were mixed, or a leaf says too little about where it comes from."""


@dataclass(frozen=True)
class Leaf:
    """Where a value enters: a line of a file, and what stands behind it."""

    kind: str  # reported, quality, printed, defined, assumed or sample
    at: str  # data/models/llama-3-70b.yaml:12
    source: str = ""
    locator: str = ""
    name: str = ""  # the assumption's id, or what a defined value is


@dataclass(frozen=True)
class Evaluation:
    """A closed form evaluated at quantities."""

    form: str
    inputs: tuple[tuple[str, Quantity], ...]
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reduction:
    """A statistic of recorded samples of one run."""

    statistic: str
    run: str
    samples: tuple[Quantity, ...]


@dataclass(frozen=True)
class Quantity:
    """An exact value in base units with its lineage; the only thing that a cell or a point accepts."""

    value: Fraction
    unit: str
    lineage: Leaf | Evaluation | Reduction

    def leaves(self) -> Iterator[tuple[str, Quantity]]:
        """Each leaf below, with the symbol it was bound to ("" for a quantity that is a leaf itself)."""
        yield from _leaves("", self)

    @property
    def evidence(self) -> str:
        """The evidence class, from the lineage alone."""
        if isinstance(self.lineage, Leaf):
            return _CLASS_OF_LEAF[self.lineage.kind]
        return MEASURED if isinstance(self.lineage, Reduction) else DERIVED

    @property
    def form(self) -> str:
        """Name of the closed form or statistic; empty for a leaf."""
        if isinstance(self.lineage, Evaluation):
            return self.lineage.form
        return self.lineage.statistic if isinstance(self.lineage, Reduction) else ""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Names of all assumptions below this number, sorted."""
        return tuple(sorted(set(_assumptions(self))))


def reported(datum: Datum, source: Source) -> Quantity:
    """A fact of a spec file."""
    return _from_datum("reported", datum, source)


def quality(datum: Datum, source: Source) -> Quantity:
    """A quality that one paper reports: it may be shown, and never be computed with."""
    return _from_datum("quality", datum, source)


def defined(choice: Choice, name: str) -> Quantity:
    """A value that we choose, such as a batch size of a sweep."""
    return Quantity(choice.value, choice.unit, Leaf("defined", choice.at, name=name))


def constant(value: int | Fraction, unit: str, name: str, at: str) -> Quantity:
    """A value that holds by definition, such as one device; ``at`` names the place of the definition."""
    return Quantity(Fraction(value), unit, Leaf("defined", at, name=name))


def assumed(assumption: Assumption) -> Quantity:
    """The value of a named assumption."""
    if assumption.value is None:
        raise EvidenceError(f"the assumption {assumption.id!r} has no value to compute with")
    choice = assumption.value
    return Quantity(choice.value, choice.unit, Leaf("assumed", choice.at, name=assumption.id))


def measured(samples: Sequence[Fraction], unit: str, statistic: str, run: str, at: str) -> Quantity:
    """A statistic (median, minimum, maximum) of the recorded samples of one run.

    ``run`` is the run's id and ``at`` the line of its samples. Raises :class:`EvidenceError` if any of them is missing.
    """
    if not samples or not run or not at:
        raise EvidenceError("a measured number needs recorded samples, the id of its run and the line they stand on")
    if statistic not in _STATISTICS:
        raise EvidenceError(f"found the statistic {statistic!r}, expected one of {', '.join(sorted(_STATISTICS))}")
    recorded = tuple(Quantity(Fraction(sample), unit, Leaf("sample", at, name=run)) for sample in samples)
    value = Fraction(_STATISTICS[statistic]([sample.value for sample in recorded]))
    return Quantity(value, unit, Reduction(statistic, run, recorded))


def forbid_mixing(inputs: Sequence[tuple[str, Quantity]], form: str) -> None:
    """Raise :class:`EvidenceError`, naming the leaves, unless every leaf below may enter a closed form."""
    leaves = [leaf for _, quantity in inputs for _, leaf in quantity.leaves()]
    barred = [leaf.lineage for leaf in leaves if leaf.lineage.kind not in _MAY_ENTER_A_FORM]
    if not barred:
        return
    others = [leaf.lineage for leaf in leaves if leaf.lineage.kind in _MAY_ENTER_A_FORM]
    beside = f" together with the {others[0].kind} value at {others[0].at}" if others else ""
    raise EvidenceError(
        f"{form}: the {barred[0].kind} value at {barred[0].at} cannot enter a closed form{beside}; "
        "a measured number is compared in a column of its own, a reported quality is only shown"
    )


def _from_datum(kind: str, datum: Datum, source: Source) -> Quantity:
    return Quantity(datum.value, datum.unit, Leaf(kind, datum.at, source.cite(), datum.locator))


def _leaves(symbol: str, quantity: Quantity) -> Iterator[tuple[str, Quantity]]:
    lineage = quantity.lineage
    if isinstance(lineage, Evaluation):
        for name, child in lineage.inputs:
            yield from _leaves(name, child)
    elif isinstance(lineage, Reduction):
        for sample in lineage.samples:
            yield symbol, sample
    else:
        yield symbol, quantity


def _assumptions(quantity: Quantity) -> Iterator[str]:
    lineage = quantity.lineage
    if isinstance(lineage, Evaluation):
        yield from lineage.assumptions
        for _, child in lineage.inputs:
            yield from _assumptions(child)
    elif isinstance(lineage, Leaf) and lineage.kind == "assumed":
        yield lineage.name


def base_unit_text(unit: str) -> str:
    """The base units of a unit as a ledger shows them: ``TB/s`` becomes ``byte/second``."""
    powers = units.powers(unit)
    above = "*".join(_power(name, power) for name, power in powers if power > 0)
    below = "/".join(_power(name, -power) for name, power in powers if power < 0)
    return "/".join(part for part in (above or ("1" if below else ""), below) if part)


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"
