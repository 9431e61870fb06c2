"""What a released set tells of its record: the posterior of the record's own value, expected and at worst.

Under a prior c, a set s that a record released leaves its values in proportion to c: all of them give s with the same
probability. With u the record's own value and R the l-1 others, drawn uniformly without replacement,

    posterior of u = c_u / (c_u + sum over R of c).
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array, Ints

_FEW = 2_000
"""Sets of others up to which the expectation is computed one by one."""


def worst_posterior(prior: Array | Ints, set_size: int) -> Array:
    """Return c_u / (c_u + the l-1 smallest other c_w), the largest posterior that a set can leave of its own value.

    Args:
        prior: (…, S) shares or counts; zero where a value does not occur.
        set_size: l.

    Returns:
        (…, S); 0 where c_u is 0.
    """
    total = prior + least_others(prior, set_size - 1)
    out: Array = np.divide(prior, total, out=np.zeros_like(total, dtype=np.float64), where=prior > 0)
    return out


def least_others(prior: Array | Ints, drawn: int) -> Array:
    """Return the sum of the so many smallest c_w other than the value's own.

    Args:
        prior: (…, S) shares or counts.
        drawn: fewer than S.

    Returns:
        (…, S); 0 or more.
    """
    if drawn == 0:
        return np.zeros(prior.shape)
    ordered = np.sort(prior, axis=-1)
    least = ordered[..., :drawn].sum(axis=-1, keepdims=True)
    # u among the smallest leaves its place to the next one
    instead, border = ordered[..., drawn : drawn + 1], ordered[..., drawn - 1 : drawn]
    others: Array = np.maximum(np.where(prior <= border, least - prior + instead, least), 0.0)
    return others


def expected_posterior(prior: Array, set_size: int) -> tuple[Array, Array]:
    """Return lower and upper bounds of the expected posterior of each value.

    Exact, both the same, while the sets of others are few. Else x -> c_u/(c_u + x) is convex: its value at the mean of
    the others' sum bounds it below (Jensen), the chord over the range of that sum above (Edmundson 1956, Madansky).

    Args:
        prior: (S,) shares.
        set_size: l.

    Returns:
        (S,) each; 0 where c_u is 0.
    """
    size, drawn = len(prior), set_size - 1
    lower, upper = np.zeros(size), np.zeros(size)
    for u in np.flatnonzero(prior > 0):
        others = np.sort(np.delete(prior, u))
        if comb(size - 1, drawn) <= _FEW:
            sums = np.array([sum(chosen) for chosen in combinations(others.tolist(), drawn)])
            lower[u] = upper[u] = float((prior[u] / (prior[u] + sums)).mean())
            continue
        mean = others.sum() * drawn / (size - 1)
        least, most = others[:drawn].sum(), others[size - 1 - drawn :].sum()
        at_least, at_most = (prior[u] / (prior[u] + x) for x in (least, most))
        share = (mean - least) / (most - least) if most > least else 0.0
        lower[u] = prior[u] / (prior[u] + mean)
        upper[u] = max(at_least + share * (at_most - at_least), lower[u])
    return lower, upper
