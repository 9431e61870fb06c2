"""The stand-in catalogue, and a shorthand to load a policy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from rrpolicy.policy.load import load_policy

HERE = Path(__file__).resolve().parent


def _options():
    spec = importlib.util.spec_from_file_location("rrpolicy_test_options", HERE / "options.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


CATALOGUE = _options().CATALOGUE


@pytest.fixture(scope="session")
def catalogue():
    """Names with small options classes."""
    return CATALOGUE


@pytest.fixture(scope="session")
def load():
    """Load a policy file with the stand-in catalogue."""
    return lambda path, **named: load_policy(Path(path), lambda plugins, place: CATALOGUE, **named)


@pytest.fixture(scope="session")
def cases():
    """The folder of policy files with what is expected of each in its first lines."""
    return HERE / "cases"


@pytest.fixture
def write(tmp_path):
    """Write a policy into an empty folder."""

    def write(text, name="policy.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
