"""Assessing identity disclosure on a table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.product import Product
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy import identity_disclosure as identity
from rrpolicy.privacy.disclosure import assumptions, chosen
from rrpolicy.privacy.evidence import Evidence, gather, sides
from rrpolicy.privacy.exactly import NEAR, ExactReconstruction
from rrpolicy.privacy.protection import protection
from rrpolicy.privacy.reconstruction import reconstruction
from rrpolicy.privacy.spread import at_the_top, spread

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array, Ints
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True)
class Links:
    """The chance of linking of every group that an entry speaks of.

    Attributes:
        evidence: all groups.
        group: (k,) those in the entry's subgroup.
        people: (k,) people in each.
        link: (k,) R_QI / n.
    """

    evidence: Evidence
    group: Ints
    people: Ints
    link: Array


def links(requirement: Requirement, channel: Product, original: Original) -> Links:
    """Return the chance of linking of every group."""
    evidence = gather(original, sides(channel, original.policy, None))
    group = np.flatnonzero(chosen(evidence, requirement, None, ())[:, 0])
    return Links(evidence, group, evidence.n[group], (reconstruction(evidence) / evidence.n)[group])


def most_at_risk(people: Ints, link: Array, percentile: Fraction) -> Array:
    """Return (k,) weights of the mean over the N' = max(1, floor(N q/100)) individuals with the largest chances."""
    wanted = max(1, int(people.sum() * percentile / 100))
    order = np.argsort(-link, kind="stable")
    taken = np.clip(wanted - (np.cumsum(people[order]) - people[order]), 0, people[order])
    weights = np.zeros(len(link))
    weights[order] = taken / wanted
    return weights


def assess_linking(requirement: Requirement, channel: Product, original: Original) -> Finding:
    """Assess identity disclosure."""
    options = requirement.options
    assert isinstance(options, identity.Options)
    found = links(requirement, channel, original)
    limit = options.threshold
    over = found.link > float(limit)
    largest = float(found.link.max(initial=0.0))
    if options.percentile is None:
        reached = largest
        holds = _holds(found, limit)
        beside: tuple[Companion, ...] = ()
    else:
        weights = most_at_risk(found.people, found.link, options.percentile)
        reached = float(weights @ found.link)
        holds = reached <= float(limit) * (1 - NEAR)
        beside = (
            Companion("largest link", Measure(largest), Basis.ORIGINAL, "the chance for the person most at risk"),
        )
    return Finding(
        identity.NAME,
        identity.NAME,
        "",
        None,
        Measure(reached, Standing.EXACT),
        limit,
        Verdict.HOLDS if holds else Verdict.FAILS,
        Basis.ORIGINAL,
        identity.ADVERSARY,
        assumptions(channel),
        (*beside, *protection(channel, original.records)),
        spread("chance of linking", found.link, 1 / found.people, found.people, _top(found))
        if len(found.link)
        else None,
        groups_over=int(over.sum()),
        people_over=int(found.people[over].sum()),
    )


def _top(found: Links) -> tuple[tuple[str, float, int], ...]:
    return at_the_top(found.evidence, found.link, found.people, found.group)


def _holds(found: Links, limit: Fraction) -> bool:
    """Return whether no group exceeds the limit; what is too near to tell is decided in fractions."""
    ratio = found.link / float(limit)
    if np.any(ratio >= 1 + NEAR):
        return False
    near = np.flatnonzero(ratio > 1 - NEAR)
    exactly = ExactReconstruction(found.evidence)
    for i in near:
        known = exactly.of(int(found.group[i]))
        if known is None or known.high / int(found.people[i]) > limit:
            return False
    return True
