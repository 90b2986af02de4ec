"""The command line: ``kvwall check``, ``derive``, ``ledger``, ``verify``, ``explain`` and ``diff``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from kvwall.specs.faults import SpecErrors

app = typer.Typer(
    help="Exact numbers for 'The KV Cache Is the New Memory Wall', each with its lineage.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _fail(lines: list[str], summary: str) -> typer.Exit:
    for line in lines:
        typer.echo(line, err=True)
    typer.echo(summary, err=True)
    return typer.Exit(1)


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """A file that is missing or broken is one line and exit code 2, not a traceback."""
    from kvwall.audit.outputs import OutputError
    from kvwall.evidence.ledger import DoubleIdError

    try:
        yield
    except (OutputError, DoubleIdError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def _faults(count: int) -> str:
    return "1 fault" if count == 1 else f"{count} faults"


@app.command()
def check(stamp: Annotated[Path | None, typer.Option(help="File to write when everything is right.")] = None) -> None:
    """Check every spec in data/ and config/editions/; print all faults as file:line:column."""
    from kvwall.audit.check import check as run_check
    from kvwall.audit.check import spec_files

    try:
        run_check()
    except SpecErrors as error:
        raise _fail(
            [str(fault) for fault in error.faults],
            f"{_faults(error.count)} in the spec files; nothing was built or changed.",
        ) from None
    if stamp is not None:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(json.dumps({"checked": spec_files()}, indent=1) + "\n", encoding="utf-8")


@app.command()
def derive(
    accounting: Annotated[str, typer.Option(help="The operations of a decode step.")],
    printed: Annotated[str, typer.Option(help="The forms as the paper prints them.")],
    out: Annotated[Path, typer.Option(help="Where the forms go.")],
) -> None:
    """Derive every closed form, prove it equal to its printed form, and write build/forms.json."""
    from kvwall.audit.derive import derive_to

    derive_to(accounting, printed, out)


@app.command()
def ledger(
    fragments: list[str],
    out_dir: Annotated[str, typer.Option(help="Folder of ledger.csv, ledger.json and outputs.sha256.")] = "ledger",
    outputs: Annotated[list[str] | None, typer.Option(help="Text outputs whose digests are kept.")] = None,
) -> None:
    """Merge the fragments of all artifacts into the ledger."""
    from kvwall.evidence.ledger import read_fragment, write_ledger

    with _told():
        write_ledger(out_dir, [row for name in fragments for row in read_fragment(name)], outputs or [])


@app.command()
def verify(
    cores: Annotated[int, typer.Option(help="Cores of the second build.")] = 4,
    rebuild: Annotated[bool, typer.Option(help="Build a second time and compare byte for byte.")] = True,
) -> None:
    """The rebuild proof: no output edited, every derived value recomputed, a second build equal byte for byte."""
    from kvwall.audit.verify import edited_outputs, rebuild_differences, wrong_values

    root = Path.cwd()
    with _told():
        count, faults = wrong_values(root)
        faults += edited_outputs(root)
    typer.echo(f"recomputed {count} derived values by the second path")
    if rebuild:
        typer.echo("building in a second place ...")
        faults += rebuild_differences(root, cores)
    if faults:
        raise _fail(faults, f"{_faults(len(faults))}; this set of artifacts is not proven.")
    typer.echo("verified: outputs unedited, values recomputed" + (", second build byte-identical" if rebuild else ""))


@app.command()
def explain(identifier: Annotated[str, typer.Argument(help="A ledger id such as table_4/llama-3-70b/b=32.")]) -> None:
    """Tell the story of one number: form, inputs, sources, rounding."""
    from kvwall.audit.explain import UnknownIdError
    from kvwall.audit.explain import explain as tell

    _warn_if_stale()
    try:
        with _told():
            typer.echo(tell(identifier), nl=False)
    except UnknownIdError as error:
        raise _fail([], str(error)) from None


def _warn_if_stale() -> None:
    from kvwall.audit.verify import stale

    with _told():
        warning = stale(Path.cwd())
    if warning:
        typer.echo(warning, err=True)


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A commit, or a ledger.json to compare with.")] = "HEAD",
    after: Annotated[str, typer.Option(help="The ledger that is compared.")] = "ledger/ledger.json",
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List every number that moved since another ledger, and the leaf that moved it; exit code 1 if any did."""
    from kvwall.audit import diff as compare
    from kvwall.audit.outputs import read_forms

    with _told():
        rows = compare.read_ledger(before), compare.read_ledger(after)
        forms = read_forms()
    _warn_if_stale()
    difference = compare.compare(*rows, forms)
    typer.echo(compare.to_json(difference) if as_json else compare.to_markdown(difference), nl=False)
    raise typer.Exit(1 if difference else 0)
