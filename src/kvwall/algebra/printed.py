"""Proof that a derived form equals the form that the paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import sympy as sp

from kvwall.algebra.closed_form import ClosedForm
from kvwall.algebra.parser import to_sympy
from kvwall.algebra.symbols import SYMBOLS, with_constants

# Input symbol -> the form that gives it, in the order in which they are put in.
_EXPANSIONS = (
    ("F_step", "step_flops"),
    ("B_step", "step_bytes"),
    ("F_prefill", "prefill_flops"),
    ("K", "kv_footprint"),
    ("W", "weight_bytes"),
    ("kappa", "kv_bytes_per_token"),
    ("n_q", None),
)


@dataclass(frozen=True)
class Printed:
    """A form as a source prints it, in the grammar of :mod:`kvwall.expression`."""

    form: str
    expression: str
    source: str  # shown text: source and locator


class ProofError(ValueError):
    """A derived form and its printed form differ."""


def expand(expr: sp.Expr, forms: Mapping[str, ClosedForm]) -> sp.Expr:
    """``expr`` in model and hardware parameters only; W, K, kappa, F and B by their forms, n_q as g n_kv."""
    for name, form in _EXPANSIONS:
        value = SYMBOLS["g"] * SYMBOLS["n_kv"] if form is None else forms[form].expr
        expr = expr.subs(SYMBOLS[name], value)
    return with_constants(expr)


def prove_printed(forms: Mapping[str, ClosedForm], printed: Iterable[Printed]) -> dict[str, ClosedForm]:
    """The forms with ``printed`` and ``printed_source`` filled in; raises :class:`ProofError`."""
    proven = dict(forms)
    for entry in printed:
        if entry.form not in forms:
            raise ProofError(f"found a printed form of {entry.form!r}, which is no derived form")
        if proven[entry.form].printed is not None:
            raise ProofError(f"form {entry.form}: found two printed forms, expected one")
        difference = expand(forms[entry.form].expr, forms) - expand(to_sympy(entry.expression), forms)
        if sp.simplify(difference) != 0:
            raise ProofError(
                f"form {entry.form}: derived {forms[entry.form].expr}, printed {entry.expression} ({entry.source})"
            )
        proven[entry.form] = replace(forms[entry.form], printed=entry.expression, printed_source=entry.source)
    return proven
