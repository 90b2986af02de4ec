"""All closed forms, in the order in which one needs the other."""

from __future__ import annotations

from collections.abc import Sequence

from kvwall.algebra.accounting import Op, check_ops
from kvwall.algebra.closed_form import ClosedForm
from kvwall.algebra.derivations import (
    composition,
    crossover,
    decode,
    footprint,
    generation,
    methods,
    operations,
    placement,
    tiering,
)

_PARTS = (footprint, decode, placement, crossover, tiering, methods, generation, composition, operations)


def derive_all(ops: Sequence[Op]) -> dict[str, ClosedForm]:
    """Derive every form from the operations of a step. Same ops, same forms, in the same order.

    Raises ValueError where the ops cannot be those of a decode step, DimensionError where a unit is off.
    """
    check_ops(ops)
    forms: dict[str, ClosedForm] = {}
    for part in _PARTS:
        for form in part.derive(ops, forms):
            if form.name in forms:
                raise ValueError(f"form {form.name}: derived twice")
            forms[form.name] = form
    return forms
