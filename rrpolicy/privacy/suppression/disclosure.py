"""Disclosure through a release by tuple suppression, exactly: who was suppressed is fixed by the plan.

Of n people with the quasi-identifiers alpha and, of these, n_u with the sensitive value u, k and k_u are released as
they are and m and m_u as `*`; M and M_u are suppressed in all. The attacker on alpha draws a released record by the
posterior of alpha given its released quasi-identifiers: a kept record of alpha with weight 1, a suppressed one with
weight m/M. So

    risk(alpha, u) = (k_u + m_u m/M)/n        success(alpha, u) = (k_u + M_u m/M)/n        link = risk(alpha, u)/n_u

the formulas of Guo, Ying and Wu (2011, eq. 6-9) and of Teng and Du (2006, theorem 3.2) with this channel's law.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.classes.suppressed_tuples import planned_classes
from rrpolicy.privacy.disclosure import attribute as disclosure
from rrpolicy.privacy.disclosure import attribute_options as attribute
from rrpolicy.privacy.disclosure import identity as linking
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, subgroup_mask
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.identity import LinkageChances
from rrpolicy.privacy.evidence import Evidence, KnownAndSensitive, gather_evidence
from rrpolicy.privacy.limits.correct_inference import CorrectInferences

if TYPE_CHECKING:
    from collections.abc import Callable

    from rrpolicy.channels.suppression.channel import SuppressionChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.source.protocol import Original

CLASS = (
    "the chance of an attacker who draws evenly from the records that agree with a person's in all that is released: "
    "of the smallest class, the suppressed records among them"
)


@frozen(slots=False)
class SuppressedCounts:
    """Who was suppressed, group by group.

    Attributes:
        evidence: the groups of the original table.
        moved: (groups, values) suppressed people.
    """

    evidence: Evidence
    moved: Ints

    @property
    def chance(self) -> tuple[Ints, Ints]:
        """Return (groups, values) numerator, and (groups,) denominator, of the risk."""
        gone = self.moved.sum(axis=1)
        every = max(int(gone.sum()), 1)
        kept = self.evidence.histograms - self.moved
        return kept * every + self.moved * gone[:, None], self.evidence.n * every

    @property
    def read(self) -> Array:
        """Return (groups, values) success."""
        gone, kept = self.moved.sum(axis=1), self.evidence.histograms - self.moved
        every = max(int(gone.sum()), 1)
        read: Array = (kept + self.moved.sum(axis=0) * (gone / every)[:, None]) / self.evidence.n[:, None]
        return read

    @property
    def worst(self) -> float:
        """Return max Pr(own cell | released cell): 1 for a record that is released as it is."""
        if int(self.moved.sum()) < self.evidence.records:
            return 1.0
        return float((self.moved / np.maximum(self.moved.sum(axis=0), 1)).max(initial=0.0))


@frozen(slots=False)
class SuppressionRisks(AttributeRisks):
    """Risks with who was suppressed."""

    parting: SuppressedCounts

    @cached_property
    def risk(self) -> Array:
        """Return (k,) risks."""
        top, bottom = self.parting.chance
        risk: Array = top[self.group, self.value] / bottom[self.group]
        return risk

    @property
    def own(self) -> tuple[Array, Array]:
        """Return ones: sensitive values are released as they are."""
        ones = np.ones(len(self.group))
        return ones, ones

    @cached_property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) the chance that the true value is read, twice."""
        read = self.parting.read[self.group, self.value]
        return read, read

    @property
    def worst(self) -> float:
        """Return max Pr(own cell | released cell)."""
        return self.parting.worst

    def reads_exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells the chance to read a true value exactly."""
        gone, every = self.parting.moved.sum(axis=1), max(int(self.parting.moved.sum()), 1)
        kept, of_value = self.evidence.histograms - self.parting.moved, self.parting.moved.sum(axis=0)

        def read(i: int) -> Fraction:
            g, u = int(self.group[i]), int(self.value[i])
            return Fraction(int(kept[g, u]) * every + int(of_value[u]) * int(gone[g]), int(self.evidence.n[g]) * every)

        return read

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a risk exactly."""
        return _exact_risk(self.parting, self.group, self.value, each=False)


@frozen(slots=False)
class SuppressionLinks(LinkageChances):
    """Chances of linking with who was suppressed: people who agree in all that is known differ in how many of them are.

    Attributes:
        value: (k,) the sensitive value of each kind of people.
        parting: who was suppressed.
    """

    value: Ints
    parting: SuppressedCounts

    @cached_property
    def link(self) -> Array:
        """Return (k,) chances."""
        top, bottom = self.parting.chance
        link: Array = top[self.group, self.value] / (bottom[self.group] * self.people)
        return link

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a chance exactly."""
        return _exact_risk(self.parting, self.group, self.value, each=True)


def _exact_risk(parting: SuppressedCounts, group: Ints, value: Ints, *, each: bool) -> Callable[[int], Fraction | None]:
    top, bottom = parting.chance

    def chance(i: int) -> Fraction:
        g, u = int(group[i]), int(value[i])
        people = int(parting.evidence.histograms[g, u]) if each else 1
        return Fraction(int(top[g, u]), int(bottom[g]) * people)

    return chance


def assess(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Finding:
    """Assess attribute disclosure, or identity disclosure, as the requirement asks."""
    further = smallest_class_measure(requirement, channel, original)
    if isinstance(requirement.options, attribute.AttributeDisclosureOptions):
        return disclosure.attribute_finding(
            requirement, (_limited_numbers(requirement, channel, original),), (), further
        )
    return linking.linkage_finding(requirement, linkage_chances(requirement, channel, original), (), further)


def disclosure_verdict(requirement: Requirement, channel: SuppressionChannel, original: Original) -> bool:
    """Return the verdict alone."""
    if isinstance(requirement.options, attribute.AttributeDisclosureOptions):
        return not _limited_numbers(requirement, channel, original).over().any()
    return linking.chances_within_limit(linkage_chances(requirement, channel, original), requirement)


def _limited_numbers(
    requirement: Requirement, channel: SuppressionChannel, original: Original
) -> disclosure.LimitedNumbers:
    found = attribute_risks(requirement, channel, original)
    return CorrectInferences.of_risks(found) if requirement.options.measure is LimitKind.CORRECT_READING else found


def attribute_risks(requirement: Requirement, channel: SuppressionChannel, original: Original) -> SuppressionRisks:
    """Return every risk that an entry of `attribute-disclosure` speaks of."""
    parted = suppressed_counts(channel, original)
    evidence, column = parted.evidence, channel.sensitive
    group, value = np.nonzero(subgroup_mask(evidence, requirement, column.attribute, column.labels))
    people = evidence.histograms[group, value]
    limits = tuple(requirement.options.limit_of(label) for label in column.labels)
    share = people / evidence.n[group]
    return SuppressionRisks(column.attribute, evidence, column.labels, group, value, people, share, limits, parted)


def linkage_chances(requirement: Requirement, channel: SuppressionChannel, original: Original) -> SuppressionLinks:
    """Return every chance of being linked that an entry of `identity-disclosure` speaks of."""
    parted = suppressed_counts(channel, original)
    evidence = parted.evidence
    group, value = np.nonzero(subgroup_mask(evidence, requirement, None, ()))
    return SuppressionLinks(evidence, group, evidence.histograms[group, value], value, parted)


def suppressed_counts(channel: SuppressionChannel, original: Original) -> SuppressedCounts:
    """Return who was suppressed.

    Raises:
        DataError: RR334 if the table has not the records that are to be suppressed.
    """
    channel.released(original)
    known = tuple(Identity.of(c.attribute, c.labels[:-1]) for c in channel.known)
    evidence = gather_evidence(
        original, KnownAndSensitive(known, (), Identity.of(channel.sensitive.attribute, channel.sensitive.labels))
    )
    place = {codes: group for group, codes in enumerate(map(tuple, evidence.values.tolist()))}
    moved = np.zeros_like(evidence.histograms)
    for *codes, value, n in channel.moved or ():
        moved[place[tuple(codes)], value] += n
    return SuppressedCounts(evidence, moved)


def smallest_class_measure(
    requirement: Requirement, channel: SuppressionChannel, original: Original
) -> tuple[Companion, ...]:
    """Return 1 over the size of the smallest released class (Teng, Du 2006, of a generalised table)."""
    sizes = planned_classes(requirement, channel, original).sizes
    least = float(1 / sizes.min()) if len(sizes) else 0.0
    return (Companion("1/smallest class", Measure(least), Basis.RELEASE, CLASS, chance_of=Risk.LINKING),)
