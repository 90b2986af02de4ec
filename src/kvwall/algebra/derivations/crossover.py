"""Crossovers, regimes and the speedup of compression (sections 3.4 and 3.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import Op
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import symbols

P, w_p, s, b, c, W, K, kappa, C, n_dev = symbols("P w_p s b c W K kappa C n_dev")
w_kv, w_q, r, T_step, beta_eff = symbols("w_kv w_q r T_step beta_eff")


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    traffic = _traffic(known["step_bytes"])
    capacity = _capacity(known["step_bytes"])
    margin = _margin(traffic, capacity)
    speedup = _speedup(known["memory_step_time"], known["factor_footprint"])
    return [
        traffic,
        capacity,
        margin,
        _min_devices(margin),
        speedup,
        _speedup_limit(speedup),
        _speedup_of_factor(speedup, known["read_factor"]),
        _speedup_in_context(speedup, known["kv_footprint"]),
        _speedup_context(speedup, known["kv_footprint"]),
    ]


def _traffic(step_bytes: ClosedForm) -> ClosedForm:
    d = Derivation("traffic_crossover", "Traffic crossover", "3.4", "s^{*}(b)", "token")
    cache = d.step("Cache bytes of a step: all bytes less the weights.", "K", step_bytes.general - W)
    return d.close(
        d.step("The context at which they equal the weight bytes.", "s^{*}(b)", sp.solve(sp.Eq(cache, W), s)[0]),
        conditions=("s < s*: weight-bound; s > s*: KV-bound.", "Does not depend on the device count."),
    )


def _capacity(step_bytes: ClosedForm) -> ClosedForm:
    d = Derivation("capacity_crossover", "Capacity crossover", "3.4", "s_{cap}(b)", "token")
    resident = d.step("Weights and cache reside in memory together.", "B", step_bytes.general)
    return d.close(
        d.step(
            "The context at which they fill n devices.",
            "s_{cap}(b)",
            sp.factor(sp.solve(sp.Eq(resident, n_dev * C), s)[0]),
        ),
        assumptions=("All of the capacity is usable; activations and workspace are not counted.",),
        conditions=("Negative: the weights alone do not fit.",),
    )


def _margin(traffic: ClosedForm, capacity: ClosedForm) -> ClosedForm:
    d = Derivation("kv_regime_margin", "Room for a KV-bound regime", "3.5", r"\Delta_{kv}", "byte")
    gap = d.step(
        "The KV-bound regime lies between the two crossovers.",
        "s_{cap} - s^{*}",
        sp.factor(capacity.general - traffic.general),
    )
    margin = d.step(
        "Times the positive cache bytes per token of the batch: the sign stays.",
        r"\Delta_{kv}",
        sp.cancel(gap * b * kappa),
    )
    return d.close(
        margin,
        conditions=("s* < s_cap if and only if the margin is positive; otherwise the KV-bound regime is empty.",),
    )


def _min_devices(margin: ClosedForm) -> ClosedForm:
    d = Derivation("kv_regime_min_devices", "Fewest devices with a KV-bound regime", "3.5", "n_{kv}^{min}", "")
    real = sp.Dummy("n", positive=True)  # the device count as a real number, for the solution
    edge = d.step(
        "The margin vanishes at this number of devices.",
        "n_0",
        sp.solve(margin.general.subs(n_dev, real), real)[0],
    )
    return d.close(
        d.step(
            "The next whole number above, since the margin must be positive.",
            "n_{kv}^{min}",
            sp.floor(edge) + 1,
        )
    )


def _speedup(step_time: ClosedForm, compressed: ClosedForm) -> ClosedForm:
    d = Derivation("speedup", "Speedup of a decode step by KV compression", "3.5", "S(c)", "")
    (total,) = (symbol for symbol in step_time.general.free_symbols if symbol.name == "B_step")
    before = d.step("Step time without compression.", "T(1)", step_time.general.subs(total, W + K))
    after = d.step("With the cache compressed by c.", "T(c)", step_time.general.subs(total, W + compressed.general))
    # The bandwidth cancels; the quotient is kept in the paper's form, so only common factors are removed.
    expr = d.step("Their ratio; the bandwidth cancels.", "S(c)", before / after)
    d.step("Short context: nothing to gain.", sp.Limit(expr, K, 0, "+"))
    d.step("Long context: the whole factor.", sp.Limit(expr, K, sp.oo))
    d.step("It grows with the cache bytes.", sp.Derivative(expr, K), sp.factor(sp.diff(expr, K)))
    return d.close(
        expr,
        assumptions=("The step is memory-bound and decompression is free.",),
        conditions=("1 <= S(c) <= c for c >= 1",),
    )


def _speedup_limit(speedup: ClosedForm) -> ClosedForm:
    d = Derivation("speedup_ceiling", "Speedup that no compression can exceed", "3.5", r"S_{max}", "")
    return d.close(d.step("As the compression factor grows.", sp.Limit(speedup.general, c, sp.oo)))


def _speedup_of_factor(speedup: ClosedForm, read: ClosedForm) -> ClosedForm:
    d = Derivation("speedup_of_factor", "Speedup of a method by width and retention", "3.5", "S(w_q, r)", "")
    d.step("The method's factor in decode traffic.", "c", read.general)
    return d.close(
        d.step("Put into the speedup.", "S(w_q, r)", speedup.general.subs(c, read.general)),
        speedup.assumptions,
    )


def _speedup_in_context(speedup: ClosedForm, footprint: ClosedForm) -> ClosedForm:
    d = Derivation("speedup_in_context", "Speedup over batch and context", "3.5", "S(c;b,s)", "")
    d.step("The cache bytes of a step.", "K", footprint.general)
    return d.close(
        d.step("Put into the speedup.", "S(c;b,s)", speedup.general.subs(K, footprint.general)),
        speedup.assumptions,
    )


def _speedup_context(speedup: ClosedForm, footprint: ClosedForm) -> ClosedForm:
    d = Derivation(
        "speedup_half_context",
        "Context at which half of the possible gain is reached",
        "3.5",
        "s_{1/2}",
        "token",
    )
    expr = speedup.general.subs(K, footprint.general)
    half = d.step("Halfway between the two limits.", "S_{1/2}", (1 + c) / 2)
    solution = sp.solve(sp.Eq(expr, half), s)[0]
    return d.close(
        d.step(
            "The context that gives this speedup: c times the traffic crossover.",
            "s_{1/2}",
            sp.simplify(solution),
        )
    )
