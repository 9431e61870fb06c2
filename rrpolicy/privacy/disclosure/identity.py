"""Identity disclosure on a product channel, and linking in tiny tables by an attacker who knows all originals.

The formulas of Teng, Du 2006 and Guo, Ying, Wu 2011 are for an attacker who weighs released records by *expected*
shares lambda. An attacker who knows everybody's quasi-identifiers also knows that each person has one record, and
compares the released counts m with all ways in which they can arise. Let F(m) be the chance of the counts m, F_i(m)
that of the counts of all others than person i, and q(beta) = P[beta, alpha] F_i(m - e_beta) / F(m) the chance that i,
of group alpha, was released as beta. He draws a record by its weight for i, which is q(beta)/m_beta for each of m_beta
records, so that he hits the person's with the chance

    link(alpha) = sum over m of F(m) sum over beta of q(beta)^2 / m_beta.

Of three people 0, 1, 1 kept with .8 the person with 0 is linked with 7/11; by expected shares with 5/9. 1/k bounds
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from math import comb, prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk, Standing
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy import model
from rrpolicy.privacy.disclosure import identity_options as identity
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT, ExactReconstruction, Integers, integer_matrix
from rrpolicy.privacy.disclosure.reconstruction import quasi_identifier_reconstruction
from rrpolicy.privacy.disclosure.risk import DisclosureRisk, subgroup_mask, subgroup_size
from rrpolicy.privacy.evidence import Evidence, gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.protocol import Original


MOST_PRODUCTS = 200_000
"""Products beyond which a table is not enumerated."""
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
    """Return the largest chance over (k,) groups, a measure related to that by expected shares; none if too large."""
    axes = [axis for axis in evidence.axes if isinstance(axis, Transition)]
    if evidence.revealed or not len(group) or len(axes) < len(evidence.axes):
        return ()
    alone = evidence.n[group[group >= evidence.mixed]]  # distinguished from all others: any of its people is as likely
    largest = Fraction(1, int(alone.min())) if len(alone) else Fraction(0)
    left, cells = MOST_PRODUCTS, prod(axis.released_size for axis in axes)
    for context in np.unique(evidence.context[group[group < evidence.mixed]]):
        first, last = (int(at) for at in np.searchsorted(evidence.context, [context, context + 1]))
        people = [int(n) for n in evidence.n[first:last]]
        steps, records = sum(people) * cells * (1 + len(people)), sum(people)
        left -= steps if steps > MOST_PRODUCTS else steps * comb(records + cells - 1, records)
        if left < 0:
            return ()
        matrices = [integer_matrix(axis)[0] for axis in evidence.axes]
        laws = [_released_distribution(matrices, codes) for codes in evidence.codes[first:last]]
        asked = group[(group >= first) & (group < last)] - first
        largest = max(largest, *exact_linkage_chances(laws, people, asked.tolist()))
    return (Companion(NAME, Measure(float(largest)), Basis.ORIGINAL, MEANING),)


def exact_linkage_chances(laws: list[Law], people: list[int], groups: list[int]) -> Iterator[Fraction]:
    """Yield, for each of some `groups`, the chance that one of its people is linked; laws have a common denominator."""
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
    columns = [matrix[:, code] for matrix, code in zip(matrices, codes, strict=True)]
    chance = np.ravel(reduce(np.multiply.outer, columns, np.array(1, dtype=object)))
    return {cell: int(own) for cell, own in enumerate(chance) if own}


@dataclass(frozen=True)
class LinkageChances(DisclosureRisk):
    """The chance of linking of every group that an entry covers; `share` is that on the original table.

    `percentile`: the mean over this percentage of the people, those most at risk, is limited; None for the maximum.
    """

    percentile: Fraction | None

    @cached_property
    def link(self) -> Array:
        """Return (k,) R_QI / n."""
        link: Array = (quasi_identifier_reconstruction(self.evidence) / self.evidence.n)[self.group]
        return link

    @property
    def number(self) -> Array:
        """Return (k,) the chances."""
        return self.link

    @property
    def quantity(self) -> str:
        """Return the name of the numbers."""
        return "chance of linking"

    def standing(self, at: int = 0) -> Standing:
        """Return whether the chances are exact; `at` does not matter."""
        del at
        return Standing.UPPER_BOUND if self.evidence.revealed else Standing.EXACT

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function for the chances."""
        known = ExactReconstruction(self.evidence)

        def link(i: int) -> Fraction | None:
            group = int(self.group[i])
            found = known.of(group)
            return None if found is None else found.high / int(self.evidence.n[group])

        return link

    def beside(self) -> tuple[Companion, ...]:
        """Return the largest chance of linking for an attacker who knows all originals, for tiny tables."""
        return finite_linkage_measure(self.evidence, self.group)

    @property
    def limit(self) -> Fraction:
        """Return the limit, which is the same for all."""
        return self.limits[0]

    @property
    def fails(self) -> bool:
        """Return whether the largest chance, or the mean over those most at risk, exceeds the limit."""
        if not len(self.group):
            return False
        return super().fails if self.percentile is None else self.mean_over()

    @property
    def weights(self) -> Array:
        """Return (k,) weights of the mean over those most at risk."""
        assert self.percentile is not None
        return top_risk_weights(self.people, self.link, self.percentile)

    def mean_over(self) -> bool:
        """Return whether that mean exceeds the limit, in fractions if doubles are too near to it."""
        assert self.percentile is not None
        limit = self.limit
        if limit >= 1:
            return False
        mean = float(self.weights @ self.link)
        if abs(mean / float(limit) - 1) > NEAR_LIMIT:
            return mean > float(limit)
        wanted, exactly = _percentile_people(self.people, self.percentile), self.exactly()
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
    n, options = evidence.n[group], requirement.options
    one_limit = np.zeros(len(group), dtype=np.int64)
    return LinkageChances("", evidence, (), group, one_limit, n, 1 / n, (options.threshold,), options.percentile)


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


def linkage_finding(
    requirement: Requirement[identity.IdentityDisclosureOptions],
    cases: Sequence[LinkageChances],
    rests_on: tuple[str, ...],
    further: Sequence[Companion],
) -> Finding:
    """Return the finding; `further` are related measures that follow those of the chances."""
    (found,) = cases
    over, groups, standing = found.over(), len(found.group), found.standing()
    achieved = found.measured(int(np.argmax(found.link))) if groups else Measure(0.0, standing)
    companions, profile, mean = found.beside(), found.profile() if groups else None, found.percentile is not None
    if profile is not None and mean:
        above = Measure(float(found.people[over].sum()))
        companions = (
            Companion("largest link", achieved, Basis.ORIGINAL, LARGEST, chance_of=Risk.LINKING),
            Companion("people over the threshold", above, Basis.ORIGINAL, ABOVE),
            *companions,
        )
        achieved = Measure(float(found.weights @ found.link), standing)
        over = np.zeros(len(over), dtype=bool)
    elif profile is not None:
        profile = replace(profile, limits=found.limits_by_value())
    return model.conclude(
        requirement,
        achieved,
        not found.fails,
        Basis.ORIGINAL,
        identity.ADVERSARY,
        rests_on,
        (*subgroup_size(requirement, int(found.people.sum())), *companions, *further),
        profile=profile,
        groups_over=len(np.unique(found.group[over])),
        people_over=int(found.people[over].sum()),
        chance_of=None if mean else Risk.LINKING,
    )


LARGEST = "the chance for the person most at risk, which the limit on the mean does not bound"
ABOVE = "people whose own chance lies over the threshold, though the mean need not"
