"""The second path agrees with the first on every form, shares no code with it, and reads nothing but forms."""

import ast
import random
from fractions import Fraction
from pathlib import Path

import pytest
import sympy

from kvwall.algebra import forms_from_json
from kvwall.audit import second_path


@pytest.fixture(scope="module")
def forms(forms_path):
    return forms_from_json(Path(forms_path).read_text(encoding="utf-8"))


def test_it_imports_nothing_of_the_package():
    tree = ast.parse(Path(second_path.__file__).read_text(encoding="utf-8"))
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "ast", "fractions", "math", "typing"}


def test_both_paths_agree_on_every_form_at_random_points(forms):
    chance = random.Random(7)
    for form in forms.values():
        for _ in range(3):
            values = {name: Fraction(chance.randint(1, 10**6), chance.randint(1, 999)) for name in form.inputs}
            exact = {
                symbol: sympy.Rational(*values[symbol.name].as_integer_ratio()) for symbol in form.expr.free_symbols
            }
            first = form.expr.xreplace(exact)
            second = second_path.evaluate(sympy.srepr(form.expr), values)
            assert Fraction(int(first.p), int(first.q)) == second, form.name


@pytest.mark.parametrize(
    "text", ["__import__('os')", "Symbol.mro", "Lambda(1)", "Pow(Integer(2), Rational(1, 2))", "1 + 1", "open('x')"]
)
def test_it_refuses_everything_else(text):
    with pytest.raises((ValueError, KeyError)):
        second_path.evaluate(text, {})
