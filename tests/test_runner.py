"""The strict notebook runner, with real papermill and real kernels."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "workflow" / "scripts"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}

sys.path.insert(0, str(SCRIPTS))
import strictness  # noqa: E402


def write_notebook(path: Path, *sources: str, parameters: str | None = "x = 1") -> Path:
    cells = [new_markdown_cell("# A title")]
    if parameters is not None:
        cells.append(new_code_cell(parameters, metadata={"tags": ["parameters"]}))
    cells += [new_code_cell(source) for source in sources]
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)
    return path


class Runner:
    """A working directory with a space and an umlaut, and the runner's command line in it."""

    def __init__(self, folder: Path):
        self.folder = folder / "a plüce"
        self.folder.mkdir()
        self.executed = self.folder / "out" / "executed.ipynb"

    def __call__(self, *sources: str, given: dict | None = None, env: dict | None = None, **options):
        notebook = write_notebook(self.folder / "thing.ipynb", *sources, **options)
        pairs = ({"x": 1} if given is None else given).items()
        arguments = [part for key, value in pairs for part in ("-p", f"{key}={json.dumps(value)}")]
        runner = [sys.executable, str(SCRIPTS / "run_notebook.py")]
        return subprocess.run(
            [*runner, notebook.name, "--executed", "out/executed.ipynb", *arguments],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
        )

    @property
    def partial(self) -> Path:
        return self.folder / "logs" / "thing.ipynb"


@pytest.fixture
def run(tmp_path) -> Runner:
    return Runner(tmp_path)


def outputs(notebook) -> str:
    return "".join(o.get("text", "") for cell in notebook.cells for o in cell.get("outputs", []))


def test_parameters_reach_the_notebook_and_two_runs_are_byte_identical(run):
    source = "import time\nfor word in words:\n    print(word, flush=True)\n    time.sleep(0.01)"
    first = run(source, parameters="words = []", given={"words": ["ä", "b c"]})
    assert first.returncode == 0, first.stderr
    before = run.executed.read_bytes()
    assert outputs(nbformat.read(run.executed, as_version=4)) == "ä\nb c\n"
    assert run(source, parameters="words = []", given={"words": ["ä", "b c"]}).returncode == 0
    assert run.executed.read_bytes() == before
    assert b"start_time" not in before and b"iopub" not in before
    assert not run.partial.exists()
    assert [path.name for path in run.executed.parent.iterdir()] == ["executed.ipynb"]


@pytest.mark.parametrize(
    ("given", "parameters", "message"),
    [
        ({"x": 1, "y": 2}, "x = 1", "unknown parameter y"),
        ({}, "x = 1", "missing parameter x"),
        ({"x": 1}, "x: int = 1\nz = 2", "missing parameter z"),
        ({"x": 1}, None, "0 cells are tagged 'parameters'"),
    ],
)
def test_parameters_that_do_not_match_fail_before_anything_runs(run, given, parameters, message):
    result = run("open('ran', 'w').close()", given=given, parameters=parameters)
    assert result.returncode == 1
    assert f"thing: {message}" in result.stderr
    assert not (run.folder / "ran").exists()


def test_a_raising_cell_names_itself_and_keeps_the_partial_notebook(run):
    run("pass")
    result = run("print('so far')", "y = 0\nx / y")
    assert result.returncode == 1
    assert "thing: cell 4: ZeroDivisionError: division by zero" in result.stderr
    assert "| y = 0" in result.stderr and "logs/thing.ipynb" in result.stderr
    assert "so far" in outputs(nbformat.read(run.partial, as_version=4))
    assert not run.executed.exists(), "an executed notebook of an earlier run must not pass for this one"


UNREPEATABLE = {
    "object()": "a memory address: 0x",
    "import os; os.getcwd()": "an absolute path: ",
    "import pathlib; print(pathlib.Path.home() / 'x')": "an absolute path: ",
    "import tempfile; tempfile.gettempdir()": "an absolute path: ",
    "import datetime; print(datetime.datetime.now())": "a clock time: ",
    "import datetime; print(datetime.date.today())": "today's date: ",
    "import time; time.time()": "a clock time: ",
    "import warnings; warnings.warn('careful')": "a warning on stderr: ",
    "import sys; print('oops', file=sys.stderr)": "a warning on stderr: oops",
}


def test_every_output_that_would_differ_elsewhere_is_named_with_its_cell(run):
    result = run("print('a title without fault')", *UNREPEATABLE)
    assert result.returncode == 1
    for number, message in enumerate(UNREPEATABLE.values(), start=4):
        assert f"thing: cell {number}: " in result.stderr
        lines = [line for line in result.stderr.splitlines() if line.startswith(f"thing: cell {number}: ")]
        assert any(message in line for line in lines), f"cell {number}: {lines}"
    assert "cell 3" not in result.stderr
    assert run.partial.exists() and not run.executed.exists()


@pytest.mark.parametrize(
    "text",
    [
        "8030261248 weights, 70553706496 in all",
        "data/hardware/b200.yaml:14",
        "published 2023-07-18, revised 2024-11-04",
        "https://example.org/home/page and https://example.org/tmp/x",
        "427.2k tokens at 16:1 and 3:2",
        "0x1f",
        "<td>1/64</td></root>",
        "bytes/token/layer",
    ],
)
def test_facts_are_no_faults(text):
    assert strictness.faults(text, Path("/somewhere/repo")) == []


@pytest.mark.parametrize(
    "text",
    [
        "<function f at 0x7f0012345678>",
        "File '/home/someone/x.py'",
        "wrote /somewhere/repo/tables/table_1.csv",
        *(f"read /{top}/x/y" for top in ("opt", "mnt", "srv", "workspace", "nix", "root")),
        "took until 12:34:56",
        "2026-01-02T03:04",
        "built on 5 March 2031",
        "1930000000.25",
    ],
)
def test_traces_of_one_run_are_faults(text):
    now = datetime.fromtimestamp(1_930_000_000, UTC)
    if "built on" in text:
        now = datetime(2031, 3, 5, tzinfo=UTC)
    assert strictness.faults(text, Path("/somewhere/repo"), now)


def test_the_users_settings_do_not_reach_the_kernel(run, tmp_path):
    home = tmp_path / "home"
    startup = home / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("x_from_startup = 1")
    (home / ".config" / "matplotlib").mkdir(parents=True)
    (home / ".config" / "matplotlib" / "matplotlibrc").write_text("lines.linewidth: 17")
    (home / "matplotlibrc").write_text("lines.linewidth: 18")
    other = home / "lib" / "kvwall"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("WRONG = True")
    source = (
        "import hashlib, os, sys, time, kvwall, matplotlib\n"
        "assert 'x_from_startup' not in globals()\n"
        "assert matplotlib.rcParams['lines.linewidth'] == 1.5\n"
        "assert matplotlib.get_backend().lower() == 'agg'\n"
        "assert os.environ['PYTHONHASHSEED'] == '0' and time.tzname[0] == 'UTC'\n"
        "assert os.environ['OMP_NUM_THREADS'] == '1' and not sys.dont_write_bytecode\n"
        "assert not hasattr(kvwall, 'WRONG')\n"
    )
    hostile = {
        "HOME": str(home),
        "IPYTHONDIR": str(home / ".ipython"),
        "MATPLOTLIBRC": str(home / "matplotlibrc"),
        "MPLBACKEND": "svg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "7",
        "PYTHONPATH": str(other.parent),
        "TZ": "Asia/Tokyo",
        "OMP_NUM_THREADS": "9",
    }
    result = run(source, env=hostile)
    assert result.returncode == 0, result.stderr


def test_a_style_file_in_the_working_directory_is_refused(run):
    """matplotlib would read it before anything else, and no setting can forbid that."""
    (run.folder / "matplotlibrc").write_text("lines.linewidth: 18")
    result = run("open('ran', 'w').close()")
    assert result.returncode == 1 and "matplotlibrc in the working directory" in result.stderr
    assert not (run.folder / "ran").exists()


def test_a_parameter_that_is_no_json_is_refused(run):
    write_notebook(run.folder / "thing.ipynb")
    result = subprocess.run(
        [sys.executable, str(SCRIPTS / "run_notebook.py"), "thing.ipynb", "--executed", "o.ipynb", "-p", "x=paper"],
        cwd=run.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 2 and "is not JSON" in result.stderr


def test_a_cell_that_hangs_is_ended_and_named(run):
    notebook = write_notebook(run.folder / "thing.ipynb", "print('before')", "import time\ntime.sleep(100)", "x")
    code = (
        "import sys, run_notebook\n"
        "run_notebook.CELL_TIMEOUT = 2\n"
        "sys.exit(run_notebook.main([sys.argv[1], '--executed', 'o.ipynb', '-p', 'x=1']))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, notebook.name],
        cwd=run.folder,
        env={**os.environ, "PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 1
    assert "thing: cell 4: still ran after 2 s" in result.stderr and "| import time" in result.stderr
    assert not (run.folder / "o.ipynb").exists()


def test_a_cell_cannot_forge_a_line_of_the_log(run):
    result = run("raise ValueError('\\x1b[2Jx\\nthing done in 0.1 s')")
    assert result.returncode == 1
    assert "\x1b" not in result.stderr
    assert not any(line.startswith("thing done") for line in result.stderr.splitlines())
