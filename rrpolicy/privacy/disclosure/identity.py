"""Assessing identity disclosure on a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk, Standing
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy import model
from rrpolicy.privacy.disclosure import identity_options as identity
from rrpolicy.privacy.disclosure.attribute import (
    Mask,
    subgroup_mask,
    subgroup_size,
    unhidden_assumption,
)
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT, ExactReconstruction, snap_to_limit
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction
from rrpolicy.privacy.disclosure.risk_profile import highest_risk_groups, risk_histograms
from rrpolicy.privacy.disclosure.tiny_tables import finite_linkage_measure
from rrpolicy.privacy.epsilon.general_bounds import general_bound_measures
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.evidence import Evidence, gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array, Ints
    from rrpolicy.source.protocol import Original


@frozen(slots=False)
class LinkageChances:
    """The chance of linking of every group that an entry speaks of.

    Attributes:
        evidence: all groups.
        group: (k,) those in the entry's subgroup; one may stand several times, if its people are not alike.
        people: (k,) people in each, or of each kind.
    """

    evidence: Evidence
    group: Ints
    people: Ints

    @cached_property
    def link(self) -> Array:
        """Return (k,) R_QI / n; computed when first asked for."""
        link: Array = (quasi_identifier_reconstruction(self.evidence) / self.evidence.n)[self.group]
        return link

    @property
    def before(self) -> Array:
        """Return (k,) the chance on the untouched table."""
        before: Array = 1 / self.evidence.n[self.group]
        return before

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a chance, or what it is at most, exactly; None where that takes too much."""
        known = ExactReconstruction(self.evidence)

        def link(i: int) -> Fraction | None:
            group = int(self.group[i])
            found = known.of(group)
            return None if found is None else found.high / int(self.evidence.n[group])

        return link

    def measure(self, value: float) -> Measure:
        """Return a chance, or a mean of chances, with its standing."""
        return Measure(value, Standing.UPPER_BOUND if self.evidence.revealed else Standing.EXACT)

    def over(self, limit: Fraction) -> Mask:
        """Return (k,) the mask of what is over a limit; what is too near to tell is decided in fractions."""
        ratio = self.link / float(limit)
        over: Mask = ratio > 1 - NEAR_LIMIT if limit < 1 else np.zeros(len(ratio), dtype=bool)
        exactly = self.exactly()
        for i in np.flatnonzero(over & (ratio < 1 + NEAR_LIMIT)):
            link = exactly(int(i))
            if link is not None:
                over[i] = link > limit
        return over

    def mean_over(self, limit: Fraction, percentile: Fraction) -> bool:
        """Return whether the mean over those most at risk exceeds a limit, in fractions if it is too near to tell."""
        if limit >= 1:
            return False
        mean = float(top_risk_weights(self.people, self.link, percentile) @ self.link)
        if abs(mean / float(limit) - 1) > NEAR_LIMIT:
            return mean > float(limit)
        wanted, exactly = _percentile_people(self.people, percentile), self.exactly()
        order = np.argsort(-self.link, kind="stable")
        last = int(order[np.searchsorted(np.cumsum(self.people[order]), wanted)])
        near = np.flatnonzero(self.link >= self.link[last] * (1 - NEAR_LIMIT))
        known = [(exactly(int(i)), int(self.people[i])) for i in near]
        highs = sorted(((link, n) for link, n in known if link is not None), reverse=True)
        if len(highs) < len(near):
            return True
        total, left = Fraction(0), wanted
        for high, n in highs:
            total += high * min(n, left)
            left -= min(n, left)
        return total > limit * wanted


def linkage_chances(
    requirement: Requirement[identity.IdentityDisclosureOptions], channel: Product, original: Original
) -> LinkageChances:
    """Return the chance of linking of every group."""
    evidence = gather_evidence(original, split_axes(channel, original.policy, None))
    group = np.flatnonzero(subgroup_mask(evidence, requirement, None, ())[:, 0])
    return LinkageChances(evidence, group, evidence.n[group])


def _percentile_people(people: Ints, percentile: Fraction) -> int:
    """Return N' = max(1, floor(N q/100))."""
    return max(1, int(int(people.sum()) * percentile / 100))


def top_risk_weights(people: Ints, link: Array, percentile: Fraction) -> Array:
    """Return (k,) weights of the mean over the N' = max(1, floor(N q/100)) individuals with the largest chances."""
    wanted = _percentile_people(people, percentile)
    order = np.argsort(-link, kind="stable")
    taken = np.clip(wanted - (np.cumsum(people[order]) - people[order]), 0, people[order])
    weights = np.zeros(len(link))
    weights[order] = taken / wanted
    return weights


def linkage_verdict(
    requirement: Requirement[identity.IdentityDisclosureOptions], channel: Product, original: Original
) -> bool:
    """Return the verdict alone."""
    return chances_within_limit(linkage_chances(requirement, channel, original), requirement)


def chances_within_limit(found: LinkageChances, requirement: Requirement[identity.IdentityDisclosureOptions]) -> bool:
    """Return the verdict alone, of chances that are known."""
    options = requirement.options
    if not len(found.group):
        return True
    if options.percentile is None:
        return not found.over(options.threshold).any()
    return not found.mean_over(options.threshold, options.percentile)


def assess_linking(
    requirement: Requirement[identity.IdentityDisclosureOptions], channel: Product, original: Original
) -> Finding:
    """Assess identity disclosure."""
    found = linkage_chances(requirement, channel, original)
    rests_on = (*scope_loss(channel).assumptions, *unhidden_assumption(found.evidence.revealed))
    companions = (
        *finite_linkage_measure(found.evidence, found.group),
        *general_bound_measures(channel, original.records),
    )
    return linkage_finding(requirement, found, rests_on, companions)


def linkage_finding(
    requirement: Requirement[identity.IdentityDisclosureOptions],
    found: LinkageChances,
    rests_on: tuple[str, ...],
    further: Sequence[Companion],
) -> Finding:
    """Return the finding.

    Args:
        requirement: the entry.
        found: everybody's chance of being linked.
        rests_on: assumptions.
        further: what stands beside it, after what is told of the chances.
    """
    options = requirement.options
    limit = options.threshold
    over = found.over(limit)
    largest = achieved = _largest_chance(found, limit)
    companions: tuple[Companion, ...] = ()
    if options.percentile is not None and len(found.group):
        achieved = float(top_risk_weights(found.people, found.link, options.percentile) @ found.link)
        above = float(found.people[over].sum())
        companions = (
            Companion("largest link", found.measure(largest), Basis.ORIGINAL, LARGEST, chance_of=Risk.LINKING),
            Companion("people over the threshold", Measure(above), Basis.ORIGINAL, ABOVE),
        )
        over = np.zeros(len(over), dtype=bool)
    spread_out = None
    if len(found.group):
        spread_out = risk_histograms(
            "chance of linking", found.link, found.before, found.people, _top_risk_measure(found)
        )
        if options.percentile is None:
            spread_out = replace(spread_out, limits=(("", float(limit)),))
    return model.conclude(
        requirement,
        found.measure(achieved),
        chances_within_limit(found, requirement),
        Basis.ORIGINAL,
        identity.ADVERSARY,
        rests_on,
        (*subgroup_size(requirement, int(found.people.sum())), *companions, *further),
        profile=spread_out,
        groups_over=len(np.unique(found.group[over])),
        people_over=int(found.people[over].sum()),
        chance_of=Risk.LINKING if options.percentile is None else None,
    )


def _largest_chance(found: LinkageChances, limit: Fraction) -> float:
    if not len(found.link):
        return 0.0
    at = int(np.argmax(found.link))
    return snap_to_limit(float(found.link[at]), limit, lambda: found.exactly()(at))


def _top_risk_measure(found: LinkageChances) -> tuple[tuple[str, float, int], ...]:
    return highest_risk_groups(found.evidence, found.link, found.people, found.group)


LARGEST = "the chance for the person most at risk, which the limit on the mean does not bound"
ABOVE = "people whose own chance lies over the threshold, though the mean need not"
