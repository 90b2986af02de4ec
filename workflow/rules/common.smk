# What all stages share: the edition, the files an artifact depends on, how a notebook is called.

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow" / "scripts"))
import artifact_table
import build_lock
import check_stamp

EDITION = "config/editions/paper.yaml"
ASSUMPTIONS = "data/assumptions.yaml"
ACCOUNTING = "data/accounting/decode_step.yaml"
PRINTED = "data/forms/printed.yaml"
CHECK = "build/check.json"
CHECK_STAMP = "build/check.sha256"
FORMS = "build/forms.json"
FONTS = "build/matplotlib/ready"
RUNNER = "workflow/scripts/run_notebook.py"
PYTHON = sys.executable

# A checkout uses its own package, also where another one is installed; and byte code is kept, because
# without it each process compiles SymPy anew.
os.environ["PYTHONPATH"] = str(Path(workflow.basedir) / "src")
os.environ["PYTHONHASHSEED"] = "0"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def say(message):
    print(message, file=sys.stderr)


# Snakemake's own lock outlives a killed build and would ask for an unlock; this one ends with its process.
if workflow.is_main_process and not workflow.dryrun:
    try:
        BUILD_LOCK = build_lock.take(Path(".snakemake/kvwall.lock"))
    except build_lock.HeldError as held:
        raise WorkflowError(str(held))

# The first build in a checkout trusts nothing that it finds there: this file is younger than all committed
# outputs, so each of them is built again, also when only one is asked for.
CHECKOUT = "build/checkout"
build_lock.mark_checkout(Path(CHECKOUT))


def sources(*parts):
    """Package files by layer, style files included: an edit in the package must run what uses it again."""
    root = Path("src/kvwall")
    found = [
        path for part in parts for path in (root / part).rglob("*") if path.suffix in (".py", ".mplstyle")
    ]
    return sorted(str(path) for path in found) + BASE


CLI = [f"src/kvwall/{name}.py" for name in ("__main__", "cli")]
BASE = sorted({str(path) for path in Path("src/kvwall").glob("*.py")} - set(CLI))
ENTRIES = [path for top in ("data", "config") for path in Path(top).rglob("*")]
ENTRIES += [top for top in map(Path, ("data", "config")) if top.is_symlink()]
RAW = sorted(str(path) for path in ENTRIES if path.is_file())
# Links and devices are faults; the check must see them, whatever it remembers of the files.
ODD = [path for path in ENTRIES if path.is_symlink() or not (path.is_file() or path.is_dir())]
# What notebooks import. Algebra is left out: an edit there derives the forms again, and so runs every notebook.
PACKAGE = sources("specs", "evidence", "artifacts")
WORKFLOW = [RUNNER, *(f"workflow/scripts/{name}.py" for name in ("kernel_environment", "strictness"))]


def inputs(artifact):
    """All that one artifact depends on, package and runner included."""
    return dict(
        notebook=artifact.path,
        specs=artifact.specs,
        edition=EDITION,
        forms=FORMS,
        package=PACKAGE,
        workflow=WORKFLOW,
        fonts=FONTS,
        checkout=CHECKOUT,
    )


def call(artifact, executed):
    """The command line of the runner after the interpreter."""
    given = {"forms": FORMS, "edition": EDITION, "specs": artifact.specs}
    if artifact.kind != "documents":
        given |= {"out_dir": f"build/artifacts/{artifact.name}", "ledger": artifact.fragment}
    return run_notebook(artifact.path, executed, given)


def run_notebook(path, executed, given):
    pairs = [part for key, value in given.items() for part in ("-p", f"{key}={json.dumps(value)}")]
    return shlex.join([RUNNER, path, "--executed", executed, "--log-dir", "logs", *pairs])


def of_kind(kind):
    return [artifact for artifact in ARTIFACTS if artifact.kind == kind]


def files(artifact, folder, endings):
    return [f"{folder}/{artifact.name}.{ending}" for ending in endings]
