"""A policy read for anatomy: the sensitive attributes and the groups' size, or every problem with its place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rrpolicy.plugin import Attribute, Policy, PolicyError, Problem, Requirement, Role
from rrpolicy.plugin.solve import BY_FREQUENCY, group_size

SMALLEST_GROUP = 2
"""A group of one record hides nothing."""
MAX_SENSITIVE = 2
"""The most attributes in which the records of a group can differ at once."""
MAX_COMBINATIONS = 20_000
"""The most combinations of two domains for which groups that differ in both are found in seconds."""


@dataclass(frozen=True, slots=True)
class AnatomyLayout:
    """The inputs of grouping.

    Attributes:
        sensitive: the attributes that are released in separate tables: one, or two.
        size: l, the records of a group.
    """

    sensitive: tuple[Attribute, ...]
    size: int
    requirement: Requirement

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the sensitive attributes."""
        return tuple(attribute.name for attribute in self.sensitive)


def read_layout(policy: Policy) -> AnatomyLayout:
    """Return the layout."""
    problems = list(_attribute_problems(policy))
    if problems:
        raise PolicyError(problems)
    sensitive = policy.with_role(Role.SENSITIVE)
    asked = {attribute.name: group_size(policy, attribute.name) for attribute in sensitive}
    problems = [_missing_requirement(policy, name) for name, entry in asked.items() if entry is None]
    if problems:
        raise PolicyError(problems)
    size, requirement = max((entry for entry in asked.values() if entry is not None), key=lambda entry: entry[0])
    problems = [p for attribute in sensitive for p in _group_size_problems(attribute, size, requirement)]
    combinations = math.prod(len(attribute.domain or ()) for attribute in sensitive)
    if len(sensitive) > 1 and combinations > MAX_COMBINATIONS:
        names = " and ".join(f"'{attribute.name}'" for attribute in sensitive)
        message = f"{names} have {combinations:,} combinations of values, more than {MAX_COMBINATIONS:,}"
        problems.append(Problem("RR571", message, policy.place("mechanism"), hint="coarsen one of them, or exclude it"))
    if problems:
        raise PolicyError(problems)
    return AnatomyLayout(sensitive, size, requirement)


def _missing_requirement(policy: Policy, name: str) -> Problem:
    message = f"the policy does not state how many different values of '{name}' a group has"
    return Problem("RR299", message, policy.place("mechanism"), hint=BY_FREQUENCY)


def _group_size_problems(attribute: Attribute, size: int, requirement: Requirement) -> Iterator[Problem]:
    """Yield why groups cannot be so large, or hide nothing."""
    values = len(attribute.domain or ()) or size
    if not SMALLEST_GROUP <= size <= values:
        many = f"groups of {size} different values: '{attribute.name}' has {values}"
        message = many if size > values else "groups of one record hide nothing"
        yield Problem("RR299", message, requirement.place, expected=f"l from {SMALLEST_GROUP} to {values}")


def _attribute_problems(policy: Policy) -> Iterator[Problem]:
    """Yield why there are not one or two attributes for separate tables, or no others to release with them."""
    sensitive = policy.with_role(Role.SENSITIVE)
    if not sensitive:
        hint = "give an attribute the role sensitive, or choose another mechanism"
        yield Problem("RR298", "no attribute is sensitive", policy.place("mechanism"), hint=hint)
    for attribute in sensitive[MAX_SENSITIVE:]:
        yield Problem(
            "RR298",
            f"'{attribute.name}' is one sensitive attribute more than two: groups that differ in two may agree in it",
            attribute.place,
            hint="exclude all but two, or choose sensitive-addition, which hides each",
        )
    if len(policy.released) == len(sensitive):
        message = "only sensitive columns are released"
        yield Problem("RR298", message, policy.place("mechanism"), hint="release a quasi-identifier")
