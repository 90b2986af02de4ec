"""The operations of one decode step (table 8), from which step FLOPs and bytes are summed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from kvwall.algebra.dimensions import check_dimensions
from kvwall.algebra.parser import to_sympy
from kvwall.algebra.symbols import SYMBOLS

PARTS = ("layer", "model")
SOFTMAX = "softmax"  # kept in an equation of its own (section 3.1)


@dataclass(frozen=True)
class Op:
    """One operation for one sequence; a ``layer`` op runs L times, a ``model`` op once."""

    name: str
    part: str
    flops: sp.Expr  # flop
    weight_bytes: sp.Expr  # byte, read once a step whatever the batch
    kv_read_bytes: sp.Expr  # byte
    note: str = ""
    kv_write_bytes: sp.Expr = sp.S.Zero  # byte

    @property
    def weights(self) -> sp.Expr:
        """Weight elements that the operation holds."""
        return sp.cancel(self.weight_bytes / SYMBOLS["w_p"])

    @classmethod
    def from_texts(
        cls, name: str, part: str, flops: str, weights: str, kv_read: str, kv_write: str = "0", note: str = ""
    ) -> Op:
        """An op from the texts of the data file; ``weights`` are in elements. Raises ExpressionError."""
        weight_bytes = to_sympy(weights) * SYMBOLS["w_p"]
        return cls(name, part, to_sympy(flops), weight_bytes, to_sympy(kv_read), note, to_sympy(kv_write))


def check_ops(ops: Sequence[Op]) -> None:
    """Raise ValueError on a wrong part or a name twice, DimensionError on a field with a wrong unit."""
    names = [op.name for op in ops]
    for op in ops:
        if op.part not in PARTS:
            raise ValueError(f"op {op.name}: found part {op.part!r}, expected one of {', '.join(PARTS)}")
        if names.count(op.name) > 1:
            raise ValueError(f"op {op.name}: found twice, expected each name once")
        fields = (
            (op.flops, "flop"),
            (op.weight_bytes, "byte"),
            (op.kv_read_bytes, "byte"),
            (op.kv_write_bytes, "byte"),
        )
        for expr, unit in fields:
            if expr != 0:  # zero has every dimension
                check_dimensions(expr, unit)


def total(ops: Iterable[Op], amount: Callable[[Op], sp.Expr]) -> sp.Expr:
    """The sum of ``amount`` over all layers and the model level, for one sequence."""
    repeats = {"layer": SYMBOLS["L"], "model": sp.S.One}
    return sp.expand(sum((repeats[op.part] * amount(op) for op in ops), sp.S.Zero))
