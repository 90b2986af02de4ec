"""Tables and figures: the places where quantities are shown, rounded, and entered into the ledger.

Figure is imported from its module, so that a table does not load matplotlib.
"""

from kvwall.artifacts.checks import Checks
from kvwall.artifacts.rounding import Rounding, cut, decimals, significant
from kvwall.artifacts.table import Cell, Column, Table

__all__ = ["Cell", "Checks", "Column", "Rounding", "Table", "cut", "decimals", "significant"]
