"""What the tests of the ledger share: the oracles of the privacy room, and a policy with its table in a folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.governance.ledger.office import Office, people

PRIVACY = Path(__file__).parents[2] / "privacy"


@pytest.fixture(scope="session")
def brute() -> ModuleType:
    """Return the formulas of disclosure read out in fractions, which share nothing with the code under test."""
    spec = importlib.util.spec_from_file_location("ledger_brute", PRIVACY / "brute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def office(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Office:
    people(tmp_path / "people.csv", 240)
    made = Office(tmp_path, capsys)
    assert made.run("ledger", "init", made.ledger)[0] == 0
    return made
