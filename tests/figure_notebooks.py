"""Draws figures by the code cells of their notebooks: ``python tests/figure_notebooks.py OUT FORMS [figure_N …]``.

A process of its own, because a test wants to say what that process inherits. Editions, specs and notebooks are those of
the current directory.
"""

import sys
import traceback
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
import artifact_table  # noqa: E402


def figures(root: Path) -> list:
    """The figures that the table of artifacts under ``root`` lists."""
    table = artifact_table.load(root / "workflow/artifacts.yaml", root / "config/editions/paper.yaml")
    return [artifact for artifact in table if artifact.kind == "figures"]


FIGURES = figures(ROOT)


def draw(artifact, out: Path, forms: Path) -> None:
    """Run the code cells in order, with the values that the build would give as parameters."""
    given = {"forms": str(forms), "specs": artifact.specs, "out_dir": str(out)}
    names = {}
    for cell in nbformat.read(artifact.path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        exec(compile(cell.source, f"{artifact.path}:{cell.id}", "exec"), names)
        if "parameters" in cell.metadata.get("tags", []):
            names.update(given, ledger=str(out / f"{artifact.name}.json"))
    frame = names["checks"].frame
    if len(frame) == 0 or set(frame["verdict"]) != {"agrees"}:
        raise ValueError(f"the paper prints other numbers:\n{frame}")


if __name__ == "__main__":
    folder, forms, *wanted = sys.argv[1:]
    for artifact in figures(Path()):
        if not wanted or artifact.name in wanted:
            try:
                draw(artifact, Path(folder), Path(forms))
            except Exception:
                print(f"{artifact.name} was not drawn:\n{traceback.format_exc()}", file=sys.stderr)
