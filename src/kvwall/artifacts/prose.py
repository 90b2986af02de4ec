"""A derivation as a reader follows it: statement, steps, conditions, dimensional check and the printed form."""

from __future__ import annotations

from kvwall.algebra.closed_form import ClosedForm
from kvwall.algebra.dimensions import dimension_of
from kvwall.evidence.quantity import base_unit_text
from kvwall.notation import CONSTANTS, NOTATION

_ESCAPED = {ord(char): f"\\{char}" for char in "*_<>"}


def derivation(form: ClosedForm) -> str:
    """The derivation of a form as Markdown with LaTeX."""
    where = f" (section {form.section})" if form.section else " (not in the paper)"
    parts = [f"### {form.title}{where}", f"$$ {form.latex} $$"]
    parts += [
        f"{number}. {step.text.translate(_ESCAPED)}\n\n   $${step.latex}$$" for number, step in enumerate(form.steps, 1)
    ]
    parts += _listed("Holds under", form.assumptions) + _listed("Note", form.conditions)
    parts.append(f"*Dimensions:* {_dimensions(form)}.")
    if form.printed is not None:
        parts.append(f"*As printed:* `{form.printed}` ({form.printed_source}); the difference simplifies to zero.")
    return "\n\n".join(parts)


def notation() -> str:
    """The list of symbols as a Markdown table, with the value of those that hold one by definition."""
    lines = ["| symbol | meaning | unit | by definition |", "|---|---|---|---|"]
    for name, symbol in NOTATION.items():
        value = CONSTANTS.get(name, "")
        lines.append(f"| ${symbol.latex}$ | {symbol.meaning.translate(_ESCAPED)} | {symbol.unit or '1'} | {value} |")
    return "\n".join(lines)


def _listed(title: str, lines: tuple[str, ...]) -> list[str]:
    return [f"*{title}:* {line.translate(_ESCAPED)}" for line in lines]


def _dimensions(form: ClosedForm) -> str:
    """What the right side measures, found from the units of its symbols, against the stated unit."""
    found = sorted(dimension_of(form.general).items())
    shown = " · ".join(name if power == 1 else f"{name}^{power}" for name, power in found)
    return f"right side {shown or 'pure number'}, unit {base_unit_text(form.unit) or 'none'}"
