"""Attribute disclosure through dealt groups, for the attacker of every other mechanism.

The quasi-identifiers stand as they are, so that R_QI = 1 and

    risk(alpha, u) = c_u R_S(u | alpha),    R_S = E [posterior of u, given the group]

over the deals, for somebody of (alpha, u) (Guo, Ying, Wu 2011, eq. 6-9, with the law of Xiao, Tao 2006, figure 3). The
posterior rests on the quasi-identifiers of all members of the group, see `rrpolicy.privacy.anatomy.permanents`. R_S has
no short form. `rrpolicy.privacy.anatomy.posterior_bounds` bounds it with certainty, and that decides;
`rrpolicy.privacy.anatomy.posterior_simulation` estimates it, and decides by the estimate's upper end if the entry says
so. It is at least c_u.

Whichever record of alpha is drawn, the value read from it is u with a chance of E [posterior of u] over the records of
alpha: posteriors are right on average, so that success(alpha, u) = c_u exactly.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import Basis, Companion, Measure, Standing
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.anatomy.group_evidence import (
    BOUND_ONLY_NOTE,
    PAIRING_KNOWN_NOTE,
    bound_posteriors,
    gather_groups,
)
from rrpolicy.privacy.anatomy.posterior_simulation import SimulatedPosteriors, simulate_posteriors
from rrpolicy.privacy.anatomy.related_measures import posterior_measures
from rrpolicy.privacy.disclosure import attribute_options as attribute
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, attribute_finding, subgroup_mask
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.limits.correct_inference import CorrectInferences

if TYPE_CHECKING:
    from collections.abc import Callable

    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array
    from rrpolicy.finding import Finding
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.anatomy.group_evidence import ValueBounds
    from rrpolicy.privacy.disclosure.attribute import Mask
    from rrpolicy.privacy.disclosure.combination_kinds import CombinationKinds
    from rrpolicy.source.protocol import Original

MOST_FRACTIONS = 10_000_000
"""Fractions beyond which nothing is decided exactly."""
BOUND = (
    "Who stands with whom is drawn later: what decides is a bound that no deal exceeds on average; the simulated mean "
    "stands beside it as an estimate."
)
ESTIMATE = (
    "Decided by an estimate, as the policy asks: the mean over simulated deals holds if its upper end at "
    f"{100 * attribute.CONFIDENCE:g} % confidence, for all people together, is within the limit; the seed follows from "
    "the published description and the number of records."
)
NO_ESTIMATE = (
    "Groups are too large, or differ in two attributes, or the table is not eligible, for an estimate: the certain "
    "bound decides."
)
ESTIMATED = "the largest risk as the mean over simulated deals, with its standard error"
UPPER_END = (
    f"what the largest risk is at most, with {100 * attribute.CONFIDENCE:g} % confidence, by the simulated deals"
)
REPLICAS = "simulated deals; the seed follows from the published description and the number of records"
CERTAIN = "the largest risk that no deal exceeds on average, with certainty"


@frozen(slots=False)
class AnatomyRisks(AttributeRisks):
    """Risks with the groups that records can be dealt into.

    Attributes:
        alike: combinations with the same shares.
        bounds: of the posterior of the own value, by these kinds.
        simulated: its estimate, in the order of the risks; None if there is none.
        by_estimate: whether the estimate decides.
    """

    alike: CombinationKinds
    bounds: ValueBounds
    simulated: SimulatedPosteriors | None
    by_estimate: bool

    @cached_property
    def certain(self) -> Array:
        """Return (k,) upper bounds of R_S."""
        certain: Array = self.bounds.expected[self.alike.kind[self.group], self.value]
        return certain

    @cached_property
    def upper(self) -> Array:
        """Return (k,) upper ends of the estimate of R_S; where what is certain is lower, that."""
        assert self.simulated is not None
        return np.minimum(self.simulated.upper, self.certain)

    @cached_property
    def own(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of R_S, the latter as it decides."""
        return np.minimum(self.share, self.certain), self.upper if self.by_estimate else self.certain

    @cached_property
    def risk(self) -> Array:
        """Return (k,) c_u R_S, as it decides: at most."""
        risk: Array = self.share * self.own[1]
        return risk

    @property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) the chance that the true value is read, twice."""
        return self.share, self.share

    def reads_exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells the chance to read a true value exactly: c_u."""
        return lambda i: Fraction(int(self.people[i]), int(self.evidence.n[self.group[i]]))

    @property
    def worst(self) -> float | None:
        """Return None: the informed posterior stands beside."""
        return None

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells the certain bound of a risk exactly; None for a lower estimate, or if it is too costly."""
        known: dict[tuple[int, int], Fraction] = {}

        def risk(i: int) -> Fraction | None:
            if self.by_estimate and self.upper[i] < self.certain[i]:
                return None
            group, value = int(self.group[i]), int(self.value[i])
            key = int(self.alike.kind[group]), value
            if key not in known:
                if (len(known) + 1) * self.bounds.fractions > MOST_FRACTIONS:
                    return None
                known[key] = self.bounds.exactly(*key)
            return Fraction(int(self.people[i]), int(self.evidence.n[group])) * known[key]

        return risk

    def estimate(self, at: int) -> Measure:
        """Return the estimate of one risk."""
        assert self.simulated is not None
        mean = min(float(self.simulated.mean[at]), float(self.certain[at]))
        share = float(self.share[at])
        return Measure(share * mean, Standing.ESTIMATE, share * float(self.simulated.error[at]))

    def risk_measure(self, at: int) -> Measure:
        """Return one risk with its standing."""
        if self.by_estimate and self.simulated is not None and np.isfinite(self.simulated.mean[at]):
            return self.estimate(at)
        return super().risk_measure(at)

    def decisive(self, over: Mask) -> int:
        """Return which risk the finding shows; of estimates by the half that the number shown does not come from."""
        if not self.by_estimate or self.simulated is None or over.any():
            return super().decisive(over)
        return self._largest_estimate

    @cached_property
    def _largest_estimate(self) -> int:
        assert self.simulated is not None
        limits = np.array([float(t) for t in self.limits])[self.value]
        return int(np.argmax(self.share * np.minimum(self.simulated.first, self.certain) / limits))

    def with_estimates(self, channel: AnatomyChannel) -> AnatomyRisks:
        """Return the same with estimates of the risks that may be the largest or, by what is certain, over a limit."""
        limits = np.array([float(t) for t in self.limits])[self.value]
        least = (self.share**2 / limits).max(initial=0.0)
        asked = self.share * self.certain / limits >= min(least, 1.0) * (1 - NEAR_LIMIT)
        width = self.alike.people.shape[1]
        pairs = self.alike.kind[self.group] * width + self.value
        distinct, place = np.unique(pairs[asked], return_inverse=True)
        found = simulate_posteriors(channel, self.alike.people, distinct // width, distinct % width)
        return self if found is None else replace(self, simulated=found.among(asked, place))

    def posterior(self) -> tuple[Companion, ...]:
        """Return the largest posterior in any group, and for how many people it may be 1."""
        return posterior_measures(self.bounds.highest[self.alike.kind[self.group], self.value], self.people, self.of)

    def simulation(self) -> tuple[Companion, ...]:
        """Return what stands beside the number that decides: the other one, and how it was made."""
        if self.simulated is None:
            return ()
        upper = float((self.share * self.upper).max())
        certain = Measure(float((self.share * self.certain).max()), Standing.UPPER_BOUND)
        shown = [
            ("estimated risk", self.estimate(self._largest_estimate), ESTIMATED),
            ("upper end of the estimate", Measure(upper, Standing.ESTIMATE), UPPER_END),
            ("certain bound of the risk", certain, CERTAIN),
            ("simulated deals", Measure(float(self.simulated.replicas)), REPLICAS),
        ]
        return tuple(Companion(name, m, Basis.ORIGINAL, text, self.of) for name, m, text in shown)


def assess(
    requirement: Requirement, channel: AnatomyChannel, original: Original, further: tuple[Companion, ...] = ()
) -> Finding:
    """Return the finding.

    Args:
        requirement: an entry of `attribute-disclosure`.
        channel: the groups.
        original: the table.
        further: what stands beside it.
    """
    found = tuple(
        attribute_risks(requirement, channel, original, name) for name in requirement.protects(original.policy)
    )
    beside = tuple(companion for each in found for companion in each.posterior())
    told = (PAIRING_KNOWN_NOTE,) if len(channel.sensitive) > 1 else ()
    assumed = (*told, *scope_loss(channel.untouched()).assumptions)
    if requirement.options.measure is LimitKind.CORRECT_READING:
        return attribute_finding(
            requirement, tuple(map(CorrectInferences.of_risks, found)), assumed, (*beside, *further)
        )
    asked = requirement.decided_by == "estimate"
    every = all(each.by_estimate for each in found)
    bound = BOUND_ONLY_NOTE if told else BOUND
    decided = (bound,) if not asked else (ESTIMATE,) if every else (ESTIMATE, NO_ESTIMATE)
    estimated = tuple(companion for each in found for companion in each.simulation())
    return attribute_finding(requirement, found, (*decided, *assumed), (*estimated, *beside, *further))


def attribute_risks(requirement: Requirement, channel: AnatomyChannel, original: Original, name: str) -> AnatomyRisks:
    """Return every risk that an entry speaks of, of one sensitive attribute."""
    labels = original.policy.attributes[name].domain or ()
    evidence = gather_groups(channel, original, name)
    group, value = np.nonzero(subgroup_mask(evidence, requirement, name, labels))
    people = evidence.histograms[group, value]
    limits = tuple(requirement.options.limit_of(label) for label in labels)
    share = people / evidence.n[group]
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)
    found = AnatomyRisks(
        name, evidence, labels, group, value, people, share, limits, alike, bounds, None, by_estimate=False
    ).with_estimates(channel)
    by_estimate = found.simulated is not None and requirement.decided_by == "estimate"
    return replace(found, by_estimate=by_estimate)
