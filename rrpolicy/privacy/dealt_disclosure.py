"""Attribute disclosure through dealt groups, for the attacker of every other mechanism.

The quasi-identifiers stand as they are, so that R_QI = 1 and

    risk(alpha, u) = c_u R_S(u | alpha),    R_S = E [c_u / sum over W of c_w]

with W the values of the group that a record of (alpha, u) is dealt into (Guo, Ying, Wu 2011, eq. 6-9, with the law of
Xiao, Tao 2006, figure 3). Which values stand together is drawn. R_S is at most the largest posterior b_u over all
groups that can be dealt, see `rrpolicy.privacy.informed`, and at least c_u. In a group that holds both, w and u, the
value u is read with a chance of at most c_u/(c_u + c_w), so that

    success(alpha, u) <= c_u b_u + sum over w other than u of c_w min(b_u, c_u/(c_u + c_w)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.privacy import attribute_disclosure as attribute
from rrpolicy.privacy.disclosure import CHUNK, Risks, chosen, conclude
from rrpolicy.privacy.evidence import gather, sides
from rrpolicy.privacy.informed import dealt_totals, stands_beside
from rrpolicy.privacy.scope import SINGLE_RECORDS, exposure

if TYPE_CHECKING:
    from collections.abc import Callable

    from rrpolicy.channel.groups import Groups
    from rrpolicy.finding import Companion, Finding
    from rrpolicy.policy.model import Requirement
    from rrpolicy.source.counts import Array
    from rrpolicy.source.protocol import Original

BOUND = "Who stands with whom is drawn later: counted is the group, of all that can be dealt, that tells most."


@dataclass(frozen=True)
class DealtRisks(Risks):
    """Risks with the groups that records can be dealt into.

    Attributes:
        totals: (groups, values) people, of the group, with one of the values that stand with a value, at least.
    """

    totals: Array

    @cached_property
    def own(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of R_S."""
        return self.share, self.people / self.totals[self.group, self.value]

    @cached_property
    def risk(self) -> Array:
        """Return (k,) c_u b_u."""
        risk: Array = self.share * self.own[1]
        return risk

    @cached_property
    def success(self) -> tuple[Array, Array]:
        """Return (k,) lower and upper bounds of the chance that the true value is read."""
        most, shares = self.risk.copy(), self.evidence.shares
        rows = max(1, CHUNK // self.evidence.histograms.shape[1])
        for start in range(0, len(most), rows):
            part = slice(start, start + rows)
            c = shares[self.group[part]]
            own = self.share[part, None]
            other = c * np.minimum(self.own[1][part, None], own / (own + c))
            other[np.arange(len(other)), self.value[part]] = 0.0
            most[part] += other.sum(axis=1)
        return self.share**2, np.minimum(most, 1.0)

    @property
    def worst(self) -> float | None:
        """Return None: the informed posterior stands beside."""
        return None

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells c_u b_u exactly."""

        def risk(i: int) -> Fraction:
            group, people = int(self.group[i]), int(self.people[i])
            total = int(self.totals[group, int(self.value[i])])
            return Fraction(people * people, int(self.evidence.n[group]) * total)

        return risk


def assess(
    requirement: Requirement, channel: Groups, original: Original, further: tuple[Companion, ...] = ()
) -> Finding:
    """Return the finding.

    Args:
        requirement: an entry of `attribute-disclosure`.
        channel: the groups.
        original: the table.
        further: what stands beside it.
    """
    found = risks(requirement, channel, original)
    posterior = stands_beside(found.own[1], found.people, found.of)
    rests_on = (BOUND, *exposure(channel.untouched()).assumptions, SINGLE_RECORDS)
    return conclude(requirement, (found,), rests_on, (*posterior, *further))


def risks(requirement: Requirement, channel: Groups, original: Original) -> DealtRisks:
    """Return every risk that an entry speaks of."""
    options = requirement.options
    assert isinstance(options, attribute.Options)
    column = channel.sensitive
    name, labels = column.attribute, column.labels
    evidence = gather(original, sides(channel.untouched(sensitive=True), original.policy, name))
    group, value = np.nonzero(chosen(evidence, requirement, name, labels))
    people = evidence.histograms[group, value]
    limits = tuple(options.limit(label) for label in labels)
    totals = dealt_totals(evidence.histograms, channel, original)
    return DealtRisks(name, evidence, labels, group, value, people, people / evidence.n[group], limits, totals)
