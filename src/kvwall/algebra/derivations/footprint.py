"""KV footprint and its domains (sections 2.1 and 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from kvwall.algebra.accounting import Op, total
from kvwall.algebra.closed_form import ClosedForm, Derivation
from kvwall.algebra.symbols import SYMBOLS, symbols

P, L, n_q, n_kv, d_h, s, b = symbols("P L n_q n_kv d_h s b")
w_p, w_kv, w_q, r, sigma, phi, c = symbols("w_p w_kv w_q r sigma phi c")
kappa, K, m_kv, m_lat = symbols("kappa K m_kv m_lat")


def derive(ops: Sequence[Op], known: Mapping[str, ClosedForm]) -> list[ClosedForm]:
    per_token = _per_token(ops)
    unified = _unified(per_token)
    return [
        per_token,
        _per_token_mla(),
        _footprint(),
        _weights(),
        unified,
        _byte_factor(per_token, unified),
        _read_factor(),
        _factor_footprint(),
        _compression_ratio(),
        _gqa_saving(per_token),
        *_accounting(ops),
    ]


def _per_token(ops: Sequence[Op]) -> ClosedForm:
    d = Derivation("kv_bytes_per_token", "KV bytes per token", "2.1", r"\kappa", "byte/token")
    read = d.step(
        "The bytes that the operations of a step read from the cache of one sequence, over all layers.",
        "K",
        total(ops, lambda op: op.kv_read_bytes),
    )
    return d.close(d.step("Divided by the context length: the share of one token.", r"\kappa", sp.cancel(read / s)))


def _per_token_mla() -> ClosedForm:
    d = Derivation(
        "kv_bytes_per_token_mla",
        "KV bytes per token with latent attention (MLA)",
        "2.1",
        r"\kappa_{MLA}",
        "byte/token",
    )
    latent, rotary = m_lat * SYMBOLS["d_c"] * w_kv, m_lat * SYMBOLS["d_r"] * w_kv
    d.step("A layer keeps one latent for all heads.", r"\kappa_{latent}", latent)
    d.step(
        "And one rotary key, since rotation does not commute with the up-projection.",
        r"\kappa_{rotary}",
        rotary,
    )
    return d.close(d.step("Over all layers.", r"\kappa_{MLA}", sp.factor(L * (latent + rotary))))


def _footprint() -> ClosedForm:
    d = Derivation("kv_footprint", "KV footprint of a batch", "2.1", "K", "byte")
    return d.close(
        d.step("Each of b sequences keeps s tokens.", "K", b * s * kappa),
        assumptions=("All sequences of the batch have the same context length.",),
    )


def _weights() -> ClosedForm:
    d = Derivation("weight_bytes", "Weight bytes", "3.1", "W", "byte")
    return d.close(d.step("Each parameter at its stored width.", "W", P * w_p))


def _unified(per_token: ClosedForm) -> ClosedForm:
    d = Derivation("unified_footprint", "Unified footprint of one sequence", "2.2", "B_{kv}", "byte")
    expr = d.step("Uncompressed: s tokens.", "B_{kv}", per_token.general * s)
    expr = d.step("Quantisation changes the stored width.", "B_{kv}", expr.subs(w_kv, w_q))
    expr = d.step("Eviction retains a fraction r of the tokens.", "B_{kv}", expr * r)
    expr = d.step("Fragmentation adds a fraction to what is allocated.", "B_{kv}", expr * (1 + phi))
    expr = d.step("Sharing divides the stored bytes.", "B_{kv}", expr / sigma)
    return d.close(
        expr,
        assumptions=("The domains compose multiplicatively in bytes; their quality losses do not.",),
        conditions=("0 < r <= 1", "sigma >= 1", "phi >= 0"),
    )


def _byte_factor(per_token: ClosedForm, unified: ClosedForm) -> ClosedForm:
    d = Derivation("byte_factor", "Capacity factor of composed methods", "2.2", "c_{bytes}", "")
    ratio = per_token.general * s / unified.general
    return d.close(
        d.step(
            "The footprint without any method over the unified footprint.",
            "c_{bytes}",
            sp.factor(sp.cancel(ratio)),
        )
    )


def _read_factor() -> ClosedForm:
    d = Derivation("read_factor", "Factor in decode traffic of composed methods", "4.6", "c_{read}", "")
    before = d.step("Bytes that one token adds to a step's read, in elements of width w_kv.", "k", w_kv)
    after = d.step("Sharing and paging change what is stored, not what each sequence reads.", "k'", w_q * r)
    return d.close(
        d.step("The ratio of the two.", "c_{read}", before / after),
        assumptions=("A shared prefix is read once per sequence and step, even if it is stored once.",),
    )


def _factor_footprint() -> ClosedForm:
    d = Derivation("factor_footprint", "Footprint at a compression factor", "4.1", "K_c", "byte")
    return d.close(d.step("The definition of a compression factor in bytes.", "K_c", K / c))


def _compression_ratio() -> ClosedForm:
    d = Derivation("compression_ratio", "Compression by width", "2.2", "c", "")
    ratio = sp.cancel(K / (K * w_q / w_kv))
    return d.close(d.step("The same elements at another width; their number cancels.", "c", ratio))


def _gqa_saving(per_token: ClosedForm) -> ClosedForm:
    d = Derivation("gqa_saving", "KV saving of grouped-query over multi-head attention", "2.1", "g", "")
    full = d.step("With a key and a value for every query head.", r"\kappa_{MHA}", per_token.general.subs(n_kv, n_q))
    return d.close(d.step("Against the same model with n_kv heads.", "g", sp.cancel(full / per_token.general)))


def _accounting(ops: Sequence[Op]) -> list[ClosedForm]:
    d = Derivation("layer_parameters", "Weight elements of one layer", "3.1", "P_{layer}", "element")
    layer_sum = sum((op.weights for op in ops if op.part == "layer"), sp.S.Zero)
    layer = d.close(
        d.step("Sum of the layer's weight matrices.", "P_{layer}", sp.expand(layer_sum)),
        assumptions=("Norm gains and biases are left out.",),
    )
    d = Derivation("parameter_sum", "Parameters from the accounting", "3.1", "P", "element")
    outside = sum((op.weights for op in ops if op.part == "model"), sp.S.Zero)
    d.step("Embedding table and unembedding.", "P_{model}", outside)
    everything = d.close(
        d.step("Over all layers.", "P", L * layer.general + outside),
        assumptions=("Dense SwiGLU layers and untied embeddings; norms and biases are left out.",),
    )
    return [layer, everything]
