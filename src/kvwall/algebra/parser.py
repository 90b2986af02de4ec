"""From a formula's text to SymPy, by the whitelist of :mod:`kvwall.expression`; no eval, no sympify."""

from __future__ import annotations

import ast
import operator
from collections.abc import Collection

import sympy as sp

from kvwall.algebra.symbols import SYMBOLS
from kvwall.expression import ExpressionError, parse

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS = {"min": sp.Min, "max": sp.Max, "ceiling": sp.ceiling}


def to_sympy(text: str, names: Collection[str] | None = None) -> sp.Expr:
    """The expression that ``text`` writes, exact. ``names`` defaults to the whole notation.

    Raises :class:`ExpressionError` on anything outside the grammar and on a division by zero.
    """
    allowed = SYMBOLS.keys() if names is None else names
    unknown = sorted(set(allowed) - SYMBOLS.keys())
    if unknown:
        raise ExpressionError(f"found the declared name {unknown[0]!r}, expected a symbol of the notation")
    return _convert(parse(text, allowed))


def _convert(node: ast.expr) -> sp.Expr:
    if isinstance(node, ast.Constant):
        return sp.Rational(node.value.numerator, node.value.denominator)
    if isinstance(node, ast.Name):
        return SYMBOLS[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_convert(node.operand)
    if isinstance(node, ast.BinOp):
        result = _OPERATORS[type(node.op)](_convert(node.left), _convert(node.right))
        # Checked here and not at the end: Max of an infinity raises an error of its own.
        if result.has(sp.zoo, sp.nan):
            raise ExpressionError("found a division by zero, expected a finite expression", node.col_offset)
        return result
    # parse() lets no other node through than a call of a known function.
    return _FUNCTIONS[node.func.id](*map(_convert, node.args))
