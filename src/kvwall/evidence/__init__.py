"""Exact quantities that remember where they come from, and the evidence class that follows from it."""

from kvwall.evidence.forms import Forms
from kvwall.evidence.quantity import EvidenceError, Quantity, assumed, defined, measured, quality, reported
from kvwall.evidence.study import Study

__all__ = ["EvidenceError", "Forms", "Quantity", "Study", "assumed", "defined", "measured", "quality", "reported"]
