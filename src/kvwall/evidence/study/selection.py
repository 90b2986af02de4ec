"""What an edition selects: its specs, in its order, and the leaves that forms are bound to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from kvwall.evidence.forms import Forms
from kvwall.evidence.quantity import EvidenceError, Quantity, assumed, defined, quality, reported
from kvwall.specs import Catalogue, load
from kvwall.specs.schema import Edition, FullAttention, Hardware, Link, Method, Model, Workload
from kvwall.specs.values import Choice, Datum


class Selection:
    """An edition's specs together with the closed forms."""

    def __init__(self, edition: Edition, catalogue: Catalogue, forms: Forms) -> None:
        self.edition, self.catalogue, self.forms = edition, catalogue, forms

    @classmethod
    def open(cls, edition: str, forms: str, specs: Iterable[str]) -> Self:
        """Read the edition and exactly the given spec files; raises SpecErrors with every fault."""
        catalogue = load([edition, *specs])
        return cls(next(iter(catalogue.editions.values())), catalogue, Forms.read(forms))

    def models(self) -> list[Model]:
        return [self.catalogue.models[name] for name in self.edition.models]

    def crossover_models(self) -> list[Model]:
        return [self.catalogue.models[name] for name in self.edition.crossover_models]

    def hardware(self) -> list[Hardware]:
        return [self.catalogue.hardware[name] for name in self.edition.hardware]

    def methods(self) -> list[Method]:
        return [self.catalogue.methods[name] for name in self.edition.methods]

    def matrix_methods(self) -> list[Method]:
        """The rows of table 7; the edition's other methods stand in figures only."""
        return [self.catalogue.methods[name] for name in self.edition.matrix_methods]

    def workloads(self) -> list[Workload]:
        return [self.catalogue.workloads[name] for name in self.edition.workloads]

    @property
    def model(self) -> Model:
        """The model that the edition studies (Llama-3-70B in the paper)."""
        return self.catalogue.models[self.edition.study_model]

    @property
    def device(self) -> Hardware:
        """The device that the edition studies (B200 in the paper)."""
        return self.catalogue.hardware[self.edition.study_hardware]

    @property
    def sharing_workload(self) -> Workload:
        """The first workload whose requests share a prefix (W3 in the paper)."""
        return next(workload for workload in self.workloads() if workload.shared_prefix)

    def link(self, name: str) -> Link:
        return self.catalogue.links[name]

    def fact(self, datum: Datum) -> Quantity:
        """A datum of a spec as a reported quantity."""
        return reported(datum, self.catalogue.source_of(datum))

    def quality(self, datum: Datum) -> Quantity:
        """A reported quality: shown, never computed with."""
        return quality(datum, self.catalogue.source_of(datum))

    def assumption(self, name: str) -> Quantity:
        """The value of a named assumption."""
        return assumed(self.catalogue.assumptions[name])

    def points(self, choices: Sequence[Choice], name: str) -> list[Quantity]:
        """The chosen points of a sweep, as defined quantities."""
        return [defined(choice, name) for choice in choices]

    def batches(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.table_batches, "batch size")

    def contexts(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.table_contexts, "context length")

    @staticmethod
    def context_label(s: Quantity) -> str:
        """``128k`` for 128,000 tokens."""
        return f"{int(s.value / 1000)}k"

    def widths(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.widths, "stored width of a cache element")

    def compressions(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.compressions, "compression factor")

    def device_counts(self) -> list[Quantity]:
        return self.points(self.edition.sweeps.device_counts, "number of devices")

    @property
    def one_sequence(self) -> Quantity:
        """Batch size one, by definition the first batch of every edition's sweep."""
        first = self.batches()[0]
        if first.value != 1:
            raise EvidenceError("the first table batch of an edition must be 1")
        return first

    @property
    def one_device(self) -> Quantity:
        """One device, by definition the first device count of every edition's sweep."""
        first = self.device_counts()[0]
        if first.value != 1:
            raise EvidenceError("the first device count of an edition must be 1")
        return first

    @property
    def cache_width(self) -> Quantity:
        return defined(self.edition.precision.cache_width, "stored width of a cache element")

    @property
    def weight_width(self) -> Quantity:
        return defined(self.edition.precision.weight_width, "stored width of a weight")

    @staticmethod
    def single_full_group(model: Model) -> FullAttention:
        if len(model.groups) != 1 or not isinstance(model.groups[0], FullAttention):
            raise EvidenceError(f"{model.id}: this form needs a model with one full-attention group")
        return model.groups[0]
