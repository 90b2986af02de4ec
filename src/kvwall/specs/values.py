"""The value types of a spec: a sourced datum, a free choice, and the checks of dimension, sign and size."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from kvwall import units
from kvwall.specs.yaml_nodes import Mapping, Text

Identifier = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=60)]
# Controls, invisible format marks, line and paragraph separators, lone surrogates: they can forge or hide a line.
_HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs")


def _plain(text: str) -> str:
    for char in text:
        if unicodedata.category(char) in _HIDDEN:
            kind = unicodedata.name(char, "a control character")
            raise ValueError(f"found U+{ord(char):04X} ({kind}), expected one line of visible characters")
    return text


def _no_formula(text: str) -> str:
    if text.startswith(("=", "+", "-", "@")):
        raise ValueError(f"found {text[:60]!r}, which spreadsheets run as a formula; expected a letter or digit first")
    return text


PLAIN = AfterValidator(_plain)
ShortText = Annotated[str, Field(min_length=1, max_length=500), PLAIN]
# A text that becomes a cell of its own in a CSV file.
Name = Annotated[ShortText, AfterValidator(_no_formula)]


class Strict(BaseModel):
    """Base of all spec classes: unknown keys are errors and nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Source(Strict):
    """Where a fact stands: enough to find it again."""

    title: ShortText
    year: Annotated[int, Field(ge=1900, le=2100)]
    authors: ShortText | None = None
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{4,5}$")] | None = None
    url: Annotated[str, Field(pattern=r"^https?://[^\s<>\"]+$", max_length=300), PLAIN] | None = None
    licence: ShortText | None = None

    @model_validator(mode="after")
    def _can_be_found(self) -> Source:
        if not (self.arxiv or self.url):
            raise ValueError("found neither arxiv nor url, expected one of them")
        return self

    def cite(self) -> str:
        """One line for a ledger row or a footnote."""
        place = f"arXiv:{self.arxiv}" if self.arxiv else self.url
        return f"{self.title} ({self.year}), {place}"


def _measure(text: Any) -> units.Measure:
    if not isinstance(text, str):
        raise ValueError("found no single value, expected a number and a unit such as '3.35 TB/s'")
    return units.parse(text)


class Reading(Strict):
    """Another published reading of a disputed value."""

    value: Annotated[units.Measure, PlainValidator(_measure)]
    source: Identifier
    locator: ShortText
    note: ShortText | None = None


class Datum(Strict):
    """A fact: exact value in base units, the unit it was written in, its file and line, and its source."""

    measure: Annotated[units.Measure, PlainValidator(_measure)] = Field(alias="value")
    source: Identifier
    locator: ShortText
    note: ShortText | None = None
    readings: list[Reading] = []
    at: str

    @model_validator(mode="before")
    @classmethod
    def _keep_place(cls, node: Any) -> Any:
        if not isinstance(node, Mapping):
            raise ValueError("expected a mapping with value, source and locator")
        text = node.get("value")
        return {**node, "at": text.at if isinstance(text, Text) else "?"}

    @property
    def value(self) -> Fraction:
        return self.measure.value

    @property
    def unit(self) -> str:
        return self.measure.unit


@dataclass(frozen=True)
class Choice:
    """A value that we choose (a sweep point, a batch size), with the file and line where it is chosen."""

    value: Fraction
    unit: str
    at: str
    text: str


def _choice(text: Any) -> Choice:
    if not isinstance(text, Text):
        raise ValueError("expected one value such as '128 ktoken'")
    measure = units.parse(text)
    return Choice(measure.value, measure.unit, text.at, str(text))


def shown(value: Fraction) -> str:
    """A value for a message; a float cannot hold each of them."""
    try:
        return f"{float(value):g}"
    except OverflowError:
        return "a number beyond 1e308"


def _check_word(found: str, unit: str, written: str, example: str) -> None:
    """Counting words are pure numbers, so the dimension cannot tell 8 layers from 8 heads: the word has to."""
    allowed = ("", "%") if unit == "1" else unit.split("/")
    if units.dimension(unit) == units.dimension("") and found not in allowed:
        expected = "no unit" if unit == "1" else f"the unit {unit!r}"
        raise ValueError(f"found the unit {written}, expected {expected}, for example {example!r}")


def _checked(unit: str, example: str, zero: bool, maximum: str | None):
    def check(item):
        value, found = item.value, item.unit
        written = f"{item.measure.unit!r}" if isinstance(item, Datum) else f"{item.text!r}"
        if not units.same_dimension(found, unit):
            raise ValueError(
                f"found the unit {written} ({units.dimension(found)}), "
                f"expected {units.dimension(unit)}, for example {example!r}"
            )
        _check_word(found, unit, written, example)
        if value < 0 or (value == 0 and not zero):
            raise ValueError(f"found {shown(value)}, expected a value above zero, for example {example!r}")
        if maximum and value > units.parse(maximum).value:
            raise ValueError(f"found {shown(value)} in base units, implausible: expected at most {maximum}")
        return item

    return AfterValidator(check)


def datum(unit: str, example: str, *, zero: bool = False, maximum: str | None = None) -> Any:
    """A :class:`Datum` of the dimension of ``unit``, positive (or zero where allowed), at most ``maximum``."""
    return Annotated[Datum, _checked(unit, example, zero, maximum)]


def choice(unit: str, example: str, *, zero: bool = False, maximum: str | None = None) -> Any:
    """A :class:`Choice` of the dimension of ``unit``."""
    return Annotated[Choice, PlainValidator(_choice), _checked(unit, example, zero, maximum)]


def whole(item):
    """For :class:`AfterValidator`: nothing between two tokens, sequences or devices."""
    if item.value.denominator != 1:
        raise ValueError(f"found {shown(item.value)}, expected a whole number")
    return item


def count(word: str, example: str, maximum: str) -> Any:
    """A whole, positive :class:`Datum` counted in ``word`` (layer, head, element, …) and in no other word."""
    return Annotated[
        datum(word, example, maximum=maximum), AfterValidator(_in_word(word, example)), AfterValidator(whole)
    ]


def _in_word(word: str, example: str):
    expected = "" if word == "1" else word

    def check(item):
        if item.unit not in expected.split("/"):
            wanted = f"the unit {expected!r}" if expected else "no unit"
            raise ValueError(f"found the unit {item.unit!r}, expected {wanted}, for example {example!r}")
        return item

    return check


def as_list(node: Any) -> Any:
    """A text where a list is expected is a fault of its own, not a list of letters."""
    if isinstance(node, str):
        raise ValueError("found a single value, expected a list")
    return node


ListOf = BeforeValidator(as_list)
