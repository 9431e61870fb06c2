"""Attribute disclosure through anatomy's groups, for the attackers of every other mechanism.

The quasi-identifiers are released unmodified, so that R_QI = 1 and

    risk(alpha, u) = c_u R_S(u | alpha),    R_S = E [posterior of u, given the group]

over the random assignments, for a person of (alpha, u) (Guo, Ying, Wu 2011, eq. 6-9, with the distribution of Xiao, Tao
2006, figure 3). The posterior depends on the quasi-identifiers of all members of the group
(`rrpolicy.privacy.anatomy.permanents`). R_S has no closed form. `rrpolicy.privacy.anatomy.posterior_bounds` bounds it
with certainty, which decides; `rrpolicy.privacy.anatomy.posterior_simulation` estimates it, and the estimate's upper
end decides if the entry requires it. R_S is at least c_u.

Whichever record of alpha is drawn, the value read from it is u with probability E [posterior of u] over the records of
alpha. Posteriors are right on average, so that success(alpha, u) = c_u exactly.

The best guess has an upper bound that follows from these bounds. Given a group, the posterior of a person's value has
squares that sum, on average, to

    E sum over u of (posterior of u)^2 = sum over u of c_u R_S(u | alpha) = s.

Of shares in a group of at most L values whose squares sum to s, the largest is at most
(1 + ((L - 1) (L s - 1))^(1/2))/L. This is concave in s, so that by Jensen's inequality it also bounds the expected
largest posterior. Neither is that above the largest posterior in any possible group. For values that do not depend on
the quasi-identifiers, without residues, the bound is 1/l.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.finding import Basis, Companion, Measure, Standing
from rrpolicy.frozen import replace
from rrpolicy.numbers import level_percent
from rrpolicy.privacy.anatomy.group_evidence import bound_posteriors, gather_groups, informed_measures
from rrpolicy.privacy.anatomy.posterior_simulation import SimulatedPosteriors, simulate_posteriors
from rrpolicy.privacy.disclosure import attribute_options as attribute
from rrpolicy.privacy.disclosure.attribute import AttributeRisks
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.best_guess import BestGuesses, KnowledgeGroups, knowledge_groups, limited_guesses
from rrpolicy.privacy.disclosure.exact_risks import NEAR_LIMIT
from rrpolicy.privacy.disclosure.risk import attribute_finding, subgroup_mask
from rrpolicy.privacy.epsilon.scope_loss import scope_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.errors import Problem
    from rrpolicy.finding import Finding
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.anatomy.group_evidence import ValueBounds
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.privacy.evidence import CombinationKinds
    from rrpolicy.source.protocol import Original

MOST_FRACTIONS = 10_000_000
"""Fractions beyond which nothing is decided exactly."""
BOUND_ONLY_NOTE = "Groups are drawn later. The decision uses a bound on the mean over all assignments."
PAIRING_KNOWN_NOTE = (
    "Bounds assume an attacker who also knows which values of both attributes belong to one record of a group. "
    "That can only raise them."
)
BOUND = (
    "Groups are drawn later. The decision uses a bound on the mean over all assignments; the simulated mean is "
    "reported as an estimate."
)
ESTIMATE = (
    "Decided by an estimate, as the policy requires: the mean over simulated deals meets the limit if its upper end at "
    f"{level_percent(attribute.CONFIDENCE)} confidence, for all people together, is within the limit; the seed follows "
    "from the published description and the number of records."
)
NO_ESTIMATE = (
    "Groups are too large, or differ in two attributes, or the table is not eligible, for an estimate: the certain "
    "bound decides."
)
ESTIMATED = "the largest risk as the mean over simulated deals, with its standard error"
UPPER_END = (
    f"what the largest risk is at most, with {level_percent(attribute.CONFIDENCE)} confidence, by the simulated deals"
)
REPLICAS = "simulated deals; the seed follows from the published description and the number of records"
CERTAIN = "the largest risk that no deal exceeds on average, with certainty"


@dataclass(frozen=True)
class AnatomyRisks(AttributeRisks):
    """Risks with the possible groups of the records.

    Attributes:
        alike: kinds of combinations with the same shares.
        bounds: bounds of the posterior of the own value, by these kinds.
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
        """Return (k,) upper ends of the estimate of R_S, or the certain bound where that is lower."""
        assert self.simulated is not None
        return np.minimum(self.simulated.upper, self.certain)

    @cached_property
    def own(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of R_S; the upper ones decide."""
        return np.minimum(self.share, self.certain), self.upper if self.by_estimate else self.certain

    @cached_property
    def risk(self) -> Array:
        """Return (k,) upper bounds of c_u R_S, which decide."""
        risk: Array = self.share * self.own[1]
        return risk

    @property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) the probability of reading the true value, c_u, as lower and upper bound."""
        return self.share, self.share

    def reads_exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function that computes c_u exactly."""
        return lambda i: Fraction(int(self.people[i]), int(self.evidence.n[self.group[i]]))

    @property
    def worst(self) -> float | None:
        """Return None: the informed posterior is reported in its place."""
        return None

    def risk_exactly(self) -> Callable[[int], Fraction | None]:
        """Return a function that computes the certain bound exactly; None for a lower estimate or if too expensive."""
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
        """Return the index of the risk that the finding reports."""
        if not self.by_estimate or self.simulated is None or over.any():
            return super().decisive(over)
        return self._largest_estimate

    @cached_property
    def _largest_estimate(self) -> int:
        """Choose by the first half of the replicas; the number reported comes from the second half."""
        assert self.simulated is not None
        return int(np.argmax(self.share * np.minimum(self.simulated.first, self.certain) / self._limits))

    @property
    def _limits(self) -> Array:
        limits: Array = np.array([float(t) for t in self.limits])
        return limits[self.value]

    def with_estimates(self, channel: AnatomyChannel) -> AnatomyRisks:
        """Add estimates of the risks that may be the largest, or whose certain bound exceeds the limit."""
        least = (self.share**2 / self._limits).max(initial=0.0)
        asked = self.share * self.certain / self._limits >= min(least, 1.0) * (1 - NEAR_LIMIT)
        width = self.alike.people.shape[1]
        pairs = self.alike.kind[self.group] * width + self.value
        distinct, place = np.unique(pairs[asked], return_inverse=True)
        found = simulate_posteriors(channel, self.alike.people, distinct // width, distinct % width)
        return self if found is None else replace(self, simulated=found.among(asked, place))

    def posterior(self) -> tuple[Companion, ...]:
        """Return the largest posterior in any group, and the number of people for whom it may be 1."""
        return informed_measures(self.bounds.highest[self.alike.kind[self.group], self.value], self.people, self.of)

    def simulation(self) -> tuple[Companion, ...]:
        """Return the estimate, its upper end, the certain bound and the number of replicas."""
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
    requirement: Requirement[AttributeDisclosureOptions],
    channel: AnatomyChannel,
    original: Original,
    further: tuple[Companion, ...] = (),
) -> Finding:
    """Return the finding of an entry of `attribute-disclosure`, with further companions."""
    options, protected = requirement.options, requirement.protects(original.policy)
    paired = (PAIRING_KNOWN_NOTE,) if len(channel.sensitive) > 1 else ()
    assumed = (*paired, *scope_loss(channel.untouched()).assumptions)
    if options.measure.guessed:
        guesses = tuple(guess for name in protected for guess in guess_bounds(requirement, channel, original, name))
        return attribute_finding(requirement, guesses, (BOUND_ONLY_NOTE, *assumed), further)
    found = tuple(attribute_risks(requirement, channel, original, name) for name in protected)
    further = (*(companion for each in found for companion in each.posterior()), *further)
    if options.measure is LimitKind.CORRECT_READING:
        return attribute_finding(requirement, found, assumed, further)
    decided: tuple[str, ...] = (BOUND_ONLY_NOTE if paired else BOUND,)
    if requirement.decided_by == "estimate":
        decided = (ESTIMATE,) if all(each.by_estimate for each in found) else (ESTIMATE, NO_ESTIMATE)
    estimated = tuple(companion for each in found for companion in each.simulation())
    return attribute_finding(requirement, found, (*decided, *assumed), (*estimated, *further))


def attribute_risks(requirement: Requirement, channel: AnatomyChannel, original: Original, name: str) -> AnatomyRisks:
    """Return all risks of one sensitive attribute that an entry limits."""
    labels = original.policy.attributes[name].domain or ()
    evidence = gather_groups(channel, original, name)
    group, value = np.nonzero(subgroup_mask(evidence, requirement, name, labels))
    people = evidence.histograms[group, value]
    limits = tuple(requirement.options.limit_of(label) for label in labels)
    share = people / evidence.n[group]
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)
    kind = requirement.options.measure
    found = AnatomyRisks(
        name, evidence, labels, group, value, people, share, limits, kind, alike, bounds, None, by_estimate=False
    ).with_estimates(channel)
    by_estimate = found.simulated is not None and requirement.decided_by == "estimate"
    return replace(found, by_estimate=by_estimate)


def guess_bounds(
    requirement: Requirement[AttributeDisclosureOptions], channel: AnatomyChannel, original: Original, name: str
) -> Iterator[BestGuesses]:
    """Yield the bounds of every group that an entry limits, for each attacker of `knowledge_groups`.

    The bound of a group is the mean of the bounds of its parts, which a released record distinguishes.
    """
    evidence = gather_groups(channel, original, name)
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)
    largest = min(channel.size + groups_of(original.records, channel.size)[1], evidence.histograms.shape[1])
    limit, gain = requirement.options.limit_of(None), requirement.options.measure is LimitKind.GAIN
    for told in _knowledge_groups(channel, original, name):
        people = told.evidence.histograms
        assert np.array_equal(evidence.values, told.evidence.values)
        of_parts = _largest_posterior_bounds(people, bounds.expected[alike.kind], bounds.highest[alike.kind], largest)
        best = told.summed(of_parts * evidence.n) / told.people.sum(axis=1)

        def exactly(group: int, told: KnowledgeGroups = told, people: Ints = people) -> Fraction | None:
            """Return the limit times the people if fractions prove that the bound is within it; else None."""
            here = np.flatnonzero(told.group == group)
            if len(here) > 1:
                return None
            kind, counts = int(alike.kind[here[0]]), people[here[0]].tolist()
            if bounds.fractions * len(counts) > MOST_FRACTIONS:
                return None
            n = sum(counts)
            offset = Fraction(max(counts), n) if gain else Fraction(0)
            squares = sum((Fraction(m, n) * bounds.exactly(kind, u) for u, m in enumerate(counts) if m), Fraction(0))
            reached = largest * (limit + offset) - 1
            within = reached >= 0 and (largest - 1) * (largest * squares - 1) <= reached**2
            return (limit + offset) * n if within else None

        yield limited_guesses(requirement, told, name + told.known, best, exactly, exact=False)


def _largest_posterior_bounds(people: Ints, expected: Array, highest: Array, size: int) -> Array:
    """Return (groups,) bounds of the expected largest posterior in groups of at most `size` values."""
    shares = people / people.sum(axis=1, keepdims=True)
    squares = np.clip((shares * expected).sum(axis=1), 1 / size, 1.0)
    by_squares = (1 + np.sqrt((size - 1) * (size * squares - 1))) / size
    best: Array = np.minimum(by_squares, highest.max(axis=1))
    return best


def _knowledge_groups(channel: AnatomyChannel, original: Original, name: str) -> Iterator[KnowledgeGroups]:
    (own,) = (column for column in channel.sensitive if column.attribute == name)
    return knowledge_groups(channel.untouched(own), original, name, others_known=False)


def unreachable_limit(
    requirement: Requirement[AttributeDisclosureOptions], channel: AnatomyChannel, original: Original
) -> Problem | None:
    """Return why no release satisfies a limit of the best guess; None if one may."""
    if not requirement.options.measure.guessed:
        return None
    for name in requirement.protects(original.policy):
        for told in _knowledge_groups(channel, original, name):
            unseen = limited_guesses(requirement, told, name, np.ones(told.groups), lambda _: None, exact=False)
            problem = unseen.unreachable(requirement)
            if problem is not None:
                return problem
    return None
