"""The inputs of a search over generalisations: levels of attributes, counts of a table, requirements as tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.optimize.recode.lattice import ClassTest
from rrpolicy.optimize.recode.levels import Recoded
from rrpolicy.optimize.recode.rollup import GeneralisationLevels, LatticeTables, finest_tables

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.model import Assessor, PerClass
    from rrpolicy.source.protocol import Original


def label_numbers(labels: Sequence[Value]) -> Ints:
    """Return the number of each label among the distinct ones, in the order in which they first occur."""
    number: dict[tuple[type, Value], int] = {}
    return np.array([number.setdefault((type(v), v), len(number)) for v in labels], dtype=np.int64)


def lattice_tables(original: Original, attributes: Sequence[Recoded], tests: ClassTests) -> LatticeTables:
    """Count a table by the class-defining attributes for rolling up, and the population if a test needs people."""
    names = [a.attribute.name for a in attributes]
    joints = []
    for name in tests.sensitive:
        counts = original.counts(*names, name)
        codes = counts.codes.astype(np.int64)
        joints.append((codes[:, :-1], codes[:, -1], counts.n, counts.shape[-1]))
    ladders = [
        GeneralisationLevels(a.attribute.name, tuple(label_numbers(a.levels[j]) for j in a.chosen), a.chosen)
        for a in attributes
    ]
    counts = original.counts(*names)
    reference = None
    if original.reference is not None and any(test.rule.people is not None for test in tests.tests):
        people = original.reference.counts(*names)
        reference = finest_tables(ladders, people.codes.astype(np.int64), people.n)
    return finest_tables(ladders, counts.codes.astype(np.int64), counts.n, joints, reference)


class ClassTests(Struct, frozen=True):
    """Requirements, in tests of classes where possible; only their assessors decide the others, for a whole channel.

    `sensitive` are the attributes whose histograms are read.
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
    """Return requirements as tests of classes; `suppressing`: failing classes may be suppressed.

    A requirement on units of several records is not a test of classes: its assessor decides.
    """
    by_class = [(r, a.per_class) for r, a in requirements if a.per_class is not None and r.max_records == 1]
    others = tuple((r, a) for r, a in requirements if a.per_class is None or r.max_records > 1)
    rules = ((r.model, rule) for r, per_class in by_class for rule in per_class(r, policy))
    return _with_rules(ClassTests((), (), others), rules, policy, attributes, suppressing=suppressing)


def sufficient_tests(tests: ClassTests, policy: Policy, attributes: Sequence[Recoded]) -> ClassTests:
    """Return tests of classes that suffice for requirements on whole channels, if their assessors have some."""
    rules = ((r.model, rule) for r, a in tests.others if a.sufficient is not None for rule in a.sufficient(r, policy))
    return _with_rules(tests, rules, policy, attributes)


def _with_rules(
    tests: ClassTests,
    rules: Iterable[tuple[str, PerClass]],
    policy: Policy,
    attributes: Sequence[Recoded],
    *,
    suppressing: bool = False,
) -> ClassTests:
    """Return tests and further ones by model; of a subgroup only the class-defining attributes count."""
    place = {a.attribute.name: number for number, a in enumerate(attributes)}
    sensitive = {name: number for number, name in enumerate(tests.sensitive)}
    added = []
    for name, rule in rules:
        joint = None if rule.sensitive is None else sensitive.setdefault(rule.sensitive, len(sensitive))
        concerned = tuple(
            (place[attribute], (policy.attributes[attribute].domain or ()).index(value))
            for attribute, value in rule.where.items()
            if attribute in place
        )
        monotone = rule.monotone_with_suppression if suppressing else rule.monotone
        added.append(ClassTest(name, rule, joint, monotone, concerned))
    return ClassTests(tuple(sensitive), (*tests.tests, *added), tests.others)
