"""Everything that can be wrong in data/ and config/, found before any notebook runs.

The schema's faults come from :mod:`kvwall.specs`; here are those that need more than one file or one value: references,
expressions, one description a source, and plausible magnitudes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from kvwall import expression
from kvwall.notation import NOTATION
from kvwall.specs.catalogue import Catalogue, read
from kvwall.specs.claims_schema import Claims
from kvwall.specs.faults import Fault, SpecErrors
from kvwall.specs.schema import KINDS, Edition, FullAttention, Hardware, Model
from kvwall.specs.values import shown

_RIDGE_FLOP_PER_BYTE = (10, 2000)
_MAX_BYTES_PER_TOKEN = 10_000_000
_EXPRESSIONS = ("flops", "weights", "kv_read", "kv_write")
_ACCOUNTING = "data/accounting/decode_step.yaml"
_PRINTED = "data/forms/printed.yaml"
# Without these nothing can be built.
_SINGLETONS = ("config/editions/paper.yaml", _ACCOUNTING, "data/assumptions.yaml", _PRINTED)
# Every place where a spec file can stand; a file elsewhere could take the place of another one.
_ID = r"(?!assumptions\.|printed\.)[^/]+\.yaml"  # these two names are kinds of their own
_PLACES = re.compile(rf"data/(?:{'|'.join(KINDS)}|claims)/{_ID}|config/editions/{_ID}")
_NOMINAL = (Fraction(1, 2), 2)  # exact parameters over nominal ones


def spec_files(root: str = ".") -> list[str]:
    """Every YAML file below data/ and config/editions/, as paths relative to ``root``, sorted."""
    return _scan(root)[0]


def _scan(root: str = ".") -> tuple[list[str], list[Fault]]:
    """The spec files, and a fault for all that stands among them and is none. Links are told and never followed."""
    files, faults, folders = [], [], ["config", "data"]
    for name in folders:
        path = Path(root, name)
        if path.is_symlink():
            faults.append(_odd(name, "found a symbolic link, expected a folder of this checkout"))
        elif not path.is_dir():
            faults.append(_odd(name, "found no such folder"))
        else:
            found, odd = _entries(root, name)
            files += found
            faults += odd
    return sorted(files), faults


def _entries(root: str, folder: str) -> tuple[list[str], list[Fault]]:
    files, faults = [], []
    try:
        entries = sorted(os.scandir(Path(root, folder)), key=lambda entry: entry.name)
    except OSError as error:
        return [], [_odd(folder, f"cannot be read: {error.strerror}")]
    for entry in entries:
        path = f"{folder}/{entry.name}"
        if entry.is_symlink():
            faults.append(_odd(path, "found a symbolic link, expected a file or folder of this checkout"))
        elif entry.is_dir(follow_symlinks=False):
            found, odd = _entries(root, path)
            files += found
            faults += odd
        elif path.startswith(("data/", "config/editions/")) and entry.name != "README.md":
            if entry.is_file(follow_symlinks=False) and entry.name.endswith(".yaml"):
                files.append(path)
            else:
                faults.append(_odd(path, "found no spec file, expected regular files that end in .yaml (or README.md)"))
    return files, faults


def _odd(path: str, message: str) -> Fault:
    return Fault(path, 1, 1, "file", message)


def _misplaced(paths: list[str]) -> list[Fault]:
    """Files that are no spec by their place, and the ones that are missing."""
    expected = (
        f"no known kind of spec; expected data/<kind>/<id>.yaml with a kind of {', '.join(KINDS)} or claims, "
        f"config/editions/<id>.yaml, {', '.join(_SINGLETONS[1:])}"
    )
    faults = [_odd(path, expected) for path in paths if path not in _SINGLETONS and not _PLACES.fullmatch(path)]
    return faults + [_odd(path, "missing file; nothing can be built without it") for path in {*_SINGLETONS} - {*paths}]


def check() -> Catalogue:
    """Check every spec file below the working directory; raises :class:`SpecErrors` with all faults at once."""
    paths, faults = _scan()
    misplaced = _misplaced(paths)
    wrong = {fault.path for fault in misplaced}
    catalogue, found = read(path for path in paths if path not in wrong)
    faults += [*misplaced, *found]
    faults += _references(catalogue, frozenset(paths))
    faults += _expressions(catalogue)
    faults += _sources(catalogue)
    faults += _plausibility(catalogue)
    if faults:
        raise SpecErrors(faults)
    return catalogue


def _references(catalogue: Catalogue, files: frozenset[str]) -> Iterator[Fault]:
    for edition in catalogue.editions.values():
        yield from _edition_references(catalogue, edition, files)
    for device in catalogue.hardware.values():
        path = catalogue.path_of("hardware", device.id)
        for key in ("die_to_die", "peer_link", "host_link"):
            name = getattr(device, key)
            if name is not None and not _exists("links", name, files):
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


def _edition_references(catalogue: Catalogue, edition: Edition, files: frozenset[str]) -> Iterator[Fault]:
    path = f"config/editions/{edition.id}.yaml"
    for kind in KINDS:
        for index, name in enumerate(getattr(edition, kind)):
            if not _exists(kind, name, files):
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
    yield from _studied(catalogue, edition, path)


def _studied(catalogue: Catalogue, edition: Edition, path: str) -> Iterator[Fault]:
    """What notebooks take for granted of the specs that an edition selects."""
    model = catalogue.models.get(edition.study_model)
    if model is not None and not (len(model.groups) == 1 and isinstance(model.groups[0], FullAttention)):
        kinds = ", ".join(group.kind for group in model.groups)
        message = f"found {model.id!r} with the layer groups {kinds}, expected a model with one group of kind full"
        yield catalogue.fault(path, ("study_model",), message)
    workloads = [catalogue.workloads.get(name) for name in edition.workloads]
    if all(workload is not None and workload.shared_prefix is None for workload in workloads):
        yield catalogue.fault(path, ("workloads",), "found no workload with a shared_prefix, expected at least one")


def _exists(kind: str, name: str, files: frozenset[str]) -> bool:
    """Whether it is a checked file; one with faults of its own is told once, not again at each reference."""
    return f"data/{kind}/{name}.yaml" in files


def _expressions(catalogue: Catalogue) -> Iterator[Fault]:
    accounting, printed = catalogue.accounting, catalogue.printed
    if accounting is not None:
        path = _ACCOUNTING
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
            yield from _expression(catalogue, _PRINTED, loc, form.expression, NOTATION)


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
        yield from _plausible_parameters(catalogue, model)
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


def _plausible_parameters(catalogue: Catalogue, model: Model) -> Iterator[Fault]:
    path, (low, high) = catalogue.path_of("models", model.id), _NOMINAL
    exact, nominal, active = model.parameters.exact, model.parameters.nominal, model.parameters.active
    if not low <= exact.value / nominal.value <= high:
        message = f"found {shown(exact.value)}, expected within a factor {high} of nominal ({shown(nominal.value)})"
        yield catalogue.fault(path, ("parameters", "exact"), message)
    if active is not None and active.value > max(exact.value, nominal.value):
        message = f"found {shown(active.value)}, expected no more than the whole model ({shown(nominal.value)})"
        yield catalogue.fault(path, ("parameters", "active"), message)


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
