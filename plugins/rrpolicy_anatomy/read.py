"""A policy read for anatomy: the sensitive attribute and the size of the groups, or every problem with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rrpolicy.plugin import Attribute, Policy, PolicyError, Problem, Requirement, Role
from rrpolicy.plugin.solve import BY_FREQUENCY, group_size

SMALLEST = 2
"""A group of one record hides nothing."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What goes into groups.

    Attributes:
        sensitive: the attribute that stands in a table of its own.
        size: l, the records of a group.
        requirement: the entry that asks for it.
    """

    sensitive: Attribute
    size: int
    requirement: Requirement


def read(policy: Policy) -> Layout:
    """Return the layout.

    Raises:
        PolicyError: RR298 and RR299, all problems at once.
    """
    problems = list(_unfit(policy))
    if problems:
        raise PolicyError(problems)
    (sensitive,) = policy.with_role(Role.SENSITIVE)
    asked = group_size(policy, sensitive.name)
    if asked is None:
        raise PolicyError(
            Problem(
                "RR299",
                f"nothing says how many different values of '{sensitive.name}' a group has",
                policy.place("mechanism"),
                hint=BY_FREQUENCY,
            )
        )
    size, requirement = asked
    values = len(sensitive.domain or ()) or size
    if not SMALLEST <= size <= values:
        raise PolicyError(
            Problem(
                "RR299",
                f"groups of {size} different values: '{sensitive.name}' has {values}"
                if size > values
                else "groups of one record hide nothing",
                requirement.place,
                expected=f"l from {SMALLEST} to {values}",
            )
        )
    return Layout(sensitive, size, requirement)


def _unfit(policy: Policy) -> Iterator[Problem]:
    """Yield why there is not exactly one attribute to put into a table of its own, or nothing beside it."""
    sensitive = policy.with_role(Role.SENSITIVE)
    if not sensitive:
        hint = "give an attribute the role sensitive, or choose another mechanism"
        yield Problem("RR298", "no attribute is sensitive", policy.place("mechanism"), hint=hint)
    for attribute in sensitive:
        if not attribute.categorical:
            message = f"'{attribute.name}' has no list of values, by which groups could be made"
            yield Problem("RR298", message, attribute.place, hint="give it a domain, or bins if it is a number")
    for attribute in sensitive[1:]:
        yield Problem(
            "RR298",
            f"'{attribute.name}' is a second sensitive attribute: groups that differ in one may agree in the other",
            attribute.place,
            hint="exclude all but one, or choose sensitive-addition, which hides each",
        )
    if len(policy.released) == len(sensitive):
        message = "nothing is released beside the sensitive attribute"
        yield Problem("RR298", message, policy.place("mechanism"), hint="release a quasi-identifier")
