"""A safe grammar for formulas in data files: a whitelist over :mod:`ast`, nothing is ever evaluated.

Allowed: decimal numbers, declared names, ``+ - * / **``, unary minus, parentheses, and calls of ``min``,
``max`` and ``ceiling`` by name. All else raises :class:`ExpressionError`, inputs that are only too large too.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Collection
from fractions import Fraction
from math import ceil

FUNCTIONS = {"min": (2, 8), "max": (2, 8), "ceiling": (1, 1)}  # name -> fewest and most arguments

MAX_LENGTH = 400
MAX_NESTING = 40
MAX_DIGITS = 40
MAX_EXPONENT = 8
# Powers of powers multiply: ((9**8)**8)**8 has 489 digits, and forty such levels would have 10^36.
MAX_POWER = 64

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_+\-*/(),. ]")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_EXPECTED = "numbers, declared names, + - * / **, parentheses, min, max or ceiling"


class ExpressionError(ValueError):
    """A text outside the grammar. ``column`` counts from 0 in the text that was given."""

    def __init__(self, message: str, column: int = 0) -> None:
        super().__init__(f"column {column}: {message}")
        self.message = message
        self.column = column


def parse(text: str, names: Collection[str]) -> ast.expr:
    """Parse ``text`` to its tree, in which each number is a ``Constant`` that holds an exact Fraction.

    ``names`` are the symbols the text may use. Raises :class:`ExpressionError`.
    """
    if not isinstance(text, str):
        raise ExpressionError(f"found {type(text).__name__}, expected an expression in quotes")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"found {len(text)} characters, expected at most {MAX_LENGTH}", MAX_LENGTH)
    if not text.strip():
        raise ExpressionError("found an empty text, expected an expression")
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        raise ExpressionError(f"found {forbidden[0]!r}, expected {_EXPECTED}", forbidden.start())
    # Python reads leading blanks as an indent; columns of the stripped text are shifted back in errors.
    body = text.lstrip()
    reader = _Reader(body, frozenset(names), len(text) - len(body))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns on texts such as "1or 2" and on calls of numbers
            tree = ast.parse(body, mode="eval").body
        return reader.read(tree, nesting=0, power=1)
    except SyntaxError as error:
        column = max((error.offset or 1) - 1, 0) + reader.shift
        raise ExpressionError(f"found no complete expression ({error.msg})", min(column, len(text))) from None
    except (RecursionError, MemoryError):
        raise ExpressionError(f"found a deeply nested text, expected at most {MAX_NESTING} levels") from None


class _Reader:
    """Checks a tree against the whitelist and puts exact numbers into it."""

    def __init__(self, text: str, names: frozenset[str], shift: int) -> None:
        self.text = text
        self.names = names
        self.shift = shift

    def error(self, node: ast.expr, found: str, expected: str) -> ExpressionError:
        return ExpressionError(f"found {found}, expected {expected}", node.col_offset + self.shift)

    def source(self, node: ast.expr) -> str:
        return self.text[node.col_offset : node.end_col_offset]

    def read(self, node: ast.expr, nesting: int, power: int) -> ast.expr:
        if nesting > MAX_NESTING:
            raise self.error(node, "a deeply nested text", f"at most {MAX_NESTING} levels")
        if isinstance(node, ast.Constant):
            return self.number(node)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node.operand = self.read(node.operand, nesting + 1, power)
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return self.power(node, nesting, power)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            # A sum of many terms leans to the left; that is length, not nesting.
            node.left = self.read(node.left, nesting, power)
            node.right = self.read(node.right, nesting + 1, power)
            if isinstance(node.op, ast.Div) and _constant(node.right) == 0:
                raise self.error(node.right, "a division by zero", "a denominator that is not zero")
            return node
        if isinstance(node, ast.Call):
            return self.call(node, nesting, power)
        raise self.error(node, repr(self.source(node)[:40]), _EXPECTED)

    def number(self, node: ast.Constant) -> ast.Constant:
        # The source text, not the constant: 0.1 as a float is not one tenth.
        digits = self.source(node)
        if _NUMBER.fullmatch(digits) is None:
            raise self.error(node, repr(digits[:40]), "a decimal number such as 2 or 0.5")
        if len(digits.replace(".", "")) > MAX_DIGITS:
            raise self.error(node, f"a number of {len(digits)} characters", f"at most {MAX_DIGITS} digits")
        return ast.copy_location(ast.Constant(Fraction(digits)), node)

    def name(self, node: ast.Name) -> ast.Name:
        if node.id in FUNCTIONS:
            raise self.error(node, f"the function {node.id!r} without arguments", f"{node.id}(…)")
        if node.id not in self.names:
            raise self.error(node, f"the unknown name {node.id!r}", f"one of {', '.join(sorted(self.names))}")
        return node

    def power(self, node: ast.BinOp, nesting: int, power: int) -> ast.BinOp:
        sign, exponent = 1, node.right
        if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
            sign, exponent = -1, exponent.operand
        is_integer = isinstance(exponent, ast.Constant) and self.source(exponent).isdigit()
        if not is_integer or not 0 <= int(self.source(exponent)[:MAX_DIGITS]) <= MAX_EXPONENT:
            expected = f"an integer exponent from -{MAX_EXPONENT} to {MAX_EXPONENT}"
            raise self.error(node.right, repr(self.source(node.right)[:40]), expected)
        value = int(self.source(exponent))
        power *= max(value, 1)
        if power > MAX_POWER:
            raise self.error(node, "powers of powers", f"at most {MAX_POWER} in all")
        node.left = self.read(node.left, nesting + 1, power)
        if sign < 0 and _constant(node.left) == 0:
            raise self.error(node, "a division by zero (a negative power of it)", "a base that is not zero")
        node.right = ast.copy_location(ast.Constant(Fraction(sign * value)), node.right)
        return node

    def call(self, node: ast.Call, nesting: int, power: int) -> ast.Call:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            raise self.error(node, f"a call of {self.source(node.func)[:40]!r}", "min, max or ceiling")
        fewest, most = FUNCTIONS[node.func.id]
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if node.keywords or starred or not fewest <= len(node.args) <= most:
            raise self.error(
                node, repr(self.source(node)[:40]), f"{node.func.id} with {fewest} to {most} plain arguments"
            )
        node.args = [self.read(argument, nesting + 1, power) for argument in node.args]
        return node


def _constant(node: ast.expr) -> Fraction | None:
    """The value of a tree that was read, or None where it depends on a symbol; a product with zero never does."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        value = _constant(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Call):
        values = [_constant(argument) for argument in node.args]
        if None in values:
            return None
        return {"min": min, "max": max}[node.func.id](values) if len(values) > 1 else Fraction(ceil(values[0]))
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _constant(node.left), _constant(node.right)
    if isinstance(node.op, ast.Mult | ast.Div) and (left == 0 or (right == 0 and isinstance(node.op, ast.Mult))):
        return Fraction(0)
    return None if left is None or right is None else _APPLY[type(node.op)](left, right)


_APPLY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: lambda base, exponent: base ** int(exponent),
}
