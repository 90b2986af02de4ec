"""YAML 1.2 as plain mappings, lists and texts that know their line and column.

Every scalar stays the text that was written: ``1e9``, ``NO`` and ``3.35 TB/s`` mean what the field's type says, never
what a YAML version guesses. Duplicate keys, anchors, aliases, tags and deep or huge files are faults, not surprises.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from kvwall.specs.faults import Fault

_MAX_BYTES = 1_000_000
_MAX_DEPTH = 20
# The place of a value is put into its mapping under this name, so no file may use it.
RESERVED_KEY = "at"


class Text(str):
    """A scalar as written, with its place (``path``, ``line``, ``column``)."""

    path: str
    line: int
    column: int

    @property
    def at(self) -> str:
        return f"{self.path}:{self.line}"


class Mapping(dict):
    """A mapping that knows its own place and the place of each key."""

    place: tuple[int, int]
    key_places: dict[str, tuple[int, int]]


class Items(list):
    """A list that knows its own place."""

    place: tuple[int, int]


def read(path: str) -> tuple[Mapping | None, list[Fault]]:
    """Read one file. Returns its mapping (None if it cannot be used) and every fault of its form."""
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode):  # opening a FIFO would wait for ever
            return None, [Fault(path, 1, 1, "file", "found no regular file, expected a YAML file")]
        if found.st_size > _MAX_BYTES:
            return None, [Fault(path, 1, 1, "file", f"found {found.st_size} bytes, expected at most {_MAX_BYTES}")]
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        return None, [Fault(path, 1, 1, "file", f"cannot be read: {getattr(error, 'strerror', None) or error}")]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, [Fault(path, 1, 1, "file", f"is not UTF-8 (byte {error.start})")]
    faults: list[Fault] = []
    try:
        faults += _forbidden_events(path, text)
        if faults:  # never build nodes from aliases: ten lines can unfold into gigabytes
            return None, faults
        node = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return None, [Fault(path, line, column, "YAML", f"{error.problem or error.context}")]
    except Exception as error:  # the parser raises OverflowError and others on odd escapes
        told = str(error).strip().splitlines() or [type(error).__name__]
        return None, [Fault(path, 1, 1, "YAML", f"cannot be read as YAML: {told[0]}")]
    if not isinstance(node, MappingNode):
        return None, [Fault(path, 1, 1, "file", "expected a mapping of keys to values")]
    value = _convert(path, node, faults, "", 0)
    return value, faults


def _forbidden_events(path: str, text: str) -> list[Fault]:
    return list(_scan_events(path, text))


def _scan_events(path: str, text: str) -> Iterator[Fault]:
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > _MAX_DEPTH:
            yield Fault(path, line, column, "YAML", f"nested deeper than {_MAX_DEPTH} levels")
            return
        if isinstance(event, AliasEvent):
            yield Fault(path, line, column, f"*{event.anchor}", "aliases are not allowed; write the value out")
        elif getattr(event, "anchor", None):
            yield Fault(path, line, column, f"&{event.anchor}", "anchors are not allowed; write the value out")
        if getattr(event, "tag", None):
            yield Fault(path, line, column, str(event.tag), "tags are not allowed; write plain text")


def _convert(path: str, node: Node, faults: list[Fault], key: str, depth: int):
    line, column = node.start_mark.line + 1, node.start_mark.column + 1
    if isinstance(node, ScalarNode):
        if node.value == "" and not node.style:
            return None
        text = Text(node.value)
        text.path, text.line, text.column = path, line, column
        return text
    if not isinstance(node, MappingNode):
        items = Items(_convert(path, child, faults, f"{key}[{i}]", depth + 1) for i, child in enumerate(node.value))
        items.place = (line, column)
        return items
    mapping = Mapping()
    mapping.place, mapping.key_places = (line, column), {}
    for key_node, value_node in node.value:
        place = key_node.start_mark.line + 1, key_node.start_mark.column + 1
        if not isinstance(key_node, ScalarNode):
            faults.append(Fault(path, *place, key or "file", "keys must be plain text"))
            continue
        name = key_node.value
        if not name.isprintable():
            faults.append(Fault(path, *place, name, "found a key with control characters, expected plain text"))
            continue
        full = f"{key}.{name}" if key else name
        if name in mapping:
            first = mapping.key_places[name][0]
            faults.append(Fault(path, *place, full, f"duplicate key, first given on line {first}; keep one"))
        elif name == RESERVED_KEY:
            faults.append(Fault(path, *place, full, "unknown key; this name is reserved"))
        else:
            mapping.key_places[name] = place
            mapping[name] = _convert(path, value_node, faults, full, depth + 1)
    return mapping
