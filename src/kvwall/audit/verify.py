"""The rebuild proof: outputs unedited, derived values recomputed, a second build that is equal byte for byte."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from kvwall import units
from kvwall.audit.outputs import FORMS, LEDGER, MANIFEST, read_forms, read_manifest, read_rows
from kvwall.audit.second_path import recompute
from kvwall.evidence.ledger import Row, render_csv

# A path that breaks unquoted shell words and ASCII-only code.
_SECOND_PLACE = "zweiter Bau für kvwall"
_COPIED = ("Snakefile", "workflow", "profiles", "config", "data", "notebooks", "src", "pyproject.toml")
_TEXT_OUTPUTS = ("tables/*.csv", "tables/*.md", "tables/*.tex", "figures/*.svg", "figures/*.csv", "ledger/*")
# Leaf kinds that stand on a line of a spec file as a value with a unit.
_ON_A_LINE = ("reported", "quality", "defined", "assumed")
_CLASS_OF_LEAF = {"reported": "reported", "quality": "reported", "printed": "reported", "defined": "derived",
                  "assumed": "derived", "sample": "measured"}  # fmt: skip


def _text_outputs(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for glob in _TEXT_OUTPUTS for path in root.glob(glob)}


def edited_outputs(root: Path) -> list[str]:
    """Outputs that are missing, additional, or differ from the digests of ledger/outputs.sha256.

    Raises :class:`~kvwall.audit.outputs.OutputError` if there is no such list.
    """
    digests = read_manifest(root / MANIFEST)
    found = _text_outputs(root) - {MANIFEST}
    faults = [f"{name}: stands in no build's list of outputs" for name in sorted(found - set(digests))]
    faults += [f"{name}: is missing; a build makes it again" for name in sorted(set(digests) - found)]
    for name in sorted(found & set(digests)):
        if hashlib.sha256((root / name).read_bytes()).hexdigest() != digests[name]:
            faults.append(f"{name}: differs from what the build wrote; it was edited by hand or is stale")
    return faults


def stale(root: Path) -> str:
    """A warning if the outputs are not those that the ledger describes; empty if all is in step."""
    if not (root / MANIFEST).is_file():
        return ""
    count = len(edited_outputs(root))
    return f"warning: {count} outputs are not those of the ledger; run the build to bring them in step" if count else ""


def wrong_values(root: Path) -> tuple[int, list[str]]:
    """Recompute every value and class of the ledger from its lineage; returns how many were derived, and the faults."""
    rows = read_rows(root / LEDGER)
    read_forms(root / FORMS)  # refuses forms whose parts do not follow from each other
    forms = {form["name"]: form["expr"] for form in json.loads((root / FORMS).read_text(encoding="utf-8"))}
    faults = [fault for row in rows.values() for fault in _row_faults(root, row, forms)]
    if (root / "ledger/ledger.csv").read_text(encoding="utf-8") != render_csv([Row(**row) for row in rows.values()]):
        faults.append("ledger/ledger.csv: does not hold the rows of ledger.json")
    return sum(row["evidence"] == "derived" for row in rows.values()), faults


def _row_faults(root: Path, row: dict, forms: dict[str, str]) -> Iterator[str]:
    lineage = row["lineage"]
    try:
        found = recompute(lineage, forms)
        same = found == Fraction(row["value"])
    except (ValueError, KeyError, TypeError, ArithmeticError) as error:
        yield f"{row['id']}: its lineage cannot be computed: {error!r}"
        return
    if not same:
        yield f"{row['id']}: the ledger says {row['value']}, the second path finds {found}"
    evidence = "derived" if "form" in lineage else _CLASS_OF_LEAF.get(lineage.get("kind"), "measured")
    if evidence != row["evidence"]:
        yield f"{row['id']}: the ledger says {row['evidence']}, its lineage is {evidence}"
    yield from (f"{row['id']}: {fault}" for fault in _leaf_faults(root, lineage))


def _leaf_faults(root: Path, lineage: dict) -> Iterator[str]:
    """Leaves whose value is not the one on the line that they name."""
    for child in lineage.get("inputs", {}).values():
        yield from _leaf_faults(root, child)
    path, _, number = lineage.get("at", "").rpartition(":")
    if lineage.get("kind") in _ON_A_LINE and number.isdigit():
        written = _value_on_line(root / path, int(number))
        if written != Fraction(lineage["value"]):
            yield f"the leaf at {lineage['at']} is {lineage['value']}, but the line holds {written}"


@functools.cache
def _value_on_line(path: Path, number: int) -> Fraction | None:
    """The exact value that a line ``key: 8.0 TB/s`` or ``- 128 ktoken`` holds; None if it holds none."""
    try:
        line = path.read_text(encoding="utf-8").splitlines()[number - 1].split(" #")[0]
        return units.parse(re.sub(r"^[\s-]*(?:[\w-]+:)?", "", line).strip().strip("\"'")).value
    except (OSError, IndexError, units.UnitError):
        return None


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
    faults = []
    for name in sorted(_text_outputs(root) | _text_outputs(second)):
        here, there = root / name, second / name
        if not here.is_file():
            faults.append(f"{name}: the second build makes it, but it is not here")
        elif not there.is_file():
            faults.append(f"{name}: is here, but the second build does not make it")
        elif here.read_bytes() != there.read_bytes():
            faults.append(f"{name}: the second build differs")
    return faults
