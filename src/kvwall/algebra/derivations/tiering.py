"""Prefill against fetch from a tier (sections 2.5 and 4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import SOFTMAX, Op, total
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import SYMBOLS, symbols

P, L, s, q, f_mac, u, pi_peak, K = symbols("P L s q f_mac u pi_peak K")
c_codec, beta_link, F_prefill, T_prefill, T_fetch = symbols("c_codec beta_link F_prefill T_prefill T_fetch")


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    flops = _prefill_flops(ops)
    time = _prefill_time()
    fetch = _fetch_time()
    return [flops, time, fetch, _recompute_over_fetch(), _breakeven(fetch)]


def _prefill_flops(ops: Sequence[Op]) -> ClosedForm:
    d = Derivation("prefill_flops", "Operations of a causal prefill of one sequence", "4.5", "F_{prefill}", "flop")
    attention = total([op for op in ops if op.kv_read_bytes != 0 and op.name != SOFTMAX], lambda op: op.flops)
    d.step("Attention of one step at context s.", "F_{att}(s)", attention)
    position, steps = sp.Symbol("i", integer=True, positive=True), sp.Symbol("n", integer=True, positive=True)
    terms = sp.Sum(attention.subs(s, q * position), (position, 1, steps))
    summed = d.step(
        "The token at position i attends to the first i tokens (causal mask).", terms, sp.factor(terms.doit())
    )
    exact = d.step("With n = s/q positions: s(s+1)/2 pairs.", r"\sum F_{att}", sp.expand(summed.subs(steps, s / q)))
    leading = sp.LT(sp.Poly(exact, s).as_expr(), s)
    d.step("Dropped: it is 1/s of what is kept.", r"\Delta", sp.factor(exact - leading))
    return d.close(
        d.step("With one multiply-and-add per weight and token.", "F_{prefill}", f_mac * P * s + leading),
        assumptions=(
            "Causal attention counts each pair of positions once; only the leading order in s is kept.",
            "Softmax, norms and activations are dropped; logits of every position are counted in P.",
        ),
    )


def _prefill_time() -> ClosedForm:
    d = Derivation("prefill_time", "Time of a prefill", "4.5", "T_{prefill}", "second")
    return d.close(
        d.step("At an attained share u of the peak rate.", "T_{prefill}", F_prefill / (u * pi_peak)),
        assumptions=("A prefill is bound by arithmetic.",),
    )


def _fetch_time() -> ClosedForm:
    d = Derivation("fetch_time", "Time to fetch a stored cache", "4.5", "T_{fetch}", "second")
    moved = d.step("Bytes after the transport codec.", "K_{moved}", K / c_codec)
    return d.close(
        d.step("Over the link.", "T_{fetch}", moved / beta_link),
        assumptions=("Latency and decoding of the codec are not counted.",),
    )


def _recompute_over_fetch() -> ClosedForm:
    d = Derivation("recompute_over_fetch", "Recompute against fetch", "4.5", r"T_{prefill}/T_{fetch}", "")
    return d.close(d.step("By definition.", r"T_{prefill}/T_{fetch}", T_prefill / T_fetch))


def _breakeven(fetch: ClosedForm) -> ClosedForm:
    d = Derivation(
        "fetch_breakeven_bandwidth",
        "Link bandwidth at which fetch and recompute tie",
        "4.5",
        r"\beta_{tie}",
        "byte/second",
    )
    d.step("Time to fetch.", "T_{fetch}", fetch.general)
    tie = sp.solve(sp.Eq(fetch.general, T_prefill), SYMBOLS["beta_link"])[0]
    return d.close(d.step("Set equal to the time to recompute.", r"\beta_{tie}", tie))
