"""What a search over generalisations works on: levels of attributes, counts of a table, requirements as tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.channel.recode import ANYTHING
from rrpolicy.policy.model import Attribute, Policy, Role
from rrpolicy.solve.lattice import ClassTest
from rrpolicy.solve.rollup import Ladder, Tables, finest

if TYPE_CHECKING:
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.model import Assessor
    from rrpolicy.source.counts import Ints
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True, slots=True)
class Recoded:
    """An attribute that makes classes.

    Attributes:
        attribute: with its domain.
        levels: what each category becomes at each level; the last one is a single group.
        chosen: the numbers of the levels that may be chosen, increasing.
    """

    attribute: Attribute
    levels: tuple[tuple[Value, ...], ...]
    chosen: tuple[int, ...]

    @property
    def ladder(self) -> Ladder:
        """Return the levels that may be chosen, as positions of groups."""
        return Ladder(self.attribute.name, tuple(positions(self.levels[j]) for j in self.chosen), self.chosen)


def recoded(attribute: Attribute, pinned: int | None = None) -> Recoded:
    """Return an attribute with its levels: its hierarchy's, and `*` above them where they do not end in one group.

    Args:
        attribute: with its domain; one that is insensitive is released as it is.
        pinned: the level that the policy asks for.
    """
    domain = attribute.domain or ()
    levels = attribute.hierarchy or (domain,)
    if len(set(levels[-1])) > 1:
        levels = (*levels, (ANYTHING,) * len(domain))
    fixed = 0 if attribute.role is not Role.QUASI_IDENTIFIER else pinned
    return Recoded(attribute, levels, tuple(range(len(levels))) if fixed is None else (fixed,))


def positions(labels: Sequence[Value]) -> Ints:
    """Return the number of each label among the distinct ones, in the order in which they first occur."""
    number: dict[tuple[type, Value], int] = {}
    return np.array([number.setdefault((type(v), v), len(number)) for v in labels], dtype=np.int64)


def known(policy: Policy) -> tuple[Attribute, ...]:
    """Return what makes classes: quasi-identifiers, and what is released beside them and may link somebody."""
    return tuple(
        a
        for a in policy.released
        if a.role is Role.QUASI_IDENTIFIER or (a.role is Role.INSENSITIVE and a.assume_unlinkable is None)
    )


def tables(original: Original, attributes: Sequence[Recoded], sensitive: Sequence[str]) -> Tables:
    """Count a table for rolling up.

    Args:
        original: the table.
        attributes: what makes classes.
        sensitive: the attributes whose values are counted in them.
    """
    names = [a.attribute.name for a in attributes]
    joints = []
    for name in sensitive:
        counts = original.counts(*names, name)
        codes = counts.codes.astype(np.int64)
        joints.append((codes[:, :-1], codes[:, -1], counts.n, counts.shape[-1]))
    counts = original.counts(*names)
    return finest([a.ladder for a in attributes], counts.codes.astype(np.int64), counts.n, joints)


@dataclass(frozen=True)
class Tests:
    """Requirements, as far as classes tell.

    Attributes:
        sensitive: the attributes whose histograms are read.
        tests: the requirements on classes.
        others: the requirements that only their assessor decides, of a whole channel.
    """

    sensitive: tuple[str, ...]
    tests: tuple[ClassTest, ...]
    others: tuple[tuple[Requirement, Assessor], ...]


def tests_of(
    requirements: Sequence[tuple[Requirement, Assessor]],
    policy: Policy,
    attributes: Sequence[Recoded],
    *,
    suppressing: bool,
) -> Tests:
    """Return requirements as tests of classes.

    Args:
        requirements: with their assessors.
        policy: resolved.
        attributes: what makes classes.
        suppressing: whether failing classes may be suppressed.
    """
    place = {a.attribute.name: number for number, a in enumerate(attributes)}
    sensitive: dict[str, int] = {}
    tests: list[ClassTest] = []
    others: list[tuple[Requirement, Assessor]] = []
    for requirement, assessor in requirements:
        if assessor.per_class is None:
            others.append((requirement, assessor))
            continue
        for one in assessor.per_class(requirement, policy):
            joint = None if one.sensitive is None else sensitive.setdefault(one.sensitive, len(sensitive))
            monotone = one.monotone_with_suppression if suppressing else one.monotone
            concerned = tuple(_category(policy, place, name, value) for name, value in one.where.items())
            tests.append(ClassTest(requirement.model, joint, one.holds, monotone, concerned))
    return Tests(tuple(sensitive), tuple(tests), tuple(others))


def _category(policy: Policy, place: Mapping[str, int], name: str, value: Value) -> tuple[int, int]:
    return place[name], (policy.attributes[name].domain or ()).index(value)
