"""The inputs of a search over generalisations: levels of attributes, counts of a table, requirements as tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.optimize.recode.lattice import ClassTest
from rrpolicy.optimize.recode.levels import Recoded
from rrpolicy.optimize.recode.rollup import GeneralisationLevels, LatticeTables, finest_tables

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.model import Assessor, PerClass
    from rrpolicy.source.protocol import Original


def attribute_levels(attribute: Recoded) -> GeneralisationLevels:
    """Return the levels of an attribute that may be chosen, as positions of groups."""
    return GeneralisationLevels(
        attribute.attribute.name, tuple(label_numbers(attribute.levels[j]) for j in attribute.chosen), attribute.chosen
    )


def label_numbers(labels: Sequence[Value]) -> Ints:
    """Return the number of each label among the distinct ones, in the order in which they first occur."""
    number: dict[tuple[type, Value], int] = {}
    return np.array([number.setdefault((type(v), v), len(number)) for v in labels], dtype=np.int64)


def lattice_tables(original: Original, attributes: Sequence[Recoded], tests: ClassTests) -> LatticeTables:
    """Count a table for rolling up, and the population if a test needs people.

    Args:
        original: the table.
        attributes: the class-defining ones.
        tests: with the attributes whose values are counted in classes.
    """
    names = [a.attribute.name for a in attributes]
    joints = []
    for name in tests.sensitive:
        counts = original.counts(*names, name)
        codes = counts.codes.astype(np.int64)
        joints.append((codes[:, :-1], codes[:, -1], counts.n, counts.shape[-1]))
    ladders = [attribute_levels(a) for a in attributes]
    counts = original.counts(*names)
    reference = None
    if original.reference is not None and any(test.people is not None for test in tests.tests):
        people = original.reference.counts(*names)
        reference = finest_tables(ladders, people.codes.astype(np.int64), people.n)
    return finest_tables(ladders, counts.codes.astype(np.int64), counts.n, joints, reference)


@frozen(slots=False)
class ClassTests:
    """Requirements, in tests of classes where possible.

    Attributes:
        sensitive: the attributes whose histograms are read.
        tests: the requirements on classes.
        others: the requirements that only their assessor decides, for a whole channel.
    """

    sensitive: tuple[str, ...]
    tests: tuple[ClassTest, ...]
    others: tuple[tuple[Requirement, Assessor], ...]


def class_tests(
    requirements: Sequence[tuple[Requirement, Assessor]],
    policy: Policy,
    attributes: Sequence[Recoded],
    *,
    suppressing: bool,
) -> ClassTests:
    """Return requirements as tests of classes.

    Args:
        requirements: with their assessors.
        policy: resolved.
        attributes: the class-defining ones.
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
            monotone = one.monotone_with_suppression if suppressing else one.monotone
            tests.append(_class_test(requirement.model, one, policy, place, sensitive, monotone=monotone))
    return ClassTests(tuple(sensitive), tuple(tests), tuple(others))


def _class_test(
    name: str, one: PerClass, policy: Policy, place: Mapping[str, int], sensitive: dict[str, int], *, monotone: bool
) -> ClassTest:
    """Return a requirement on classes by positions of attributes; only class-defining ones of its subgroup count."""
    joint = None if one.sensitive is None else sensitive.setdefault(one.sensitive, len(sensitive))
    known = {attribute: value for attribute, value in one.where.items() if attribute in place}
    concerned = tuple(_category_code(policy, place, attribute, value) for attribute, value in known.items())
    return ClassTest(name, joint, one.holds, monotone, concerned, one.peaks, one.people, one.hidden)


def _category_code(policy: Policy, place: Mapping[str, int], name: str, value: Value) -> tuple[int, int]:
    return place[name], (policy.attributes[name].domain or ()).index(value)


def sufficient_tests(tests: ClassTests, policy: Policy, attributes: Sequence[Recoded]) -> ClassTests:
    """Return tests of classes that suffice for requirements on whole channels, if their assessors have some."""
    place = {a.attribute.name: number for number, a in enumerate(attributes)}
    sensitive = {name: number for number, name in enumerate(tests.sensitive)}
    added = [
        _class_test(requirement.model, one, policy, place, sensitive, monotone=one.monotone)
        for requirement, assessor in tests.others
        if assessor.sufficient is not None
        for one in assessor.sufficient(requirement, policy)
    ]
    return ClassTests(tuple(sensitive), (*tests.tests, *added), tests.others)
