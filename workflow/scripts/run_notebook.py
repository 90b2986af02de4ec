"""Run one notebook strictly: papermill underneath, but nothing questionable passes.

    python workflow/scripts/run_notebook.py notebooks/table_4_crossover.ipynb --executed out.ipynb \
        --log-dir logs -p out_dir='"tables"' -p specs='["data/hardware/b200.yaml"]'

Unlike papermill alone it refuses parameters that the notebook does not declare, parameters that are not given,
warnings, and outputs that a second build would print differently. The executed notebook appears at once and
whole, free of timing, so that two builds are byte-identical; a failed one stays under the log folder.
"""

import argparse
import ast
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import build_watch
import kernel_environment
import strictness

# Optional libraries that papermill must not find: black would reformat the injected cell, so that its text would
# depend on what happens to be installed; rfc3987_syntax compiles a grammar for 0.7 s that notebooks never need.
sys.modules.update({"black": None, "rfc3987_syntax": None})

# The slowest cell takes a few seconds; one that takes this long hangs. In seconds.
CELL_TIMEOUT = 600

SOURCE = Path(__file__).resolve().parents[2] / "src"


class NotebookError(Exception):
    """A notebook that must not pass; the message is for the reader of the build log."""


def declared_parameters(notebook, name: str) -> list[str]:
    """The names that the one cell tagged `parameters` assigns."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise NotebookError(f"{name}: {len(tagged)} cells are tagged 'parameters', expected one")
    names = []
    for statement in ast.parse(tagged[0].source).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def check_parameters(notebook, given: dict, name: str) -> None:
    declared = declared_parameters(notebook, name)
    unknown = sorted(set(given) - set(declared))
    missing = sorted(set(declared) - set(given))
    listed = f"the notebook declares: {', '.join(declared) or 'none'}"
    if unknown:
        raise NotebookError(f"{name}: unknown parameter {', '.join(unknown)}; {listed}")
    if missing:
        raise NotebookError(f"{name}: missing parameter {', '.join(missing)}; {listed}")


def source_cells(executed):
    """Cells with the number they have in the source notebook; papermill's own cells have none."""
    number = 0
    for cell in executed.cells:
        tags = cell.metadata.get("tags", [])
        if "injected-parameters" in tags:
            yield "injected parameters", cell
        elif not any(tag.startswith("papermill-error") for tag in tags):
            number += 1
            yield f"cell {number}", cell


def printable(text: str) -> str:
    """Escape what a terminal would act on: codes of a cell's text must not repaint the log or forge a line."""
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def describe(name: str, where: str, cell, problem: str) -> str:
    """Which notebook, which cell, how it begins, what went wrong."""
    lines = [printable(line) for line in cell.source.strip().splitlines()]
    shown = "".join(f"\n    | {line}" for line in lines[:4]) + ("\n    | …" if len(lines) > 4 else "")
    return f"{printable(name)}: {where}: {indented(problem)}{shown}"


def indented(text: str) -> str:
    """A text of several lines, each but the first set in, so that none looks like a message of the runner."""
    return "\n    ".join(printable(line) for line in text.split("\n"))


def check_outputs(executed, name: str, root: Path) -> None:
    problems = []
    for where, cell in source_cells(executed):
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                problems.append(describe(name, where, cell, f"a warning on stderr: {output.text.strip()}"))
                continue
            for text in strictness.texts(output):
                found = strictness.faults(text, root)
                problems += [describe(name, where, cell, f"the output holds {fault}") for fault in found]
    if problems:
        raise NotebookError("\n".join(problems))


def raised(executed, name: str, error: Exception) -> NotebookError:
    for where, cell in source_cells(executed):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                return NotebookError(describe(name, where, cell, f"{output.ename}: {output.evalue}"))
    if isinstance(error, TimeoutError):
        begun = [found for found in source_cells(executed) if _begun(found[1])]
        if begun:
            return NotebookError(describe(name, *begun[-1], f"still ran after {CELL_TIMEOUT} s and was ended"))
    return NotebookError(f"{printable(name)}: {type(error).__name__}: {indented(str(error))}")


def _begun(cell) -> bool:
    return cell.cell_type == "code" and bool(cell.metadata.get("papermill", {}).get("start_time"))


def strip_timing(executed) -> None:
    """Leave only what the same inputs give again: no times, no random cell ids, no paths of this run."""
    parameters = executed.metadata.pop("papermill", {}).get("parameters", {})
    executed.metadata["papermill"] = {"parameters": parameters}
    for number, cell in enumerate(executed.cells):
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        cell["id"] = f"cell-{number}"


def write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        # mkstemp makes private files; an executed notebook is as readable as any other product.
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def execute(notebook, parameters: dict, partial: Path):
    """Run through papermill, cell by cell, the state so far always on disk in `partial`."""
    from papermill.execute import execute_notebook
    from socket_kernel import SocketKernelManager

    return execute_notebook(
        notebook,
        partial,
        parameters=parameters,
        progress_bar=False,
        kernel_name="python3",
        start_timeout=120,
        execution_timeout=CELL_TIMEOUT,
        kernel_manager_class=SocketKernelManager,
        shutdown_kernel="immediate",  # a graceful end waits about a second
        coalesce_streams=True,  # how print calls are split into messages depends on timing
    )


def run(source: Path, executed_path: Path, log_dir: Path, parameters: dict, root: Path) -> None:
    import nbformat

    if (root / "matplotlibrc").exists():
        raise NotebookError(f"{source.stem}: matplotlibrc in the working directory would change figures; remove it")
    notebook = nbformat.read(source, as_version=4)
    check_parameters(notebook, parameters, source.stem)
    partial = log_dir / f"{source.stem}.ipynb"
    log_dir.mkdir(parents=True, exist_ok=True)
    executed_path.unlink(missing_ok=True)
    try:
        executed = execute(notebook, parameters, partial)
    except Exception as error:
        state = nbformat.read(partial, as_version=4) if partial.exists() else notebook
        raise raised(state, source.stem, error) from error
    check_outputs(executed, source.stem, root)
    strip_timing(executed)
    write_atomically(executed_path, nbformat.writes(executed) + "\n")
    partial.unlink()


def parameter(text: str) -> tuple[str, object]:
    key, separator, value = text.partition("=")
    if not separator:
        raise argparse.ArgumentTypeError(f"{text!r}: expected key=value")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"{key}: {value!r} is not JSON: {error}") from error


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="run one notebook strictly")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--executed", type=Path, required=True, help="where the executed notebook goes")
    parser.add_argument("--log-dir", type=Path, default=Path("logs"), help="where a failed notebook stays")
    parser.add_argument("-p", dest="parameters", type=parameter, action="append", default=[], metavar="KEY=JSON")
    options = parser.parse_args(arguments)
    name, began = options.notebook.stem, time.monotonic()
    root = Path.cwd()
    build = root / "build"
    build_watch.start(dict(os.environ))
    kernel_environment.apply(root, build, SOURCE)
    print(f"{name} …", file=sys.stderr, flush=True)
    try:
        with build_watch.only_one(build / "running" / f"{name}.lock"):
            run(options.notebook, options.executed, options.log_dir, dict(options.parameters), root)
    except NotebookError as fault:
        print(f"\n{fault}", file=sys.stderr)
        partial = options.log_dir / f"{name}.ipynb"
        if partial.exists():
            print(f"The notebook as far as it got: {partial}", file=sys.stderr)
        return 1
    print(f"{name} done in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
