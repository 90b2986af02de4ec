"""What moved: exactly the numbers whose lineage holds the changed leaf, each with the leaf that moved it."""

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from kvwall.algebra import forms_from_json
from kvwall.audit.diff import compare, read_ledger, to_json, to_markdown
from kvwall.audit.outputs import OutputError
from kvwall.audit.second_path import recompute

LEDGER = "ledger/ledger.json"
BANDWIDTH = "data/hardware/b200.yaml"


@pytest.fixture(scope="module")
def forms(forms_path):
    return forms_from_json(Path(forms_path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def texts(forms):
    import sympy

    return {name: sympy.srepr(form.expr) for name, form in forms.items()}


def leaves(lineage, symbol=""):
    if "form" in lineage:
        for name, child in lineage["inputs"].items():
            yield from leaves(child, name)
    else:
        yield symbol, lineage


def with_bandwidth(rows, texts, value):
    """The ledger as it would be with another B200 bandwidth: leaves replaced, values recomputed by the second path."""
    changed, touched = json.loads(json.dumps(rows)), set()
    for name, row in changed.items():
        found = [leaf for symbol, leaf in leaves(row["lineage"]) if leaf.get("at", "").startswith(BANDWIDTH)
                 and leaf["unit"] == "byte/second"]  # fmt: skip
        if found:
            touched.add(name)
            for leaf in found:
                leaf["value"] = value
            set_values(row["lineage"], texts)
            row["value"] = row["lineage"]["value"]
    return changed, touched


def set_values(lineage, texts):
    if "form" in lineage:
        for child in lineage["inputs"].values():
            set_values(child, texts)
        lineage["value"] = str(recompute(lineage, texts))


def test_a_ledger_does_not_differ_from_itself(forms):
    rows = read_ledger(LEDGER)
    difference = compare(rows, rows, forms)
    assert not difference
    assert difference.unmoved == len(rows)


def test_a_changed_bandwidth_moves_exactly_the_numbers_that_rest_on_it(forms, texts):
    rows = read_ledger(LEDGER)
    changed, touched = with_bandwidth(rows, texts, str(77 * 10**11))
    difference = compare(rows, changed, forms)
    moved = {move.id for move in difference.moved}
    # A number whose lineage holds the bandwidth may keep its value only where the form cancels or limits it.
    assert moved == {name for name in touched if rows[name]["value"] != changed[name]["value"]}
    assert len(moved) > 5
    assert moved <= touched
    for move in difference.moved:
        assert {cause.at.rsplit(":", 1)[0] for cause in move.causes} == {BANDWIDTH}


def test_the_elasticity_of_a_bound_in_time_is_minus_one(forms, texts):
    rows = read_ledger(LEDGER)
    changed, _ = with_bandwidth(rows, texts, str(77 * 10**11))
    move = next(move for move in compare(rows, changed, forms).moved if move.id == "table_3/b200/ridge")
    assert [Fraction(cause.elasticity) for cause in move.causes] == [-1]
    assert Fraction(move.factor) == Fraction(80, 77)
    assert "table_3/b200/ridge" in to_markdown(compare(rows, changed, forms))


def test_appeared_vanished_and_changed_class(forms):
    rows = read_ledger(LEDGER)
    first, second, third = list(rows)[:3]
    changed = json.loads(json.dumps(rows))
    changed["new/one"] = {**changed.pop(first), "id": "new/one"}
    changed[second]["evidence"] = "measured"
    difference = compare(rows, changed, forms)
    assert difference.appeared == ("new/one",)
    assert difference.vanished == (first,)
    assert [(move.id, move.changed) for move in difference.moved] == [(second, ("evidence",))]
    assert json.loads(to_json(difference))["unmoved"] == len(rows) - 2
    assert third not in to_markdown(difference)


def test_an_unknown_ledger_is_told(tmp_path):
    with pytest.raises(OutputError, match="no-such-revision"):
        read_ledger("no-such-revision")
    path = Path(shutil.copy(LEDGER, tmp_path / "ledger.json"))
    path.write_text("{", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be read"):
        read_ledger(str(path))
