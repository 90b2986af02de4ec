"""The promises of docs/architecture.md: imports run one way, the package knows no runner, notebooks hold no outputs."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from kvwall.algebra.symbols import SYMBOLS
from kvwall.notation import NOTATION

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/kvwall"
LAYERS = ["units", "notation", "expression", "specs", "algebra", "evidence", "artifacts", "audit", "cli"]
MODULES = sorted(PACKAGE.rglob("*.py"))


def tracked():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ([node.module] if node.module != "kvwall" else [f"kvwall.{alias.name}" for alias in node.names])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_run_one_way(path):
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if layer not in LAYERS:
        return
    own = LAYERS.index(layer)
    for name in imported(path):
        if name.startswith("kvwall."):
            assert LAYERS.index(name.split(".")[1]) <= own, f"{layer} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_package_knows_neither_snakemake_nor_jupyter(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & {"snakemake", "papermill", "nbformat", "nbclient", "IPython", "jupyter_client", "ipykernel"}


def test_modules_are_short():
    long = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in long.items() if lines > 500} == {}


def test_each_symbol_of_the_notation_is_used():
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / "algebra").rglob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "data").rglob("*.yaml")]
    unused = [name for name in NOTATION if not any(re.search(rf"\b{name}\b", text) for text in texts)]
    assert unused == []
    assert set(SYMBOLS) == set(NOTATION)


def test_notebooks_are_committed_without_outputs():
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(notebooks) == 19
    for path in notebooks:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code), path.name
        assert sum("parameters" in cell["metadata"].get("tags", []) for cell in code) == 1, path.name


def test_functions_in_notebooks_stay_small():
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                for node in ast.walk(ast.parse("".join(cell["source"]))):
                    if isinstance(node, ast.FunctionDef):
                        assert node.end_lineno - node.lineno < 8, f"{path.name}: {node.name}"


def test_no_file_names_a_place_outside_the_repository():
    """No home folder, no temporary folder of a machine, no package registry."""
    barred = re.compile(
        rb"(?<![\w.])/(?:home|root|Users|work)/(?!someone)[a-z]|pypi\.org|files\.pythonhosted|\.internal\b"
    )
    own = Path(__file__).resolve()
    found = [path.name for path in tracked() if path.resolve() != own and barred.search(path.read_bytes())]
    assert found == []
