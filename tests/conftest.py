"""What several test modules need: the repository as working directory, and the closed forms, derived once."""

from pathlib import Path

import pytest

from kvwall.audit.derive import derive_to

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def forms_path(tmp_path_factory) -> str:
    """Path of freshly derived forms, as a build writes them."""
    path = tmp_path_factory.mktemp("forms") / "forms.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        derive_to("data/accounting/decode_step.yaml", "data/forms/printed.yaml", path)
    return str(path)


@pytest.fixture(scope="module")
def home():
    """The repository as working directory of a module's fixtures and tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        yield ROOT
