"""Options and requirements read against a policy: the attributes hidden in sets, or every problem with its place."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from rrpolicy.plugin import Attribute, Policy, PolicyError, Problem, Requirement, Role
from rrpolicy.plugin.solve import BY_FREQUENCY, frequency_l


@dataclass(frozen=True, slots=True)
class HiddenGroup:
    """A sensitive attribute, or several taken together, and the size of its sets.

    Attributes:
        attributes: attributes in the policy's order.
    """

    attributes: tuple[Attribute, ...]
    l: Fraction
    requirement: Requirement

    @property
    def set_size(self) -> int:
        """Return the smallest whole number that is at least l."""
        return math.ceil(self.l)

    @property
    def values(self) -> int | None:
        """Return S, the number of values or combinations; None while a domain is unknown."""
        sizes = [None if a.domain is None else len(a.domain) for a in self.attributes]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None

    @property
    def name(self) -> str:
        """Return the attributes' names, quoted."""
        return " with ".join(f"'{a.name}'" for a in self.attributes)


class SensitiveAdditionOptions(BaseModel):
    """Options of [mechanism] with name = "sensitive-addition"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    together: Annotated[
        tuple[tuple[str, ...], ...],
        Field(
            description="Groups of sensitive attributes that are hidden as one: sets then hold combinations of their"
            ' values, and l counts these. Such as [["disease", "income"]]. Default: each attribute by itself.'
        ),
    ] = ()


SMALLEST_GROUP = 2
"""A set of one value hides nothing."""
MAX_COMBINATIONS = 100_000


def read_hidden_groups(options: SensitiveAdditionOptions, policy: Policy) -> tuple[HiddenGroup, ...]:
    """Return the hidden attributes, in the policy's order."""
    problems = [*_attribute_problems(policy), *_joint_group_problems(options, policy)]
    asked = frequency_l(policy)
    hidden: list[HiddenGroup] = []
    for group in _hidden_groups(options, policy):
        entries = [asked[a.name] for a in group if a.name in asked]
        if len(entries) < len(group):
            problems += [_missing_requirement(a, policy) for a in group if a.name not in asked]
            continue
        if len(group) > 1:
            problems += _partial_group_problems(group, policy)
        hidden.append(HiddenGroup(group, *max(entries, key=lambda entry: entry[0])))
    problems += [problem for each in hidden for problem in _set_size_problems(each)]
    if problems:
        raise PolicyError(problems)
    return tuple(hidden)


def _hidden_groups(options: SensitiveAdditionOptions, policy: Policy) -> Iterator[tuple[Attribute, ...]]:
    seen: set[str] = set()
    for attribute in policy.with_role(Role.SENSITIVE):
        if attribute.name in seen:
            continue
        names = next((set(group) for group in options.together if attribute.name in group), {attribute.name})
        group = tuple(a for a in policy.with_role(Role.SENSITIVE) if a.name in names)
        seen |= {a.name for a in group}
        yield group


def _attribute_problems(policy: Policy) -> Iterator[Problem]:
    """Yield why there is no attribute to hide."""
    if not policy.with_role(Role.SENSITIVE):
        hint = "give an attribute the role sensitive, or choose another mechanism"
        yield Problem(
            "RR296", "no attribute is sensitive: there is nothing to hide", policy.place("mechanism"), hint=hint
        )


def _joint_group_problems(options: SensitiveAdditionOptions, policy: Policy) -> Iterator[Problem]:
    sensitive = [a.name for a in policy.with_role(Role.SENSITIVE)]
    seen: set[str] = set()
    for index, group in enumerate(options.together):
        place = policy.place(f"mechanism.together.{index}")
        if len(group) < SMALLEST_GROUP:
            yield Problem("RR296", "a group of `together` needs two attributes or more", place)
        for name in group:
            if name not in sensitive:
                near = difflib.get_close_matches(name, sensitive, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"sensitive are: {', '.join(sensitive)}"
                yield Problem(
                    "RR296", f"`together` contains '{name}', which is not a sensitive attribute", place, hint=hint
                )
            elif name in seen:
                yield Problem("RR296", f"`together` contains '{name}' twice", place)
            seen.add(name)
        sizes = [len(policy.attributes[name].domain or ()) for name in group if name in sensitive]
        combinations = 1
        for size in sizes:
            combinations *= max(size, 1)
        if combinations > MAX_COMBINATIONS:
            message = f"taken together they have {combinations:,} combinations, more than {MAX_COMBINATIONS:,}"
            yield Problem("RR296", message, place, hint="hide them by themselves")


def _missing_requirement(attribute: Attribute, policy: Policy) -> Problem:
    few = attribute.domain is not None and len(attribute.domain) == 2  # noqa: PLR2004 no set of three holds
    entry = f"{BY_FREQUENCY.rpartition(' ')[0]} 2" if few else BY_FREQUENCY
    message = f"the policy does not state among how many values '{attribute.name}' is hidden"
    return Problem("RR297", message, policy.place("mechanism"), hint=f'{entry}\nsensitive = ["{attribute.name}"]')


def _partial_group_problems(group: tuple[Attribute, ...], policy: Policy) -> Iterator[Problem]:
    """Yield entries that require l of one of several attributes that are hidden as one: l counts combinations."""
    names = {a.name for a in group}
    for requirement in policy.requirements:
        some = names & set(requirement.protects(policy) if requirement.frequency is not None else ())
        if some and some != names:
            one, rest = ", ".join(sorted(some)), ", ".join(sorted(names - some))
            yield Problem(
                "RR296",
                f"this entry limits {one} without {rest}, but `together` hides them as one: l counts combinations",
                requirement.place,
                hint=f"name all of {', '.join(a.name for a in group)}, or take the group out of `together`",
            )


def _set_size_problems(hidden: HiddenGroup) -> Iterator[Problem]:
    """Yield why sets cannot have this size: they contain at most all values, and with l = 1 nothing is hidden."""
    values = hidden.values
    if values is None or SMALLEST_GROUP <= hidden.set_size <= values:
        return
    what = "values" if len(hidden.attributes) == 1 else "combinations"
    if values < SMALLEST_GROUP:
        message = f"{hidden.name} has {values} {what}: no set hides one of them"
        yield Problem("RR295", message, hidden.requirement.place, hint="choose another mechanism, or exclude it")
        return
    yield Problem(
        "RR295",
        f"l = {hidden.l} lies outside {SMALLEST_GROUP}..{values}: {hidden.name} has {values} {what}",
        hidden.requirement.place,
        expected=f"l from {SMALLEST_GROUP} to {values}",
    )
