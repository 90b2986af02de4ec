"""What a derivation yields: the closed form with the chain of steps that leads to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy as sp

from kvwall.algebra.dimensions import check_dimensions
from kvwall.algebra.symbols import render, with_constants


@dataclass(frozen=True)
class Step:
    """One line of a derivation: what was done, and the equation that it gave."""

    text: str
    latex: str


@dataclass(frozen=True)
class ClosedForm:
    """A derived expression: ``expr`` reads like the paper, ``general`` keeps the constants as symbols."""

    name: str
    title: str
    section: str  # of the paper; "" for a form that the paper lacks
    symbol: str  # LaTeX of the left side
    unit: str
    expr: sp.Expr
    general: sp.Expr
    steps: tuple[Step, ...]
    assumptions: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    printed: str | None = None
    printed_source: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the symbols that a value is needed for, sorted."""
        return tuple(sorted(symbol.name for symbol in self.expr.free_symbols))

    @property
    def latex(self) -> str:
        """The equation as the paper would print it."""
        return f"{self.symbol} = {render(self.expr)}"


@dataclass
class Derivation:
    """Collects the steps of one form; :meth:`close` checks its dimensions and seals it."""

    name: str
    title: str
    section: str
    symbol: str
    unit: str
    steps: list[Step] = field(default_factory=list)

    def step(self, text: str, left: sp.Basic | str, right: sp.Expr | None = None) -> sp.Basic:
        """Note an equation. Without ``right``, an unevaluated ``left`` (limit, sum, derivative) is done here.

        The LaTeX is made from the expressions, so a step cannot say anything other than what was computed.
        """
        if right is None:
            right = left.doit()
        shown = left if isinstance(left, str) else render(left)
        self.steps.append(Step(text, f"{shown} = {render(right)}"))
        return right

    def close(
        self, general: sp.Expr, assumptions: tuple[str, ...] = (), conditions: tuple[str, ...] = ()
    ) -> ClosedForm:
        """The finished form; raises :class:`kvwall.algebra.dimensions.DimensionError`."""
        check_dimensions(general, self.unit)
        expr = with_constants(general)
        if expr != general:
            self.step("With the definitional constants put in.", self.symbol, expr)
        return ClosedForm(
            self.name,
            self.title,
            self.section,
            self.symbol,
            self.unit,
            expr,
            general,
            tuple(self.steps),
            assumptions,
            conditions,
        )
