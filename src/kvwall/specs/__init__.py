"""Raw spec files: strict YAML in, typed facts with their place and source out."""

from kvwall.specs.catalogue import Catalogue, load
from kvwall.specs.faults import Fault, SpecErrors

__all__ = ["Catalogue", "Fault", "SpecErrors", "load"]
