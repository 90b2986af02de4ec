"""Recompute derived numbers without the package's evaluator: stored form text, leaves, plain fractions.

The main path evaluates SymPy expressions. This one walks the stored ``srepr`` text with :mod:`ast` and computes with
:class:`fractions.Fraction` alone, starting from the leaf values of the ledger's lineage. It imports nothing of the
package, so an error in the evaluator cannot hide in both.
"""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from typing import Any

_Values = dict[str, Fraction]


def recompute(lineage: dict[str, Any], forms: dict[str, str]) -> Fraction:
    """The value of a ledger lineage. ``forms`` maps form names to srepr text. Raises ValueError on other texts."""
    if "form" not in lineage:
        return Fraction(lineage["value"])
    values = {symbol: recompute(child, forms) for symbol, child in lineage["inputs"].items()}
    return evaluate(forms[lineage["form"]], values)


def evaluate(text: str, values: _Values) -> Fraction:
    """Evaluate srepr text such as ``Mul(Integer(2), Symbol('L', positive=True))`` at exact values."""
    return _walk(ast.parse(text, mode="eval").body, values)


def _walk(node: ast.expr, values: _Values) -> Fraction:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"unexpected {ast.dump(node)} in a stored form")
    name, arguments = node.func.id, node.args
    if name == "Symbol":
        return values[_literal(arguments[0])]
    if name == "Integer":
        return Fraction(_literal(arguments[0]))
    if name == "Rational":
        return Fraction(_literal(arguments[0]), _literal(arguments[1]))
    if name not in _OPERATIONS:
        raise ValueError(f"unknown operation {name} in a stored form")
    return _OPERATIONS[name]([_walk(argument, values) for argument in arguments])


def _literal(node: ast.expr) -> Any:
    return ast.literal_eval(node)


def _power(arguments: list[Fraction]) -> Fraction:
    base, exponent = arguments
    if exponent.denominator != 1:
        raise ValueError(f"the power {exponent} is not whole, so the value is not rational")
    return base ** int(exponent)


_OPERATIONS = {
    "Add": lambda arguments: sum(arguments, Fraction(0)),
    "Mul": lambda arguments: math.prod(arguments, start=Fraction(1)),
    "Pow": _power,
    "Max": max,
    "Min": min,
    "ceiling": lambda arguments: Fraction(math.ceil(arguments[0])),
    "floor": lambda arguments: Fraction(math.floor(arguments[0])),
}
