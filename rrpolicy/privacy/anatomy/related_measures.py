"""What stands beside the l-diversity of dealt groups: the posterior of who knows how values go with the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import Basis, Companion, Measure, Profile, Risk, Standing
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.anatomy.group_evidence import bound_posteriors, gather_groups
from rrpolicy.privacy.disclosure.attribute import subgroup_mask
from rrpolicy.privacy.disclosure.risk_profile import highest_risk_groups, risk_histograms

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.source.protocol import Original

POSTERIOR = (
    "the largest chance of the true value for who reads the quasi-identifiers of the whole group and knows the shares "
    "of the values among people with the same ones, over all groups that can be dealt; 1/l is for who does not"
)
CERTAIN = (
    "people whose value may be certain for an attacker who knows which group is theirs and how many people with the "
    "same quasi-identifiers have each value in the original table"
)


def correlation_posterior(
    requirement: Requirement, channel: AnatomyChannel, original: Original, name: str
) -> tuple[tuple[Companion, ...], Profile | None]:
    """Return the largest posterior over everybody that an entry speaks of, for how many it may be 1, and its spread.

    Args:
        requirement: the entry; its `where` limits the people.
        channel: the groups.
        original: an eligible table.
        name: the sensitive attribute.
    """
    evidence = gather_groups(channel, original, name)
    group, value = np.nonzero(subgroup_mask(evidence, requirement, None, ()))
    people = evidence.histograms[group, value]
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)
    worst = bounds.highest[alike.kind[group], value]
    beside = posterior_measures(worst, people, name)
    if not len(worst):
        return beside, None
    top = highest_risk_groups(evidence, worst, people, group)
    return beside, risk_histograms(
        f"informed posterior of {name}, upper bound", worst, people / evidence.n[group], people, top
    )


def posterior_measures(worst: Array, people: Ints, of: str) -> tuple[Companion, ...]:
    """Return the largest posterior, and for how many people it may be 1; upper bounds both.

    Args:
        worst: (k,) largest posteriors.
        people: (k,) how many have them.
        of: the sensitive attribute.
    """
    most = Measure(float(worst.max(initial=0.0)), Standing.UPPER_BOUND)
    certain = Measure(float(people[worst >= 1].sum()), Standing.UPPER_BOUND)
    return (
        Companion("informed posterior", most, Basis.ORIGINAL, POSTERIOR, of, chance_of=Risk.READING),
        Companion("people with a posterior of 1", certain, Basis.ORIGINAL, CERTAIN, of, certain_of=Risk.READING),
    )
