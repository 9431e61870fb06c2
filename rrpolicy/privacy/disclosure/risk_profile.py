"""How a risk is spread over people, and the groups at its top: for audit eyes only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import Profile

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.privacy.evidence import Evidence

BINS = 20
FAR = 4
TOP = 10
_PART = 1 << 20


def risk_histograms(
    quantity: str, risk: Array, before: Array, people: Ints, top: tuple[tuple[str, float, int], ...]
) -> Profile:
    """Return histograms of a risk over individuals, after and before.

    Args:
        quantity: what is spread, in words.
        risk: (k,) in [0, 1].
        before: (k,) the same of the untouched table.
        people: (k,) how many have it.
        top: the groups at the top.
    """
    edges = _bin_edges(float(risk.max(initial=0)), float(before.max(initial=0)))
    counted = [_people_by_bin(edges, x, people) for x in (risk, before)]
    return Profile(
        quantity,
        tuple(float(e) for e in edges),
        tuple(int(n) for n in counted[0]),
        tuple(int(n) for n in counted[1]),
        top,
    )


def _people_by_bin(edges: Array, values: Array, people: Ints) -> Array:
    """Return (bins,) people whose value lies in each bin."""
    last = len(edges) - 2
    counted = np.zeros(last + 1)
    for part in _array_chunks(len(values)):
        place = np.clip(np.searchsorted(edges, values[part], side="left") - 1, 0, last)
        counted += np.bincount(place, weights=people[part], minlength=last + 1)
    return counted


def _array_chunks(length: int) -> Iterator[slice]:
    """Yield parts of arrays of individuals, such that what is made of each stays small."""
    for low in range(0, length, _PART):
        yield slice(low, low + _PART)


def _bin_edges(most: float, before: float) -> Array:
    """Return the bounds of the bins: equal ones up to the largest risk; or to the release's, and one for the rest.

    Args:
        most: the largest risk in the release.
        before: the largest of the untouched table; where it is far larger, equal bins would hide the release in one.
    """
    ceiling = max(most, before)
    end = 1 if ceiling > 0.2 else ceiling or 1  # noqa: PLR2004 - what is large is shown on the whole scale
    if not 0 < most < end / FAR:
        return np.linspace(0, end, BINS + 1)
    magnitude = 10.0 ** np.floor(np.log10(most))
    near = next(step * magnitude for step in (1, 2, 4, 5, 10) if step * magnitude >= most)
    return np.append(np.linspace(0, near, BINS + 1), end)


def highest_risk_groups(
    evidence: Evidence, risk: Array, people: Ints, of: Ints | Codes | None = None
) -> tuple[tuple[str, float, int], ...]:
    """Return the groups with the largest risks, described: each once, with its largest and how many people have it.

    Args:
        evidence: the groups.
        risk: (k,) risks.
        people: (k,) people.
        of: (k,) the group that each belongs to; itself by default.
    """
    owner = np.arange(len(risk)) if of is None else of
    most = np.full(int(owner.max(initial=-1)) + 1, -np.inf)
    have = np.zeros(len(most), dtype=np.int64)
    np.maximum.at(most, owner, risk)
    for part in _array_chunks(len(owner)):
        highest = risk[part] == most[owner[part]]
        np.add.at(have, owner[part][highest], people[part][highest])
    order = np.lexsort((-have, -most))[:TOP]
    return tuple(
        (evidence.describe(int(group)), float(most[group]), int(have[group])) for group in order if have[group]
    )
