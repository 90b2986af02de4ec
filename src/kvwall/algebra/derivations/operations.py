"""Each operation of a decode step as forms of its own, and their sums: what table 8 evaluates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import SOFTMAX, Op, total
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import symbols

P, q, f_mac = symbols("P q f_mac")

# What an operation has of each: name in a form's name, meaning, symbol, unit.
_AMOUNTS: tuple[tuple[str, str, str, str, Callable[[Op], sp.Expr]], ...] = (
    ("flops", "Operations", "F", "flop", lambda op: op.flops),
    ("weights", "Weight elements", "P", "element", lambda op: op.weights),
    ("kv_read", "Cache bytes read", "K", "byte", lambda op: op.kv_read_bytes),
    ("kv_write", "Cache bytes written", "B", "byte", lambda op: op.kv_write_bytes),
)
_SUMMED = tuple(entry for entry in _AMOUNTS if entry[0] != "weights")  # layer_parameters and parameter_sum sum those
_ONE = "For one sequence and one new token."


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    return [*_single(ops), *_layer(ops), *_step(ops), *_weight_operations(ops)]


def _single(ops: Sequence[Op]) -> list[ClosedForm]:
    """A form for each amount that is not zero."""
    forms = []
    for op in ops:
        words = op.name.replace("_", " ")
        for key, title, letter, unit, amount in _AMOUNTS:
            if amount(op) != 0:
                symbol = f"{letter}_{{\\mathrm{{{words.replace(' ', chr(92) + ' ')}}}}}"
                d = Derivation(f"op_{op.name}_{key}", f"{title}, {words}", "3.1", symbol, unit)
                forms.append(d.close(d.step("As the accounting states it.", symbol, amount(op)), (_ONE,)))
    return forms


def _layer(ops: Sequence[Op]) -> list[ClosedForm]:
    """Sums over one layer; softmax keeps an equation of its own."""
    forms = []
    in_layer = [op for op in ops if op.part == "layer" and op.name != SOFTMAX]
    for key, title, letter, unit, amount in _SUMMED:
        symbol = f"{letter}_{{layer}}"
        d = Derivation(f"layer_{key}", f"{title}, one layer", "3.1", symbol, unit)
        summed = sp.expand(sum((amount(op) for op in in_layer), sp.S.Zero))
        forms.append(d.close(d.step("Sum over the operations of a layer.", symbol, summed), (_ONE,)))
    return forms


def _step(ops: Sequence[Op]) -> list[ClosedForm]:
    """Sums over all layers and the model level, before any of them is called P."""
    forms = []
    counted = [op for op in ops if op.name != SOFTMAX]
    for key, title, letter, unit, amount in _SUMMED:
        symbol = f"{letter}_{{step}}"
        d = Derivation(f"accounted_{key}", f"{title}, whole step, from the accounting", "3.1", symbol, unit)
        forms.append(
            d.close(d.step("Sum over all layers and the model level.", symbol, total(counted, amount)), (_ONE,))
        )
    return forms


def _weight_operations(ops: Sequence[Op]) -> list[ClosedForm]:
    """Operations of the weights against 2P: they differ by the embedding table, which is only looked up."""
    tables = [op for op in ops if op.flops == 0]
    d = Derivation("weight_flops", "Operations of all weight matrices", "3.1", "F_{W}", "flop")
    matrices = d.close(
        d.step(
            "Sum of the operations that hold weights.",
            "F_{W}",
            total([op for op in ops if op.weight_bytes != 0], lambda op: op.flops),
        ),
        (_ONE,),
    )
    d = Derivation("table_flops", "What the embedding table would add if it multiplied", "3.1", "F_{table}", "flop")
    table = d.close(
        d.step(
            "One multiply-and-add for each of its elements.",
            "F_{table}",
            f_mac * q * total(tables, lambda op: op.weights),
        ),
        (_ONE,),
    )
    d = Derivation("parameter_flops", "Operations of all parameters", "3.1", "F_{P}", "flop")
    parameters = d.close(d.step("One multiply-and-add for each of P parameters.", "F_{P}", f_mac * q * P), (_ONE,))
    return [matrices, table, parameters]
