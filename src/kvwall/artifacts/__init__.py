"""Tables and figures: the places where quantities are shown, rounded, and entered into the ledger."""

from kvwall.artifacts.figure import Figure
from kvwall.artifacts.rounding import Rounding, cut, decimals, significant
from kvwall.artifacts.table import Cell, Column, Table

__all__ = ["Cell", "Column", "Figure", "Rounding", "Table", "cut", "decimals", "significant"]
