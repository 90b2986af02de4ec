"""The claims audit: the rules of printed precision, each verdict on made-up claims, and the failures of the texts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwall.audit import claims_table
from kvwall.audit.check import _claim_references
from kvwall.audit.claims import FAILING, ClaimError, Kind, holds, holds_cut, judge, judge_all, requantify
from kvwall.audit.derive import derive_to
from kvwall.evidence import EvidenceError, Forms
from kvwall.evidence.ledger import lineage, read_fragment
from kvwall.specs.catalogue import read
from kvwall.specs.claims_schema import FormCall, Reference, number

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("claims", "models", "hardware", "links")
SPECS = sorted(str(path.relative_to(ROOT)) for kind in FOLDERS for path in (ROOT / "data" / kind).glob("*.yaml"))
SPECS.append("data/assumptions.yaml")


@pytest.fixture(scope="module")
def forms(forms_path) -> Forms:
    return Forms.read(forms_path)


@pytest.fixture(scope="module")
def rows(home):
    """The ledger of the other artifacts; claims point into it and never to themselves."""
    return {row.id: row for row in read_fragment("ledger/ledger.json") if not row.id.startswith("claims")}


@pytest.fixture(scope="module")
def catalogue(home):
    found, faults = read(SPECS)
    assert faults == []
    return found


@pytest.fixture(scope="module")
def verdicts(catalogue, rows, forms):
    return judge_all(catalogue, rows.values(), forms)


# --- made-up claims -------------------------------------------------------------------------------------------------

HEAD = """\
id: {name}
title: A made-up text
text: 000_0123456789abcdef.txt
{extra}sources:
  paper:
    title: A paper
    year: 2026
    arxiv: '2601.00001'
claims:
"""


def write(folder: Path, body: str, extra: str = "", name: str = "made-up") -> str:
    path = folder / "data" / "claims" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    indented = "".join(f"  {line}\n" for line in body.strip("\n").splitlines())
    path.write_text(HEAD.format(name=name, extra=extra) + indented, encoding="utf-8")
    return f"data/claims/{name}.yaml"


@pytest.fixture
def verdict(tmp_path, monkeypatch, rows, forms):
    """The verdict on the last claim of a body."""

    def decide(body: str, extra: str = ""):
        monkeypatch.chdir(tmp_path)
        found, faults = read([write(tmp_path, body, extra)])
        assert faults == []
        source = found.claims["made-up"]
        return judge(source.claims[-1], source, rows, forms, found)

    return decide


@pytest.fixture
def faults(tmp_path, monkeypatch):
    def collect(body: str, extra: str = ""):
        monkeypatch.chdir(tmp_path)
        found, listed = read([write(tmp_path, body, extra)])
        if not listed:
            listed = list(_claim_references(found, found.claims["made-up"]))
        return [str(fault) for fault in listed]

    return collect


CLAIM = """
- id: one
  line: 3
  paraphrase: a claim
"""


def claim(**keys: str) -> str:
    return CLAIM + "".join(f"  {key}: {value}\n" for key, value in keys.items())


CROSSOVER = "table_4/llama-3-70b/b=1"  # 427,246.09375 tokens


def test_agrees_with_the_ledger(verdict):
    found = verdict(claim(printed="'427.2'", unit="ktoken", ledger=CROSSOVER))
    assert (found.kind, found.pointer) == (Kind.AGREES, CROSSOVER)
    assert (found.recomputed.evidence, found.printed.evidence) == ("derived", "reported")
    assert found.printed.lineage.kind == "printed" and found.printed.value == 427_200


def test_agrees_only_if_cut(verdict):
    assert verdict(claim(printed="4", ledger="table_7/kivi-2bit/w2-nominal"), STATES).kind is Kind.CUT


STATES = "states:\n  - assumption: ideal-kernel\n    line: 1\n    why: the text says so\n"


def test_an_assumption_counts_unless_the_text_states_it(verdict):
    body = claim(printed="'4.82'", ledger="table_7/kivi-2bit/w2-nominal")
    assert (verdict(body).kind, verdict(body).detail) == (Kind.ASSUMPTION, "ideal-kernel")
    assert verdict(body, STATES).kind is Kind.AGREES


def test_an_assumption_of_the_claim_itself(verdict):
    found = verdict(claim(printed="'427.2'", unit="ktoken", ledger=CROSSOVER, assumption="decimal-contexts"))
    assert (found.kind, found.detail) == (Kind.ASSUMPTION, "decimal-contexts")


def test_unit_ambiguous(verdict):
    body = claim(printed="'39.06'", unit="GB", ledger="table_1/llama-3-70b/gb")
    assert verdict(body).kind is Kind.DIFFERS
    found = verdict(body + "  readings:\n    - label: GiB\n      unit: GiB\n")
    assert found.kind is Kind.AMBIGUOUS and found.detail.startswith("agrees as GiB")


def test_differs_with_its_factor(verdict):
    found = verdict(claim(printed="213.6", unit="ktoken", ledger=CROSSOVER))
    assert found.kind is Kind.DIFFERS and found.text == "differs (factor 2.00)"
    assert found.factor == Fraction(42724609375, 100_000_000) / Fraction("213.6")


def test_reported_only_and_misattributed_by_a_reported_fact(verdict):
    assert verdict(claim(printed="80", unit="layer", ledger="table_1/llama-3-70b/layers")).kind is Kind.REPORTED
    found = verdict(claim(printed="81", unit="layer", ledger="table_1/llama-3-70b/layers"))
    assert found.kind is Kind.MISATTRIBUTED and found.recomputed is None and found.stated.value == 80


PRIMARY = "  primary:\n    source: paper\n    locator: Table 1\n    states: something\n"


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ("value: '50.06'", Kind.REPORTED),
        ("value: '50.07'", Kind.MISATTRIBUTED),
        ("finding: supports", Kind.REPORTED),
        ("finding: not seen", Kind.REPORTED),
        ("finding: contradicts", Kind.MISATTRIBUTED),
    ],
)
def test_primary_source(verdict, last, kind):
    found = verdict(claim(printed="'50.06'") + PRIMARY + f"    {last}\n")
    assert found.kind is kind and "A paper (2026)" in found.detail


def test_a_score_of_a_primary_source_is_shown_and_never_computed_with(verdict, forms):
    found = verdict(claim(printed="'50.06'") + PRIMARY + "    value: '50.06'\n")
    for quantity in (found.stated, found.printed):
        with pytest.raises(EvidenceError, match="cannot enter a closed form"):
            forms.evaluate("ratio", x=quantity, y=quantity)


def test_unsourced(verdict):
    assert verdict(claim(printed="46", unsourced="no setting is named")).text == "unsourced (no setting is named)"


CONFLICT = "  conflicts_with:\n    claim: other\n    why: they differ\n"
OTHER = "\n- id: other\n  line: 2\n  paraphrase: another\n  unsourced: nothing\n"


def test_inconsistent_with_another_claim(verdict):
    assert verdict(OTHER + CLAIM + CONFLICT).text == "inconsistent with another claim (other: they differ)"
    agreeing = claim(printed="'427.2'", unit="ktoken", ledger=CROSSOVER) + CONFLICT
    assert verdict(OTHER + agreeing).kind is Kind.INCONSISTENT
    failing = verdict(OTHER + claim(printed="1", unit="ktoken", ledger=CROSSOVER) + CONFLICT)
    assert failing.kind is Kind.DIFFERS and "also against other" in failing.detail


def statement(left: str, relation: str, right: str) -> str:
    sides = f"    left:\n      {left}\n    relation: {relation}\n    right:\n      {right}\n"
    return CLAIM + "  compare:\n" + sides


def test_statement(verdict):
    capacity = "ledger: table_4/llama-3-70b/s_cap/b200"
    assert verdict(statement(f"ledger: {CROSSOVER}", "more than", capacity)).kind is Kind.AGREES
    found = verdict(statement(f"ledger: {CROSSOVER}", "less than", capacity))
    assert found.kind is Kind.DIFFERS and found.bound.value < found.recomputed.value


def test_a_statement_needs_derived_sides_of_one_dimension(verdict):
    with pytest.raises(ClaimError, match="both sides of a statement must be derived"):
        verdict(statement("ledger: table_1/llama-2-7b/kv-heads", "equal to", "ledger: table_1/llama-2-7b/query-heads"))
    with pytest.raises(ClaimError, match="do not compare"):
        verdict(statement(f"ledger: {CROSSOVER}", "less than", "ledger: table_1/llama-3-70b/gb"))


FORMULA = """  form:
    name: generation_flops_naive
    inputs:
      d:
        value: 4096
        why: a width
      n_gen:
        value: 2048
        why: a length
"""


def test_a_printed_form_is_compared_as_a_function(verdict):
    right = verdict(claim(formula="3*d**2*(n_gen**2 + n_gen)/2") + FORMULA)
    assert right.kind is Kind.AGREES and right.pointer == "claims/made-up/one/recomputed"
    wrong = verdict(claim(formula="d**2*n_gen*(n_gen + 1)") + FORMULA)
    assert wrong.kind is Kind.DIFFERS and wrong.factor == Fraction(3, 2)


def test_unknown_ledger_id_and_wrong_dimension(verdict):
    with pytest.raises(ClaimError, match="the ledger has no row 'table_4/nothing'"):
        verdict(claim(printed="1", unit="ktoken", ledger="table_4/nothing"))
    with pytest.raises(ClaimError, match="the text prints 'GB'"):
        verdict(claim(printed="1", unit="GB", ledger=CROSSOVER))


# --- the rules of precision -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "printed", "precision", "digits", "right"),
    [
        ("427.246", "427.2", "rounded", None, True),
        ("427.26", "427.2", "rounded", None, False),
        ("0.665", "0.66", "rounded", None, True),  # a tie may go either way
        ("2146.8", "2,100", "rounded", 2, True),
        ("2151", "2,100", "rounded", 2, False),
        ("2146.8", "2,100", "rounded", None, False),
        ("64", "64", "exact", None, True),
        ("64.001", "64", "exact", None, False),
        ("52.34", "50", "about", None, True),
        ("52.6", "50", "about", None, False),
        ("1.0737", "1.0", "about", None, False),
        ("11.85", "12", "up to", None, True),
        ("12.6", "12", "up to", None, False),
        ("11.3", "12", "up to", None, False),
        ("5000", "5,000", "more than", None, False),
        ("5000", "5,000", "at least", None, True),
        ("0.1", "0.1", "less than", None, False),
        ("0.1", "0.1", "at most", None, True),
    ],
)
def test_precision(value, printed, precision, digits, right):
    assert holds(Fraction(value), printed, precision, digits) is right


@pytest.mark.parametrize(
    ("value", "printed", "right"), [("46.545", "46", True), ("47", "46", False), ("45.9", "46", False)]
)
def test_cut(value, printed, right):
    assert holds_cut(Fraction(value), printed, "rounded") is right


@given(st.integers(-(10**6), 10**6), st.integers(0, 4))
def test_a_number_holds_for_itself_by_every_rule_but_the_strict_ones(whole, decimals):
    printed = f"{whole}.{'0' * decimals}" if decimals else f"{whole}"
    value = number(printed)
    for precision in ("rounded", "exact", "about", "at least", "at most", "up to"):
        assert holds(value, printed, precision)
    assert not holds(value, printed, "more than") and not holds(value, printed, "less than")


@pytest.mark.parametrize(
    ("text", "value"), [("427.2", "427.2"), ("327,680", "327680"), ("1/64", "1/64"), ("-183", "-183")]
)
def test_printed_numbers(text, value):
    assert number(text) == Fraction(value)


@pytest.mark.parametrize("text", ["", "INT8", "1.6 P", "10^5", "1/0", "١٢", "1.", "nan"])
def test_what_is_no_printed_number(text):
    with pytest.raises(ValueError, match="expected a plain number"):
        number(text)


# --- faults of a claims file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "where", "what"),
    [
        (claim(printed="1", verdict="agrees", unsourced="x"), "claims.0.verdict", "unknown key"),
        (claim(printed="1"), "claims.0", "expected exactly one"),
        (claim(printed="1", ledger="a", unsourced="b"), "claims.0", "found ledger and unsourced"),
        (claim(ledger="a"), "claims.0", "missing key printed"),
        (claim(printed="many", ledger="a"), "claims.0", "expected a plain number"),
        (claim(printed="1", unit="GBB", ledger="a"), "claims.0.unit", "GBB"),
        (claim(printed="1", precision="roughly", unsourced="b"), "claims.0.precision", "found 'roughly'"),
        (claim(printed="1", unsourced="b") + claim(printed="2", unsourced="c"), "claims.1.id", "found 'one' twice"),
        (claim(unsourced="b", assumption="hope"), "claims.0.assumption", "found 'hope'"),
        (CLAIM + CONFLICT, "claims.0.conflicts_with.claim", "expected another claim"),
        (CLAIM + PRIMARY, "claims.0.primary", "expected either value"),
        (CLAIM + PRIMARY.replace("paper", "nobody") + "    finding: supports\n", "claims.0.primary.source", "'nobody'"),
        (claim(printed="1") + FORMULA.replace("        why: a width\n", ""), "claims.0.form.inputs.d", "a value needs"),
        (
            claim(printed="1", unsourced="b") + "  readings:\n    - label: GiB\n      unit: GiB\n",
            "claims.0",
            "has none",
        ),
    ],
)
def test_faults_have_a_place(faults, body, where, what):
    told = faults(body)
    assert any(f": {where}: " in text and what in text for text in told), told
    assert all(text.split(":")[1] != "1" for text in told), told


def test_all_faults_are_told_at_once(faults):
    assert len(faults(claim(printed="1") + claim(ledger="a").replace("line: 3", "line: x"))) >= 2


def test_lines_keep_the_order_of_the_text(faults):
    later = claim(unsourced="b").replace("id: one", "id: two").replace("line: 3", "line: 2")
    (told,) = faults(claim(unsourced="a") + later)
    assert "claims.1.line: found 2 after 3" in told


# --- the shipped claims ---------------------------------------------------------------------------------------------


def test_about_150_claims_in_block_style(catalogue):
    claims = [claim for source in catalogue.claims.values() for claim in source.claims]
    assert set(catalogue.claims) == {"review", "blog", "survey"} and len(claims) >= 150
    for path in (ROOT / "data/claims").glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert "{" not in text and "\t" not in text and max(map(len, text.splitlines())) <= 160


def test_ids_are_unique_and_lines_increase(catalogue):
    for source in catalogue.claims.values():
        lines = [claim.line for claim in source.claims]
        assert lines == sorted(lines)
        assert len({claim.id for claim in source.claims}) == len(lines)


def test_references_of_the_shipped_claims(catalogue):
    assert [str(fault) for source in catalogue.claims.values() for fault in _claim_references(catalogue, source)] == []


def ledger_ids(item) -> set[str]:
    found = {item.ledger} if getattr(item, "ledger", None) else set()
    for name in type(item).model_fields:
        child = getattr(item, name)
        children = child.values() if isinstance(child, dict) else child if isinstance(child, list) else [child]
        for part in children:
            if hasattr(type(part), "model_fields"):
                found |= ledger_ids(part)
    return found


def test_every_ledger_id_exists(catalogue, rows):
    named = {name for source in catalogue.claims.values() for claim in source.claims for name in ledger_ids(claim)}
    assert len(named) > 50 and sorted(named - set(rows)) == []


def test_no_claim_holds_a_translated_sentence(catalogue):
    for source in catalogue.claims.values():
        for item in source.claims:
            assert item.paraphrase.isascii() and len(item.paraphrase.split()) <= 20, item.id


# What a hard reviewer finds: claim -> verdict and a part of its detail.
FOUND = {
    "review/mi300x-chiplets": (Kind.MISATTRIBUTED, "12 logic dies"),
    "review/intensity-decreasing": (Kind.DIFFERS, "5.90 is not less than 1.02"),
    "review/evaluated-on-b200": (Kind.DIFFERS, "factor 8.00"),
    "review/useless-below": (Kind.INCONSISTENT, "1.25x"),
    "review/middle-regime": (Kind.DIFFERS, "ktoken"),
    "review/recompute": (Kind.ASSUMPTION, "prefill-utilisation"),
    "review/fetch-nvlink": (Kind.AMBIGUOUS, "both directions"),
    "review/nvlink-below-hbm": (Kind.AMBIGUOUS, "both directions"),
    "review/frontier-int8": (Kind.MISATTRIBUTED, "no INT8"),
    "review/sigma": (Kind.ASSUMPTION, "w3-shared-prefix"),
    "review/sigma-in-w2": (Kind.INCONSISTENT, "W3"),
    "review/capacity-46": (Kind.CUT, "w3-shared-prefix"),
    "review/qserve-overhead": (Kind.MISATTRIBUTED, "weights or partial sums"),
    "review/gain-1.2": (Kind.CUT, ""),
    "review/softmax-lower-order": (Kind.DIFFERS, "not equal to 0"),
    "blog/naive-step": (Kind.AMBIGUOUS, "MAC"),
    "blog/proof-step": (Kind.INCONSISTENT, "naive-step"),
    "blog/naive-flop": (Kind.DIFFERS, "as multiply-adds (MAC): factor 2.11"),
    "blog/naive-time": (Kind.DIFFERS, "5.1 s"),
    "blog/kv-7b": (Kind.AMBIGUOUS, "agrees as GiB"),
    "blog/kv-70b-mha": (Kind.ASSUMPTION, "mha-70b"),
    "blog/kv-70b-gqa": (Kind.DIFFERS, "factor 1.02"),
    "blog/gqa-loss": (Kind.MISATTRIBUTED, "no perplexity"),
    "blog/all-use-gqa": (Kind.DIFFERS, "is not more than"),
    "blog/kvquant-4x": (Kind.DIFFERS, "0.926"),
    "blog/quantiser-range": (Kind.DIFFERS, "7.50 is not at most 3.00"),
    "blog/mse-46x": (Kind.UNSOURCED, ""),
    "blog/kvquant-loss": (Kind.MISATTRIBUTED, "absolute increase"),
    "blog/int4-loss": (Kind.MISATTRIBUTED, "5.3 %"),
    "blog/fits-a100": (Kind.DIFFERS, "140 GB"),
    "blog/batch-4x": (Kind.DIFFERS, "-60"),
    "survey/cache-1001": (Kind.INCONSISTENT, "1,000"),
    "survey/kvzip-learned": (Kind.MISATTRIBUTED, "nothing is trained"),
    "survey/turboquant-2.5": (Kind.DIFFERS, "factor 0.900"),
    "survey/rethinking-title": (Kind.MISATTRIBUTED, "for LLM Serving"),
    "survey/pitfalls-title": (Kind.MISATTRIBUTED, "The Pitfalls"),
    "survey/give-levels": (Kind.MISATTRIBUTED, "2412.19442"),
}


@pytest.mark.parametrize("name", FOUND)
def test_failure_is_found(verdicts, name):
    kind, part = FOUND[name]
    assert verdicts[name].kind is kind and part in verdicts[name].detail, verdicts[name].text


def test_values_behind_the_failures(verdicts):
    naive = verdicts["blog/naive-flop"].recomputed
    assert naive.value == 3 * 32 * 4096**2 * 2048 * 2049  # 6.76e15 FLOP, 3.38e15 multiply-adds
    assert 21 < verdicts["blog/naive-time"].recomputed.value < 22
    assert verdicts["blog/kv-70b-mha"].recomputed.value == 5_368_709_120
    assert verdicts["survey/turboquant-2.5"].recomputed.value * 8 == Fraction(9, 4)
    assert verdicts["review/capacity-46"].recomputed.value == Fraction(512, 11)
    regime = verdicts["review/middle-regime"]
    assert (int(regime.recomputed.value), int(regime.bound.value)) == (427_246, 158_691)


def test_printed_values_of_the_paper_agree(verdicts):
    agreeing = (
        "crossover-b1",
        "crossover-b32",
        "kv-128k",
        "kv-512k",
        "step-bytes-128k",
        "step-bytes-512k-int8",
        "llama-8b-cap",
    )
    assert {verdicts[f"review/{name}"].kind for name in agreeing} == {Kind.AGREES}


def test_nothing_agrees_without_a_derived_recomputation_in_the_ledger(verdicts, rows, catalogue, tmp_path):
    tables = {"claims": claims_table.claims_table(catalogue, verdicts)}
    claims_table.write(tables, str(tmp_path), str(tmp_path / "fragment.json"))
    own = {row.id: row for row in read_fragment(str(tmp_path / "fragment.json"))}
    for name, verdict in verdicts.items():
        if verdict.kind in (Kind.AGREES, Kind.CUT, Kind.ASSUMPTION):
            row = rows.get(verdict.pointer) or own[verdict.pointer]
            assert row.evidence == "derived" and row.value == str(verdict.recomputed.value), name


def test_a_column_has_one_evidence_class(verdicts, catalogue):
    classes: dict[str, set[str]] = {}
    for row in claims_table.claims_table(catalogue, verdicts).rows:
        classes.setdefault(row.column, set()).add(row.evidence)
    assert classes == {
        "printed": {"reported"},
        "stated": {"reported"},
        "recomputed": {"derived"},
        "bound": {"derived"},
    }


def test_summary_counts_every_claim_once(verdicts, catalogue):
    table = claims_table.summary_table(catalogue, verdicts)
    values = {(row.row, row.column): int(row.value) for row in table.rows}
    for column in ("review", "blog", "survey", "all"):
        assert sum(values[str(kind).replace(" ", "-"), column] for kind in Kind) == values["all", column]
    assert values["all", "all"] == len(verdicts)


def test_the_story_of_a_failing_claim_holds_its_arithmetic(verdicts, catalogue, forms):
    name = "blog/naive-time"
    text = claims_table.story(name, catalogue, verdicts[name], forms)
    assert "line 37" in text and "21.66" in text and forms["generation_model_flops_naive"].title in text
    assert set(claims_table.failing(verdicts)) == {key for key, found in verdicts.items() if found.kind in FAILING}


def test_lineage_of_a_ledger_row_reads_back(rows):
    for row in rows.values():
        quantity = requantify(row.lineage)
        assert lineage(quantity) == row.lineage and quantity.evidence == row.evidence


def test_notebook_emits_what_the_package_makes(home, forms, tmp_path):
    cells = json.loads((ROOT / "notebooks/claims.ipynb").read_text(encoding="utf-8"))["cells"]
    path = tmp_path / "forms.json"
    derive_to("data/accounting/decode_step.yaml", "data/forms/printed.yaml", path)
    rows = tmp_path / "rows.json"
    kept = [
        row for row in json.loads(Path("ledger/ledger.json").read_text("utf-8")) if not row["id"].startswith("claims")
    ]
    rows.write_text(json.dumps(kept), encoding="utf-8")
    given_values = {"forms": str(path), "rows": str(rows), "specs": SPECS, "out_dir": str(tmp_path)}
    given_values["ledger"] = str(tmp_path / "claims.json")
    namespace: dict = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "claims.ipynb", "exec"), namespace)
        if "parameters" in cell["metadata"].get("tags", []):
            namespace.update(given_values)
    for name in ("claims", "claims_summary"):
        for ending in ("csv", "md", "tex"):
            assert (tmp_path / f"{name}.{ending}").stat().st_size > 100
    assert len(read_fragment(str(tmp_path / "claims.json"))) > 300


def test_references_are_closed_types():
    assert set(Reference.model_fields) >= {"ledger", "form", "spec", "value"}
    assert set(FormCall.model_fields) == {"name", "inputs", "assumptions"}
