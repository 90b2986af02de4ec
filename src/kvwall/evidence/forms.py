"""Closed forms as they are used: evaluated exactly at quantities, with units and evidence checked."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import sympy

from kvwall import units
from kvwall.algebra.closed_form import ClosedForm
from kvwall.algebra.store import forms_from_json
from kvwall.algebra.symbols import SYMBOLS
from kvwall.evidence.quantity import Evaluation, EvidenceError, Quantity, base_unit_text, forbid_mixing
from kvwall.notation import NOTATION

# The two sides of a comparison may be anything, as long as they are the same thing.
_GENERIC = ("x", "y")


class Forms:
    """The closed forms of build/forms.json by name."""

    def __init__(self, forms: dict[str, ClosedForm]) -> None:
        self._forms = forms

    @classmethod
    def read(cls, path: str) -> Forms:
        return cls(forms_from_json(Path(path).read_text(encoding="utf-8")))

    def __getitem__(self, name: str) -> ClosedForm:
        return self._forms[name]

    def __contains__(self, name: str) -> bool:
        return name in self._forms

    def values(self) -> Iterator[ClosedForm]:
        """All forms, in the order in which one needs the other."""
        return iter(self._forms.values())

    def evaluate(self, name: str, *assumptions: str, **inputs: Quantity) -> Quantity:
        """Evaluate a form exactly. ``inputs`` are quantities by symbol name; ``assumptions`` name readings of ours
        beyond what the form itself states.

        Raises :class:`EvidenceError` on a missing or unknown symbol, a wrong dimension, a barred leaf, or a result
        that is no finite rational number.
        """
        form = self._forms[name]
        names = sorted(str(symbol) for symbol in form.expr.free_symbols)
        if names != sorted(inputs):
            raise EvidenceError(f"{name}: found inputs {sorted(inputs)}, expected {names}")
        for symbol, quantity in inputs.items():
            unit = inputs["x"].unit if symbol in _GENERIC else NOTATION[symbol].unit
            if not units.same_dimension(quantity.unit, unit):
                raise EvidenceError(f"{name}: {symbol} is {quantity.unit or 'a pure number'}, expected {unit}")
        bound = tuple(sorted(inputs.items()))
        forbid_mixing(bound, name)
        values = {SYMBOLS[symbol]: _rational(quantity.value) for symbol, quantity in bound}
        for power in form.expr.atoms(sympy.Pow):  # SymPy's 1/0 can vanish again: (W + K)/(W + K/0) would be 0
            if power.exp.is_negative and power.base.xreplace(values) == 0:
                raise EvidenceError(f"{name}: {power.base} is zero and stands in a denominator")
        result = form.expr.xreplace(values)
        if not result.is_Rational:
            raise EvidenceError(f"{name}: found {result}, expected a finite rational number")
        value = Fraction(int(result.p), int(result.q))
        lineage = Evaluation(name, bound, tuple(sorted(set(assumptions))))
        return Quantity(value, base_unit_text(form.unit), lineage)


def _rational(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)
