"""Policies made without a file, and what they are planned with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from rrpolicy.errors import Place
from rrpolicy.mechanism import Task
from rrpolicy.policy.model import (
    Attribute,
    MechanismChoice,
    Policy,
    ReleaseSettings,
    Requirement,
    Role,
    SourceSettings,
)
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure, local_dp, pk_anonymity

MODELS = (pk_anonymity, local_dp, attribute_disclosure, identity_disclosure)
ASSESSORS = {assessor.model: assessor for model in MODELS for assessor in model.assessors()}
OPTIONS = {
    "pk-anonymity": pk_anonymity.Options,
    "local-dp": local_dp.Options,
    "attribute-disclosure": attribute_disclosure.Options,
    "identity-disclosure": identity_disclosure.Options,
}


def attribute(name: str, size: int | Sequence[Any], role: Role = Role.QUASI_IDENTIFIER, **more: Any) -> Attribute:
    domain = tuple(f"{name}-{i}" for i in range(size)) if isinstance(size, int) else tuple(size)
    return Attribute(name, role, domain or None, release_as=name, **more)


def requirement(model: str, **options: Any) -> Requirement:
    return Requirement(model, OPTIONS[model](**options))


def policy_of(
    attributes: Sequence[Attribute], mechanism: str, options: Any, requirements: Sequence[Requirement] = ()
) -> Policy:
    keys = ["mechanism", *(f"mechanism.{table}" for table in type(options).model_fields)]
    return Policy(
        name="test",
        version="1.0.0",
        owner="tests",
        purpose="tests",
        plugins=(),
        source=SourceSettings("none"),
        attributes={a.name: a for a in attributes},
        requirements=tuple(requirements),
        mechanism=MechanismChoice(mechanism, options),
        gates=(),
        release=ReleaseSettings(),
        places={key: Place("policy.toml", line, 1, key) for line, key in enumerate(keys, 1)},
    )


def task_of(policy: Policy, original: Any) -> Task:
    return Task(policy, original, tuple((r, ASSESSORS[r.model]) for r in policy.requirements))


@pytest.fixture(scope="session")
def make() -> Mapping[str, Callable[..., Any]]:
    return {"attribute": attribute, "requirement": requirement, "policy": policy_of, "task": task_of}


@pytest.fixture(scope="session")
def assessors() -> Mapping[str, Any]:
    return ASSESSORS
