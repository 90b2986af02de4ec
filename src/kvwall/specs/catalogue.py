"""Read spec files into a catalogue; every fault of every file is found before anything is returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, ValidationError

from kvwall.specs import yaml_nodes
from kvwall.specs.claims_schema import Claims
from kvwall.specs.faults import Fault, SpecErrors
from kvwall.specs.schema import (
    KINDS,
    Accounting,
    Assumption,
    Assumptions,
    Edition,
    Hardware,
    Link,
    Method,
    Model,
    PrintedForms,
    Workload,
)
from kvwall.specs.values import Datum, Source

# pydantic says what failed; these say it in the words of this project.
_PHRASES = {
    "extra_forbidden": "unknown key; remove it or check its spelling",
    "missing": "missing key",
    "union_tag_not_found": "missing key 'kind' (full or mla)",
}
# What was expected, by the kind of failure; names in braces are pydantic's own details of it.
_EXPECTED = {
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_type": "a single text",
    "string_unicode": "a text of valid characters",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "string_too_short": "at least {min_length} character",
    "string_too_long": "at most {max_length} characters",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "literal_error": "{expected}",
    "union_tag_invalid": "{expected_tags}",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of ordinary size",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}

# pydantic puts the chosen kind of a layer group into the path of a fault; it is no key of the file.
_UNION_TAGS = ("full", "mla")


@dataclass
class Catalogue:
    """The specs that were read, by id; and the raw mappings, so that later checks can name a line."""

    models: dict[str, Model] = field(default_factory=dict)
    hardware: dict[str, Hardware] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    workloads: dict[str, Workload] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    assumptions: dict[str, Assumption] = field(default_factory=dict)
    accounting: Accounting | None = None
    printed: PrintedForms | None = None
    claims: dict[str, Claims] = field(default_factory=dict)
    editions: dict[str, Edition] = field(default_factory=dict)
    sources: dict[str, dict[str, Source]] = field(default_factory=dict)  # path -> source id -> source
    nodes: dict[str, yaml_nodes.Mapping] = field(default_factory=dict)  # path -> raw mapping

    def source_of(self, datum: Datum) -> Source:
        """The source a datum stands on."""
        return self.sources[datum.at.rsplit(":", 1)[0]][datum.source]

    def path_of(self, kind: str, identifier: str) -> str:
        return f"data/{kind}/{identifier}.yaml"

    def fault(self, path: str, loc: tuple, message: str) -> Fault:
        """A fault at a key path inside a file that was read."""
        line, column = locate(self.nodes[path], loc)
        return Fault(path, line, column, ".".join(map(str, loc)), message)


def load(paths: Iterable[str]) -> Catalogue:
    """Read and validate files; raises :class:`SpecErrors` with every fault of every file."""
    catalogue, faults = read(paths)
    if faults:
        raise SpecErrors(faults)
    return catalogue


def read(paths: Iterable[str]) -> tuple[Catalogue, list[Fault]]:
    """Like :func:`load`, but returns what could be read together with the faults."""
    catalogue, faults = Catalogue(), []
    for path in sorted(paths):
        node, found = yaml_nodes.read(path)
        faults += found
        spec_class = _class_for(path)
        if node is None:
            continue
        catalogue.nodes[path] = node
        if spec_class is None:
            faults.append(
                Fault(
                    path,
                    1,
                    1,
                    "file",
                    f"no known kind of spec; expected data/<kind>/<id>.yaml with a kind of {', '.join(KINDS)}",
                )
            )
            continue
        faults += _unknown_sources(path, node)
        try:
            spec = spec_class.model_validate(node)
        except ValidationError as error:
            faults += [_fault(path, node, item) for item in error.errors()]
            continue
        if not found:
            faults += _add(catalogue, path, node, spec)
    return catalogue, faults


def _class_for(path: str) -> type[BaseModel] | None:
    pure = PurePosixPath(path)
    special = {"assumptions.yaml": Assumptions, "printed.yaml": PrintedForms}
    if pure.name in special:
        return special[pure.name]
    return {**KINDS, "accounting": Accounting, "editions": Edition, "claims": Claims}.get(pure.parent.name)


def _add(catalogue: Catalogue, path: str, node: yaml_nodes.Mapping, spec: Any) -> list[Fault]:
    catalogue.sources[path] = getattr(spec, "sources", {})
    faults: list[Fault] = []
    if isinstance(spec, Assumptions):
        catalogue.assumptions.update({item.id: item for item in spec.assumptions})
    elif isinstance(spec, Accounting):
        catalogue.accounting = spec
    elif isinstance(spec, PrintedForms):
        catalogue.printed = spec
    else:
        stem = PurePosixPath(path).stem
        if spec.id != stem:
            faults.append(
                Fault(
                    path,
                    *locate(node, ("id",)),
                    "id",
                    f"found {spec.id!r}, expected the file's name {stem!r}",
                )
            )
        folder = PurePosixPath(path).parent.name
        getattr(catalogue, folder)[spec.id] = spec
    for loc, message in spec.out_of_order() if hasattr(spec, "out_of_order") else ():
        faults.append(catalogue.fault(path, loc, message))
    return faults


def _source_uses(node: Any, loc: tuple = ()) -> Iterator[tuple[tuple, str]]:
    """Every place in a raw file that names a source id, also in a file with other faults."""
    if isinstance(node, yaml_nodes.Mapping):
        for name, child in node.items():
            if name == "source" and isinstance(child, str):
                yield (*loc, name), str(child)
            elif loc or name != "sources":
                yield from _source_uses(child, (*loc, name))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _source_uses(child, (*loc, index))


def _unknown_sources(path: str, node: yaml_nodes.Mapping) -> list[Fault]:
    listed = node.get("sources")
    known = set(listed) if isinstance(listed, dict) else set()
    return [
        Fault(
            path,
            *locate(node, loc),
            ".".join(map(str, loc)),
            f"found the source {name!r}, which the sources block of this file does not list",
        )
        for loc, name in _source_uses(node)
        if name not in known
    ]


def _fault(path: str, node: yaml_nodes.Mapping, error: dict) -> Fault:
    loc = tuple(part for part in error["loc"] if part not in _UNION_TAGS)
    kind, value = error["type"], error.get("input")
    message = _PHRASES.get(kind, error["msg"].removeprefix("Value error, "))
    if kind == "union_tag_invalid":
        value = error["ctx"]["tag"]
    if kind in _EXPECTED:
        message = f"found {_told(value)}, expected {_EXPECTED[kind].format(**error.get('ctx', {}))}"
    elif kind not in _PHRASES and isinstance(value, str) and "found" not in message:
        message = f"found {value[:60]!r}: {message}"
    return Fault(path, *locate(node, loc), ".".join(map(str, loc)) or "file", message)


def _told(value: Any) -> str:
    """A value of a file as a message shows it."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return repr(str(value)[:60])
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a mapping" if isinstance(value, dict) else repr(value)[:60]


def locate(node: Any, loc: tuple) -> tuple[int, int]:
    """Line and column of the deepest part of a key path that stands in the file."""
    place = getattr(node, "place", (1, 1))
    for part in loc:
        if isinstance(node, yaml_nodes.Mapping) and part in node:
            place, node = node.key_places[part], node[part]
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
            place = (node.line, node.column) if isinstance(node, yaml_nodes.Text) else getattr(node, "place", place)
        else:
            break
    return place
