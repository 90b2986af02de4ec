"""SymPy only, no I/O: symbols, accounting, derivations and the closed forms they yield."""

from kvwall.algebra.accounting import Op
from kvwall.algebra.closed_form import ClosedForm, Step
from kvwall.algebra.derive import derive_all
from kvwall.algebra.dimensions import DimensionError, check_dimensions
from kvwall.algebra.parser import to_sympy
from kvwall.algebra.printed import Printed, ProofError, prove_printed
from kvwall.algebra.srepr import SreprError, parse_srepr
from kvwall.algebra.store import StoreError, forms_from_json, forms_to_json

__all__ = [
    "ClosedForm",
    "DimensionError",
    "Op",
    "Printed",
    "ProofError",
    "SreprError",
    "Step",
    "StoreError",
    "check_dimensions",
    "derive_all",
    "forms_from_json",
    "forms_to_json",
    "parse_srepr",
    "prove_printed",
    "to_sympy",
]
