"""Closed forms: golden values by hand, dimensions, proofs against the paper, storage, properties."""

import dataclasses
import json
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kvwall import units
from kvwall.algebra import (
    DimensionError,
    Op,
    Printed,
    ProofError,
    SreprError,
    StoreError,
    check_dimensions,
    derive_all,
    forms_from_json,
    forms_to_json,
    parse_srepr,
    prove_printed,
    to_sympy,
)
from kvwall.algebra.symbols import SYMBOLS
from kvwall.notation import CONSTANTS, NOTATION

DATA = Path(__file__).parent.parent / "data"


def _load(name):
    return YAML(typ="safe").load((DATA / name).read_text(encoding="utf-8"))


def _ops():
    keys = ("name", "part", "flops", "weights", "kv_read", "kv_write", "note")
    return [Op.from_texts(**{key: op[key] for key in keys}) for op in _load("accounting/decode_step.yaml")["ops"]]


OPS = _ops()
FORMS = derive_all(OPS)
PRINTED = [
    Printed(entry["form"], entry["expression"], f"{entry['source']}, {entry['locator']}")
    for entry in _load("forms/printed.yaml")["forms"]
]


def value(name, **inputs):
    """The form at exact inputs, as a Fraction; every symbol must be bound."""
    form = FORMS[name]
    assert sorted(inputs) == list(form.inputs)
    result = form.expr.xreplace({SYMBOLS[key]: sp.Rational(str(Fraction(given))) for key, given in inputs.items()})
    assert result.is_Rational, result
    return Fraction(int(result.p), int(result.q))


# Llama-3-70B in BF16, as the paper counts it.
P, L, N_Q, N_KV, D_H = 70 * 10**9, 80, 64, 8, 128
KAPPA = 2 * 80 * 8 * 128 * 2
W = 140 * 10**9
S = 128_000


# --- notation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NOTATION)
def test_every_symbol_has_a_known_unit(name):
    assert NOTATION[name].name == name
    units.dimension(NOTATION[name].unit)


def test_constants_are_symbols_and_no_form_needs_them():
    assert CONSTANTS.keys() <= NOTATION.keys()
    for form in FORMS.values():
        assert not CONSTANTS.keys() & set(form.inputs)


# --- golden values ------------------------------------------------------------------------------------------


def test_footprint_of_llama_3_70b():
    kappa = value("kv_bytes_per_token", L=L, n_kv=N_KV, d_h=D_H, w_kv=2)
    assert kappa == KAPPA == 327_680
    assert value("kv_footprint", b=1, s=S, kappa=kappa) == 41_943_040_000
    assert value("kv_bytes_per_token_mla", L=60, d_c=512, d_r=64, w_kv=2) == 69_120
    assert value("weight_bytes", P=P, w_p=2) == W


def test_domains_compose_to_one_in_64():
    inputs = {"w_q": Fraction(1, 4), "r": Fraction(1, 2), "sigma": 4, "phi": 0}
    assert value("byte_factor", w_kv=2, **inputs) == 64
    unified = value("unified_footprint", L=L, n_kv=N_KV, d_h=D_H, s=S, **inputs)
    assert unified == Fraction(KAPPA * S, 64)
    assert value("factor_footprint", K=KAPPA * S, c=64) == unified


def test_composition_of_section_4_6():
    sigma = value("sharing_factor", n_req=8, s_shared=96_000, s_own=32_000)
    assert sigma == Fraction(32, 11)
    assert float(
        value("byte_factor", w_kv=2, w_q=Fraction(1, 4), r=Fraction(1, 2), sigma=sigma, phi=0)
    ) == pytest.approx(46.545454, abs=1e-6)
    assert value("read_factor", w_kv=2, w_q=Fraction(1, 4), r=Fraction(1, 2)) == 16
    stored = value("stored_bytes_requests", n_req=8, s=S, kappa=KAPPA)
    assert stored == 335_544_320_000
    assert value("shared_stored_bytes", n_req=8, s=S, kappa=KAPPA, sigma=sigma) == stored / sigma


def test_step_of_llama_3_70b():
    flops = value("step_flops", b=1, P=P, L=L, n_q=N_Q, d_h=D_H, s=S)
    assert flops == 2 * P + 4 * 80 * 64 * 128 * S == 475_544_320_000
    full = value("step_bytes_full", b=1, P=P, w_p=2, L=L, n_kv=N_KV, d_h=D_H, s=S, w_kv=2)
    assert full == value("step_bytes", b=1, W=W, s=S, kappa=KAPPA) == 181_943_040_000
    assert value("intensity", F_step=flops, B_step=full) == flops / full
    assert value("memory_step_time", B_step=full, beta_eff=8 * 10**12) == full / (8 * 10**12)
    inputs = {"F_step": flops, "B_step": full, "beta_eff": 8 * 10**12, "pi_peak": 2250 * 10**12}
    assert value("step_time", n_dev=2, **inputs) == full / (16 * 10**12)
    assert value("devices_needed", W=W, K=4 * 41_943_040_000, C=192 * 10**9) == 2
    assert value("devices_needed", W=W, K=41_943_040_000, C=192 * 10**9) == 1


def test_intensity_limits():
    assert value("intensity_short_limit", b=1, w_p=2) == 1
    assert value("intensity_long_limit", g=8, w_kv=2) == 8
    assert value("intensity_long_limit", g=8, w_kv=Fraction(1, 4)) == 64
    assert value("intensity_flat_batch", g=8, w_p=2, w_kv=2) == 8
    assert float(value("ridge_point", pi_peak=989 * 10**12, beta=3350 * 10**9)) == pytest.approx(295.2, abs=0.05)


def test_placement():
    assert value("partition_bandwidth", beta=5300 * 10**9, n_part=8) == Fraction(5300 * 10**9, 8)
    assert value("striped_bandwidth", beta=8 * 10**12, n_part=2, beta_link=10**13) == 8 * 10**12
    assert value("striped_bandwidth", beta=8 * 10**12, n_part=2, beta_link=10**12) == 2 * 10**12
    assert value("pinned_loss", n_part=8) == 8
    for bandwidth, printed in ((8 * 10**12, 24.4), (4 * 10**12, 12.2), (3350 * 10**9, 10.2)):
        rate = value("token_rate_ceiling", beta_eff=bandwidth, kappa=KAPPA)
        assert rate == Fraction(bandwidth, 327_680)
        assert round(float(rate) / 1e6, 1) == printed
    assert round(float(value("bandwidth_ratio", beta=3350 * 10**9, beta_link=64 * 10**9)), 1) == 52.3


def test_crossovers():
    assert value("traffic_crossover", W=W, b=1, kappa=KAPPA) == Fraction(140 * 10**9, 327_680)
    assert float(value("traffic_crossover", W=W, b=1, kappa=KAPPA)) == pytest.approx(427_246.09, abs=0.01)
    assert float(value("traffic_crossover", W=W, b=32, kappa=KAPPA)) == pytest.approx(13_351.44, abs=0.01)
    small = value("capacity_crossover", C=80 * 10**9, n_dev=1, W=16 * 10**9, b=1, kappa=131_072)
    assert small == Fraction(64 * 10**9, 131_072) == Fraction("488281.25")
    assert value("capacity_crossover", C=80 * 10**9, n_dev=1, W=W, b=1, kappa=KAPPA) < 0
    large = value("capacity_crossover", C=192 * 10**9, n_dev=1, W=W, b=1, kappa=KAPPA)
    assert round(float(large) / 1e3) == 159


def test_middle_regime_is_empty_on_one_device():
    assert value("kv_regime_margin", C=192 * 10**9, n_dev=1, W=W) == -88 * 10**9
    assert value("kv_regime_min_devices", C=192 * 10**9, W=W) == 2
    assert value("kv_regime_min_devices", C=140 * 10**9, W=W) == 3  # at exactly 2W the regime is still empty


@pytest.mark.parametrize(("b", "s", "printed"), [(1, 128_000, "1.25"), (1, 512_000, "1.91"), (32, 128_000, "4.82")])
def test_speedup_at_a_factor_of_8(b, s, printed):
    cache = b * s * KAPPA
    exact = Fraction(W + cache) / (W + Fraction(cache, 8))
    assert value("speedup", W=W, K=cache, c=8) == exact
    assert value("speedup_in_context", W=W, b=b, s=s, kappa=KAPPA, c=8) == exact
    assert value("speedup_of_factor", W=W, K=cache, w_q=Fraction(1, 4), w_kv=2, r=1) == exact
    assert f"{float(exact):.2f}" == printed


def test_recompute_against_fetch():
    flops = value("prefill_flops", P=P, s=S, L=L, n_q=N_Q, d_h=D_H)
    assert flops == 2 * P * S + 2 * 80 * 64 * 128 * S**2
    recompute = value("prefill_time", F_prefill=flops, u=Fraction(7, 10), pi_peak=2250 * 10**12)
    assert f"{float(recompute):.1f}" == "25.0"
    cache = KAPPA * S
    fetch = value("fetch_time", K=cache, c_codec=1, beta_link=64 * 10**9)
    assert f"{float(fetch):.2f}" == "0.66"
    assert round(float(value("recompute_over_fetch", T_prefill=recompute, T_fetch=fetch))) == 38
    tie = value("fetch_breakeven_bandwidth", K=cache, c_codec=1, T_prefill=recompute)
    assert value("fetch_time", K=cache, c_codec=1, beta_link=tie) == recompute


def test_methods():
    assert value("paging_waste", n_block=16, s=S) == Fraction(15, 256_000)
    assert value("paging_waste", n_block=1, s=S) == 0
    grouped = value("grouped_bytes_per_element", n_bits=Fraction(1, 4), w_scale=2, w_zero=2, G=32)
    assert grouped == Fraction(3, 8)
    inputs = {"n_bits": Fraction(3, 8), "w_val": 2, "w_idx": 4}
    assert value("outlier_bytes_per_element", o=Fraction(1, 100), **inputs) == Fraction(435, 1000)
    assert value("residual_bytes_per_element", w_q=Fraction(1, 4), w_kv=2, R=100, s=1000) == Fraction(425, 1000)
    assert value("compression_ratio", w_kv=2, w_q=Fraction(1, 4)) == 8
    assert value("gqa_saving", n_q=64, n_kv=8) == 8


def test_generation():
    naive = value("generation_flops_naive", d=4096, n_gen=2048)
    cached = value("generation_flops_cached", d=4096, n_gen=2048)
    assert naive == sum(3 * t * 4096**2 for t in range(1, 2049))
    assert cached == 3 * 2048 * 4096**2
    assert value("generation_saving", n_gen=2048) == naive / cached == Fraction(2049, 2)
    assert value("generation_model_flops_naive", d=4096, n_gen=2048, L=32) == 64 * naive


def test_parameters_from_the_accounting():
    inputs = {"d": 8192, "n_q": 64, "n_kv": 8, "d_h": 128, "d_ff": 28_672}
    layer = 2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28_672
    assert value("layer_parameters", **inputs) == layer
    everything = value("parameter_sum", L=80, n_vocab=128_256, **inputs)
    assert everything == 80 * layer + 2 * 128_256 * 8192
    assert f"{float(everything) / 1e9:.1f}" == "70.6"


# --- accounting ---------------------------------------------------------------------------------------------


def test_step_is_the_sum_of_its_operations():
    named = {op.name for op in OPS}
    assert {"attention_scores", "softmax", "weighted_sum", "kv_write", "unembedding"} <= named
    without = [op for op in OPS if op.name != "attention_scores"]
    halved = derive_all(without)
    assert halved["step_flops"].expr != FORMS["step_flops"].expr
    assert halved["kv_bytes_per_token"].expr * 2 == FORMS["kv_bytes_per_token"].expr


def test_operations_that_do_not_sum_are_refused():
    broken = [dataclasses.replace(op, flops=2 * op.flops) if op.name == "gate_projection" else op for op in OPS]
    with pytest.raises(ValueError, match="does not sum"):
        derive_all(broken)


def test_operations_are_checked():
    with pytest.raises(DimensionError):
        derive_all([dataclasses.replace(OPS[0], flops=OPS[0].weight_bytes), *OPS[1:]])
    with pytest.raises(ValueError, match="expected one of layer, model"):
        derive_all([dataclasses.replace(OPS[0], part="head"), *OPS[1:]])
    with pytest.raises(ValueError, match="found twice"):
        derive_all([OPS[0], *OPS])


# --- dimensions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_dimensions_of(name):
    form = FORMS[name]
    check_dimensions(form.general, form.unit)
    assert form.steps
    assert form.name == name


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("W + s", "byte", r"W \+ s|s \+ W"),
        ("W/K + s", "", "expected equal dimensions"),
        ("W", "byte/second", r"W: found \[information\]\^1, expected"),
        ("max(W, C, beta)", "byte", "expected equal dimensions"),
        ("ceiling(W)", "byte", "to round, expected a pure number"),
        ("1/(1 + W)", "", "expected equal dimensions"),
    ],
)
def test_dimension_errors_name_the_part(text, unit, message):
    with pytest.raises(DimensionError, match=message):
        check_dimensions(to_sympy(text), unit)


def test_powers_have_rational_exponents():
    W_, c = SYMBOLS["W"], SYMBOLS["c"]
    check_dimensions(sp.sqrt(W_**2), "byte")
    check_dimensions(sp.sqrt(W_) * sp.sqrt(SYMBOLS["C"]), "byte")
    with pytest.raises(DimensionError, match="exponent c"):
        check_dimensions(W_**c, "byte")
    with pytest.raises(DimensionError, match="outside the notation"):
        check_dimensions(sp.Symbol("zeta"), "")
    with pytest.raises(DimensionError, match="found log"):
        check_dimensions(sp.log(W_), "")


# --- proofs -------------------------------------------------------------------------------------------------


def test_printed_forms_are_proven():
    proven = prove_printed(FORMS, PRINTED)
    assert {name for name, form in proven.items() if form.printed} == {entry.form for entry in PRINTED}
    assert proven["speedup"].printed == "(W + K)/(W + K/c)"
    assert "section 3.5" in proven["speedup"].printed_source
    assert forms_from_json(forms_to_json(proven)) == proven


@pytest.mark.parametrize("entry", PRINTED, ids=lambda entry: entry.form)
def test_a_wrong_print_is_caught(entry):
    with pytest.raises(ProofError, match=entry.form):
        prove_printed(FORMS, [dataclasses.replace(entry, expression=f"2*({entry.expression})")])


def test_printed_entries_are_checked():
    with pytest.raises(ProofError, match="no derived form"):
        prove_printed(FORMS, [Printed("nothing", "s", "here")])
    with pytest.raises(ProofError, match="two printed forms"):
        prove_printed(FORMS, [PRINTED[0], PRINTED[0]])


# --- storage ------------------------------------------------------------------------------------------------


def test_store_round_trip_is_exact_and_stable():
    text = forms_to_json(FORMS)
    again = forms_from_json(text)
    assert again == FORMS
    assert list(again) == list(FORMS)
    assert forms_to_json(again) == text == forms_to_json(derive_all(OPS))


def _edited(**changes):
    records = json.loads(forms_to_json(FORMS))
    records[0].update(changes)
    return json.dumps(records)


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "{}",
        "[3]",
        "[{}]",
        _edited(extra=1),
        _edited(latex="x"),
        _edited(inputs=["s"]),
        _edited(expr="Integer(3)"),
        _edited(steps=[{"text": "a"}]),
        _edited(name="kv_footprint"),
        _edited(title=3),
        _edited(expr=3),
        _edited(steps=None),
        _edited(unit="parsec"),
    ],
)
def test_a_changed_store_is_refused(text):
    with pytest.raises(StoreError):
        forms_from_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "__import__('os').system('true')",
        "Symbol('P', positive=True).__class__",
        "Symbol('zeta', positive=True)",
        "Symbol('P')",
        "Symbol('P', positive=False)",
        "Symbol('P', positive=True, integer=True)",
        "Symbol('P', **{})",
        "Symbol(P, positive=True)",
        "Function('f')(Integer(1))",
        "Lambda(Integer(1), Integer(2))",
        "Integer('3')",
        "Integer(True)",
        "Integer(1.5)",
        "Integer(" + "9" * 200 + ")",
        "Rational(1, 0)",
        "Pow(Integer(9), Pow(Integer(9), Integer(9)))",
        "Pow(Integer(9), Integer(65))",
        "Pow(Pow(Pow(Integer(9), Integer(64)), Integer(64)), Integer(64))",
        "Pow(Integer(0), Integer(-1))",
        "Max(Pow(Integer(0), Integer(-1)), Integer(1))",
        "Pow(Add(Integer(1), Integer(-1)), Integer(-2))",
        "Add(Integer(1))",
        "Add(Integer(1), Integer(2), evaluate=False)",
        "Add(*Integer(1), Integer(2))",
        "Mul(" * 80 + "Integer(1), Integer(1)" + ", Integer(1))" * 79 + ")",
        "[Integer(1)]",
        "Integer(1) + Integer(2)",
        "(" * 300,
        "\0",
        "Integer(1)" + " " * 30_000,
    ],
)
def test_srepr_attacks_are_refused(text):
    with pytest.raises(SreprError):
        parse_srepr(text)


# --- properties ---------------------------------------------------------------------------------------------

positive = st.fractions(min_value=Fraction(1, 1000), max_value=10**12, max_denominator=1000)
factors = st.fractions(min_value=1, max_value=1000, max_denominator=100)
counts = st.integers(min_value=1, max_value=4096)


@given(positive, positive, counts)
def test_crossover_falls_as_one_over_batch(weights, kappa, b):
    one = value("traffic_crossover", W=weights, b=1, kappa=kappa)
    assert value("traffic_crossover", W=weights, b=b, kappa=kappa) * b == one


@given(positive, positive, factors)
def test_speedup_lies_between_one_and_its_factor(weights, cache, c):
    speedup = value("speedup", W=weights, K=cache, c=c)
    assert 1 <= speedup <= c
    assert speedup <= value("speedup_ceiling", W=weights, K=cache)
    assert value("speedup", W=weights, K=2 * cache, c=c) >= speedup


@given(positive, positive, counts, st.fractions(min_value=2, max_value=100, max_denominator=10))
def test_half_of_the_gain_at_c_times_the_crossover(weights, kappa, b, c):
    s = value("speedup_half_context", W=weights, b=b, kappa=kappa, c=c)
    assert s == c * value("traffic_crossover", W=weights, b=b, kappa=kappa)
    assert value("speedup_in_context", W=weights, b=b, s=s, kappa=kappa, c=c) == (1 + c) / 2


@given(positive, positive, counts, positive, counts)
def test_margin_has_the_sign_of_the_gap(capacity, weights, n, kappa, b):
    gap = value("capacity_crossover", C=capacity, n_dev=n, W=weights, b=b, kappa=kappa) - value(
        "traffic_crossover", W=weights, b=b, kappa=kappa
    )
    assert (gap > 0) == (value("kv_regime_margin", C=capacity, n_dev=n, W=weights) > 0)
    assert (gap > 0) == (n >= value("kv_regime_min_devices", C=capacity, W=weights))


@given(counts, counts, counts, st.sampled_from([Fraction(1, 4), Fraction(1, 2), 1, 2]))
def test_intensity_moves_from_its_short_to_its_long_limit(b, n_kv, g, w_kv):
    model = {"P": P, "L": L, "n_kv": n_kv, "d_h": D_H, "w_p": 2, "w_kv": w_kv}
    short = value("intensity_short_limit", b=b, w_p=2)
    long = value("intensity_long_limit", g=g, w_kv=w_kv)
    points = [value("intensity_full", b=b, s=s, n_q=g * n_kv, **model) for s in (1, 1000, 10**6, 10**12)]
    assert points == sorted(points, reverse=short > long)
    assert min(short, long) <= min(points) <= max(points) <= max(short, long)
    slope = value("intensity_slope", b=b, s=1000, g=g, **model)
    flat = value("intensity_flat_batch", g=g, w_p=2, w_kv=w_kv)
    assert (slope > 0) == (b < flat) == (long > short)
    assert (slope == 0) == (b == flat)


@given(positive, counts, positive)
def test_striping_lies_between_one_partition_and_the_aggregate(beta, n_part, link):
    striped = value("striped_bandwidth", beta=beta, n_part=n_part, beta_link=link)
    assert striped <= beta
    if link >= beta / n_part:
        assert (
            striped
            == beta
            == value("pinned_loss", n_part=n_part) * value("partition_bandwidth", beta=beta, n_part=n_part)
        )
