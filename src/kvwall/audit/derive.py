"""From the accounting to build/forms.json: derive every form, prove the printed ones, write them as text."""

from __future__ import annotations

from pathlib import Path

from kvwall.algebra import Op, Printed, derive_all, forms_to_json, prove_printed
from kvwall.specs import load


def derive_to(accounting: str, printed: str, out: Path) -> None:
    """Write the closed forms to ``out``; raises SpecErrors, DimensionError or ProofError and then writes nothing."""
    catalogue = load([accounting, printed])
    ops = [
        Op.from_texts(op.name, op.part, op.flops, op.weights, op.kv_read, op.kv_write, op.note or "")
        for op in catalogue.accounting.ops
    ]
    sources = catalogue.printed.sources
    entries = [
        Printed(form.form, form.expression, f"{sources[form.source].cite()}, {form.locator}")
        for form in catalogue.printed.forms
    ]
    text = forms_to_json(prove_printed(derive_all(ops), entries))
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f"{out.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    part.replace(out)
