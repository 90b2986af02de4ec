"""The commands as a person meets them."""

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kvwall.audit import verify
from kvwall.cli import app

ROOT = Path(__file__).parents[1]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A copy of the specs and the committed outputs, with freshly derived forms."""
    for name in ("data", "config", "tables", "figures", "ledger"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    forms = ["--accounting", "data/accounting/decode_step.yaml", "--printed", "data/forms/printed.yaml"]
    assert run("derive", *forms, "--out", "build/forms.json").exit_code == 0
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_check_writes_its_stamp_only_when_all_is_right(place):
    assert run("check", "--stamp", "build/check.json").exit_code == 0
    assert "data/hardware/b200.yaml" in json.loads(Path("build/check.json").read_text(encoding="utf-8"))["checked"]
    path = Path("data/hardware/b200.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("TB/s", "TB"), encoding="utf-8")
    done = run("check", "--stamp", "build/second.json")
    assert done.exit_code == 1
    assert re.search(r"data/hardware/b200\.yaml:\d+:\d+: hbm_bandwidth: found the unit", done.output)
    assert not Path("build/second.json").exists()


def test_explain_leads_from_a_cell_to_its_lines(place):
    done = run("explain", "table_4/llama-3-70b/b=32")
    assert done.exit_code == 0
    assert "13.4" in done.output
    line = re.search(r"n_kv = 8.*(data/models/llama-3-70b\.yaml):(\d+)", done.output)
    source = Path(line[1]).read_text(encoding="utf-8").splitlines()[int(line[2]) - 1]
    assert "8 head" in source


def test_explain_offers_the_nearest_ids(place):
    done = run("explain", "table_4/llama3-70b/b=32")
    assert done.exit_code == 1
    assert "table_4/llama-3-70b/b=32" in done.output


def test_every_derived_value_of_the_ledger_is_found_by_the_second_path(place):
    count, faults = verify.wrong_values(place)
    assert faults == []
    rows = json.loads(Path("ledger/ledger.json").read_text(encoding="utf-8"))
    assert count == sum(row["evidence"] == "derived" for row in rows) > 500


def change_row(name, **changes):
    path = Path("ledger/ledger.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    next(row for row in rows if row["id"] == name).update(changes)
    path.write_text(json.dumps(rows), encoding="utf-8")


DERIVED, REPORTED = "table_4/llama-3-70b/b=32", "table_3/b200/hbm"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (DERIVED, {"value": "13000"}),
        (DERIVED, {"evidence": "reported"}),
        (REPORTED, {"value": "424242"}),
        (DERIVED, {"evidence": "reported", "value": "7"}),
        (DERIVED, {"display": "14.4"}),
    ],
)
def test_a_changed_ledger_is_found(place, name, changes):
    change_row(name, **changes)
    _, faults = verify.wrong_values(place)
    assert any(fault.startswith((f"{name}:", "ledger/ledger.csv:")) for fault in faults)
    assert any(fault.startswith("ledger/ledger.json:") for fault in verify.edited_outputs(place))


def test_a_leaf_that_is_not_what_its_line_holds_is_found(place):
    path = Path("ledger/ledger.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    row = next(row for row in rows if row["id"] == REPORTED)
    row["value"] = row["lineage"]["value"] = "200000000000"
    path.write_text(json.dumps(rows), encoding="utf-8")
    _, faults = verify.wrong_values(place)
    assert any("but the line holds 192000000000" in fault for fault in faults)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ledger/ledger.json", "[]"),
        ("ledger/ledger.json", "{"),
        ("ledger/ledger.json", "[{}]"),
        ("ledger/outputs.sha256", ""),
        ("ledger/outputs.sha256", "nonsense"),
        ("build/forms.json", "[]]"),
        ("build/forms.json", "{}"),
    ],
)
@pytest.mark.parametrize("command", [["verify", "--no-rebuild"], ["explain", DERIVED], ["diff", "ledger/ledger.json"]])
def test_a_broken_file_of_a_build_is_one_line_and_no_traceback(place, name, text, command):
    Path(name).write_text(text, encoding="utf-8")
    done = run(*command)
    assert done.exit_code == 2
    assert not isinstance(done.exception, Exception) or isinstance(done.exception, SystemExit)
    assert name in done.output


@pytest.mark.parametrize("name", ["ledger/ledger.json", "ledger/outputs.sha256", "build/forms.json"])
def test_a_missing_file_of_a_build_is_told(place, name):
    Path(name).unlink()
    done = run("verify", "--no-rebuild")
    assert done.exit_code == 2
    assert f"{name}: cannot be read" in done.output


def test_tampered_latex_of_a_form_is_found(place):
    path = Path("build/forms.json")
    forms = json.loads(path.read_text(encoding="utf-8"))
    forms[0]["latex"] = r"\\kappa = 3"
    path.write_text(json.dumps(forms), encoding="utf-8")
    assert run("verify", "--no-rebuild").exit_code == 2


def test_an_output_that_no_build_made_is_found(place):
    shutil.copy("tables/table_1.csv", "tables/table_99.csv")
    assert [fault.split(":")[0] for fault in verify.edited_outputs(place)] == ["tables/table_99.csv"]


def test_explain_lists_what_is_below_an_artifact_and_warns_of_stale_outputs(place):
    done = run("explain", "table_4/llama-3-70b")
    assert done.exit_code == 0
    assert DERIVED in done.output
    Path("tables/table_4.csv").write_text("x", encoding="utf-8")
    assert "1 outputs are not those of the ledger" in run("explain", DERIVED).output


def test_a_hand_edited_output_is_found(place):
    assert verify.edited_outputs(place) == []
    path = Path("tables/table_4.csv")
    path.write_text(path.read_text(encoding="utf-8").replace("13.4", "14.4"), encoding="utf-8")
    Path("figures/figure_1.svg").unlink()
    found = [fault.split(":")[0] for fault in verify.edited_outputs(place)]
    assert sorted(found) == ["figures/figure_1.svg", "tables/table_4.csv"]
