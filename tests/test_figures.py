"""Figures: what is drawn is in the ledger, looks the same everywhere, and keeps the evidence classes apart."""

import csv
import itertools
import os
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import nbformat
import pytest
from figure_notebooks import FIGURES, ROOT
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import font_manager

from kvwall.artifacts import drawing, style
from kvwall.artifacts.figure import Figure
from kvwall.audit.derive import derive_to
from kvwall.evidence.ledger import read_fragment
from kvwall.evidence.quantity import constant

NAMES = [artifact.name for artifact in FIGURES]
ENDINGS = ("svg", "pdf", "png", "csv", "json")


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """All figures drawn twice; the second process has another hash seed and a user who loves big letters."""
    folder = tmp_path_factory.mktemp("figures")
    (folder / "user").mkdir()
    (folder / "user" / "matplotlibrc").write_text("font.size: 30\nfont.family: serif\nsvg.hashsalt: mine\n")
    forms = folder / "forms.json"
    with mpl.rc_context():
        derive_to(str(ROOT / "data/accounting/decode_step.yaml"), str(ROOT / "data/forms/printed.yaml"), forms)
    made = []
    for number, configured in enumerate((None, folder / "user")):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
        environment |= {"PYTHONHASHSEED": str(number), "MPLCONFIGDIR": str(configured or folder / "none")}
        script = str(ROOT / "tests" / "figure_notebooks.py")
        command = [sys.executable, "-W", "error", script, str(folder / str(number)), str(forms)]
        made.append((folder / str(number), subprocess.Popen(command, cwd=ROOT, env=environment)))
    assert [process.wait(timeout=300) for _, process in made] == [0, 0]
    # A figure that cannot be drawn says why on stderr and fails the tests of its own name.
    return [out for out, _ in made]


@pytest.fixture
def own_style():
    """The style applied, and the state of matplotlib as before afterwards."""
    fonts = font_manager.fontManager.ttflist
    with mpl.rc_context():
        style.use()
        yield
    font_manager.fontManager.ttflist = fonts


def points(folder: Path, name: str) -> list[dict]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", NAMES)
def test_two_runs_are_byte_identical(runs, name):
    first, second = ([(out / f"{name}.{ending}").read_bytes() for ending in ENDINGS] for out in runs)
    assert [ending for ending, a, b in zip(ENDINGS, first, second, strict=True) if a != b] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_the_points_file_is_in_the_ledger(runs, name):
    rows = {row.id: row for row in read_fragment(str(runs[0] / f"{name}.json"))}
    found = points(runs[0], name)
    assert found
    for point in found:
        for axis in ("x", "y"):
            row = rows[f"{point['id']}/{axis}"]
            assert (row.display, row.display_unit) == (point[axis], point[f"{axis}_unit"])
        assert rows[f"{point['id']}/y"].evidence == point["evidence"]
    assert len(rows) == 2 * len(found)


def test_the_points_stay_few(runs):
    assert sum(len(points(runs[0], name)) for name in NAMES) < 900


def test_quality_is_reported_and_speed_is_derived(runs):
    rows = {row.id: row for row in read_fragment(str(runs[0] / "figure_7.json"))}
    of_benchmarks = [point for point in points(runs[0], "figure_7") if point["series"] in ("Wikitext-2", "LongBench")]
    assert len(of_benchmarks) == 7
    for point in of_benchmarks:
        assert rows[f"{point['id']}/x"].evidence == "derived"
        assert rows[f"{point['id']}/y"].evidence == "reported"
        assert rows[f"{point['id']}/y"].source


@pytest.mark.parametrize("name", NAMES)
def test_pictures_carry_no_date_and_no_foreign_font(runs, name):
    svg = (runs[0] / f"{name}.svg").read_text(encoding="utf-8")
    assert "<dc:date>" not in svg
    assert "font-family" not in svg  # letters are drawn as paths
    pdf = (runs[0] / f"{name}.pdf").read_bytes()
    assert b"CreationDate" not in pdf
    assert {font.split(b"+")[-1].split(b"-")[0] for font in pdf_fonts(pdf)} <= {b"DejaVuSans"}


def pdf_fonts(pdf: bytes) -> list[bytes]:
    return [part.split()[0] for part in pdf.split(b"/BaseFont /")[1:]]


def test_reported_and_derived_points_never_share_a_marker():
    derived = {style.derived_point(index)["marker"] for index in range(20)}
    reported = {style.reported_point(index)["marker"] for index in range(20)}
    assert len(derived) == len(reported) == 7
    assert not derived & reported


def test_neighbouring_lines_differ_in_more_than_colour():
    dashes = [str(style.line(index)["linestyle"]) for index in range(8)]
    assert len(set(dashes)) == 8


def test_no_two_lines_of_a_figure_look_the_same():
    assert len({str(style.line(index)) for index in range(20)}) == 20
    assert len({str(style.reference(index)) for index in range(6)}) == 6


@pytest.fixture(scope="session")
def larger(runs, tmp_path_factory):
    """All figures drawn from a copy of the project whose edition has a fourth device and an eighth model."""
    root = tmp_path_factory.mktemp("larger")
    for folder in ("data", "config", "workflow"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copytree(ROOT / "notebooks", root / "notebooks", ignore=shutil.ignore_patterns("executed"))
    copies = {
        ("hardware", "b200", "b200-shipping"): {
            "id: b200\nname: B200\n": "id: b200-shipping\nname: B200 shipping\n",
            "  value: 192 GB\n": "  value: 180 GB\n",
            "  value: 8.0 TB/s\n": "  value: 7.7 TB/s\n",
        },
        ("models", "llama-3-8b", "llama-3.1-8b"): {
            "id: llama-3-8b\nname: Llama-3-8B\n": "id: llama-3.1-8b\nname: Llama-3.1-8B\n"
        },
    }
    for (kind, old, new), changes in copies.items():
        text = (root / f"data/{kind}/{old}.yaml").read_text(encoding="utf-8")
        for before, after in changes.items():
            assert text.count(before) == 1
            text = text.replace(before, after)
        (root / f"data/{kind}/{new}.yaml").write_text(text, encoding="utf-8")
    edition = root / "config/editions/paper.yaml"
    text = edition.read_text(encoding="utf-8")
    for last, new in (("  - mi300x\n", "  - b200-shipping\n"), ("  - deepseek-v2\n", "  - llama-3.1-8b\n")):
        assert text.count(last) == 1
        text = text.replace(last, last + new)
    edition.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "figure_notebooks.py")]
    command += [str(root / "out"), str(runs[0].parent / "forms.json")]
    drawn = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    return root / "out"


def test_an_edition_with_more_devices_and_models_draws_every_figure(larger):
    assert sorted(path.name for path in larger.iterdir()) == sorted(f"{n}.{end}" for n in NAMES for end in ENDINGS)
    devices = {"h100-sxm5", "b200", "mi300x", "b200-shipping"}
    names = {name: {point["series"] for point in points(larger, name)} for name in NAMES}
    assert {f"capacity/{device}" for device in devices} <= names["figure_1"]
    assert len(names["figure_1"]) == 4 + 8
    assert {f"level/{device}" for device in devices} | {"level/limit"} <= names["figure_3"]
    assert {f"{device}/striped" for device in devices} <= names["figure_4"]
    assert {f"s_cap/{device}/n=4" for device in devices} <= names["figure_5"]
    assert {point["point"] for point in points(larger, "figure_8") if point["series"] == "striped"} == devices


@pytest.mark.parametrize(
    ("heights", "found"),
    [
        ([0.5, 0.8], [[0], [1]]),
        ([0.81, 0.3, 0.8], [[1], [2, 0]]),
        ([0.5, 0.54, 0.65], [[0, 1], [2]]),
        ([0.5, 0.54, 0.63], [[0, 1, 2]]),
    ],
)
def test_labels_of_near_levels_share_a_stack(heights, found):
    assert drawing.stacks(heights, 0.05) == found


def test_the_style_ignores_the_user_and_the_system(own_style):
    mpl.rcParams["font.size"] = 30
    style.use()
    assert mpl.rcParams["font.size"] == 8
    assert mpl.rcParams["svg.hashsalt"] == "kvwall"
    own = Path(mpl.get_data_path())
    fonts = font_manager.fontManager.ttflist
    assert fonts
    assert all(own in Path(font.fname).parents for font in fonts)


def test_a_point_of_a_wrong_dimension_is_refused():
    series = Figure("figure_0", "").series("bytes", "token", "GB")
    token, rate = constant(1, "token", "t", "here:1"), constant(1, "byte/second", "r", "here:2")
    with pytest.raises(ValueError, match="found a quantity in byte/second, expected GB"):
        series.add("p", token, rate)
    assert not series._figure._ledger


def test_a_float_is_no_point():
    with pytest.raises(AttributeError):
        Figure("figure_0", "").series("bytes", "token", "GB").add("p", 1.0, 2.0)


@pytest.mark.parametrize("artifact", FIGURES, ids=NAMES)
def test_notebooks_are_clean_and_hold_no_logic(artifact):
    book = nbformat.read(ROOT / artifact.path, as_version=4)
    assert [cell.id for cell in book.cells] == [f"c{number:02d}" for number in range(1, len(book.cells) + 1)]
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code[0].metadata["tags"] == ["parameters"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    assert all(len(cell.source.splitlines()) <= 16 for cell in code)
    assert any("Checks()" in "".join(cell["source"]) for cell in code)
    assert book.metadata.kernelspec.name == "python3"


@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=9))
def test_spread_labels_keep_their_order_and_distance(positions):
    placed = drawing.spread(positions, 0.06)
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in placed)
    assert all(placed[b] - placed[a] >= 0.06 - 1e-9 for a, b in itertools.pairwise(order))


def test_labels_that_do_not_collide_stay_where_they_are():
    assert drawing.spread([0.1, 0.9, 0.5], 0.06) == pytest.approx([0.1, 0.9, 0.5])


def test_the_frontier_drops_what_another_point_beats():
    found = [(1.0, 44.52), (2.6, 44.59), (3.8, 44.27)]
    assert drawing.frontier(found, "higher") == [(2.6, 44.59), (3.8, 44.27)]
    assert drawing.frontier([(1.0, 2.59), (3.0, 2.60)], "lower") == [(1.0, 2.59), (3.0, 2.60)]


@pytest.mark.parametrize(
    ("seconds", "text"), [("25.01", "25.0 s"), ("0.655", "0.66 s"), ("0.1638", "0.16 s"), ("0.01165", "12 ms")]
)
def test_durations_read_like_the_paper(seconds, text):
    assert drawing.duration(Fraction(seconds)) == text
