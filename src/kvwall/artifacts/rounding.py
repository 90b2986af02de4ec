"""How an exact value is shown: rounding is a property of the cell and stands in the ledger beside the value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from kvwall import units

_CONTEXT = Context(prec=100)


@dataclass(frozen=True)
class Rounding:
    """``places`` decimals, or significant digits; half to even, or cut towards zero."""

    places: int
    significant: bool = False
    cut: bool = False

    @property
    def text(self) -> str:
        kind = "significant digit" if self.significant else "decimal"
        plural = "" if self.places == 1 else "s"
        return f"{self.places} {kind}{plural}, {'cut' if self.cut else 'half to even'}"

    def show(self, value: Fraction, unit: str = "") -> str:
        """The exact ``value`` (base units) in ``unit``, rounded, as plain decimal text with thousands separated."""
        shown = value / units.factor(unit)
        places = self.places - 1 - _exponent(shown) if self.significant else self.places
        number = _round(shown, places, self.cut)
        if self.significant and abs(number) >= Fraction(10) ** (_exponent(shown) + 1):
            places -= 1  # 9.996 became 10.00, which would claim a digit too many
        return f"{number:,.{max(places, 0)}f}"


def decimals(places: int) -> Rounding:
    """Round to a number of decimals, half to even."""
    return Rounding(places)


def significant(digits: int) -> Rounding:
    """Round to a number of significant digits, half to even."""
    return Rounding(digits, significant=True)


def cut(places: int) -> Rounding:
    """Cut after a number of decimals, as a source does that prints 46x for 46.5."""
    return Rounding(places, cut=True)


def _exponent(value: Fraction) -> int:
    """Power of ten of the leading digit: 2 for 327, -2 for 0.012; 0 for zero."""
    if value == 0:
        return 0
    magnitude = abs(value)
    exponent = len(str(magnitude.numerator)) - len(str(magnitude.denominator))
    return exponent if magnitude >= Fraction(10) ** exponent else exponent - 1


def _round(value: Fraction, places: int, cut: bool) -> Decimal:
    scaled = value * Fraction(10) ** places
    whole = int(scaled) if cut else round(scaled)  # Python rounds fractions exactly, half to even
    return Decimal(whole).scaleb(-places, _CONTEXT)
