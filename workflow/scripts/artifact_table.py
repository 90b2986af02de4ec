"""Reads workflow/artifacts.yaml and the edition: which files does each artifact depend on?"""

from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

# Kinds that are one file for all editions; every other kind is a folder with one file per id.
SINGLE = {"assumptions": "data/assumptions.yaml", "accounting": "data/accounting/decode_step.yaml"}
KINDS = ("models", "hardware", "links", "workloads", "methods", *SINGLE)


class EditionError(Exception):
    """The edition cannot be read or names a spec that is not there."""


@dataclass(frozen=True)
class Artifact:
    name: str  # table_4
    kind: str  # tables
    notebook: str  # table_4_crossover
    specs: list[str]

    @property
    def path(self) -> str:
        return f"notebooks/{self.notebook}.ipynb"

    @property
    def executed(self) -> str:
        return f"notebooks/executed/{self.notebook}.ipynb"

    @property
    def fragment(self) -> str:
        return f"build/ledger/{self.name}.json"


def _read(path: Path) -> dict:
    # YAML 1.2, in which duplicate keys are errors; the safe loader builds plain values only.
    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise EditionError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise EditionError(f"{path}: expected a mapping of kinds to ids")
    return content


def _specs(wanted: dict, edition: dict) -> list[str]:
    files = []
    for kind in KINDS:
        ids = wanted.get(kind, [])
        if ids and kind in SINGLE:
            files.append(SINGLE[kind])
        else:
            files += [f"data/{kind}/{id}.yaml" for id in (edition.get(kind) or [] if ids == "all" else ids)]
    return files


def load(table: Path, edition_path: Path) -> list[Artifact]:
    edition = _read(edition_path)
    for kind in set(KINDS) & set(edition):
        if not isinstance(edition[kind], list) or not all(isinstance(id, str) for id in edition[kind]):
            raise EditionError(f"{edition_path}: {kind}: expected a list of ids")
    artifacts = [
        Artifact(name, kind, wanted["notebook"], _specs(wanted, edition))
        for kind, members in _read(table).items()
        for name, wanted in members.items()
    ]
    missing = sorted({path for artifact in artifacts for path in artifact.specs if not Path(path).is_file()})
    if missing:
        raise EditionError(f"{edition_path}: spec files that are not there: {', '.join(missing)}")
    return artifacts
