"""Tables 1 to 8: their printed values, that the ledger holds every number of them, and what a table refuses."""

from __future__ import annotations

import csv
import json
import re
import sys
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwall.artifacts import Cell, Column, Table, cut, decimals, significant
from kvwall.artifacts.prose import derivation
from kvwall.evidence import Study
from kvwall.evidence.ledger import read_fragment
from kvwall.evidence.quantity import constant
from kvwall.specs.schema import Datum

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
import artifact_table  # noqa: E402

EDITION = "config/editions/paper.yaml"
NUMBERS = [f"table_{number}" for number in range(1, 9)]


# --- the tables as plain Python makes them ------------------------------------------------------------------------


def run(path: Path, parameters: dict) -> dict:
    """Run a notebook's code in this process, as papermill would: parameters after the cell that declares them."""
    namespace: dict = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), path.name, "exec"), namespace)
            checks = namespace.get("checks")
            if checks is not None and checks not in namespace.setdefault("every_check", []):
                namespace["every_check"].append(checks)
        if "parameters" in cell["metadata"].get("tags", []):
            namespace.update(parameters)
    return namespace


@pytest.fixture(scope="module")
def made(home, forms_path, tmp_path_factory) -> tuple[Path, dict[str, dict]]:
    """The folder of the tables, and the names that each notebook leaves behind."""
    folder, names = tmp_path_factory.mktemp("tables"), {}
    for artifact in artifact_table.load(Path("workflow/artifacts.yaml"), Path(EDITION)):
        if artifact.kind == "tables":
            ledger = str(folder / f"{artifact.name}.json")
            given_values = {"edition": EDITION, "forms": forms_path, "specs": artifact.specs}
            given_values |= {"out_dir": str(folder), "ledger": ledger}
            names[artifact.name] = run(home / artifact.path, given_values)
    return folder, names


@pytest.fixture(scope="module")
def emitted(made) -> Path:
    return made[0]


@pytest.fixture(scope="module")
def ledger(emitted):
    return {row.id: row for name in NUMBERS for row in read_fragment(str(emitted / f"{name}.json"))}


@pytest.fixture(scope="module")
def study(home, forms_path) -> Study:
    files = [str(path.relative_to(home)) for path in sorted((home / "data").rglob("*.yaml"))]
    return Study.open(EDITION, forms_path, files)


PRINTED = {
    "table_1/llama-3-70b/bytes-per-token": "327,680",
    "table_1/llama-3-70b/mb-per-token": "0.33",
    "table_1/llama-3-70b/gb": "41.9",
    "table_1/llama-2-13b/mb-per-token": "0.82",
    "table_1/deepseek-v2/mb-per-token": "0.07",
    "table_1/deepseek-v2/ratio": "1.0",
    "table_2/prefix-caching/most": "2.91",
    "table_3/h100-sxm5/ridge": "295",
    "table_3/b200/striped": "8.00",
    "table_3/b200/pinned": "4.00",
    "table_3/b200/die-to-die": "10",
    "table_3/mi300x/pinned": "0.66",
    "table_3/mi300x/peer": "896",
    "table_4/llama-3-70b/b=1": "427.2",
    "table_4/llama-3-70b/b=32": "13.4",
    "table_4/llama-3-8b/s_cap/h100-sxm5": "488",
    "table_4/llama-3-70b/s_cap/b200": "159",
    "table_4/llama-3-70b/s_cap/mi300x": "159",
    "table_5/bf16/128k/bytes": "181.9",
    "table_5/bf16/512k/bytes": "307.8",
    "table_5/int8/512k/bytes": "223.9",
    "table_5/2bit/128k/speedup": "1.25",
    "table_5/2bit/512k/speedup": "1.91",
    "table_5/bf16/128k/devices": "1",
    "table_5/bf16/512k/devices": "2",
    "table_5/int8/512k/devices": "2",
    "table_5/int4/512k/devices": "1",
    "table_5/2bit/512k/devices": "1",
    "table_6/w3/sigma": "2.91",
    "table_6/w3/kv": "335.5",
    "table_7/bf16/w3-stored": "335.5",
    "table_7/sglang-prefix/nominal": "2.91",
    "table_7/kivi-2bit/w1-nominal": "1.25",
    "table_7/kivi-2bit/w2-nominal": "4.82",
    "table_7/kivi-2bit-evict/w2-nominal": "6.62",
    "table_7/kivi-2bit-evict+sharing/w2-nominal": "6.62",
    "table_7/cachegen/w4-recompute": "25.0",
    "table_7/cachegen/w4-peer": "12",
    "table_8/layer/read": "524.3",
}


@pytest.mark.parametrize("name", PRINTED)
def test_printed_value(ledger, name):
    assert ledger[name].display == PRINTED[name]


def test_values_printed_in_another_unit_or_rounding(ledger):
    exact = {name: Fraction(row.value) for name, row in ledger.items()}
    assert decimals(2).show(exact["table_7/mooncake/w4-host"]) == "0.66"
    assert decimals(2).show(exact["table_7/cachegen/w4-host"]) == "0.16"
    recompute = exact["table_7/mooncake/w4-recompute"]
    assert decimals(0).show(recompute / exact["table_7/mooncake/w4-host"]) == "38"
    assert significant(2).show(recompute / exact["table_7/cachegen/w4-peer"]) == "2,100"
    assert cut(0).show(exact["table_7/kivi-2bit-evict+sharing/nominal"]) == "46"
    assert decimals(1).show(exact["table_7/kivi-2bit-evict/w2-nominal"]) == "6.6"
    assert exact["table_5/bf16/128k/time"] == exact["table_5/bf16/128k/bytes"] / (8 * 10**12)


def test_capacity_is_negative_where_the_weights_do_not_fit(ledger):
    without_room = ["llama-3-70b/s_cap/h100-sxm5"]
    without_room += [f"llama-3.1-405b/s_cap/{device}" for device in ("h100-sxm5", "b200", "mi300x")]
    assert all(Fraction(ledger[f"table_4/{name}"].value) < 0 for name in without_room)


def test_kv_bound_regime_of_the_70b_is_empty_on_one_device(ledger):
    for device in ("b200", "mi300x"):
        s_cap, s_star = (Fraction(ledger[f"table_4/llama-3-70b/{key}"].value) for key in (f"s_cap/{device}", "b=1"))
        assert s_cap < s_star
        assert ledger[f"table_4/llama-3-70b/devices/{device}"].display == "2"


def test_only_methods_that_cut_read_bytes_speed_up_a_step(ledger, study):
    for method in study.matrix_methods():
        for key in ("w1-nominal", "w1-true", "w2-nominal", "w2-true"):
            gain = Fraction(ledger[f"table_7/{method.id}/{key}"].value)
            assert (gain > 1) == ("read bytes" in method.cuts), method.id


def test_metadata_never_helps(ledger, study):
    for method in study.matrix_methods():
        nominal, true = (Fraction(ledger[f"table_7/{method.id}/{key}"].value) for key in ("nominal", "true"))
        assert true <= nominal
        assert (true < nominal) == bool(method.scales or method.outliers or method.block)


def test_weights_of_the_accounting_make_two_p_but_for_table_and_norms(ledger):
    matrices, table, twice = (
        Fraction(ledger[f"table_8/{row}/flops"].value) for row in ("weight-matrices", "embedding-table", "two-p")
    )
    norms = (2 * 80 + 1) * 8192
    assert twice - matrices - table == 2 * norms < table


def test_values_that_no_table_shows(study):
    million = constant(1_000_000, "token", "context", "tests")
    one, model = study.one_sequence, study.model
    assert decimals(0).show(study.kv_bytes(model, one, million).value, "GB") == "328"
    rates = {
        device.id: study.token_rate_ceiling(model, study.striped_bandwidth(device)).value / 10**6
        for device in study.hardware()
    }
    assert decimals(1).show(rates["h100-sxm5"]) == "10.2"
    assert decimals(1).show(rates["b200"]) == "24.4"
    group, widths = model.groups[0], {width.value: width for width in study.widths()}
    g = study.forms.evaluate("gqa_saving", n_q=study.fact(group.query_heads), n_kv=study.fact(group.kv_heads))
    limits = {
        width: study.forms.evaluate("intensity_long_limit", g=g, w_kv=widths[width]).value
        for width in (2, Fraction(1, 4))
    }
    assert limits == {2: 8, Fraction(1, 4): 64}
    ridge = study.ridge_point(study.catalogue.hardware["h100-sxm5"]).value
    assert decimals(1).show(ridge / limits[Fraction(1, 4)]) == "4.6"


# --- coverage and evidence ----------------------------------------------------------------------------------------

NUMBER = re.compile(r"-?[\d,]+(?:\.\d+)?")


@pytest.mark.parametrize("name", NUMBERS)
def test_ledger_holds_every_number_of_a_table(emitted, name):
    with (emitted / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        shown = [text for line in list(csv.reader(stream))[1:] for text in line if NUMBER.fullmatch(text)]
    rows = read_fragment(str(emitted / f"{name}.json"))
    assert sorted(shown) == sorted(row.display for row in rows)
    assert shown


def test_ids_are_unique_and_name_their_table(emitted, ledger):
    rows = [row for name in NUMBERS for row in read_fragment(str(emitted / f"{name}.json"))]
    assert len(rows) == len(ledger)
    assert all(row.id == f"{row.artifact}/{row.row}/{row.column}" for row in rows)


def test_a_column_has_one_evidence_class(ledger):
    classes: dict[tuple[str, str], set[str]] = {}
    for row in ledger.values():
        classes.setdefault((row.artifact, row.column), set()).add(row.evidence)
    assert {key: found for key, found in classes.items() if len(found) > 1} == {}
    assert classes["table_7", "with"] == classes["table_7", "full"] == {"reported"}
    assert classes["table_7", "w1-true"] == {"derived"}


@pytest.mark.parametrize("name", NUMBERS)
def test_every_assumption_has_a_footnote(emitted, study, name):
    used = {one for row in read_fragment(str(emitted / f"{name}.json")) for one in row.assumptions.split("; ") if one}
    assert used <= set(study.catalogue.assumptions)
    notes = (emitted / f"{name}.md").read_text(encoding="utf-8").split("\n\n")[-1]
    assert [one for one in sorted(used) if one not in notes] == []


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_a_footnote_stand_in_a_cell(emitted, name):
    notes = (emitted / f"{name}.tex").read_text(encoding="utf-8").partition(r"\end{tabular}")[2]
    plain = re.sub(r"section [\d.]+|[a-zA-Z][\w.-]*", "", notes)  # W3, w3-shared-prefix, section 4.6
    shown = {row.display for row in read_fragment(str(emitted / f"{name}.json"))}
    assert set(re.findall(r"\d[\d,]*(?:\.\d+)?", plain)) <= shown


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("ending", ["csv", "md", "tex"])
def test_committed_table_is_what_its_notebook_makes(emitted, name, ending):
    committed = ROOT / "tables" / f"{name}.{ending}"
    assert committed.read_bytes() == (emitted / f"{name}.{ending}").read_bytes()


# --- the notebooks as files ---------------------------------------------------------------------------------------

NOTEBOOKS = [*sorted((ROOT / "notebooks").glob("table_*.ipynb")), ROOT / "notebooks" / "derivations.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_committed_clean(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert [cell["id"] for cell in content["cells"]] == [f"c{n:02d}" for n in range(1, len(content["cells"]) + 1)]
    assert [cell["metadata"].get("tags") for cell in code].count(["parameters"]) == 1
    assert content["metadata"]["kernelspec"]["name"] == "python3"


@pytest.mark.parametrize("name", NUMBERS[:7])
def test_the_paper_edition_finds_what_the_paper_prints(made, name):
    frame = pd.concat([checks.frame for checks in made[1][name]["every_check"]])
    differing = frame[frame["verdict"] != "agrees"]["number"].tolist()
    assert len(frame) > 1
    # The paper prints 46x for 46.5: it cuts. The notebook shows both readings.
    assert differing == (["capacity factor with sharing, rounded"] if name == "table_7" else [])


def test_derivations_run_and_show_every_form(home, forms_path, capsys):
    specs = ["data/models/llama-3-70b.yaml"]
    namespace = run(home / "notebooks" / "derivations.ipynb", {"edition": EDITION, "forms": forms_path, "specs": specs})
    sections = {form.section for form in namespace["closed_forms"].values()}
    text = (home / "notebooks" / "derivations.ipynb").read_text(encoding="utf-8")
    assert all(f'\\"{section}\\"' in text for section in sections)
    assert "427,246.1 tokens" in capsys.readouterr().out


def test_a_derivation_reads_as_statement_steps_conditions_dimensions_print(study):
    text = derivation(study.forms["speedup"])
    assert text.startswith("### Speedup")
    order = [
        "$$ S(c)",
        "1. ",
        r"\lim_{K \to 0^+}",
        "*Holds under:*",
        "*Dimensions:* right side pure number",
        "*As printed:*",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


# --- what a table refuses -----------------------------------------------------------------------------------------


def quantity(value, unit=""):
    return constant(value, unit, "test", "tests")


@pytest.fixture
def table() -> Table:
    return Table("table_0", "A table.", [Column("name", "Name"), Column("bytes", "Bytes", "GB", decimals(1))])


@pytest.mark.parametrize("number", [1.5, 3, Fraction(1, 2), "1.5", Decimal(1)])
def test_number_column_takes_quantities_only(table, number):
    with pytest.raises(TypeError, match=r"table_0/row/bytes: .* expected a quantity"):
        table.add("row", {"bytes": number})


@pytest.mark.parametrize("label", ["1.5", "-2", "46x", "12 %", "1,234", "1e9", ".5", "2×"])
def test_label_is_no_number(table, label):
    with pytest.raises(ValueError, match="as a label"):
        table.add("row", {"name": label})


def test_label_column_takes_no_quantity(table):
    with pytest.raises(TypeError, match="expected a label"):
        table.add("row", {"name": quantity(1)})


@pytest.mark.parametrize("unit", ["", "GB/s", "byte/token", "second", "FLOP"])
def test_wrong_dimension_is_refused(table, unit):
    with pytest.raises(TypeError, match="expected 'GB'"):
        table.add("row", {"bytes": quantity(1, unit)})


def test_unknown_column_is_refused(table):
    with pytest.raises(ValueError, match="byte"):
        table.add("row", {"byte": quantity(1, "byte")})


def test_cell_in_another_rounding_and_an_absent_cell(table):
    table.add("one", {"name": "a", "bytes": Cell(quantity(1_250_000_000, "byte"), decimals(3))})
    table.add("two", {"name": "b"})
    assert table.frame.values.tolist() == [["a", "1.250"], ["b", "—"]]


def test_emitted_files_are_utf8_with_unix_lines(emitted):
    for path in emitted.iterdir():
        content = path.read_bytes()
        assert content.endswith(b"\n") and b"\r" not in content
        content.decode("utf-8")


# --- rounding against the decimal module --------------------------------------------------------------------------

_EXACT = Context(prec=200)
numbers = st.decimals(min_value=-(10**24), max_value=10**24, places=9, allow_nan=False, allow_infinity=False)


def back(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


@given(numbers, st.integers(0, 8))
def test_decimals_round_half_to_even(number, places):
    expected = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _EXACT)
    shown = decimals(places).show(Fraction(number))
    assert back(shown) == expected
    assert len(shown.partition(".")[2]) == places


@given(numbers, st.integers(0, 8))
def test_cut_goes_towards_zero(number, places):
    assert back(cut(places).show(Fraction(number))) == number.quantize(Decimal(1).scaleb(-places), ROUND_DOWN, _EXACT)


@given(numbers, st.integers(1, 12))
def test_significant_digits(number, digits):
    expected = Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(number)
    assert back(significant(digits).show(Fraction(number))) == expected


@given(st.integers(-(10**6), 10**6), st.integers(0, 4))
def test_ties_go_to_the_even_digit(whole, places):
    tie = (Fraction(whole) + Fraction(1, 2)) / 10**places
    last = back(decimals(places).show(tie)) * 10**places
    assert last % 2 == 0 and abs(last - whole) <= 1


@pytest.mark.parametrize(
    ("rounding", "value", "unit", "text"),
    [
        (decimals(0), Fraction(5, 2), "", "2"),
        (decimals(0), Fraction(7, 2), "", "4"),
        (decimals(1), Fraction(-1, 4), "", "-0.2"),
        (decimals(1), Fraction(-1, 100), "", "0.0"),
        (cut(0), Fraction(512, 11), "", "46"),
        (cut(0), Fraction(-512, 11), "", "-46"),
        (significant(2), Fraction(2147), "", "2,100"),
        (significant(3), Fraction(9996, 1000), "", "10.0"),
        (significant(2), Fraction(-9996, 10), "", "-1,000"),
        (significant(3), Fraction(0), "", "0.00"),
        (significant(2), Fraction(3, 51200), "%", "0.0059"),
        (decimals(1), Fraction(41_943_040_000), "GB", "41.9"),
        (decimals(0), Fraction(10**30 + 1), "", "1" + ",000" * 9 + ",001"),
    ],
)
def test_shown_text(rounding, value, unit, text):
    assert rounding.show(value, unit) == text


def test_datum_is_not_a_cell(table, study):
    capacity = study.device.hbm_capacity
    assert isinstance(capacity, Datum)
    with pytest.raises(TypeError, match="expected a quantity"):
        table.add("row", {"bytes": capacity})
