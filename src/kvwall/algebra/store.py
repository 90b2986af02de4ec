"""Closed forms as text: deterministic JSON with ``srepr`` and LaTeX, and back without evaluating anything."""

from __future__ import annotations

import json
from collections.abc import Mapping

import sympy as sp

from kvwall.algebra.closed_form import ClosedForm, Step
from kvwall.algebra.dimensions import DimensionError, check_dimensions
from kvwall.algebra.srepr import SreprError, parse_srepr
from kvwall.algebra.symbols import with_constants
from kvwall.units import UnitError

_TEXTS = ("name", "title", "section", "symbol", "unit", "printed", "printed_source")
_LISTS = ("inputs", "steps", "assumptions", "conditions")
_KEYS = {*_TEXTS, *_LISTS, "expr", "general", "latex"}


class StoreError(ValueError):
    """A stored text that is no set of closed forms."""


def forms_to_json(forms: Mapping[str, ClosedForm]) -> str:
    """The forms as JSON, in their own order; the same forms give the same bytes."""
    return json.dumps([_to_dict(form) for form in forms.values()], indent=1, ensure_ascii=False) + "\n"


def forms_from_json(text: str) -> dict[str, ClosedForm]:
    """The forms that :func:`forms_to_json` wrote. Raises :class:`StoreError` on anything else."""
    try:
        records = json.loads(text)
    except ValueError as error:
        raise StoreError(f"found no JSON: {error}") from None
    if not isinstance(records, list):
        raise StoreError(f"found {type(records).__name__}, expected a list of forms")
    forms: dict[str, ClosedForm] = {}
    for record in records:
        form = _from_dict(record)
        if form.name in forms:
            raise StoreError(f"form {form.name}: found twice")
        forms[form.name] = form
    return forms


def _to_dict(form: ClosedForm) -> dict:
    return {
        "name": form.name,
        "title": form.title,
        "section": form.section,
        "symbol": form.symbol,
        "unit": form.unit,
        "latex": form.latex,
        "inputs": list(form.inputs),
        "expr": sp.srepr(form.expr),
        "general": sp.srepr(form.general),
        "steps": [{"text": step.text, "latex": step.latex} for step in form.steps],
        "assumptions": list(form.assumptions),
        "conditions": list(form.conditions),
        "printed": form.printed,
        "printed_source": form.printed_source,
    }


def _from_dict(record: object) -> ClosedForm:
    if not isinstance(record, dict) or record.keys() != _KEYS:
        raise StoreError(f"found a record without exactly the keys {', '.join(sorted(_KEYS))}")
    name = record["name"]
    _check_types(name, record)
    steps = tuple(Step(**step) for step in record["steps"])
    try:
        form = ClosedForm(
            expr=parse_srepr(record["expr"]),
            general=parse_srepr(record["general"]),
            steps=steps,
            assumptions=tuple(record["assumptions"]),
            conditions=tuple(record["conditions"]),
            **{key: record[key] for key in _TEXTS},
        )
        check_dimensions(form.general, form.unit)
    except (SreprError, DimensionError, UnitError) as error:
        raise StoreError(f"form {name}: {error}") from None
    # A hand-edited store must not pass: what can be computed is computed again and compared.
    if with_constants(form.general) != form.expr or _to_dict(form) != record:
        raise StoreError(f"form {name}: expr, latex or inputs do not follow from general")
    return form


def _check_types(name: object, record: dict) -> None:
    for key, value in record.items():
        if key in _LISTS:
            expected = dict if key == "steps" else str
            right = isinstance(value, list) and all(isinstance(entry, expected) for entry in value)
        else:
            right = isinstance(value, str) or (value is None and key in ("printed", "printed_source"))
        if not right:
            raise StoreError(f"form {name}: found {type(value).__name__} at {key}, expected text")
    for step in record["steps"]:
        if step.keys() != {"text", "latex"} or not all(isinstance(value, str) for value in step.values()):
            raise StoreError(f"form {name}: found a step without exactly the texts text and latex")
