"""Policies made without a file, and what they are planned with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from rrpolicy.declarations import Role
from rrpolicy.errors import Place
from rrpolicy.mechanism import Task
from rrpolicy.policy.model import Attribute, Policy, Requirement
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure, local_dp, pk_anonymity
from rrpolicy.testing import policy_of
from tests.models import assessors_of

MODELS = ("pk-anonymity", "local-dp", "attribute-disclosure", "identity-disclosure")
ASSESSORS = {assessor.model: assessor for model in MODELS for assessor in assessors_of(model)}
OPTIONS = {
    "pk-anonymity": pk_anonymity.PkAnonymityOptions,
    "local-dp": local_dp.LocalDPOptions,
    "attribute-disclosure": attribute_disclosure.AttributeDisclosureOptions,
    "identity-disclosure": identity_disclosure.IdentityDisclosureOptions,
}


def attribute(name: str, size: int | Sequence[Any], role: Role = Role.QUASI_IDENTIFIER, **more: Any) -> Attribute:
    domain = tuple(f"{name}-{i}" for i in range(size)) if isinstance(size, int) else tuple(size)
    return Attribute(name, role, domain or None, release_as=name, **more)


def requirement(model: str, **options: Any) -> Requirement:
    return Requirement(model, OPTIONS[model](**options))


def placed(
    attributes: Sequence[Attribute], mechanism: str, options: Any, requirements: Sequence[Requirement] = ()
) -> Policy:
    """Return a policy in which the keys of the mechanism have places."""
    keys = ["mechanism", *(f"mechanism.{table}" for table in type(options).model_fields)]
    places = {key: Place("policy.toml", line, 1, key) for line, key in enumerate(keys, 1)}
    return policy_of(attributes, requirements, mechanism, options, places=places)


def task_of(policy: Policy, original: Any) -> Task:
    return Task(policy, original, tuple((r, ASSESSORS[r.model]) for r in policy.requirements))


@pytest.fixture(scope="session")
def make() -> Mapping[str, Callable[..., Any]]:
    return {"attribute": attribute, "requirement": requirement, "policy": placed, "task": task_of}


@pytest.fixture(scope="session")
def assessors() -> Mapping[str, Any]:
    return ASSESSORS
