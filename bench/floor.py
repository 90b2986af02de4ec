"""The floor: the code cells of all notebooks, one after another as plain Python in one process."""

import contextlib
import io
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd() / "workflow" / "scripts"))
import artifact_table


def parameters(artifact: artifact_table.Artifact, edition: str) -> dict:
    given = {"forms": "build/forms.json", "edition": edition, "specs": artifact.specs}
    if artifact.kind != "documents":
        given["out_dir"] = f"build/floor/{artifact.name}"
        given["ledger"] = f"build/floor/ledger/{artifact.name}.json"
    return given


def run(artifact: artifact_table.Artifact, edition: str) -> None:
    """All cells in a fresh namespace; what a notebook shows is made but not printed."""
    notebook = json.loads(Path(artifact.path).read_text(encoding="utf-8"))
    namespace = {"__name__": "__main__", "display": repr}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), artifact.path, "exec"), namespace)
                if "parameters" in cell["metadata"].get("tags", []):
                    namespace.update(parameters(artifact, edition))


def main() -> None:
    edition = "config/editions/paper.yaml"
    for artifact in artifact_table.load(Path("workflow/artifacts.yaml"), Path(edition)):
        Path("build/floor", artifact.name).mkdir(parents=True, exist_ok=True)
        Path("build/floor/ledger").mkdir(parents=True, exist_ok=True)
        run(artifact, edition)


if __name__ == "__main__":
    main()
