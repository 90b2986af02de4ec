"""The grammar of formulas in data files: what it takes, and that it refuses everything else."""

import ast
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwall.algebra.parser import to_sympy
from kvwall.algebra.symbols import SYMBOLS
from kvwall.expression import MAX_NESTING, ExpressionError, parse

NAMES = ("P", "s", "w_kv", "n_kv")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1 + 0.2", Fraction(3, 10)),
        ("2*3 - 4/5", Fraction(26, 5)),
        ("-2**2", Fraction(-4)),
        ("2**-3", Fraction(1, 8)),
        ("(-2)**2", Fraction(4)),
        ("  7 ", Fraction(7)),
        ("max(1, 2.5, min(9, 3))", Fraction(3)),
        ("ceiling(7/2)", Fraction(4)),
        ("1234567890123456789.5", Fraction(2469135780246913579, 2)),
    ],
)
def test_numbers_are_exact(text, value):
    assert Fraction(str(to_sympy(text))) == value


def test_symbols_keep_their_assumptions():
    P, s = SYMBOLS["P"], SYMBOLS["s"]
    assert to_sympy("2*P*s") == 2 * P * s
    assert to_sympy("n_kv").is_integer


def test_parse_puts_fractions_into_the_tree():
    tree = parse("0.5*s", NAMES)
    assert isinstance(tree, ast.BinOp)
    assert tree.left.value == Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("P + beta", 4),
        ("  P + beta", 6),
        ("P + x.y", 4),
        ("s[0]", 1),
        ("2*(P", 2),
        ("P ** s", 5),
        ("P ** 0.5", 5),
        ("P ** 9", 5),
        ("2**3**2", 3),
        ("P ** -9", 5),
        ("9**9**9**9", 3),
        ("((9**8)**8)**8", 2),
        ("'a'", 0),
        ("1e9", 0),
        ("2*0x10", 2),
        ("1_000", 0),
        ("1j", 0),
        ("s == s", 2),
        ("s if s else s", 0),
        ("lambda: s", 6),
        ("min(s)", 0),
        ("max(*s, s)", 0),
        ("ceiling(s, s)", 0),
        ("ceiling", 0),
        ("abs(s)", 0),
        ("s(P)", 0),
        ("min(s, P)(s)", 0),
        ("__import__('os')", 11),
        ("().__class__", 0),
        ("s.real", 0),
        ("s // P", 0),
        ("s @ P", 2),
        ("~s", 0),
        ("+s", 0),
        ("not s", 0),
        ("s and P", 0),
        ("s, P", 0),
        ("()", 0),
        ("None", 0),
        ("True", 0),
        ("yield", 0),
        ("s\n+P", 1),
        ("s # note", 2),
        ("s \N{MULTIPLICATION SIGN} P", 2),
        ("\N{FULLWIDTH LATIN SMALL LETTER S}", 0),
        ("1 2", None),
        ("", 0),
        ("   ", 0),
        ("1" * 41, 0),
        ("s+" * 200 + "s", None),
    ],
)
def test_refused_with_a_column(text, column):
    with pytest.raises(ExpressionError) as caught:
        parse(text, NAMES)
    assert caught.value.message.startswith("found ")
    assert 0 <= caught.value.column <= len(text)
    if column is not None:
        assert caught.value.column == column


@pytest.mark.parametrize("text", ["(" * 180 + "s" + ")" * 180, "-" * 399 + "s", "min(s," * 45 + "s" + ")" * 45])
def test_deep_nesting_is_refused(text):
    if text.startswith("("):  # parentheses leave no trace in a tree, and cost nothing
        assert parse(text, NAMES).id == "s"
        return
    with pytest.raises(ExpressionError, match="nested"):
        parse(text, NAMES)


def test_a_long_sum_is_not_nesting():
    assert to_sympy("+".join(["s"] * (3 * MAX_NESTING))) == 3 * MAX_NESTING * SYMBOLS["s"]


@pytest.mark.parametrize("text", ["1/0", "s/(P - P)", "0**-1", "max(1, 1/0)"])
def test_division_by_zero_is_refused(text):
    with pytest.raises(ExpressionError, match="division by zero"):
        to_sympy(text)


def test_declared_names_must_be_in_the_notation():
    with pytest.raises(ExpressionError, match="symbol of the notation"):
        to_sympy("s", ["s", "zeta"])
    with pytest.raises(ExpressionError, match="unknown name 'P'"):
        to_sympy("P", ["s"])


def test_not_a_text():
    with pytest.raises(ExpressionError, match="found int"):
        parse(3, NAMES)


@given(st.text(max_size=60))
def test_any_text_parses_or_raises_expression_error(text):
    try:
        to_sympy(text)
    except ExpressionError as error:
        assert error.column >= 0


@given(st.text(alphabet="Ps019.+-*/(), minaxceilg_", max_size=40))
def test_any_likely_text_parses_or_raises_expression_error(text):
    try:
        to_sympy(text)
    except ExpressionError as error:
        assert error.column >= 0


@given(st.decimals(min_value=0, max_value=10**12, places=6))
def test_decimals_round_trip(number):
    assert Fraction(str(to_sympy(f"{number:f}"))) == Fraction(number)
