"""What an attacker reaches on dealt groups who knows how the sensitive attribute goes with the quasi-identifiers.

For a person with value u whose group holds the values W, each once:

    posterior of u = c_u / sum over W of c_w

with c the shares of the values among those who agree with the person in all that is known. Which values stand together
is drawn; the phases of the schedule say which can. The bound is the largest posterior over all groups that a person can
be dealt into: the values that every group of a phase has, and the rarest, for this person, of those that take turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.posterior import least_others
from rrpolicy.channel.schedule import Phase, largest_eligible, schedule
from rrpolicy.finding import Basis, Companion, Measure, Profile, Standing
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.disclosure import chosen
from rrpolicy.privacy.evidence import gather, sides
from rrpolicy.privacy.spread import at_the_top, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rrpolicy.channel.groups import Groups
    from rrpolicy.source.counts import Array, Ints
    from rrpolicy.source.protocol import Original

_MOST = 1 << 28
"""Entries (phases, groups of people, values) beyond which phases are not told apart."""
POSTERIOR = (
    "the largest chance of the true value for who knows the shares of the values among people with the same "
    "quasi-identifiers, over all groups that can be dealt; 1/l is for who does not"
)
CERTAIN = "people whose group may hold nothing else that occurs among people with their quasi-identifiers"


def informed(
    requirement: Requirement, channel: Groups, original: Original
) -> tuple[tuple[Companion, ...], Profile | None]:
    """Return the largest posterior over everybody that an entry speaks of, for how many it is 1, and its spread.

    Args:
        requirement: the entry; its `where` limits the people.
        channel: the groups.
        original: an eligible table.
    """
    name = channel.sensitive.attribute
    untouched = channel.untouched(sensitive=True)
    evidence = gather(original, sides(untouched, original.policy, name))
    totals = dealt_totals(evidence.histograms, channel, original)
    group, value = np.nonzero(chosen(evidence, requirement, None, ()))
    people = evidence.histograms[group, value]
    worst = people / totals[group, value]
    beside = stands_beside(worst, people, name)
    if not len(worst):
        return beside, None
    top = at_the_top(evidence, worst, people, group)
    return beside, spread(f"informed posterior of {name}", worst, people / evidence.n[group], people, top)


def stands_beside(worst: Array, people: Ints, of: str) -> tuple[Companion, ...]:
    """Return the largest posterior, and for how many people it is 1; upper bounds both.

    Args:
        worst: (k,) largest posteriors.
        people: (k,) how many have them.
        of: the sensitive attribute.
    """
    most = Measure(float(worst.max(initial=0.0)), Standing.UPPER_BOUND)
    certain = Measure(float(people[worst >= 1].sum()), Standing.UPPER_BOUND)
    return (
        Companion("informed posterior", most, Basis.ORIGINAL, POSTERIOR, of),
        Companion("people with a posterior of 1", certain, Basis.ORIGINAL, CERTAIN, of),
    )


def dealt_totals(histograms: Ints, channel: Groups, original: Original) -> Array:
    """Return `least_totals` of a table; of one that is not eligible, the value's own count: nothing hides it.

    Args:
        histograms: (groups, values) people of the same quasi-identifiers by sensitive value.
        channel: the groups.
        original: the table.
    """
    counts = original.counts(channel.sensitive.attribute).dense().tolist()
    if channel.size > largest_eligible(counts):
        return histograms.astype(np.float64)
    return least_totals(histograms, schedule(counts, channel.size), sum(counts) % channel.size)


def largest_posterior(histograms: Ints, phases: Sequence[Phase], residues: int) -> Array:
    """Return (groups, values) the largest posterior of each value over all groups that its records can be dealt into.

    Args:
        histograms: (groups, values) people of the same quasi-identifiers by sensitive value.
        phases: of the schedule.
        residues: how many records join a group that they are not among the l of.
    """
    total = least_totals(histograms, phases, residues)
    out: Array = np.divide(histograms, total, out=np.zeros(total.shape), where=histograms > 0)
    return out


def least_totals(histograms: Ints, phases: Sequence[Phase], residues: int) -> Array:
    """Return (groups, values) how many people have one of the values of a group that holds a value, at least.

    Whole numbers; the largest posterior is the value's own people over them. Arguments as `largest_posterior`.
    """
    if histograms.size * len(phases) > _MOST:
        size = len(phases[0].above) + phases[0].turns
        everybody: Array = histograms + least_others(histograms, size - 1)
        return everybody
    others = np.full(histograms.shape, np.inf)
    for phase in phases:
        above, level, drawn = _certain(phase)
        base = histograms[:, above].sum(axis=1, keepdims=True).astype(np.float64)
        turns = np.sort(histograms[:, level], axis=1)[:, :drawn].sum(axis=1, keepdims=True)
        others[:, above] = np.minimum(others[:, above], base - histograms[:, above] + turns)
        if drawn:
            own = base + least_others(histograms[:, level], drawn - 1)
            others[:, level] = np.minimum(others[:, level], own)
        if residues:
            lacking = np.setdiff1d(np.arange(histograms.shape[1]), [*above, *(level if drawn else [])])
            others[:, lacking] = np.minimum(others[:, lacking], base + turns)
    total: Array = histograms + others
    return total


def _certain(phase: Phase) -> tuple[list[int], list[int], int]:
    """Return who is in every group of a phase, who may be, and how many of these each group has.

    A single group that takes all who are ahead takes those who have just come from above.
    """
    if phase.groups > 1 or phase.turns < phase.ahead:
        return list(phase.above), list(phase.level), phase.turns
    level = [value for value in phase.level if value not in phase.joins_ahead]
    return [*phase.above, *phase.joins_ahead], level, phase.turns - len(phase.joins_ahead)
