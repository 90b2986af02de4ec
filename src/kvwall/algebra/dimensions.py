"""Dimensional analysis of an expression, with the units of :data:`kvwall.notation.NOTATION`."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from kvwall import units
from kvwall.notation import NOTATION

Dimension = dict[str, Fraction]  # base dimension -> power; zero powers are left out


class DimensionError(ValueError):
    """An expression that adds unlike quantities, or whose dimension is not that of the stated unit."""


def check_dimensions(expr: sp.Expr, unit: str) -> None:
    """Raise :class:`DimensionError` unless ``expr`` is consistent and measures what ``unit`` measures."""
    found, expected = dimension_of(expr), _of_unit(unit)
    if found != expected:
        raise DimensionError(f"{expr}: found {_text(found)}, expected {_text(expected)} ({unit or 'pure number'})")


def dimension_of(expr: sp.Expr) -> Dimension:
    """The dimension of ``expr``; raises :class:`DimensionError` and names the sub-expression at fault."""
    if expr.is_number:
        return {}
    if isinstance(expr, sp.Symbol):
        if expr.name not in NOTATION:
            raise DimensionError(f"{expr}: found a symbol outside the notation")
        return _of_unit(NOTATION[expr.name].unit)
    if isinstance(expr, sp.Mul):
        return _product((dimension_of(factor), Fraction(1)) for factor in expr.args)
    if isinstance(expr, sp.Pow):
        return _power(expr)
    if isinstance(expr, sp.Add | sp.Min | sp.Max):
        return _equal(expr)
    if isinstance(expr, sp.ceiling | sp.floor):
        inner = dimension_of(expr.args[0])
        if inner:
            raise DimensionError(f"{expr}: found {_text(inner)} to round, expected a pure number")
        return {}
    raise DimensionError(f"{expr}: found {type(expr).__name__}, expected sums, products, powers, min, max or rounding")


def _power(expr: sp.Pow) -> Dimension:
    base, exponent = expr.args
    if not exponent.is_Rational:
        raise DimensionError(f"{expr}: found the exponent {exponent}, expected a rational number")
    return _product([(dimension_of(base), Fraction(int(exponent.p), int(exponent.q)))])


def _equal(expr: sp.Expr) -> Dimension:
    first, *rest = expr.args
    expected = dimension_of(first)
    for term in rest:
        found = dimension_of(term)
        if found != expected:
            raise DimensionError(
                f"{expr}: found {_text(found)} in {term} beside {_text(expected)} in {first}, expected equal dimensions"
            )
    return expected


def _product(factors) -> Dimension:
    total: Dimension = {}
    for dimension, times in factors:
        for base, power in dimension.items():
            total[base] = total.get(base, Fraction(0)) + power * times
    return {base: power for base, power in total.items() if power}


def _of_unit(unit: str) -> Dimension:
    text = units.dimension(unit)
    if text == "pure number":
        return {}
    return {base: Fraction(power) for base, power in (part.rsplit("^", 1) for part in text.split())}


def _text(dimension: Dimension) -> str:
    return " ".join(f"{base}^{power}" for base, power in sorted(dimension.items())) or "a pure number"
