"""The rebuild proof: outputs unedited, derived values recomputed, a second build that is equal byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from kvwall.audit.second_path import recompute

# A path that breaks unquoted shell words and ASCII-only code.
_SECOND_PLACE = "zweiter Bau für kvwall"
_COPIED = ("Snakefile", "workflow", "profiles", "config", "data", "notebooks", "src", "pyproject.toml")
_TEXT_OUTPUTS = ("tables/*.csv", "tables/*.md", "tables/*.tex", "figures/*.svg", "figures/*.csv", "ledger/*")


def edited_outputs(root: Path) -> list[str]:
    """Outputs that are missing or differ from the digests of ledger/outputs.sha256."""
    faults = []
    for line in (root / "ledger/outputs.sha256").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ", 1)
        path = root / name
        if not path.is_file():
            faults.append(f"{name}: is missing; a build makes it again")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            faults.append(f"{name}: differs from what the build wrote; it was edited by hand or is stale")
    return faults


def wrong_values(root: Path) -> tuple[int, list[str]]:
    """Recompute every derived value of the ledger; returns how many were, and what differs."""
    rows = json.loads((root / "ledger/ledger.json").read_text(encoding="utf-8"))
    stored = json.loads((root / "build/forms.json").read_text(encoding="utf-8"))
    forms = {form["name"]: form["expr"] for form in stored}
    derived = [row for row in rows if row["evidence"] == "derived"]
    faults = []
    for row in derived:
        found = recompute(row["lineage"], forms)
        if found != Fraction(row["value"]):
            faults.append(f"{row['id']}: the ledger says {row['value']}, the second path finds {found}")
    return len(derived), faults


def rebuild_differences(root: Path, cores: int) -> list[str]:
    """Build a copy of the sources in a second place and compare every text output byte for byte."""
    with tempfile.TemporaryDirectory(prefix="kvwall-") as folder:
        second = Path(folder) / _SECOND_PLACE
        second.mkdir()
        for name in _COPIED:
            source = root / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("executed", "__pycache__", "*.egg-info", ".ipynb_checkpoints")
                shutil.copytree(source, second / name, ignore=ignored)
            else:
                shutil.copy2(source, second / name)
        environment = {**os.environ, "PYTHONPATH": str(second / "src")}
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores)]
        done = subprocess.run(command, cwd=second, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            tail = "\n".join(done.stderr.splitlines()[-25:])
            return [f"the second build failed with exit code {done.returncode}:\n{tail}"]
        return _differences(root, second)


def _differences(root: Path, second: Path) -> list[str]:
    names = {
        path.relative_to(base).as_posix()
        for base in (root, second)
        for glob in _TEXT_OUTPUTS
        for path in base.glob(glob)
    }
    faults = []
    for name in sorted(names):
        here, there = root / name, second / name
        if not here.is_file():
            faults.append(f"{name}: the second build makes it, but it is not here")
        elif not there.is_file():
            faults.append(f"{name}: is here, but the second build does not make it")
        elif here.read_bytes() != there.read_bytes():
            faults.append(f"{name}: the second build differs")
    return faults
