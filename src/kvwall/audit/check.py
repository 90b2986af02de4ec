"""Everything that can be wrong in data/ and config/, found before any notebook runs.

The schema's faults come from :mod:`kvwall.specs`; here are those that need more than one file or one value: references,
expressions, one description a source, and plausible magnitudes.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from kvwall import expression
from kvwall.notation import NOTATION
from kvwall.specs.catalogue import Catalogue, read
from kvwall.specs.claims_schema import Claims
from kvwall.specs.faults import Fault, SpecErrors
from kvwall.specs.schema import KINDS, Edition, FullAttention, Hardware, Model

_RIDGE_FLOP_PER_BYTE = (10, 2000)
_MAX_BYTES_PER_TOKEN = 10_000_000
_EXPRESSIONS = ("flops", "weights", "kv_read", "kv_write")


def spec_files(root: str = ".") -> list[str]:
    """Every YAML file below data/ and config/editions/, as paths relative to ``root``, sorted."""
    base = Path(root)
    found = [path for folder in ("data", "config/editions") for path in (base / folder).rglob("*") if path.is_file()]
    return sorted(path.relative_to(base).as_posix() for path in found if path.suffix in (".yaml", ".yml"))


def check() -> Catalogue:
    """Check every spec file below the working directory; raises :class:`SpecErrors` with all faults at once."""
    catalogue, faults = read(spec_files())
    faults += _references(catalogue)
    faults += _expressions(catalogue)
    faults += _sources(catalogue)
    faults += _plausibility(catalogue)
    if faults:
        raise SpecErrors(faults)
    return catalogue


def _references(catalogue: Catalogue) -> Iterator[Fault]:
    for edition in catalogue.editions.values():
        yield from _edition_references(catalogue, edition)
    for device in catalogue.hardware.values():
        path = catalogue.path_of("hardware", device.id)
        for key in ("die_to_die", "peer_link", "host_link"):
            name = getattr(device, key)
            if name is not None and not _exists("links", name):
                yield catalogue.fault(path, (key,), f"found {name!r}, expected the id of a file in data/links/")
    for workload in catalogue.workloads.values():
        name = workload.shared_prefix
        if name is not None and catalogue.assumptions and name not in catalogue.assumptions:
            path = catalogue.path_of("workloads", workload.id)
            yield catalogue.fault(path, ("shared_prefix",), f"found {name!r}, expected an id of data/assumptions.yaml")
    for claims in catalogue.claims.values():
        yield from _claim_references(catalogue, claims)


def _claim_references(catalogue: Catalogue, claims: Claims) -> Iterator[Fault]:
    path = catalogue.path_of("claims", claims.id)
    known = {*catalogue.assumptions, *(reading.id for reading in claims.readings)}
    for index, stated in enumerate(claims.states):
        if stated.assumption not in known:
            where = ("states", index, "assumption")
            yield catalogue.fault(path, where, f"found {stated.assumption!r}, expected an id of data/assumptions.yaml")
    for index, claim in enumerate(claims.claims):
        if claim.assumption is not None and claim.assumption not in known:
            expected = "an id of data/assumptions.yaml or of readings in this file"
            yield catalogue.fault(
                path, ("claims", index, "assumption"), f"found {claim.assumption!r}, expected {expected}"
            )
        other = claim.conflicts_with.claim if claim.conflicts_with else ""
        file, _, name = other.rpartition("/")
        if file and (file not in catalogue.claims or name not in {item.id for item in catalogue.claims[file].claims}):
            where = ("claims", index, "conflicts_with", "claim")
            yield catalogue.fault(path, where, f"found {other!r}, expected <file>/<claim id> of data/claims/")


def _edition_references(catalogue: Catalogue, edition: Edition) -> Iterator[Fault]:
    path = f"config/editions/{edition.id}.yaml"
    for kind in KINDS:
        for index, name in enumerate(getattr(edition, kind)):
            if not _exists(kind, name):
                yield catalogue.fault(path, (kind, index), f"found {name!r}, expected the id of a file in data/{kind}/")
    for index, name in enumerate(edition.crossover_models):
        if name not in edition.models:
            yield catalogue.fault(path, ("crossover_models", index), f"found {name!r}, which is not among models")
    for index, name in enumerate(edition.matrix_methods):
        if name not in edition.methods:
            yield catalogue.fault(path, ("matrix_methods", index), f"found {name!r}, which is not among methods")
    for key, among in (("study_model", "models"), ("study_hardware", "hardware")):
        if getattr(edition, key) not in getattr(edition, among):
            yield catalogue.fault(path, (key,), f"found {getattr(edition, key)!r}, which is not among {among}")


def _exists(kind: str, name: str) -> bool:
    """Whether the file is there; a file with faults of its own is told once, not again at each reference."""
    return Path(f"data/{kind}/{name}.yaml").is_file()


def _expressions(catalogue: Catalogue) -> Iterator[Fault]:
    accounting, printed = catalogue.accounting, catalogue.printed
    if accounting is not None:
        path = "data/accounting/decode_step.yaml"
        for index, name in enumerate(accounting.symbols):
            if name not in NOTATION:
                yield catalogue.fault(
                    path, ("symbols", index), f"found {name!r}, which is no symbol of kvwall.notation"
                )
        for index, op in enumerate(accounting.ops):
            for key in _EXPRESSIONS:
                yield from _expression(catalogue, path, ("ops", index, key), getattr(op, key), accounting.symbols)
    if printed is not None:
        for index, form in enumerate(printed.forms):
            loc = ("forms", index, "expression")
            yield from _expression(catalogue, "data/forms/printed.yaml", loc, form.expression, NOTATION)


def _expression(catalogue: Catalogue, path: str, loc: tuple, text: str, names) -> Iterator[Fault]:
    try:
        expression.parse(text, names)
    except expression.ExpressionError as error:
        yield catalogue.fault(path, loc, f"{error} (at character {error.column + 1})")


def _sources(catalogue: Catalogue) -> Iterator[Fault]:
    """A source id means the same in every file."""
    first: dict[str, str] = {}
    for path, sources in catalogue.sources.items():
        for name, source in sources.items():
            other = first.setdefault(name, path)
            if source != catalogue.sources[other][name]:
                yield catalogue.fault(path, ("sources", name), f"differs from the source of the same id in {other}")


def _plausibility(catalogue: Catalogue) -> Iterator[Fault]:
    for device in catalogue.hardware.values():
        yield from _plausible_ridge(catalogue, device)
    for model in catalogue.models.values():
        yield from _plausible_cache(catalogue, model)
    for workload in catalogue.workloads.values():
        shared = catalogue.assumptions.get(workload.shared_prefix or "")
        if shared and shared.value and shared.value.value > workload.context.value:
            path = catalogue.path_of("workloads", workload.id)
            yield catalogue.fault(path, ("shared_prefix",), "is longer than the context that it is a part of")


def _plausible_ridge(catalogue: Catalogue, device: Hardware) -> Iterator[Fault]:
    low, high = _RIDGE_FLOP_PER_BYTE
    ridge = device.bf16_dense.value / device.hbm_bandwidth.value
    if not low <= ridge <= high:
        path = catalogue.path_of("hardware", device.id)
        message = f"with bf16_dense gives a ridge point of {float(ridge):g} FLOP/B, expected {low} to {high}"
        yield catalogue.fault(path, ("hbm_bandwidth",), message)


def _plausible_cache(catalogue: Catalogue, model: Model) -> Iterator[Fault]:
    elements = sum((_elements(group) for group in model.groups), Fraction(0))
    if 2 * elements > _MAX_BYTES_PER_TOKEN:
        message = (
            f"gives {float(2 * elements):,.0f} bytes per token at 16 bit, expected at most {_MAX_BYTES_PER_TOKEN:,}"
        )
        yield catalogue.fault(catalogue.path_of("models", model.id), ("groups",), message)


def _elements(group) -> Fraction:
    if isinstance(group, FullAttention):
        return 2 * group.layers.value * group.kv_heads.value * group.head_dim.value
    return group.layers.value * (group.latent_dim.value + group.rope_dim.value)
