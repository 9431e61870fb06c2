"""The best guess through dealt groups: an upper bound, from the bounds of the posterior of the own value.

Given a group, the posterior of a person's value has squares that add up, on average, to

    E sum over u of (posterior of u)^2 = sum over u of c_u R_S(u | alpha) = s,

as R_S is the expected posterior of the own value. Of shares in a group of at most L values whose squares add up to s,
the largest is at most (1 + ((L - 1) (L s - 1))^(1/2))/L, which is concave in s, so that by Jensen's inequality it
bounds the expected largest posterior, too. Nor is that above the largest posterior in any group that can be dealt. For
values that do not go with the quasi-identifiers, dealt without residues, the bound is 1/l.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.privacy.anatomy.group_evidence import (
    BOUND_ONLY_NOTE,
    PAIRING_KNOWN_NOTE,
    bound_posteriors,
    gather_groups,
)
from rrpolicy.privacy.disclosure.attribute import attribute_finding
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.limits.best_guess import (
    BestGuesses,
    KnowledgeGroups,
    knowledge_groups,
    limited_guesses,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.errors import Problem
    from rrpolicy.finding import Companion, Finding
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.source.protocol import Original


def guess_bounds(
    requirement: Requirement[AttributeDisclosureOptions], channel: AnatomyChannel, original: Original, name: str
) -> Iterator[BestGuesses]:
    """Yield the bounds of every group that an entry speaks of, for each attacker; see `limits.guesses.parts`."""
    for told in _evidence_parts(channel, original, name):
        yield _group_guess_bounds(requirement, channel, original, told, name)


def _group_guess_bounds(
    requirement: Requirement[AttributeDisclosureOptions],
    channel: AnatomyChannel,
    original: Original,
    told: KnowledgeGroups,
    name: str,
) -> BestGuesses:
    """Return the bound of every group: the mean of the bounds of its parts, which a released record tells apart."""
    evidence = gather_groups(channel, original, name)
    assert np.array_equal(evidence.values, told.evidence.values)
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)
    people = told.evidence.histograms
    largest = min(channel.size + groups_of(original.records, channel.size)[1], people.shape[1])
    of_parts = _largest_posterior_bounds(people, bounds.expected[alike.kind], bounds.highest[alike.kind], largest)
    best = told.summed(of_parts * evidence.n) / told.people.sum(axis=1)
    limit = requirement.options.limit_of(None)

    def exactly(group: int) -> Fraction | None:
        """Return the limit times the people where fractions tell that the bound is within it; else nothing."""
        here = np.flatnonzero(told.group == group)
        if len(here) > 1:
            return None
        kind, counts = int(alike.kind[here[0]]), people[here[0]].tolist()
        n = sum(counts)
        offset = Fraction(max(counts), n) if requirement.options.measure == "gain" else Fraction(0)
        if bounds.fractions * len(counts) > MOST_FRACTIONS:
            return None
        squares = sum((Fraction(m, n) * bounds.exactly(kind, u) for u, m in enumerate(counts) if m), Fraction(0))
        reached = largest * (limit + offset) - 1
        within = reached >= 0 and (largest - 1) * (largest * squares - 1) <= reached**2
        return (limit + offset) * n if within else None

    return limited_guesses(requirement, told, name + told.known, best, exactly, exact=False)


MOST_FRACTIONS = 10_000_000
"""Fractions beyond which nothing is decided exactly."""


def _largest_posterior_bounds(people: Ints, expected: Array, highest: Array, size: int) -> Array:
    """Return (groups,) bounds of the expected largest posterior in groups of at most so many values."""
    shares = people / people.sum(axis=1, keepdims=True)
    squares = np.clip((shares * expected).sum(axis=1), 1 / size, 1.0)
    by_squares = (1 + np.sqrt((size - 1) * (size * squares - 1))) / size
    best: Array = np.minimum(by_squares, highest.max(axis=1))
    return best


def _evidence_parts(channel: AnatomyChannel, original: Original, name: str) -> Iterator[KnowledgeGroups]:
    """Yield the groups of people with the same quasi-identifiers, by one of the sensitive attributes."""
    (own,) = (column for column in channel.sensitive if column.attribute == name)
    yield from knowledge_groups(channel.untouched(own), original, name, others_known=False)


def assess(
    requirement: Requirement[AttributeDisclosureOptions],
    channel: AnatomyChannel,
    original: Original,
    further: tuple[Companion, ...],
) -> Finding:
    """Return the finding; see `rrpolicy.privacy.anatomy.disclosure.assess`."""
    told = (PAIRING_KNOWN_NOTE,) if len(channel.sensitive) > 1 else ()
    rests_on = (BOUND_ONLY_NOTE, *told, *scope_loss(channel.untouched()).assumptions)
    protected = requirement.protects(original.policy)
    found = tuple(guess for name in protected for guess in guess_bounds(requirement, channel, original, name))
    return attribute_finding(requirement, found, rests_on, further)


def unreachable_limit(
    requirement: Requirement[AttributeDisclosureOptions], channel: AnatomyChannel, original: Original
) -> Problem | None:
    """Return why no release whatever keeps an entry's limit; None if one may."""
    for name in requirement.protects(original.policy):
        for told in _evidence_parts(channel, original, name):
            unseen = limited_guesses(requirement, told, name, np.ones(told.groups), lambda _: None, exact=False)
            problem = unseen.unreachable(requirement)
            if problem is not None:
                return problem
    return None
