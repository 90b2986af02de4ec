"""SymPy symbols and their rendering, built from :data:`kvwall.notation.NOTATION`: one name per idea."""

from __future__ import annotations

import sympy as sp

from kvwall.notation import CONSTANTS, NOTATION


def _symbol(name: str) -> sp.Symbol:
    # integer is left out where it is not claimed: integer=False would say that the value is never whole.
    assumptions = {"integer": True} if NOTATION[name].integer else {}
    return sp.Symbol(name, positive=True, **assumptions)


SYMBOLS: dict[str, sp.Symbol] = {name: _symbol(name) for name in NOTATION}
_LATEX = {symbol: NOTATION[name].latex for name, symbol in SYMBOLS.items()}
_CONSTANTS = {SYMBOLS[name]: sp.Rational(value.numerator, value.denominator) for name, value in CONSTANTS.items()}


def symbols(names: str) -> tuple[sp.Symbol, ...]:
    """``symbols("W K c")``: several symbols at once, in the order of the text."""
    return tuple(SYMBOLS[name] for name in names.split())


def with_constants(expr: sp.Expr) -> sp.Expr:
    """The expression with the numbers of the definitional constants put in, as the paper prints it."""
    return expr.subs(_CONSTANTS)


def render(expr: sp.Basic) -> str:
    """LaTeX of an expression in the paper's notation."""
    return sp.latex(expr, symbol_names=_LATEX)
