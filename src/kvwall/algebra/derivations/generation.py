"""Generation without and with a cache, as introductions to the subject count it (not in the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import Op
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import symbols

d_model, n_gen, L, f_mac, q, e_w = symbols("d n_gen L f_mac q e_w")

_COUNT = "Counted are the query, key and value projections, each d by d (multi-head attention)."


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    naive, cached = _naive(), _cached()
    return [naive, cached, _saving(naive, cached), _whole("naive", naive), _whole("cached", cached)]


def _projections(position: sp.Expr) -> sp.Expr:
    # Three square matrices (query, key, value), applied to `position` tokens.
    return sum((position * d_model**2 for _ in ("query", "key", "value")), sp.S.Zero)


def _naive() -> ClosedForm:
    d = Derivation(
        "generation_flops_naive",
        "Projections without a cache, one layer, in multiply-and-adds",
        "",
        "N_{naive}",
        "",
    )
    t = sp.Symbol("t", integer=True, positive=True)
    terms = sp.Sum(_projections(t), (t, 1, n_gen))
    return d.close(d.step("Step t projects all t tokens anew.", terms, sp.factor(terms.doit())), (_COUNT,))


def _cached() -> ClosedForm:
    d = Derivation(
        "generation_flops_cached",
        "Projections with a cache, one layer, in multiply-and-adds",
        "",
        "N_{cached}",
        "",
    )
    t = sp.Symbol("t", integer=True, positive=True)
    terms = sp.Sum(_projections(sp.S.One), (t, 1, n_gen))
    return d.close(d.step("Step t projects the new token only.", terms), (_COUNT,))


def _saving(naive: ClosedForm, cached: ClosedForm) -> ClosedForm:
    d = Derivation("generation_saving", "Saving of a cache in projections", "", r"N_{naive}/N_{cached}", "")
    ratio = sp.factor(sp.cancel(naive.general / cached.general))
    return d.close(d.step("The ratio of the two.", r"N_{naive}/N_{cached}", ratio))


def _whole(which: str, layer: ClosedForm) -> ClosedForm:
    d = Derivation(
        f"generation_model_flops_{which}",
        f"Projections of the whole model, {which}, in operations",
        "",
        f"F_{{{which}}}",
        "flop",
    )
    macs = d.step("Multiply-and-adds of one layer.", layer.symbol, layer.general)
    return d.close(d.step("Over all layers, in operations.", f"F_{{{which}}}", L * f_mac * q * e_w * macs), (_COUNT,))
