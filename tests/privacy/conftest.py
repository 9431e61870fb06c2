"""Policies in memory for the privacy models."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rrpolicy.declarations import Role
from rrpolicy.policy.model import Attribute, Policy, SourceSettings
from rrpolicy.testing import policy_of


@pytest.fixture
def policy() -> Callable[..., Policy]:
    """Return a maker of policies: roles, unlinkable reasons, mechanism options, min_rows."""

    def make(
        roles: Mapping[str, str],
        unlinkable: Mapping[str, str] | None = None,
        min_rows: int | None = None,
        **options: Any,
    ) -> Policy:
        attributes = [
            Attribute(name, Role(role), ("a", "b"), assume_unlinkable=(unlinkable or {}).get(name))
            for name, role in roles.items()
        ]
        source = SourceSettings("t.csv", min_rows=min_rows)
        return policy_of(attributes, (), "pram", SimpleNamespace(**options), source=source)  # type: ignore[arg-type]

    return make


def _beside(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"privacy_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def worlds() -> Any:
    """Return the maker of small random tables with their channels' laws written out."""
    return _beside("worlds")


@pytest.fixture(scope="session")
def brute() -> Any:
    """Return the formulas of disclosure read out in fractions."""
    return _beside("brute")
