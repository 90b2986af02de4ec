"""What one method stores: sharing, paging, groups, outliers, residual windows (sections 2.2 to 2.4 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import Op
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import symbols

s, kappa, sigma, n_req, s_shared, s_own, n_block, q = symbols("s kappa sigma n_req s_shared s_own n_block q")
n_bits, w_scale, w_zero, G, o, w_val, w_idx = symbols("n_bits w_scale w_zero G o w_val w_idx")
w_q, w_kv, R, m_kv = symbols("w_q w_kv R m_kv")


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    return [_sharing(), *_stored(), _paging(), *_widths()]


def _sharing() -> ClosedForm:
    d = Derivation("sharing_factor", "Sharing factor of a common prefix", "4.4", r"\sigma", "")
    alone = d.step("Tokens stored when each request keeps its own prefix.", "N", n_req * (s_shared + s_own))
    shared = d.step("Tokens stored when the prefix is kept once.", "N'", s_shared + n_req * s_own)
    return d.close(d.step("The ratio of the two.", r"\sigma", alone / shared))


def _stored() -> list[ClosedForm]:
    d = Derivation("stored_bytes_requests", "Bytes stored for several requests", "4.4", "B_{stored}", "byte")
    plain = d.close(d.step("Each request keeps s tokens.", "B_{stored}", n_req * s * kappa))
    d = Derivation("shared_stored_bytes", "Bytes stored for several requests with sharing", "4.4", "B_{shared}", "byte")
    return [plain, d.close(d.step("Divided by the sharing factor.", "B_{shared}", plain.general / sigma))]


def _paging() -> ClosedForm:
    d = Derivation("paging_waste", "Fragmentation waste of paging", "2.4", r"\varphi", "")
    fill, slots = sp.Symbol("j", integer=True, positive=True), sp.Symbol("n", integer=True, positive=True)
    mean = sp.Sum((slots - fill) * q, (fill, 1, slots)) / slots
    empty = d.step(
        "Mean of the empty slots of the last block, each fill from one to n slots equally likely.",
        mean,
        sp.factor(mean.doit()),
    )
    empty = d.step(
        "With n = n_blk / q slots in a block.",
        r"\bar{e}",
        sp.together(sp.expand(empty.subs(slots, n_block / q))),
    )
    return d.close(
        d.step("Against the tokens that are stored.", r"\varphi", empty / s),
        assumptions=("The fill of the last block is uniform.",),
    )


def _widths() -> list[ClosedForm]:
    d = Derivation(
        "grouped_bytes_per_element",
        "Width with a scale and zero point per group",
        "2.3",
        "w_q",
        "byte/element",
    )
    extra = d.step("Overhead of a group, per element.", r"\Delta w", (w_scale + w_zero) / G)
    grouped = d.close(d.step("Beside the code.", "w_q", n_bits + extra))

    d = Derivation("outlier_bytes_per_element", "Width with sparse outliers", "2.3", "w_q", "byte/element")
    extra = d.step("A fraction of the elements is stored again, with an index.", r"\Delta w", o * (w_val + w_idx))
    outlier = d.close(
        d.step("Beside the code.", "w_q", n_bits + extra),
        assumptions=("The dense code keeps a slot for outliers too.",),
    )

    d = Derivation(
        "residual_bytes_per_element", "Mean width with a residual window", "2.3", r"\bar{w}_q", "byte/element"
    )
    old = d.step("Tokens outside the window, quantised.", "B_{old}", w_q * (s - R))
    recent = d.step("Tokens inside the window, at full width.", "B_{recent}", w_kv * R)
    residual = d.close(d.step("Mean over the context.", r"\bar{w}_q", (old + recent) / s), conditions=("R <= s",))
    return [grouped, outlier, residual]
