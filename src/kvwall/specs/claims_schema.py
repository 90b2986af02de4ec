"""The spec class of a claims file: what one text prints, line by line, and what each claim is checked against.

A file says what the text says and where to look; it never says whether the text is right. The verdict is computed by
:mod:`kvwall.audit.claims`. Only what arithmetic cannot see is declared, with its evidence: what a primary source states
(``primary``), that nothing states it (``unsourced``), and that two claims of a text contradict each other
(``conflicts_with``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from kvwall import units
from kvwall.specs.schema import Sources
from kvwall.specs.values import PLAIN, Choice, Identifier, ShortText, Strict, _choice
from kvwall.specs.yaml_nodes import Mapping, Text

_NUMBER = re.compile(rf"(?P<whole>[+-]?{units.WHOLE})(?:\.(?P<decimals>[0-9]+))?(?:/(?P<below>[1-9][0-9]*))?")
_BASES = ("ledger", "form", "compare", "primary", "unsourced")

LedgerId = Annotated[str, Field(min_length=1, max_length=200), PLAIN]
ClaimPath = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)?$", max_length=120)]


def number(text: str) -> Fraction:
    """The exact value of a printed number: ``427.2``, ``327,680`` or ``1/64``. Raises ValueError on anything else."""
    found = _NUMBER.fullmatch(text)
    if not found:
        raise ValueError(f"found {text!r}, expected a plain number such as '427.2', '327,680' or '1/64'")
    whole, decimals, below = found["whole"].replace(",", "").replace("_", ""), found["decimals"], found["below"]
    value = Fraction(f"{whole}.{decimals}" if decimals else whole)
    return value / int(below) if below else value


def places(text: str) -> int:
    """How many decimals a printed number has."""
    return len(text.partition(".")[2])


def _unit(text: str) -> str:
    units.dimension(text)
    return text


def _spec_path(text: str) -> str:
    if not re.fullmatch(r"[a-z]+/[a-z0-9.-]+:[a-z0-9_.]+", text):
        raise ValueError(f"found {text!r}, expected a fact such as 'models/llama-3-70b:groups.0.layers'")
    return text


Unit = Annotated[str, BeforeValidator(_unit), Field(max_length=60)]


class FormCall(Strict):
    """A closed form with a reference for each of its symbols."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=80)]
    inputs: Annotated[dict[str, Reference], Field(min_length=1)]
    assumptions: Annotated[list[Identifier], Field(default_factory=list)]


class Reference(Strict):
    """Where one value comes from: exactly one of a ledger id, a form, a fact of a spec, or a written value.

    A written value is a fact if it has ``source`` and ``locator``, and a choice of ours if it has ``why``.
    """

    ledger: LedgerId | None = None
    form: FormCall | None = None
    spec: Annotated[str, BeforeValidator(_spec_path)] | None = None
    value: Annotated[Choice, PlainValidator(_choice)] | None = None
    source: Identifier | None = None
    locator: ShortText | None = None
    why: ShortText | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Reference:
        given = [name for name in ("ledger", "form", "spec", "value") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"found {' and '.join(given) or 'nothing'}, expected one of ledger, form, spec, value")
        fact = self.source is not None and self.locator is not None and self.why is None
        chosen = self.why is not None and self.source is None and self.locator is None
        if self.value is not None and not (fact or chosen):
            raise ValueError("a value needs either source and locator (a fact) or why (a choice of ours)")
        if self.value is None and (self.source or self.locator or self.why):
            raise ValueError("source, locator and why belong to a written value only")
        return self


class Compare(Strict):
    """A statement without a number of its own, as a relation of two recomputed values."""

    left: Reference
    relation: Literal["less than", "at most", "equal to", "at least", "more than"]
    right: Reference


class Primary(Strict):
    """What the primary source says. ``value`` is compared with the printed number by code."""

    source: Identifier
    locator: ShortText
    states: ShortText
    value: Annotated[Choice, PlainValidator(_choice)] | None = None
    finding: Literal["supports", "contradicts", "not seen"] | None = None

    @model_validator(mode="after")
    def _value_or_finding(self) -> Primary:
        if (self.value is None) == (self.finding is None):
            raise ValueError("expected either value (compared by code) or finding (a person's reading)")
        return self


class Conflict(Strict):
    """Another claim of the texts that cannot hold together with this one."""

    claim: ClaimPath
    why: ShortText


class AnotherReading(Strict):
    """Another reading of a number, with its name: in another unit, by another recomputation, or both."""

    label: ShortText
    unit: Unit | None = None
    ledger: LedgerId | None = None
    form: FormCall | None = None

    @model_validator(mode="after")
    def _says_what_changes(self) -> AnotherReading:
        if self.unit is None and self.ledger is None and self.form is None:
            raise ValueError("found only a label, expected unit, ledger or form beside it")
        if self.ledger is not None and self.form is not None:
            raise ValueError("found ledger and form, expected at most one of them")
        return self


class Claim(Strict):
    """One statement of a text."""

    id: Identifier
    line: Annotated[int, Field(ge=1, le=100_000)]
    paraphrase: ShortText
    printed: Annotated[str, Field(min_length=1, max_length=80), PLAIN] | None = None
    unit: Unit = ""
    precision: Literal["rounded", "exact", "about", "up to", "more than", "at least", "less than", "at most"] = (
        "rounded"
    )
    digits: Annotated[int, Field(ge=1, le=12)] | None = None
    formula: ShortText | None = None
    ledger: LedgerId | None = None
    form: FormCall | None = None
    compare: Compare | None = None
    primary: Primary | None = None
    unsourced: ShortText | None = None
    conflicts_with: Conflict | None = None
    readings: Annotated[list[AnotherReading], Field(default_factory=list)]
    assumption: Identifier | None = None
    note: ShortText | None = None
    at: str

    @model_validator(mode="before")
    @classmethod
    def _keep_place(cls, node):
        if not isinstance(node, Mapping):
            raise ValueError("expected a mapping with id, line and paraphrase")
        anchor = node.get("printed") or node.get("id")
        return {**node, "at": anchor.at if isinstance(anchor, Text) else "?"}

    @model_validator(mode="after")
    def _checkable(self) -> Claim:
        given = [name for name in _BASES if getattr(self, name) is not None]
        if len(given) > 1 or not (given or self.conflicts_with):
            found = " and ".join(given) or "none"
            raise ValueError(f"found {found} of {', '.join(_BASES)}, expected exactly one (or conflicts_with alone)")
        recomputed = self.ledger is not None or self.form is not None
        compared = recomputed or (self.primary is not None and self.primary.value is not None)
        if self.formula is not None:
            if self.form is None or self.printed is not None:
                raise ValueError("a formula is checked against a form and has no printed number beside it")
        elif compared and self.printed is None:
            raise ValueError("missing key printed: there is nothing to compare with")
        if compared and self.printed is not None:
            number(self.printed)
        if self.readings and not recomputed:
            raise ValueError("readings change a recomputation; this claim has none")
        return self


class StatedAssumption(Strict):
    """An assumption that the text itself makes, so that agreement under it needs no reading of ours."""

    assumption: Identifier
    line: Annotated[int, Field(ge=1, le=100_000)]
    why: ShortText


class OwnReading(Strict):
    """A reading that only claims of this file need; the assumptions of numbers stand in data/assumptions.yaml."""

    id: Identifier
    title: ShortText
    why: ShortText


class Claims(Strict):
    """data/claims/<source>.yaml: every checkable statement of one text, in the order of its lines."""

    id: Identifier
    title: ShortText
    text: Annotated[str, Field(pattern=r"^[0-9]{3}_[0-9a-f]{16}\.txt$")]
    sources: Sources
    states: Annotated[list[StatedAssumption], Field(default_factory=list)]
    readings: Annotated[list[OwnReading], Field(default_factory=list)]
    claims: Annotated[list[Claim], Field(min_length=1)]

    def out_of_order(self) -> Iterator[tuple[tuple, str]]:
        """Faults between the claims of the file, each with its key path: ids, lines and contradictions."""
        names = [claim.id for claim in self.claims]
        last = 0
        readings = [reading.id for reading in self.readings]
        for index, name in enumerate(readings):
            if name in readings[:index]:
                yield ("readings", index, "id"), f"found {name!r} twice; ids of readings are unique in a file"
        for index, claim in enumerate(self.claims):
            if claim.id in names[:index]:
                yield ("claims", index, "id"), f"found {claim.id!r} twice; claim ids are unique in a file"
            if claim.line < last:
                yield ("claims", index, "line"), f"found {claim.line} after {last}, expected the order of the text"
            last = claim.line
            other = claim.conflicts_with.claim if claim.conflicts_with else None
            if other is not None and "/" not in other and (other not in names or other == claim.id):
                where = ("claims", index, "conflicts_with", "claim")
                yield where, f"found {other!r}, expected another claim of this file"


for _class in (FormCall, Reference, Compare, AnotherReading, Claim, Claims):
    _class.model_rebuild()

__all__ = ["Claim", "Claims", "Compare", "FormCall", "Primary", "Reference", "number", "places"]
