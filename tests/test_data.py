"""The shipped specs: all load, every fact has a source, and the parameter counts follow from the shapes."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import BaseModel

from kvwall.specs import load
from kvwall.specs.catalogue import Catalogue
from kvwall.specs.schema import FullAttention, LatentAttention
from kvwall.specs.values import Choice, Datum, Reading

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(
    str(path.relative_to(ROOT)) for folder in ("data", "config/editions") for path in (ROOT / folder).rglob("*.yaml")
)


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return load(FILES)


def walk(item):
    """Every value inside a spec, at any depth."""
    yield item
    if isinstance(item, BaseModel):
        for name in type(item).model_fields:
            yield from walk(getattr(item, name))
    elif isinstance(item, dict):
        for child in item.values():
            yield from walk(child)
    elif isinstance(item, (list, tuple)):
        for child in item:
            yield from walk(child)


def specs(catalogue: Catalogue):
    for kind in ("models", "hardware", "links", "workloads", "methods"):
        for identifier, spec in getattr(catalogue, kind).items():
            yield catalogue.path_of(kind, identifier), spec


def test_everything_loads(catalogue):
    assert len(catalogue.models) >= 7
    assert set(catalogue.workloads) >= {"w1", "w2", "w3", "w4"}
    assert "paper" in catalogue.editions


def test_every_datum_stands_on_a_listed_source(catalogue):
    found = 0
    for path, spec in specs(catalogue):
        for item in walk(spec):
            if isinstance(item, (Datum, Reading)):
                found += 1
                assert item.source in catalogue.sources[path], f"{path}: {item.source}"
                assert item.locator.strip(), path
            if isinstance(item, Datum):
                assert item.at.startswith(f"{path}:"), item.at
                assert catalogue.source_of(item) == spec.sources[item.source]
    assert found > 150


def test_a_source_is_described_the_same_everywhere(catalogue):
    first = {}
    for path, sources in catalogue.sources.items():
        for identifier, source in sources.items():
            seen_in, seen = first.setdefault(identifier, (path, source))
            assert source == seen, f"{identifier} differs between {seen_in} and {path}"


def test_no_work_is_listed_under_two_ids(catalogue):
    owner = {}
    for sources in catalogue.sources.values():
        for identifier, source in sources.items():
            if source.arxiv:
                assert owner.setdefault(source.arxiv, identifier) == identifier, source.arxiv


def test_references_exist(catalogue):
    for device in catalogue.hardware.values():
        for link in (device.die_to_die, device.peer_link, device.host_link):
            assert link is None or link in catalogue.links, device.id
    for workload in catalogue.workloads.values():
        assert workload.shared_prefix is None or workload.shared_prefix in catalogue.assumptions
    for edition in catalogue.editions.values():
        for kind in ("models", "hardware", "links", "workloads", "methods"):
            assert set(getattr(edition, kind)) <= set(getattr(catalogue, kind)), kind
        assert {*edition.crossover_models, edition.study_model} <= set(edition.models)
        assert edition.study_hardware in edition.hardware


@pytest.mark.parametrize("path", FILES)
def test_no_file_holds_a_machine_path(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(r"(?<![\w/.])/(?:work|home|tmp|root|mnt|usr|Users)/|file://|[A-Z]:\\", text)
    assert found is None, f"{path}: {found}"


# --- Parameter counts, counted a second time from the shapes -------------------------------------------------


def shape(model):
    """hidden, ffn, vocabulary, and the one layer group, as plain whole numbers."""
    (group,) = model.groups
    numbers = {
        name: int(getattr(group, name).value) for name in type(group).model_fields if name not in ("kind", "attention")
    }
    return int(model.hidden_size.value), int(model.ffn_size.value), int(model.vocabulary.value), numbers


def grouped_attention(hidden, query_heads, kv_heads, head_dim):
    query = hidden * query_heads * head_dim
    key = hidden * kv_heads * head_dim
    value = hidden * kv_heads * head_dim
    output = query_heads * head_dim * hidden
    return query + key + value + output


def gated_ffn(hidden, ffn):
    return 3 * hidden * ffn  # gate, up and down projection


def around_the_layers(hidden, vocabulary):
    return vocabulary * hidden + hidden + vocabulary * hidden  # embedding, last norm, untied head


def count_dense(model):
    hidden, ffn, vocabulary, g = shape(model)
    norms = 2 * hidden
    layer = grouped_attention(hidden, g["query_heads"], g["kv_heads"], g["head_dim"]) + gated_ffn(hidden, ffn) + norms
    return g["layers"] * layer + around_the_layers(hidden, vocabulary)


def count_mixtral(model, experts=8):
    hidden, ffn, vocabulary, g = shape(model)
    router, norms = hidden * 8, 2 * hidden
    attention = grouped_attention(hidden, g["query_heads"], g["kv_heads"], g["head_dim"])
    layer = attention + router + experts * gated_ffn(hidden, ffn) + norms
    return g["layers"] * layer + around_the_layers(hidden, vocabulary)


def count_deepseek_v2(model, routed=160):
    hidden, ffn, vocabulary, g = shape(model)
    query_rank, nope, value_dim, dense_ffn = 1536, 128, 128, 12288
    all_experts, shared, dense_layers = 160, 2, 1
    heads, latent, rope = g["query_heads"], g["latent_dim"], g["rope_dim"]
    query = hidden * query_rank + query_rank + query_rank * heads * (nope + rope)  # down, norm, up
    key_value = hidden * (latent + rope) + latent + latent * heads * (nope + value_dim)  # down, norm, up
    attention = query + key_value + heads * value_dim * hidden
    norms = 2 * hidden
    dense = attention + norms + gated_ffn(hidden, dense_ffn)
    sparse = attention + norms + hidden * all_experts + (routed + shared) * gated_ffn(hidden, ffn)
    return dense_layers * dense + (g["layers"] - dense_layers) * sparse + around_the_layers(hidden, vocabulary)


COUNTS = {
    "llama-2-7b": (count_dense, 6738415616),
    "llama-2-13b": (count_dense, 13015864320),
    "llama-3-8b": (count_dense, 8030261248),
    "llama-3-70b": (count_dense, 70553706496),
    "llama-3.1-405b": (count_dense, 405853388800),
    "mixtral-8x7b": (count_mixtral, 46702792704),
    "deepseek-v2": (count_deepseek_v2, 235741434880),
}


@pytest.mark.parametrize("identifier", COUNTS)
def test_exact_parameter_count_follows_from_the_shape(catalogue, identifier):
    count, expected = COUNTS[identifier]
    model = catalogue.models[identifier]
    assert count(model) == expected
    assert model.parameters.exact.value == expected


def test_active_parameters_follow_from_the_shape(catalogue):
    mixtral, deepseek = catalogue.models["mixtral-8x7b"], catalogue.models["deepseek-v2"]
    assert float(mixtral.parameters.active.value) == pytest.approx(count_mixtral(mixtral, experts=2), rel=0.005)
    assert float(deepseek.parameters.active.value) == pytest.approx(count_deepseek_v2(deepseek, routed=6), rel=0.02)


def test_nominal_counts_lie_near_the_exact_ones(catalogue):
    for model in catalogue.models.values():
        nominal, exact = model.parameters.nominal.value, model.parameters.exact.value
        assert abs(nominal - exact) <= exact * Fraction(5, 100), model.id
        if model.parameters.active:
            assert model.parameters.active.value < exact, model.id


# --- A few printed values that the facts must allow ----------------------------------------------------------


def bytes_per_token(model):
    total = 0
    for group in model.groups:
        if isinstance(group, LatentAttention):
            total += group.layers.value * (group.latent_dim.value + group.rope_dim.value) * 2
        elif isinstance(group, FullAttention):
            total += 2 * group.layers.value * group.kv_heads.value * group.head_dim.value * 2
    return total


def test_printed_values_follow_from_the_facts(catalogue):
    models, hardware, links = catalogue.models, catalogue.hardware, catalogue.links
    assert bytes_per_token(models["llama-3-70b"]) == 327680
    assert bytes_per_token(models["deepseek-v2"]) == 69120
    assert bytes_per_token(models["llama-2-13b"]) == 819200
    h100, small = hardware["h100-sxm5"], models["llama-3-8b"]
    room = h100.hbm_capacity.value - 2 * small.parameters.nominal.value
    assert int(room / bytes_per_token(small)) // 1000 == 488
    assert round(float(h100.bf16_dense.value / h100.hbm_bandwidth.value)) == 295
    cache = 128000 * bytes_per_token(models["llama-3-70b"])
    assert round(float(cache / links["pcie-gen5-x16"].bandwidth.value), 2) == 0.66
    assert round(float(cache / 4 / links["nvlink-4"].bandwidth.value) * 1000) == 12
    prefix = catalogue.assumptions["w3-shared-prefix"].value
    assert isinstance(prefix, Choice)
    assert round(float(8 * 128000 / (prefix.value + 8 * (128000 - prefix.value))), 2) == 2.91


def test_metadata_reproduces_the_reported_width(catalogue):
    kvquant, kivi = catalogue.methods["kvquant-4bit"], catalogue.methods["kivi-2bit"]
    sparse = kvquant.outliers.value_width.value + kvquant.outliers.index_width.value
    assert 8 * (kvquant.width.value + kvquant.outliers.fraction.value * sparse) == Fraction(432, 100)
    scales = (kivi.scales.scale.value + kivi.scales.zero_point.value) / kivi.scales.group.value
    assert 8 * (kivi.width.value + scales) == 3
