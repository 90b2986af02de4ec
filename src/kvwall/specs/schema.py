"""The spec classes: model, hardware, link, workload, method, assumption, accounting, printed form and edition.

One YAML file holds one spec (data/<kind>/<id>.yaml). Base units once read: byte, second, flop, token, element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from kvwall.specs.values import (
    Choice,
    Datum,
    Identifier,
    Name,
    ShortText,
    Source,
    Strict,
    choice,
    count,
    datum,
    whole,
)

Sources = Annotated[dict[Identifier, Source], Field(min_length=1)]


def twice(key: str, names: list[str], *field: str) -> Iterator[tuple[tuple, str]]:
    """A fault at the second and each later place of a name in the list ``key``."""
    seen: Counter[str] = Counter()
    for index, name in enumerate(names):
        if seen[name]:
            yield (key, index, *field), f"found {name!r} twice, expected each once"
        seen[name] += 1


class Spec(Strict):
    """What every spec file has."""

    id: Identifier
    name: Name
    note: ShortText | None = None
    sources: Sources


class FullAttention(Strict):
    """A run of layers that cache one key and one value vector per KV head and token (MHA, GQA, MQA)."""

    kind: Literal["full"]
    layers: count("layer", "80 layer", "2000 layer")
    query_heads: count("head", "64 head", "1024 head")
    kv_heads: count("head", "8 head", "1024 head")
    head_dim: count("element", "128 element", "4096 element")

    @model_validator(mode="after")
    def _heads_group(self) -> FullAttention:
        if self.query_heads.value % self.kv_heads.value:
            raise ValueError("query_heads is no multiple of kv_heads, so the heads do not form groups")
        return self

    @property
    def attention(self) -> str:
        if self.kv_heads.value == self.query_heads.value:
            return "MHA"
        return "MQA" if self.kv_heads.value == 1 else "GQA"


class LatentAttention(Strict):
    """A run of layers that cache one latent and one shared rotary key per token (MLA)."""

    kind: Literal["mla"]
    layers: count("layer", "60 layer", "2000 layer")
    query_heads: count("head", "128 head", "1024 head")
    latent_dim: count("element", "512 element", "65536 element")
    rope_dim: count("element", "64 element", "65536 element")

    attention: Literal["MLA"] = Field(default="MLA", init=False)


LayerGroup = Annotated[FullAttention | LatentAttention, Field(discriminator="kind")]


class Parameters(Strict):
    """Parameter counts: the rounded one that papers use, and the exact one of the released weights."""

    nominal: datum("parameter", "70e9 parameter", maximum="1e14 parameter")
    exact: count("parameter", "70553706496 parameter", "1e14 parameter")
    active: datum("parameter", "12.9e9 parameter", maximum="1e14 parameter") | None = None


class Model(Spec):
    """A transformer's geometry; layers come in groups, each with its own kind."""

    parameters: Parameters
    hidden_size: count("1", "8192", "1000000")
    ffn_size: count("element", "28672 element", "10000000 element")
    vocabulary: count("1", "128256", "10000000")
    groups: Annotated[list[LayerGroup], Field(min_length=1)]


class Partition(Strict):
    """How the memory of one package is divided: dies or HBM stacks."""

    kind: Literal["die", "stack"]
    count: count("die/stack", "2 die", "1024 die")

    @model_validator(mode="after")
    def _counts_its_kind(self) -> Partition:
        if self.count.unit != self.kind:
            raise ValueError(f"found the unit {self.count.unit!r} in count, expected {self.kind!r} as kind says")
        return self


class Hardware(Spec):
    """One accelerator package. Rates are dense; capacity and bandwidth are those of the whole package."""

    vendor: Name
    bf16_dense: datum("flop/second", "989.4 TFLOP/s", maximum="1000 PFLOP/s")
    hbm_capacity: datum("byte", "80 GB", maximum="100 TB")
    hbm_bandwidth: datum("byte/second", "3.35 TB/s", maximum="1000 TB/s")
    partition: Partition
    die_to_die: Identifier | None = None
    die_to_die_status: Literal["disclosed", "undisclosed", "single partition"]
    peer_link: Identifier
    host_link: Identifier

    @model_validator(mode="after")
    def _link_fits_status(self) -> Hardware:
        if (self.die_to_die is not None) != (self.die_to_die_status == "disclosed"):
            raise ValueError("die_to_die names a link exactly when die_to_die_status is 'disclosed'")
        return self


class Link(Spec):
    """A link between dies, devices or to the host; the direction its bandwidth counts is part of the fact."""

    bandwidth: datum("byte/second", "64 GB/s", maximum="1000 TB/s")
    direction: Literal["one", "both"]
    scope: Literal["die-to-die", "device-to-device", "host-to-device"]


class Workload(Spec):
    """A benchmark workload; a shared prefix divides the context into a shared and an own part."""

    requests: count("sequence", "32 sequence", "1000000 sequence")
    context: Annotated[datum("token", "128 ktoken", maximum="1e9 token"), AfterValidator(whole)]
    shared_prefix: Identifier | None = None
    isolates: ShortText


class Assumption(Strict):
    """A reading of ours, with its name, its value if it has one, and why it is needed."""

    id: Identifier
    title: ShortText
    value: Choice | None = None
    why: ShortText

    @model_validator(mode="before")
    @classmethod
    def _value_with_place(cls, node):
        from kvwall.specs.values import _choice

        if isinstance(node, dict) and node.get("value") is not None:
            return {**node, "value": _choice(node["value"])}
        return node


class Assumptions(Strict):
    """data/assumptions.yaml: every assumption that a number of ours rests on."""

    assumptions: Annotated[list[Assumption], Field(min_length=1)]

    def out_of_order(self) -> Iterator[tuple[tuple, str]]:
        return twice("assumptions", [item.id for item in self.assumptions], "id")


class Scales(Strict):
    """Scale and zero point stored once a group of elements."""

    group: count("element", "32 element", "1e9 element")
    scale: datum("byte", "16 bit")
    zero_point: datum("byte", "16 bit", zero=True)


class Outliers(Strict):
    """A share of the elements kept sparse, each as a value with an index."""

    fraction: datum("1", "1 %", zero=True, maximum="1")
    value_width: datum("byte/element", "16 bit/element")
    index_width: datum("byte/element", "16 bit/element")


class Quality(Strict):
    """Quality as one paper reports it; numbers of two papers do not compare."""

    model: Name
    benchmark: Name
    metric: Name
    setting: Name
    better: Literal["higher", "lower"]
    full_cache: datum("1", "44.52", zero=True)
    with_method: datum("1", "44.27", zero=True)


class Method(Spec):
    """A method as what it does to the unified footprint; absent keys mean that it leaves that factor alone."""

    domain: Literal["baseline", "quantisation", "token eviction", "paging", "prefix caching", "tiering", "combination"]
    factor: Literal["none", "w_q", "r", "phi", "sigma", "lambda", "w_q and r"]
    loss: Literal["lossless", "lossy", "lossless, lossy codec by choice"]
    cuts: list[Literal["stored bytes", "read bytes", "waste", "recomputation"]]
    representatives: list[Name]
    width: datum("byte/element", "2 bit/element", maximum="8 byte/element") | None = None
    scales: Scales | None = None
    outliers: Outliers | None = None
    residual_window: count("token", "128 token", "1e9 token") | None = None
    retention: datum("1", "50 %", maximum="1") | None = None
    block: count("token", "16 token", "1e6 token") | None = None
    shares_prefix: bool = False
    codec: datum("1", "4", maximum="1000") | None = None
    quality: Annotated[list[Quality], Field(default_factory=list, max_length=20)]
    quality_note: ShortText | None = None


class Operation(Strict):
    """One operation of a decode step: expressions over declared symbols, for one sequence."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=60)]
    part: Literal["layer", "model"]
    flops: ShortText
    weights: ShortText
    kv_read: ShortText
    kv_write: ShortText
    source: Identifier
    locator: ShortText
    note: ShortText | None = None


class Accounting(Strict):
    """data/accounting/decode_step.yaml: what one decode step computes and moves, operation by operation."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]
    title: ShortText
    sources: Sources
    symbols: Annotated[list[str], Field(min_length=1)]
    ops: Annotated[list[Operation], Field(min_length=1)]

    def out_of_order(self) -> Iterator[tuple[tuple, str]]:
        yield from twice("symbols", self.symbols)
        yield from twice("ops", [op.name for op in self.ops], "name")


class PrintedForm(Strict):
    """A closed form as a source prints it; only to check ours against."""

    form: Annotated[str, Field(pattern=r"^[a-z0-9_]+$")]
    expression: ShortText
    source: Identifier
    locator: ShortText
    note: ShortText | None = None


class PrintedForms(Strict):
    """data/forms/printed.yaml."""

    sources: Sources
    forms: Annotated[list[PrintedForm], Field(min_length=1)]

    def out_of_order(self) -> Iterator[tuple[tuple, str]]:
        return twice("forms", [form.form for form in self.forms], "form")


def _points(point: Any) -> Any:
    return Annotated[list[point], Field(min_length=1, max_length=1000)]


Context = Annotated[choice("token", "128 ktoken", maximum="1e9 token"), AfterValidator(whole)]
Batch = Annotated[choice("sequence", "32 sequence", maximum="1e6 sequence"), AfterValidator(whole)]
Devices = Annotated[choice("device", "1 device", maximum="1e6 device"), AfterValidator(whole)]


class Sweeps(Strict):
    """The points at which tables and figures evaluate their forms.

    Each list ascends strictly, and ``widths`` descends strictly: it goes from the uncompressed width down. Lists of
    batches and of devices begin with 1, the point that the others are compared with. A compression is above 1.
    """

    table_contexts: _points(Context)
    table_batches: _points(Batch)
    figure_contexts: _points(Context)
    figure_batches: _points(Batch)
    widths: _points(choice("byte/element", "4 bit/element", maximum="8 byte/element"))
    compressions: _points(choice("1", "8", maximum="1000"))
    device_counts: _points(Devices)

    def out_of_order(self) -> Iterator[tuple[tuple, str]]:
        """Faults of the points, each with its key path."""
        for key in type(self).model_fields:
            points = getattr(self, key)
            if key in ("table_batches", "figure_batches", "device_counts") and points[0].value != 1:
                yield (key, 0), f"found {points[0].text!r}, expected 1 as the first point"
            for index, point in enumerate(points):
                earlier = [other for other in points[:index] if other.value == point.value]
                if key == "compressions" and point.value <= 1:
                    yield (key, index), f"found {point.text!r}, expected a factor above 1"
                if earlier:
                    yield (key, index), f"found {point.text!r} after {earlier[0].text!r}, the same point twice"
                elif index and (point.value > points[index - 1].value) is (key == "widths"):
                    order = "descending" if key == "widths" else "ascending"
                    yield (
                        (key, index),
                        f"found {point.text!r} after {points[index - 1].text!r}, expected {order} points",
                    )


class Precision(Strict):
    """Stored width of weights and cache before any method."""

    weight_width: choice("byte/element", "2 byte/element", maximum="8 byte/element")
    cache_width: choice("byte/element", "2 byte/element", maximum="8 byte/element")


Ids = Annotated[list[Identifier], Field(min_length=1)]


class Edition(Strict):
    """Which specs an artifact set shows, and at which points."""

    id: Identifier
    title: ShortText
    models: Ids
    crossover_models: Ids
    study_model: Identifier
    study_hardware: Identifier
    hardware: Ids
    links: Ids
    workloads: Ids
    methods: Ids
    matrix_methods: Ids  # the rows of table 7; the other methods stand in figures only
    precision: Precision
    sweeps: Sweeps

    def out_of_order(self) -> Iterator[tuple[tuple, str]]:
        """Faults of the lists, each with its key path: nothing is named twice, points are in order."""
        for key in ("models", "crossover_models", "hardware", "links", "workloads", "methods", "matrix_methods"):
            yield from twice(key, getattr(self, key))
        for loc, message in self.sweeps.out_of_order():
            yield ("sweeps", *loc), message


KINDS: dict[str, type[Spec]] = {
    "models": Model,
    "hardware": Hardware,
    "links": Link,
    "workloads": Workload,
    "methods": Method,
}

__all__ = [
    "KINDS",
    "Accounting",
    "Assumption",
    "Assumptions",
    "Datum",
    "Edition",
    "Hardware",
    "Link",
    "Method",
    "Model",
    "PrintedForms",
    "Workload",
]
