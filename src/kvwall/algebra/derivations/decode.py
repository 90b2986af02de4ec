"""One decode step: operations, bytes and arithmetic intensity (sections 3.1 and 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import SOFTMAX, Op, total
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import SYMBOLS, symbols

P, L, n_q, n_kv, d_h, s, b, g = symbols("P L n_q n_kv d_h s b g")
w_p, w_kv, kappa, W, q, f_mac = symbols("w_p w_kv kappa W q f_mac")
F_step, B_step, n_dev, beta_eff, pi_peak, c_sm = symbols("F_step B_step n_dev beta_eff pi_peak c_sm")

_TABLE = "P counts the embedding table, which does no arithmetic in a step and of which one row is read per token."
_ONCE = "Weights are read once a step, the cache once per sequence; activations stay on chip."
# Symbols that only weight matrices have: none may be left once their sum is called P.
_OF_WEIGHTS = tuple(SYMBOLS[name] for name in ("d", "d_ff", "n_vocab", "e_w"))


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    flops = _step_flops(ops)
    traffic, full_traffic = _step_bytes(ops)
    softmax = _softmax_flops(ops)
    intensity = _intensity(flops, full_traffic)
    return [
        flops,
        traffic,
        full_traffic,
        softmax,
        *_softmax_shares(flops, softmax),
        *_kv_write(ops),
        _intensity_ratio(),
        intensity,
        *_limits(intensity),
        *_slope(intensity),
        *_times(),
    ]


def _step_flops(ops: Sequence[Op]) -> ClosedForm:
    d = Derivation("step_flops", "Operations of a decode step", "3.1", "F(b,s)", "flop")
    summed = d.step(
        "Sum of the operations of one sequence over all layers and the model level, without softmax.",
        "F_1",
        total([op for op in ops if op.name != SOFTMAX], lambda op: op.flops),
    )
    held = d.step("All weight elements; their number is P by definition.", "P", total(ops, lambda op: op.weights))
    table = total([op for op in ops if op.flops == 0], lambda op: op.weights)
    d.step("Of these, the embedding table is looked up and never multiplied.", "P_{table}", table)
    attention = sp.expand(summed - f_mac * q * (held - table))
    if attention.has(*_OF_WEIGHTS):
        raise ValueError(f"the accounting does not sum to f_mac*q*P and attention; this is left over: {attention}")
    d.step(
        "What is left when each multiplied weight has taken one multiply-and-add: attention.",
        "F_{att}",
        attention,
    )
    d.step(
        "Counting all of P instead adds the embedding table, which is kept as the paper keeps it.",
        r"\Delta F",
        f_mac * q * table,
    )
    one = d.step("With all of P counted, one sequence.", "F_1'", f_mac * q * P + attention)
    return d.close(
        d.step("For a batch of b sequences.", "F(b,s)", b * one),
        assumptions=(
            "Softmax, norms and activations are dropped as lower order.",
            _TABLE,
            "Every weight takes part for every token (dense layers).",
        ),
    )


def _step_bytes(ops: Sequence[Op]) -> list[ClosedForm]:
    d = Derivation("step_bytes_full", "Bytes of a decode step, in model parameters", "3.1", "B(b,s)", "byte")
    held = total(ops, lambda op: op.weight_bytes)
    elements = total(ops, lambda op: op.weights)
    d.step("Weight bytes of all operations.", "W", held)
    weights = d.step("Their number of elements is P by definition.", "W", P * sp.cancel(held / elements))
    read = d.step("Cache bytes that one sequence reads.", "K_1", total(ops, lambda op: op.kv_read_bytes))
    assumptions = (
        _ONCE,
        "The write of the new token's key and value is a 1/s correction and is dropped.",
        _TABLE,
    )
    full = d.close(d.step("Weights once, the cache once per sequence.", "B(b,s)", weights + b * read), assumptions)

    d = Derivation("step_bytes", "Bytes of a decode step", "3.1", "B(b,s)", "byte")
    expr = d.step("Weights once, the cache once per sequence.", "B(b,s)", full.general)
    expr = d.step("The weight bytes are W.", "B(b,s)", expr.subs(weights, W))
    # Written with kappa, the form also holds for caches of another shape, such as MLA's latent.
    per_token = sp.cancel(read / s)
    expr = d.step("The cache bytes of a token are kappa.", "B(b,s)", expr.subs(per_token, kappa))
    return [d.close(expr, assumptions), full]


def _softmax_flops(ops: Sequence[Op]) -> ClosedForm:
    d = Derivation("softmax_flops", "Softmax operations of a decode step", "3.1", "F_{sm}", "flop")
    one = d.step(
        "Softmax of one sequence over all layers and heads.",
        "F_{sm,1}",
        total([op for op in ops if op.name == SOFTMAX], lambda op: op.flops),
    )
    return d.close(
        d.step("For a batch of b sequences.", "F_{sm}", b * one),
        assumptions=("c_sm operations per score: scale, subtract the maximum, exponential, sum, divide.",),
    )


def _softmax_shares(flops: ClosedForm, softmax: ClosedForm) -> list[ClosedForm]:
    d = Derivation("softmax_share", "Softmax against the other operations of a step", "3.1", "F_{sm}/F", "")
    ratio = d.step("The ratio of the two; the batch cancels.", "F_{sm}/F", sp.cancel(softmax.general / flops.general))
    share = d.close(sp.factor(ratio))
    d = Derivation("softmax_share_limit", "Softmax share at long context", "3.1", r"\lim F_{sm}/F", "")
    return [
        share,
        d.close(d.step("At long context only attention is left.", sp.Limit(share.general, s, sp.oo))),
    ]


def _kv_write(ops: Sequence[Op]) -> list[ClosedForm]:
    per_token = sp.cancel(total(ops, lambda op: op.kv_read_bytes) / s)
    d = Derivation("kv_write_bytes", "Bytes written for the new tokens", "3.1", "B_{write}", "byte")
    one = d.step(
        "The new key and value of one sequence, over all layers.",
        "B_{write,1}",
        total(ops, lambda op: op.kv_write_bytes),
    )
    one = d.step("In bytes per token.", "B_{write,1}", one.subs(per_token, kappa))
    write = d.close(d.step("For a batch of b sequences.", "B_{write}", b * one))
    d = Derivation("kv_write_share", "Write against read of the cache", "3.1", "B_{write}/K", "")
    share = d.step(
        "Against the cache bytes that the step reads.",
        "B_{write}/K",
        sp.cancel(write.general / (b * s * kappa)),
    )
    return [write, d.close(share)]


def _intensity_ratio() -> ClosedForm:
    d = Derivation("intensity", "Arithmetic intensity of a decode step", "3.2", "I", "flop/byte")
    return d.close(d.step("Operations over bytes, by definition.", "I", F_step / B_step))


def _intensity(flops: ClosedForm, traffic: ClosedForm) -> ClosedForm:
    d = Derivation("intensity_full", "Arithmetic intensity, in model parameters", "3.2", "I(b,s)", "flop/byte")
    expr = d.step("Operations over bytes, by definition.", "I(b,s)", F_step / B_step)
    return d.close(
        d.step(
            "With the sums of section 3.1.",
            "I(b,s)",
            expr.subs({F_step: flops.general, B_step: traffic.general}),
        ),
        flops.assumptions[:1],
    )


def _limits(intensity: ClosedForm) -> list[ClosedForm]:
    d = Derivation("intensity_short_limit", "Intensity at short context", "3.2", r"I_{s \to 0}", "flop/byte")
    short = d.close(d.step("Only weights are left.", sp.Limit(intensity.general, s, 0, "+")), conditions=("s -> 0",))
    d = Derivation("intensity_long_limit", "Intensity at long context", "3.2", r"I_{s \to \infty}", "flop/byte")
    limit = d.step("Only attention is left, and the batch cancels.", sp.Limit(intensity.general, s, sp.oo))
    grouped = d.step("With g query heads per KV head.", r"I_{s \to \infty}", sp.cancel(limit.subs(n_q, g * n_kv)))
    return [short, d.close(grouped, conditions=("s -> infinity",))]


def _slope(intensity: ClosedForm) -> list[ClosedForm]:
    d = Derivation("intensity_slope", "Slope of the intensity over context", "3.2", r"\frac{dI}{ds}", "flop/byte/token")
    expr = d.step("The derivative.", sp.Derivative(intensity.general, s), sp.factor(sp.diff(intensity.general, s)))
    expr = d.step("With g query heads per KV head.", r"\frac{dI}{ds}", sp.factor(expr.subs(n_q, g * n_kv)))
    slope_at = sp.numer(sp.together(expr))
    flat = sp.solve(slope_at, b)
    batches = [solution for solution in flat if solution != 0]
    condition = "I rises with s if and only if b < g w_p / w_kv: the long limit is then above the short one"
    slope = d.close(expr, conditions=(condition,))
    d = Derivation("intensity_flat_batch", "Batch at which intensity does not depend on context", "3.2", "b_{flat}", "")
    d.step(
        "The numerator of the slope; its sign is the sign of the slope.",
        r"\operatorname{numer}\,\frac{dI}{ds}",
        slope_at,
    )
    return [
        slope,
        d.close(
            d.step("It vanishes at this batch, and is positive below it.", "b_{flat}", batches[0]),
            conditions=("Below this batch intensity rises with s, above it intensity falls.",),
        ),
    ]


def _times() -> list[ClosedForm]:
    d = Derivation("memory_step_time", "Memory bound of the step time", "3.3", "T_{mem}", "second")
    memory = d.close(
        d.step("Each byte crosses the memory interface once.", "T_{mem}", B_step / beta_eff),
        assumptions=("A bound from below: every byte reaches its unit at the effective bandwidth.",),
    )
    d = Derivation("step_time", "Roofline bound of the step time", "3.3", "T_{step}", "second")
    by_bytes = d.step("Bytes, spread over n devices.", "T_{mem}", memory.general / n_dev)
    by_flops = d.step("Operations, spread over n devices.", "T_{cmp}", F_step / (n_dev * pi_peak))
    bound = d.step("The slower of the two bounds the step.", "T_{step}", sp.Max(by_bytes, by_flops))
    return [
        memory,
        d.close(
            bound,
            assumptions=("Bytes and operations divide evenly over devices; traffic between them is not counted.",),
        ),
    ]
