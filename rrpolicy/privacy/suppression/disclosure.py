"""Exact disclosure through a release by tuple suppression: the plan determines who was suppressed.

Of n people with the quasi-identifiers alpha and, of these, n_u with the sensitive value u, k and k_u are released
unmodified and m and m_u as `*`. M and M_u are suppressed in all. The attacker on alpha draws a released record by the
posterior of alpha given its released quasi-identifiers: a kept record of alpha with weight 1, a suppressed one with
weight m/M. So

    risk(alpha, u) = (k_u + m_u m/M)/n        success(alpha, u) = (k_u + M_u m/M)/n        link = risk(alpha, u)/n_u

the formulas of Guo, Ying and Wu (2011, eq. 6-9) and of Teng and Du (2006, theorem 3.2) with this channel's
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.classes.equivalence import expected_tuple_classes
from rrpolicy.privacy.disclosure.attribute import AttributeRisks
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.privacy.disclosure.identity import LinkageChances, linkage_finding
from rrpolicy.privacy.disclosure.risk import attribute_finding, subgroup_mask
from rrpolicy.privacy.evidence import Evidence, KnownAndSensitive, gather_evidence

if TYPE_CHECKING:
    from collections.abc import Callable

    from rrpolicy.channels.suppression.channel import SuppressionChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.source.protocol import Original

CLASS = (
    "the chance of an attacker who draws evenly from the records that agree with a person's in all that is released: "
    "of the smallest class, the suppressed records among them"
)


class SuppressedCounts(Struct, frozen=True):
    """The suppressed people of every group.

    Attributes:
        evidence: the groups of the original table.
        moved: (groups, values) suppressed people.
    """

    evidence: Evidence
    moved: Ints

    @property
    def chance(self) -> tuple[Ints, Ints]:
        """Return (groups, values) numerator, and (groups,) denominator, of the risk."""
        return self._ratio(self.moved)

    @property
    def success(self) -> tuple[Ints, Ints]:
        """Return (groups, values) numerator, and (groups,) denominator, of the success."""
        return self._ratio(self.moved.sum(axis=0))

    def _ratio(self, read: Ints) -> tuple[Ints, Ints]:
        """Return k_u M + x_u m over n M, with x the suppressed records in which the attacker reads the value."""
        gone = self.moved.sum(axis=1)
        every = max(int(gone.sum()), 1)
        kept = self.evidence.histograms - self.moved
        return kept * every + read * gone[:, None], self.evidence.n * every

    @property
    def read(self) -> Array:
        """Return (groups, values) success."""
        gone, kept = self.moved.sum(axis=1), self.evidence.histograms - self.moved
        every = max(int(gone.sum()), 1)
        read: Array = (kept + self.moved.sum(axis=0) * (gone / every)[:, None]) / self.evidence.n[:, None]
        return read

    @property
    def worst(self) -> float:
        """Return max Pr(own cell | released cell): 1 for a record that is released unmodified."""
        if int(self.moved.sum()) < self.evidence.records:
            return 1.0
        return float((self.moved / np.maximum(self.moved.sum(axis=0), 1)).max(initial=0.0))


@dataclass(frozen=True)
class SuppressionRisks(AttributeRisks):
    """Risks with the suppressed people."""

    parting: SuppressedCounts

    @cached_property
    def risk(self) -> Array:
        """Return (k,) risks."""
        top, bottom = self.parting.chance
        risk: Array = top[self.group, self.value] / bottom[self.group]
        return risk

    @property
    def own(self) -> tuple[Array, Array]:
        """Return ones: sensitive values are released unmodified."""
        ones = np.ones(len(self.group))
        return ones, ones

    @cached_property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) the probability of reading the true value, as lower and upper bound."""
        read = self.parting.read[self.group, self.value]
        return read, read

    @property
    def worst(self) -> float:
        """Return max Pr(own cell | released cell)."""
        return self.parting.worst

    def reads_exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function that computes a success exactly."""
        return _exact_ratio(self.parting.success, self.group, self.value)

    def risk_exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function that computes a risk exactly."""
        return _exact_ratio(self.parting.chance, self.group, self.value)


@dataclass(frozen=True)
class SuppressionLinks(LinkageChances):
    """Probabilities of linking with the suppressed people, by group and sensitive value.

    Attributes:
        parting: the suppressed people.
    """

    parting: SuppressedCounts

    @cached_property
    def link(self) -> Array:
        """Return (k,) probabilities."""
        top, bottom = self.parting.chance
        link: Array = top[self.group, self.value] / (bottom[self.group] * self.people)
        return link

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function that computes a probability exactly."""
        risk = _exact_ratio(self.parting.chance, self.group, self.value)
        return lambda i: risk(i) / int(self.people[i])

    def beside(self) -> tuple[Companion, ...]:
        """Return nothing: who was suppressed is fixed."""
        return ()


def _exact_ratio(of: tuple[Ints, Ints], group: Ints, value: Ints) -> Callable[[int], Fraction]:
    top, bottom = of
    return lambda i: Fraction(int(top[group[i], value[i]]), int(bottom[group[i]]))


def assess(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Finding:
    """Assess attribute disclosure or identity disclosure, whichever the requirement limits.

    A related measure is 1 over the size of the smallest released class (Teng, Du 2006, for a generalised table).
    """
    sizes = expected_tuple_classes(requirement, channel, original).sizes
    least = Measure(float(1 / sizes.min()) if len(sizes) else 0.0)
    further = (Companion("1/smallest class", least, Basis.RELEASE, CLASS, chance_of=Risk.LINKING),)
    if isinstance(requirement.options, AttributeDisclosureOptions):
        return attribute_finding(requirement, (attribute_risks(requirement, channel, original),), (), further)
    return linkage_finding(requirement, (linkage_chances(requirement, channel, original),), (), further)


def disclosure_verdict(requirement: Requirement, channel: SuppressionChannel, original: Original) -> bool:
    """Return the verdict alone."""
    attribute = isinstance(requirement.options, AttributeDisclosureOptions)
    return not (attribute_risks if attribute else linkage_chances)(requirement, channel, original).fails


def attribute_risks(requirement: Requirement, channel: SuppressionChannel, original: Original) -> SuppressionRisks:
    """Return all risks that an entry of `attribute-disclosure` limits."""
    parting = suppressed_counts(channel, original)
    evidence, column = parting.evidence, channel.sensitive
    group, value = np.nonzero(subgroup_mask(evidence, requirement, column.attribute, column.labels))
    people = evidence.histograms[group, value]
    limits = tuple(requirement.options.limit_of(label) for label in column.labels)
    share = people / evidence.n[group]
    kind = requirement.options.measure
    return SuppressionRisks(
        column.attribute, evidence, column.labels, group, value, people, share, limits, kind, parting
    )


def linkage_chances(requirement: Requirement, channel: SuppressionChannel, original: Original) -> SuppressionLinks:
    """Return all probabilities of linking that an entry of `identity-disclosure` limits."""
    parting = suppressed_counts(channel, original)
    evidence = parting.evidence
    group, value = np.nonzero(subgroup_mask(evidence, requirement, None, ()))
    people, share, options = evidence.histograms[group, value], 1 / evidence.n[group], requirement.options
    limits = (options.threshold,) * evidence.histograms.shape[1]
    return SuppressionLinks("", evidence, (), group, value, people, share, limits, options.percentile, parting)


def suppressed_counts(channel: SuppressionChannel, original: Original) -> SuppressedCounts:
    """Return the suppressed people.

    Raises:
        DataError: RR334 if the table lacks records that are to be suppressed.
    """
    channel.released(original)
    known = tuple(Identity.of(c.attribute, c.labels[:-1]) for c in channel.known)
    sensitive = Identity.of(channel.sensitive.attribute, channel.sensitive.labels)
    evidence = gather_evidence(original, KnownAndSensitive(known, (), sensitive))
    place = {codes: group for group, codes in enumerate(map(tuple, evidence.values.tolist()))}
    moved = np.zeros_like(evidence.histograms)
    for *codes, value, n in channel.moved or ():
        moved[place[tuple(codes)], value] += n
    return SuppressedCounts(evidence, moved)
