"""The project's own unit registry, and exact parsing of texts such as ``3.35 TB/s``.

Pint's default registry counts a byte as dimensionless, so that "3 byte + 1" passes. Here information, element,
token, operation, time and perplexity-like scores are dimensions of their own, GB and GiB are different units, and every
magnitude is a :class:`fractions.Fraction`: nothing is rounded before it is shown.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import pint

_DEFINITIONS = """
kilo- = 1000 = k-
mega- = 1000000 = M-
giga- = 1000000000 = G-
tera- = 1000000000000 = T-
peta- = 1000000000000000 = P-
milli- = 1/1000 = m-
micro- = 1/1000000 = u-
kibi- = 1024 = Ki-
mebi- = 1048576 = Mi-
gibi- = 1073741824 = Gi-
tebi- = 1099511627776 = Ti-

byte = [information] = B
bit = 1/8 byte
second = [time] = s
flop = [operation] = FLOP
mac = 2 flop = MAC
token = [token]
element = [element]
parameter = element
percent = 1/100 = %
layer = [] = _
head = []
die = []
stack = []
device = []
sequence = []
expert = []
year = []
"""

# A magnitude longer than this is a mistake or an attack; no fact of this field needs it.
_MAX_TEXT = 80
_MAX_EXPONENT = 40
# Unit words joined by * and /, each with at most a one-digit power: pint never sees anything else.
_UNIT = re.compile(r"(?:1 ?/ ?)?[A-Za-z%]+(?:\^[1-9])?(?: ?[*/] ?[A-Za-z%]+(?:\^[1-9])?)*")
# Whole digits, plain or in groups of three. A group never follows a lone zero: 0,125 is a decimal comma.
WHOLE = r"(?:[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?:_[0-9]{3})+)|[0-9]+)"
_NUMBER_TEXT = rf"[+-]?{WHOLE}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{{1,3}})?"
_NUMBER = re.compile(_NUMBER_TEXT)
_MEASURE = re.compile(rf"(?P<number>{_NUMBER_TEXT})\s*(?P<unit>(?:1 ?/ ?)?[A-Za-z%].*)?")
# A number whose separators are no groups of three, told as what it probably is.
_COMMA = re.compile(r"[+-]?[0-9][0-9_]*[,_][0-9_,]*(?![A-Za-z]).*")
_UNIT_WORD = re.compile(r"[A-Za-z%]+")


class UnitError(ValueError):
    """A text that is no exact magnitude with a known unit; the message says what was found and expected."""


@functools.cache
def registry() -> pint.UnitRegistry:
    """The registry; built once, with exact fractions as its number type."""
    ureg = pint.UnitRegistry(None, non_int_type=Fraction, cache_folder=None)
    ureg.load_definitions(_DEFINITIONS.strip().splitlines())
    return ureg


@dataclass(frozen=True)
class Measure:
    """An exact magnitude in base units (byte, second, flop, token, element) and the unit it was written in."""

    value: Fraction  # in base units
    unit: str  # as written, "" for a pure number


@functools.cache
def factor(unit: str) -> Fraction:
    """Base units in one ``unit``: ``factor("GB") == 10**9``. Raises :class:`UnitError` on an unknown unit."""
    return Fraction(_quantity(unit).to_base_units().magnitude)


# The base unit of each dimension, in the order in which they are written.
_BASE = {
    "[information]": "byte",
    "[operation]": "flop",
    "[element]": "element",
    "[token]": "token",
    "[time]": "second",
}


@functools.cache
def powers(unit: str) -> tuple[tuple[str, int], ...]:
    """The base units of ``unit`` with their powers: ``powers("TB/s") == (("byte", 1), ("second", -1))``."""
    found = _quantity(unit).dimensionality
    return tuple((base, int(found[name])) for name, base in _BASE.items() if name in found)


@functools.cache
def dimension(unit: str) -> str:
    """The dimension of ``unit`` as a canonical text, for example ``[information]^1 [time]^-1``."""
    powers = _quantity(unit).dimensionality
    return " ".join(f"{name}^{powers[name]}" for name in sorted(powers)) or "pure number"


def same_dimension(left: str, right: str) -> bool:
    """Whether two units measure the same kind of thing (GB and GiB do, GB and GB/s do not)."""
    return dimension(left) == dimension(right)


def parse_number(text: str) -> Fraction:
    """``"1_307.4"``, ``"70e9"`` or ``"128,000"`` as an exact fraction; raises :class:`UnitError`."""
    if _NUMBER.fullmatch(text) is None:
        raise UnitError(f"found {text[:_MAX_TEXT]!r}, expected a decimal number such as 3.35, 70e9 or 128,000")
    try:
        number = Decimal(text.replace("_", "").replace(",", ""))
    except InvalidOperation:
        raise UnitError(f"found {text!r}, expected a decimal number such as 3.35 or 70e9") from None
    if not number.is_finite() or abs(number.adjusted()) > _MAX_EXPONENT:
        raise UnitError(f"found {text!r}, expected a finite number of ordinary size (below 1e{_MAX_EXPONENT})")
    return Fraction(number)


def parse(text: str) -> Measure:
    """Parse ``"3.35 TB/s"`` exactly. A text without a unit is a pure number. Raises :class:`UnitError`."""
    text = text.strip()
    match = _MEASURE.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if match is None:
        hint = "; a comma or _ only separates groups of three digits" if _COMMA.fullmatch(text[:_MAX_TEXT]) else ""
        raise UnitError(f"found {text[:_MAX_TEXT]!r}, expected a number and a unit such as '3.35 TB/s'{hint}")
    unit = (match["unit"] or "").strip()
    return Measure(parse_number(match["number"]) * factor(unit), unit)


def _quantity(unit: str) -> pint.Quantity:
    if not unit or unit == "1":
        return registry().Quantity(1, "")
    if _UNIT.fullmatch(unit) is None:
        raise UnitError(f"found the unit {unit!r}, expected unit words joined by * and /, such as TB/s")
    for word in _UNIT_WORD.findall(unit):
        if word not in registry():
            raise UnitError(f"found the unit {unit!r}, but {word!r} is no known unit, expected one of docs/units.md")
    return registry().Quantity(1, unit)
