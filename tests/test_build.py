"""The build as a user meets it: real Snakemake runs over copies of the repository.

The copies stand in a folder with a space and an umlaut. Only two artifacts are built here: table 3, which reads the
devices, and table 1, which does not.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("tables/table_3.csv", "tables/table_1.csv")
DEVICE = "data/hardware/b200.yaml"
NOTEBOOK = "notebooks/table_3_hardware.ipynb"
TEXT_OUTPUTS = [
    *(f"tables/table_{n}.{ending}" for n in range(1, 9) for ending in ("csv", "md", "tex")),
    *(f"figures/figure_{n}.{ending}" for n in range(1, 10) for ending in ("svg", "csv")),
    *(f"ledger/{name}" for name in ("ledger.csv", "ledger.json", "outputs.sha256")),
]


def checkout(folder: Path) -> Path:
    """What a clone of this working tree holds, its committed text outputs included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name in TEXT_OUTPUTS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as committed\n") if not path.exists() else None
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", "--cores", "4", *arguments]


def build(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, timeout=300)


def succeed(folder: Path, *arguments: str) -> str:
    done = build(folder, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def start(folder: Path, log: Path, until: str) -> subprocess.Popen:
    """Begin a build and come back when its log says `until`."""
    with log.open("w") as stream:
        process = subprocess.Popen(command(*TARGETS), cwd=folder, stdout=stream, stderr=stream)
    for _ in range(600):
        if until in log.read_text():
            return process
        assert process.poll() is None, log.read_text()
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"the build never said {until!r}:\n{log.read_text()}")


def products(folder: Path) -> dict[str, bytes]:
    folders = ("tables", "figures", "ledger", "notebooks/executed")
    found = [path for name in folders for path in (folder / name).glob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(found)}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A checkout in which the two artifacts are built; never changed by a test."""
    folder = tmp_path_factory.mktemp("ein Bau für sich")
    succeed(checkout(folder), *TARGETS)
    return folder


@pytest.fixture
def repository(built, tmp_path) -> Path:
    """A copy of it to change, with all times kept."""
    return Path(shutil.copytree(built, tmp_path / "noch ein Bau für sich"))


def test_a_fresh_clone_plans_every_artifact_although_its_text_outputs_are_there(tmp_path):
    plan = succeed(checkout(tmp_path), "--dry-run")
    for artifact in (*(f"table_{n}" for n in range(1, 9)), *(f"figure_{n}" for n in range(1, 10)), "derivations"):
        assert f"run_{artifact} " in plan
    assert "merge_ledger" in plan and "derive " in plan


def test_a_fresh_clone_really_builds_also_when_one_table_is_asked_for(built):
    assert "as committed" not in (built / "tables/table_3.csv").read_text()
    for name in TARGETS:
        committed = ROOT / name
        if committed.exists():
            assert (built / name).read_bytes() == committed.read_bytes()


def test_a_second_build_has_nothing_to_do(built):
    assert "Nothing to be done" in succeed(built, *TARGETS)


def test_one_changed_value_plans_only_what_reads_it(repository):
    edit(repository / DEVICE, "8.0 TB/s", "8.1 TB/s")
    plan = succeed(repository, "--dry-run", *TARGETS)
    assert "run_table_3 " in plan
    assert "run_table_1 " not in plan and "derive " not in plan


def test_touching_an_unchanged_file_is_no_reason_to_build(repository):
    os.utime(repository / DEVICE)
    assert "Nothing to be done" in succeed(repository, *TARGETS)


def test_an_edit_in_the_package_is_seen(repository):
    edit(repository / "src/kvwall/units.py", "\n", "\n# a remark\n")
    plan = succeed(repository, "--dry-run", *TARGETS)
    assert "run_table_3 " in plan and "run_table_1 " in plan


def test_a_broken_notebook_loses_nothing_and_the_repaired_one_runs_again(repository):
    before = products(repository)
    original = (repository / NOTEBOOK).read_text(encoding="utf-8")
    import nbformat

    notebook = nbformat.read(repository / NOTEBOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("raise ValueError('not this way')"))
    nbformat.write(notebook, repository / NOTEBOOK)
    failed = build(repository, *TARGETS)
    assert failed.returncode == 1
    assert f"table_3_hardware: cell {len(notebook.cells)}: ValueError: not this way" in failed.stderr
    assert (repository / "logs/table_3_hardware.ipynb").exists()
    assert products(repository) == before
    assert build(repository, TARGETS[0]).returncode == 1, "the old table must not pass for an up-to-date one"
    (repository / NOTEBOOK).write_text(original, encoding="utf-8")
    succeed(repository, *TARGETS)
    assert products(repository) == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [(DEVICE, "8.0 TB/s", "8.0 TB"), ("data/models/llama-2-7b.yaml", "id: llama-2-7b", "id: llama-2-7b\nid: twice")],
)
def test_a_fault_in_any_spec_stops_the_build_before_any_notebook(repository, file, old, new):
    before = products(repository)
    edit(repository / file, old, new)
    # A notebook that wants to run, so that there is something to stop.
    edit(repository / "notebooks/table_1_footprint.ipynb", '"metadata"', ' "metadata"')
    failed = build(repository, *TARGETS)
    assert failed.returncode == 1
    assert f"{file}:" in failed.stderr
    assert "table_3_hardware" not in failed.stderr and "table_1_footprint" not in failed.stderr
    assert products(repository) == before
    edit(repository / file, new, old)
    succeed(repository, *TARGETS)
    assert products(repository) == before


def test_an_edition_that_names_a_missing_spec_says_so(repository):
    edit(repository / "config/editions/paper.yaml", "- mi300x", "- mi301x")
    failed = build(repository, *TARGETS)
    assert failed.returncode == 1
    assert "config/editions/paper.yaml:" in failed.stderr and "mi301x" in failed.stderr


@pytest.mark.parametrize("delay", [0.0, 0.7])  # before and while kernels run
def test_a_killed_build_goes_on_without_any_unlocking(repository, tmp_path, delay):
    before = products(repository)
    shutil.rmtree(repository / "build/artifacts")
    for name in TARGETS:
        (repository / name).unlink()
    process = start(repository, tmp_path / "log", until="table_3_hardware …")
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    succeed(repository, *TARGETS)
    assert products(repository) == before


def test_of_two_builds_at_once_the_second_stops_and_the_first_is_unharmed(repository, tmp_path):
    before = products(repository)
    shutil.rmtree(repository / "build/artifacts")
    for name in TARGETS:
        (repository / name).unlink()
    process = start(repository, tmp_path / "log", until="table_3_hardware …")
    second = build(repository, *TARGETS)
    assert second.returncode == 1
    assert f"another build is running here (process {process.pid})" in second.stderr
    assert process.wait(timeout=120) == 0, (tmp_path / "log").read_text()
    assert products(repository) == before
