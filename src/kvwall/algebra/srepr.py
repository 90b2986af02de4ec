"""Reads the text of ``sympy.srepr`` back, by a whitelist over :mod:`ast`: a stored form cannot run code."""

from __future__ import annotations

import ast

import sympy as sp

from kvwall.algebra.symbols import SYMBOLS

MAX_LENGTH = 20_000
MAX_NESTING = 60
MAX_DIGITS = 60
MAX_EXPONENT = 64

# Head -> (class, fewest arguments, most arguments); all arguments are expressions.
_HEADS = {
    "Add": (sp.Add, 2, 50),
    "Mul": (sp.Mul, 2, 50),
    "Pow": (sp.Pow, 2, 2),
    "Min": (sp.Min, 2, 50),
    "Max": (sp.Max, 2, 50),
    "ceiling": (sp.ceiling, 1, 1),
    "floor": (sp.floor, 1, 1),
}


class SreprError(ValueError):
    """A text that is no stored expression of this project."""


def parse_srepr(text: str) -> sp.Expr:
    """The expression whose ``srepr`` is ``text``. Raises :class:`SreprError`."""
    if len(text) > MAX_LENGTH:
        raise SreprError(f"found {len(text)} characters, expected at most {MAX_LENGTH}")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SreprError(f"found {text[:40]!r}, expected the srepr of an expression") from None
    return _read(tree, 0)


def _read(node: ast.expr, nesting: int) -> sp.Expr:
    if nesting > MAX_NESTING:
        raise SreprError(f"found more than {MAX_NESTING} levels")
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise SreprError(f"found {type(node).__name__} at column {node.col_offset}, expected a call such as Add(…)")
    head = node.func.id
    if head == "Symbol":
        return _symbol(node)
    if node.keywords:
        raise SreprError(f"found keywords in {head}, expected none")
    if head == "Integer" and len(node.args) == 1:
        return sp.Integer(_integer(node.args[0]))
    if head == "Rational" and len(node.args) == 2:
        numerator, denominator = map(_integer, node.args)
        if denominator == 0:
            raise SreprError("found a fraction over zero")
        return sp.Rational(numerator, denominator)
    if head not in _HEADS:
        raise SreprError(
            f"found {head!r} with {len(node.args)} arguments, expected one of {', '.join(_HEADS)}, "
            "Integer, Rational or Symbol"
        )
    function, fewest, most = _HEADS[head]
    if not fewest <= len(node.args) <= most:
        raise SreprError(f"found {len(node.args)} arguments of {head}, expected {fewest} to {most}")
    arguments = [_read(argument, nesting + 1) for argument in node.args]
    if head == "Pow":
        _check_power(*arguments)
    if head == "Mul" and len(arguments) == 2 and arguments[0].is_Rational and arguments[1].is_Add:
        # SymPy would multiply the number into the sum: (T + 1)/2 would come back as T/2 + 1/2.
        return sp.Mul(*arguments, evaluate=arguments[0] in (0, 1))
    return function(*arguments)


def _integer(node: ast.expr) -> int:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if not isinstance(node, ast.Constant) or type(node.value) is not int or node.value >= 10**MAX_DIGITS:
        raise SreprError(f"found no integer of at most {MAX_DIGITS} digits at column {node.col_offset}")
    return sign * node.value


def _check_power(base: sp.Expr, exponent: sp.Expr) -> None:
    # A power of numbers would be computed at once, and a tower of them would never end.
    if not exponent.is_Rational or abs(exponent) > MAX_EXPONENT or (base.is_number and not base.is_Rational):
        raise SreprError(f"found the exponent {str(exponent)[:20]}, expected a fraction up to {MAX_EXPONENT}")
    if base.is_zero and exponent.is_negative:
        raise SreprError("found a division by zero, expected a finite expression")
    if base.is_Rational and max(abs(base.p), base.q) >= 10**MAX_DIGITS:
        raise SreprError(f"found a power of a number with more than {MAX_DIGITS} digits")


def _symbol(node: ast.Call) -> sp.Symbol:
    name = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
    if not isinstance(name, str) or name not in SYMBOLS:
        raise SreprError(f"found {str(name)[:40]!r}, expected a symbol of the notation")
    flags = {}
    for keyword in node.keywords:
        if keyword.arg is None or not isinstance(keyword.value, ast.Constant):
            raise SreprError(f"found an odd assumption on {name}, expected plain True")
        flags[keyword.arg] = keyword.value.value
    expected = {"positive": True, "integer": True} if SYMBOLS[name].is_integer else {"positive": True}
    if flags != expected:
        raise SreprError(f"found the assumptions {flags} on {name}, expected {expected}")
    return SYMBOLS[name]
