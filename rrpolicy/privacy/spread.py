"""How a risk is spread over people, and the groups at its top: for audit eyes only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import Profile

if TYPE_CHECKING:
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.counts import Array, Ints

BINS = 20
TOP = 10


def spread(quantity: str, risk: Array, before: Array, people: Ints, top: tuple[tuple[str, float, int], ...]) -> Profile:
    """Return histograms of a risk over individuals, after and before.

    Args:
        quantity: what is spread, in words.
        risk: (k,) in [0, 1].
        before: (k,) the same of the untouched table.
        people: (k,) how many have it.
        top: the groups at the top.
    """
    ceiling = max(float(risk.max(initial=0)), float(before.max(initial=0)))
    edges = np.linspace(0, 1 if ceiling > 0.2 else ceiling or 1, BINS + 1)  # noqa: PLR2004
    bins = [np.clip(np.searchsorted(edges, x, side="left") - 1, 0, BINS - 1) for x in (risk, before)]
    counted = [np.bincount(b, weights=people, minlength=BINS) for b in bins]
    return Profile(
        quantity,
        tuple(float(e) for e in edges),
        tuple(int(n) for n in counted[0]),
        tuple(int(n) for n in counted[1]),
        top,
    )


def at_the_top(
    evidence: Evidence, risk: Array, people: Ints, of: Ints | None = None
) -> tuple[tuple[str, float, int], ...]:
    """Return the groups with the largest risks, described.

    Args:
        evidence: the groups.
        risk: (k,) risks.
        people: (k,) people.
        of: (k,) the group that each belongs to; itself by default.
    """
    order = np.argsort(-risk, kind="stable")[:TOP]
    owner = np.arange(len(risk)) if of is None else of
    return tuple((evidence.describe(int(owner[i])), float(risk[i]), int(people[i])) for i in order)
