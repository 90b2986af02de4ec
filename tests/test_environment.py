"""environment.yml, pyproject.toml and requirements.txt name the same libraries and the same Python."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.txt").read_text(encoding="utf-8")
WANTED = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
PYTHONS = ("3.11", "3.12", "3.13")


def pins() -> dict[str, list[tuple[Requirement, int]]]:
    """Every pin of the lock with the number of its hashes; one name can have a pin for each Python."""
    found: dict[str, list[tuple[Requirement, int]]] = {}
    for entry in re.sub(r"\\\n\s*", " ", LOCK).splitlines():
        if entry.strip() and not entry.lstrip().startswith("#"):
            text, *hashes = entry.split(" --hash=sha256:")
            pin = Requirement(text.strip())
            found.setdefault(canonicalize_name(pin.name), []).append((pin, len(hashes)))
    return found


def pinned_version(pin: Requirement) -> Version:
    (only,) = pin.specifier
    assert only.operator == "==", f"{pin} is not an exact pin"
    return Version(only.version)


@pytest.mark.parametrize("text", WANTED)
def test_each_dependency_is_pinned_within_its_range(text):
    wanted = Requirement(text)
    locked = pins().get(canonicalize_name(wanted.name))
    assert locked, f"{wanted.name} is not in requirements.txt: make lock"
    for pin, _ in locked:
        assert wanted.specifier.contains(pinned_version(pin), prereleases=True), f"{pin} is outside {wanted}"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("text", WANTED)
def test_each_dependency_is_installed_on_each_python(text, python):
    environment = {"python_version": python, "python_full_version": f"{python}.5"}
    locked = pins()[canonicalize_name(Requirement(text).name)]
    chosen = [pin for pin, _ in locked if pin.marker is None or pin.marker.evaluate(environment)]
    assert len(chosen) == 1


def test_every_pin_is_exact_and_has_hashes():
    for locked in pins().values():
        for pin, hashes in locked:
            assert pinned_version(pin) and hashes > 0, f"{pin} has no hash"


def test_the_lock_names_no_place_to_download_from():
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", LOCK)


def test_conda_takes_the_same_lock_and_nothing_else():
    environment = YAML(typ="safe").load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["channels"][0] == "conda-forge"
    conda = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (by_pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert {entry.split("=")[0] for entry in conda} == {"python", "pip"}
    assert by_pip == ["--require-hashes", "-r requirements.txt"]


def test_all_files_agree_on_the_lowest_python():
    environment = YAML(typ="safe").load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (python,) = [e.split("=")[1] for e in environment["dependencies"] if str(e).startswith("python=")]
    supported = SpecifierSet(PROJECT["requires-python"])
    assert PROJECT["requires-python"] == f">={python}"
    assert f"--python-version {python}" in (ROOT / "Makefile").read_text(encoding="utf-8")
    major, minor = python.split(".")
    assert f"sys.version_info < ({major}, {minor})" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not supported.contains(f"{major}.{int(minor) - 1}.99")


def test_make_and_conda_install_the_same_way():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "pip install --quiet --require-hashes -r requirements.txt" in makefile
    assert "--no-deps --no-build-isolation -e ." in makefile
