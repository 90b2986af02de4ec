"""Read what a build wrote; whatever is wrong with a file is told as one error that names it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kvwall.algebra import ClosedForm, DimensionError, SreprError, StoreError, forms_from_json
from kvwall.evidence.ledger import Row

LEDGER, FORMS, MANIFEST = "ledger/ledger.json", "build/forms.json", "ledger/outputs.sha256"


class OutputError(ValueError):
    """A file of a build that is missing, unreadable or not what a build writes."""


def read_rows(path: str | Path = LEDGER) -> dict[str, dict[str, Any]]:
    """The rows of a ledger by id. Raises :class:`OutputError`."""
    return rows_from_text(_text(path), str(path))


def rows_from_text(text: str, name: str) -> dict[str, dict[str, Any]]:
    """The rows of a ledger given as text; ``name`` is how an error calls it. Raises :class:`OutputError`."""
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise OutputError(f"{name}: cannot be read as JSON: {error}") from None
    columns = set(Row.__dataclass_fields__)
    if not isinstance(rows, list) or not rows or any(not isinstance(row, dict) or set(row) != columns for row in rows):
        raise OutputError(f"{name}: is no ledger; expected a list of rows with {len(columns)} columns each")
    return {row["id"]: row for row in rows}


def read_forms(path: str | Path = FORMS) -> dict[str, ClosedForm]:
    """The closed forms, checked against each other. Raises :class:`OutputError`."""
    try:
        return forms_from_json(_text(path))
    except (StoreError, SreprError, DimensionError) as error:
        raise OutputError(f"{path}: {error}") from None


def read_manifest(path: str | Path = MANIFEST) -> dict[str, str]:
    """Digests by name of output. Raises :class:`OutputError`."""
    lines = _text(path).splitlines()
    parts = [line.split("  ", 1) for line in lines]
    if not parts or any(len(part) != 2 or len(part[0]) != 64 for part in parts):
        raise OutputError(f"{path}: is no list of digests as sha256sum writes it")
    return {name: digest for digest, name in parts}


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be read ({error.strerror}); a build makes it: snakemake --cores 4") from None
    except ValueError as error:
        raise OutputError(f"{path}: is not UTF-8 text: {error}") from None
