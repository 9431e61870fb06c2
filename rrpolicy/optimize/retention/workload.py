"""The marginals that a policy declares for its analysts. Light: imported when a policy is checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.errors import Problem
from rrpolicy.policy.model import Policy
from rrpolicy.policy.rational import Rational


class Marginal(BaseModel):
    """A marginal that analysts will look at, and how much it counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    marginal: Annotated[
        tuple[str, ...], Field(min_length=1, description='Attributes of the marginal, such as ["sex", "education"].')
    ]
    weight: Annotated[Rational, Field(description="How much its expected squared error counts; positive.")] = Field(
        default="1", validate_default=True
    )


def workload_problems(workload: Sequence[Marginal], policy: Policy, randomised: Collection[str]) -> list[Problem]:
    """Return problems of a workload (RR237): attributes that are not released, or missing ones.

    Args:
        workload: the marginals of `[mechanism] workload`; empty for the whole table.
        policy: the policy, for the released attributes and the places.
        randomised: attributes that are randomised; each must be in a marginal.
    """
    released = {a.name for a in policy.released if a.categorical}
    wrong: list[tuple[str, str, str | None]] = []
    for index, entry in enumerate(workload):
        key = f"workload.{index}"
        unknown = [name for name in entry.marginal if name not in released]
        wrong += [(f"'{name}' is not a released attribute with categories", key, None) for name in unknown]
        if len(set(entry.marginal)) < len(entry.marginal):
            wrong.append(("an attribute appears twice in a marginal", key, None))
        if entry.weight <= 0:
            wrong.append(("a weight must be positive", key, None))
    looked_at = {name for entry in workload for name in entry.marginal}
    for name in randomised if workload else ():
        if name not in looked_at:
            hint = f'what nobody looks at would be destroyed; add {{ marginal = ["{name}"], weight = 0.1 }}'
            wrong.append((f"'{name}' is randomised but no marginal of the workload looks at it", "workload", hint))
    return [Problem("RR237", text, policy.place(f"mechanism.{key}"), hint=hint) for text, key, hint in wrong]
