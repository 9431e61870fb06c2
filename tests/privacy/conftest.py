"""Policies in memory for the privacy models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from rrpolicy.policy.model import (
    Attribute,
    MechanismChoice,
    Policy,
    ReleaseSettings,
    Role,
    SourceSettings,
)


@pytest.fixture
def policy() -> Callable[..., Policy]:
    """Return a maker of policies: roles, unlinkable reasons, mechanism options, min_rows."""

    def make(
        roles: Mapping[str, str],
        unlinkable: Mapping[str, str] | None = None,
        min_rows: int | None = None,
        **options: Any,
    ) -> Policy:
        attributes = {
            name: Attribute(name, Role(role), ("a", "b"), assume_unlinkable=(unlinkable or {}).get(name))
            for name, role in roles.items()
        }
        return Policy(
            name="p",
            version="1.0.0",
            owner="",
            purpose="",
            plugins=(),
            source=SourceSettings("t.csv", min_rows=min_rows),
            attributes=attributes,
            requirements=(),
            mechanism=MechanismChoice("pram", SimpleNamespace(**options)),  # type: ignore[arg-type]
            gates=(),
            release=ReleaseSettings(),
        )

    return make
