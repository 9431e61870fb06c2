"""Assessing identity disclosure on a table.

Linking in tiny tables by who knows all originals, but not their places: exact, by all tables that can be released.

The formulas of Teng, Du 2006 and Guo, Ying, Wu 2011 speak of an attacker who weighs released records by *expected*
shares lambda. Who knows everybody's quasi-identifiers also knows that each person has one record, and compares the
released counts m with all ways in which they can come about. Let F(m) be the chance of the counts m, F_i(m) that of the
counts of all others than person i, and q(beta) = P[beta, alpha] F_i(m - e_beta) / F(m) the chance that i, of group
alpha, was released as beta. He draws a record by its weight for i, which is q(beta)/m_beta for each of m_beta records,
so that he hits the person's with the chance

    link(alpha) = sum over m of F(m) sum over beta of q(beta)^2 / m_beta.

Of three people 0, 1, 1 kept with .8 the person with 0 is linked with 7/11; by expected shares with 5/9. 1/k bounds
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, reduce
from math import comb, prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.base import Transition
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
from rrpolicy.privacy.disclosure.exact_risks import (
    NEAR_LIMIT,
    ExactReconstruction,
    Integers,
    integer_matrix,
    snap_to_limit,
)
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction
from rrpolicy.privacy.disclosure.risk_profile import highest_risk_groups, risk_histograms
from rrpolicy.privacy.epsilon.general_bounds import general_bound_measures
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.evidence import Evidence, gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.protocol import Original


MOST_PRODUCTS = 200_000
"""Products beyond which a table is not tiny any more, and nothing is enumerated."""
NAME = "largest link, all originals known"
MEANING = (
    "the same of who knows everybody's original values, but not whose record is which, and counts all tables that can "
    "be released; shown of tables so small that these can be listed"
)

Law: TypeAlias = dict[int, int]
"""Released cell -> its chance times a common denominator."""
Chances: TypeAlias = dict[tuple[int, ...], int]
"""Released counts of every cell -> their chance, likewise."""


def finite_linkage_measure(evidence: Evidence, group: Ints) -> tuple[Companion, ...]:
    """Return the largest chance of some groups, to stand beside the one by expected shares; nothing of larger tables.

    Args:
        evidence: all groups.
        group: (k,) those that are spoken of.
    """
    axes = [axis for axis in evidence.axes if isinstance(axis, Transition)]
    if evidence.revealed or not len(group) or len(axes) < len(evidence.axes):
        return ()
    alone = evidence.n[group[group >= evidence.mixed]]  # told apart from all others: any of its people is as likely
    largest = Fraction(1, int(alone.min())) if len(alone) else Fraction(0)
    left, cells = MOST_PRODUCTS, prod(axis.released_size for axis in axes)
    for context in np.unique(evidence.context[group[group < evidence.mixed]]):
        first, last = (int(at) for at in np.searchsorted(evidence.context, [context, context + 1]))
        people = [int(n) for n in evidence.n[first:last]]
        left -= _product_count(sum(people), len(people), cells)
        if left < 0:
            return ()
        matrices = [integer_matrix(axis)[0] for axis in evidence.axes]
        laws = [_released_distribution(matrices, codes) for codes in evidence.codes[first:last]]
        asked = group[(group >= first) & (group < last)] - first
        largest = max(largest, *exact_linkage_chances(laws, people, asked.tolist()))
    return (Companion(NAME, Measure(float(largest)), Basis.ORIGINAL, MEANING),)


def _product_count(people: int, groups: int, cells: int) -> int:
    """Return how many products it takes, at most; what is beyond `MOST_PRODUCTS` anyway is not counted."""
    steps = people * cells * (1 + groups)
    return steps if steps > MOST_PRODUCTS else steps * comb(people + cells - 1, people)


def exact_linkage_chances(laws: list[Law], people: list[int], groups: list[int]) -> Iterator[Fraction]:
    """Yield the chance of each of some groups that one of its people is linked.

    Args:
        laws: of each group, over one common denominator.
        people: in each.
        groups: those that are asked for.
    """
    cells = 1 + max(cell for law in laws for cell in law)
    scale = sum(laws[0].values()) ** sum(people)
    whole = _released_table_probabilities(laws, people, cells)
    for group in groups:
        others = _released_table_probabilities(laws, [n - (at == group) for at, n in enumerate(people)], cells)
        total = Fraction(0)
        for counts, chance in whole.items():
            for cell, own in laws[group].items():
                if counts[cell]:
                    rest = others.get((*counts[:cell], counts[cell] - 1, *counts[cell + 1 :]), 0)
                    total += Fraction((own * rest) ** 2, chance * counts[cell])
        yield total / scale


def _released_table_probabilities(laws: list[Law], people: list[int], cells: int) -> Chances:
    """Return how likely each table of released counts is."""
    found: Chances = {(0,) * cells: 1}
    for law, n in zip(laws, people, strict=True):
        for _ in range(n):
            grown: Chances = {}
            for counts, chance in found.items():
                for cell, own in law.items():
                    one_more = (*counts[:cell], counts[cell] + 1, *counts[cell + 1 :])
                    grown[one_more] = grown.get(one_more, 0) + chance * own
            found = grown
    return found


def _released_distribution(matrices: Sequence[Integers], codes: Codes) -> Law:
    """Return what the people of one group may be released as, of every axis together."""
    columns = [matrix[:, code] for matrix, code in zip(matrices, codes, strict=True)]
    chance = np.ravel(reduce(np.multiply.outer, columns, np.array(1, dtype=object)))
    return {cell: int(own) for cell, own in enumerate(chance) if own}


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
