"""Evidence classes follow from the lineage, and mixing them is an error that names the leaves."""

from fractions import Fraction

import pytest

from kvwall.audit.check import spec_files
from kvwall.evidence import EvidenceError, Study, measured
from kvwall.evidence.ledger import make_row, natural_key, read_fragment, write_fragment, write_ledger
from kvwall.evidence.quantity import constant


@pytest.fixture(scope="session")
def study(forms_path):
    edition = "config/editions/paper.yaml"
    return Study.open(edition, forms_path, [path for path in spec_files() if path != edition])


def test_a_fact_is_reported_and_a_choice_is_derived(study):
    assert study.fact(study.device.hbm_bandwidth).evidence == "reported"
    assert study.one_sequence.evidence == "derived"
    assert study.assumption("prefill-utilisation").evidence == "derived"


def test_a_form_over_facts_is_derived_and_names_its_lines(study):
    crossover = study.traffic_crossover(study.model, study.one_sequence)
    assert crossover.evidence == "derived"
    assert crossover.value == Fraction(140 * 10**9, 327_680)
    places = {leaf.lineage.at.rsplit(":", 1)[0] for _, leaf in crossover.leaves()}
    assert places == {"data/models/llama-3-70b.yaml", "config/editions/paper.yaml"}


def test_assumptions_reach_the_number_that_rests_on_them(study):
    time = study.prefill_time(study.model, study.device, study.contexts()[0])
    assert "prefill-utilisation" in time.assumptions


def sample(unit="byte"):
    return measured([Fraction(3), Fraction(1), Fraction(2)], unit, "median", "run-1", "data/measurements/run-1.yaml:7")


def test_a_measured_number_is_a_reduction_of_recorded_samples():
    assert sample().evidence == "measured"
    assert sample().value == 2


@pytest.mark.parametrize(
    "arguments",
    [([], "byte", "median", "run", "f:1"), ([1], "byte", "median", "", "f:1"), ([1], "byte", "guess", "run", "f:1"),
     ([1], "byte", "median", "run", "")],
)  # fmt: skip
def test_a_measured_number_needs_a_run(arguments):
    with pytest.raises(EvidenceError):
        measured(*arguments)


def test_measured_and_reported_do_not_mix(study):
    capacity = study.fact(study.device.hbm_capacity)
    with pytest.raises(EvidenceError) as caught:
        study.ratio(sample(), capacity)
    assert "data/measurements/run-1.yaml:7" in str(caught.value)
    assert capacity.lineage.at in str(caught.value)


def test_a_measured_number_alone_does_not_enter_a_form(study):
    with pytest.raises(EvidenceError, match="cannot enter a closed form"):
        study.ratio(sample(), sample())


def test_reported_quality_is_never_computed_with(study):
    entry = next(method.quality[0] for method in study.methods() if method.quality)
    full, reduced = study.quality(entry.full_cache), study.quality(entry.with_method)
    assert full.evidence == "reported"
    with pytest.raises(EvidenceError, match="quality"):
        study.ratio(full, reduced)


def test_wrong_dimension_and_wrong_symbols_are_refused(study):
    weights = study.weight_bytes(study.model)
    with pytest.raises(EvidenceError, match="expected byte"):
        study.forms.evaluate("speedup", W=study.one_sequence, K=weights, c=study.compressions()[0])
    with pytest.raises(EvidenceError, match="expected \\['K', 'W', 'c'\\]"):
        study.forms.evaluate("speedup", W=weights)
    with pytest.raises(EvidenceError, match="stands in a denominator"):
        zero = constant(0, "", "zero", "here:1")
        study.forms.evaluate("speedup", W=weights, K=weights, c=zero)


def test_a_ledger_row_holds_the_story(study):
    crossover = study.traffic_crossover(study.model, study.one_sequence)
    row = make_row("table_4", "llama-3-70b", "b=1", crossover, "427.2", "ktoken", "1 decimals, half to even")
    assert row.id == "table_4/llama-3-70b/b=1"
    assert Fraction(row.value) == crossover.value
    assert (row.evidence, row.form, row.unit) == ("derived", "traffic_crossover", "token")
    assert row.lineage["inputs"]["kappa"]["form"] == "kv_bytes_per_token"
    assert "n_kv=data/models/llama-3-70b.yaml:" in row.inputs


def test_fragments_round_trip_and_the_ledger_refuses_double_ids(study, tmp_path):
    crossover = study.traffic_crossover(study.model, study.one_sequence)
    row = make_row("table_4", "llama-3-70b", "b=1", crossover, "427.2", "ktoken", "")
    write_fragment(str(tmp_path / "part.json"), [row])
    assert read_fragment(str(tmp_path / "part.json")) == [row]
    with pytest.raises(ValueError, match="given twice: table_4/llama-3-70b/b=1"):
        write_ledger(str(tmp_path), [row, row], [])


def test_ids_sort_as_people_count():
    names = ["t/b=32", "t/b=8", "table_10", "table_2"]
    assert sorted(names, key=natural_key) == ["t/b=8", "t/b=32", "table_2", "table_10"]
