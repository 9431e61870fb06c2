"""What a search over generalisations works on: levels of attributes, counts of a table, requirements as tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.privacy.classes.histograms import at_most
from rrpolicy.privacy.disclosure import attribute_options, identity_options
from rrpolicy.solve.recode.lattice import ClassTest
from rrpolicy.solve.recode.levels import Recoded
from rrpolicy.solve.recode.rollup import Ladder, Tables, finest

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.model import Assessor
    from rrpolicy.source.counts import Ints
    from rrpolicy.source.protocol import Original


def ladder(attribute: Recoded) -> Ladder:
    """Return the levels of an attribute that may be chosen, as positions of groups."""
    return Ladder(
        attribute.attribute.name, tuple(positions(attribute.levels[j]) for j in attribute.chosen), attribute.chosen
    )


def positions(labels: Sequence[Value]) -> Ints:
    """Return the number of each label among the distinct ones, in the order in which they first occur."""
    number: dict[tuple[type, Value], int] = {}
    return np.array([number.setdefault((type(v), v), len(number)) for v in labels], dtype=np.int64)


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
    return finest([ladder(a) for a in attributes], counts.codes.astype(np.int64), counts.n, joints)


@dataclass(frozen=True)
class ClassTests:
    """Requirements, as far as classes tell.

    Attributes:
        sensitive: the attributes whose histograms are read.
        tests: the requirements on classes.
        others: the requirements that only their assessor decides, of a whole channel.
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
    return ClassTests(tuple(sensitive), tuple(tests), tuple(others))


def _category(policy: Policy, place: Mapping[str, int], name: str, value: Value) -> tuple[int, int]:
    return place[name], (policy.attributes[name].domain or ()).index(value)


def sufficient(tests: ClassTests, policy: Policy, attributes: Sequence[Recoded]) -> ClassTests:
    """Return tests of classes that suffice for disclosure, which only an assessor of a whole channel decides.

    In a class of n records the chance to be linked is 1/n. The risk of a value is the most records with it that one
    combination of the quasi-identifiers has, over n: exactly, with the sensitive attributes released as they are. What
    is asked against attackers who know the other sensitive attributes is left to the assessor.
    """
    place = {a.attribute.name: number for number, a in enumerate(attributes)}
    sensitive = {name: number for number, name in enumerate(tests.sensitive)}
    added: list[ClassTest] = []
    for requirement, _ in tests.others:
        options = requirement.options
        known = {name: value for name, value in requirement.where.items() if name in place}
        concerned = tuple(_category(policy, place, name, value) for name, value in known.items())
        if isinstance(options, identity_options.Options):
            enough = _at_least(options.threshold)
            added.append(ClassTest(requirement.model, None, enough, monotone=True, concerned=concerned))
        elif isinstance(options, attribute_options.Options):
            for name in attribute_options.targets(options, policy):
                only = requirement.where.get(name)
                limits = [
                    options.limit(label) if only in {None, label} else Fraction(1)
                    for label in policy.attributes[name].domain or ()
                ]
                joint = sensitive.setdefault(name, len(sensitive))
                added.append(
                    ClassTest(
                        requirement.model, joint, _any, monotone=True, concerned=concerned, peaks=_no_peak_over(limits)
                    )
                )
    return ClassTests(tuple(sensitive), (*tests.tests, *added), tests.others)


def _any(histograms: Ints) -> Mask:
    return np.ones(len(histograms), dtype=bool)


def _at_least(threshold: Fraction) -> Callable[[Ints], Mask]:
    def holds(histograms: Ints) -> Mask:
        sizes = histograms.sum(axis=1)
        return np.asarray(at_most(np.ones_like(sizes), sizes, threshold) | (sizes == 0), dtype=bool)

    return holds


def _no_peak_over(limits: Sequence[Fraction]) -> Callable[[Ints, Ints], Mask]:
    def holds(histograms: Ints, peaks: Ints) -> Mask:
        sizes = histograms.sum(axis=1)
        fine = np.ones(len(sizes), dtype=bool)
        for value, limit in enumerate(limits):
            fine &= at_most(peaks[:, value], sizes, limit)
        return fine

    return holds
