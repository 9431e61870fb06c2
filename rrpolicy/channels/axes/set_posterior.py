"""The posterior of a record's own value given its released set, expected and at worst.

Under a prior c, a set s that a record released leaves its values in proportion to c: all of them give s with the same
probability. With u the record's own value and R the l-1 others, drawn uniformly without replacement,

    posterior of u = c_u / (c_u + sum over R of c).

Any other sum over the values of a set in place of c_u has a posterior of the same form; see `expected_ratio`. While
there are few sets they are listed, and expectations are exact. Else x -> 1/(a + x) is convex: its value at the mean of
x bounds its expectation below (Jensen), the chord over the range of x above (Edmundson 1956, Madansky 1959).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints

MOST_ENTRIES = 1 << 22
"""The most entries in memory at a time: of a list of all sets (sets, values), or of an array of one row's sets."""
MOST_SETS = 1 << 28
"""The most sets over all rows of a prior for which expectations are exact; beyond, they are bounded."""
MOST_PAIRS = 1 << 28
"""The most pairs of an occurring and a weighted value, over all rows, for which ratios are bounded."""


def worst_posterior(prior: Array | Ints, set_size: int) -> Array:
    """Return c_u / (c_u + the l-1 smallest other c_w), the largest posterior of the own value over all sets.

    `prior`: (…, S) shares or counts, zero if a value does not occur. The result is (…, S), 0 if c_u is 0.
    """
    total = prior + smallest_other_sum(prior, set_size - 1)
    out: Array = np.divide(prior, total, out=np.zeros_like(total, dtype=np.float64), where=prior > 0)
    return out


def smallest_other_sum(prior: Array | Ints, drawn: int) -> Array:
    """Return the sum of the `drawn` smallest c_w other than the value's own.

    `prior`: (…, S) shares or counts; `drawn` is fewer than S. The result is (…, S), 0 or more.
    """
    others: Array = np.maximum(_smallest_sum(prior, drawn), 0.0)
    return others


def largest_other_sum(prior: Array | Ints, drawn: int) -> Array:
    """Return the sum of the `drawn` largest c_w other than the value's own; as `smallest_other_sum`."""
    return -_smallest_sum(-prior, drawn)


def _smallest_sum(prior: Array | Ints, drawn: int) -> Array:
    if drawn == 0:
        return np.zeros(prior.shape)
    ordered = np.sort(prior, axis=-1)
    least = ordered[..., :drawn].sum(axis=-1, keepdims=True)
    # u among the smallest leaves its place to the next one
    instead, border = ordered[..., drawn : drawn + 1], ordered[..., drawn - 1 : drawn]
    others: Array = np.where(prior <= border, least - prior + instead, least)
    return others


def leading_value_probability(size: int, set_size: int) -> tuple[Fraction, ...]:
    """Return the chance that the i-th likeliest value is the likeliest of its record's set: C(S-i, l-1)/C(S-1, l-1).

    All l-1 others of its set are then among the S-i values that are less likely. So an attacker who names the likeliest
    value of a set is right with the sum over i of this probability times the i-th largest c.

    `size` is S, `set_size` is l.
    """
    return tuple(Fraction(comb(size - i, set_size - 1), comb(size - 1, set_size - 1)) for i in range(1, size + 1))


def best_guess_accuracy(prior: Array, set_size: int) -> Array:
    """Return the probability that the likeliest value of a released set is its record's own, (…,), of shares (…, S)."""
    chances = np.array([float(chance) for chance in leading_value_probability(prior.shape[-1], set_size)])
    right: Array = np.sort(prior, axis=-1)[..., ::-1] @ chances
    return right


def expected_posterior(prior: Array, set_size: int) -> tuple[Array, Array]:
    """Return lower and upper bounds of the expected posterior of each value, for a record that has it.

    `prior`: (…, S) shares, `set_size` is l. Both results are (…, S), equal if exact; 0 if c_u is 0.
    """
    if can_list_sets(prior, set_size):
        exactly = prior * _mean_ratio_over_sets(None, prior, set_size)
        return exactly, exactly
    lower, upper = _inverse_sum_bounds(prior, set_size)
    return prior * lower, prior * upper


def expected_ratio(weight: Array, prior: Array, set_size: int) -> tuple[Array, Array]:
    """Return lower and upper bounds of E (w_u + sum of w over R) / (c_u + sum of c over R) for each value u.

    With w = c it is 1. With w the shares in another set of records, it is the probability, over c_u, that u is read
    from one of these records. With w = c on some values and 0 elsewhere, it is the posterior of these values
    together.

    `weight`: (…, S) w, 0 or more; `prior`: (…, S) c, shares. Both results are (…, S), equal if exact; 0 if c_u is 0.
    Beyond `MOST_PAIRS` the upper one is infinite.
    """
    if can_list_sets(prior, set_size):
        exactly = np.where(prior > 0, _mean_ratio_over_sets(weight, prior, set_size), 0.0)
        return exactly, exactly
    lower, upper = _inverse_sum_bounds(prior, set_size)
    if int(((prior > 0).sum(axis=-1) * (weight > 0).sum(axis=-1)).sum()) > MOST_PAIRS:
        return weight * lower, np.where(prior > 0, np.inf, 0.0)
    with_another = _other_member_bounds(weight, prior, set_size)
    return weight * lower, np.where(prior > 0, weight * upper + with_another, 0.0)


def exact_ratio(weight: Sequence[int], prior: Sequence[int], own: int, set_size: int, most: int) -> Fraction | None:
    """Return one expectation of `expected_ratio` exactly.

    Sets with the same sums count together: sums are built value by value.

    `weight`: (S,) w, over any denominator; `prior`: (S,) c, as counts; `own`: u, with a positive count. None if it
    takes more than `most` sums.
    """
    others = [(c, w) for v, (c, w) in enumerate(zip(prior, weight, strict=True)) if v != own and (c or w)]
    nothing = len(prior) - 1 - len(others)
    ways: list[dict[tuple[int, int], int]] = [{(0, 0): 1}, *({} for _ in range(set_size - 1))]
    for c, w in others:
        for drawn in range(set_size - 2, -1, -1):
            most -= len(ways[drawn])
            if most < 0:
                return None
            more = ways[drawn + 1]
            for (total, weights), n in ways[drawn].items():
                key = (total + c, weights + w)
                more[key] = more.get(key, 0) + n
    by_total: dict[int, int] = {}
    for drawn, sums in enumerate(ways):
        filled = comb(nothing, set_size - 1 - drawn)
        for (total, weights), n in sums.items() if filled else ():
            by_total[total] = by_total.get(total, 0) + filled * n * (weight[own] + weights)
    terms = [Fraction(n, prior[own] + total) for total, n in sorted(by_total.items())]
    while len(terms) > 1:  # two by two, so that denominators stay small as long as they can
        terms = [sum(terms[i : i + 2], Fraction(0)) for i in range(0, len(terms), 2)]
    return terms[0] / comb(len(prior) - 1, set_size - 1)


def can_list_sets(prior: Array, set_size: int) -> bool:
    """Return whether all sets can be listed for a prior of so many rows and values."""
    size = prior.shape[-1]
    sets, rows = comb(size, set_size), prior.size // size
    return bool(sets * size <= MOST_ENTRIES and sets * rows <= MOST_SETS)


@lru_cache(maxsize=4)
def _list_sets(size: int, set_size: int) -> Array:
    """Return (sets, size) the values of each set, as 0 and 1."""
    members = np.array(list(combinations(range(size), set_size)), dtype=np.int64)
    held = np.zeros((len(members), size))
    np.put_along_axis(held, members, 1.0, axis=1)
    return held


def _mean_ratio_over_sets(weight: Array | None, prior: Array, set_size: int) -> Array:
    """Return (…, S) the mean of sum w / sum c over the sets that contain u; without w, of 1 / sum c."""
    size = prior.shape[-1]
    held = _list_sets(size, set_size)
    flat = prior.reshape(-1, size)
    own = None if weight is None else weight.reshape(-1, size)
    out = np.empty(flat.shape)
    step = max(1, MOST_ENTRIES // len(held))
    for start in range(0, len(flat), step):
        part = slice(start, start + step)
        total = flat[part] @ held.T
        sums = np.ones_like(total) if own is None else own[part] @ held.T
        out[part] = np.divide(sums, total, out=np.zeros_like(total), where=total > 0) @ held
    return (out / comb(size - 1, set_size - 1)).reshape(prior.shape)


def _inverse_sum_bounds(prior: Array, set_size: int) -> tuple[Array, Array]:
    """Return (…, S) lower and upper bounds of E 1/(c_u + sum of c over R); 0 if c_u is 0."""
    size, drawn = prior.shape[-1], set_size - 1
    mean = (prior.sum(axis=-1, keepdims=True) - prior) * drawn / (size - 1)
    low = np.divide(1.0, prior + mean, out=np.zeros(prior.shape), where=prior > 0)
    high = _chord_at_mean(prior, mean, smallest_other_sum(prior, drawn), largest_other_sum(prior, drawn))
    return low, np.where(prior > 0, np.maximum(high, low), 0.0)


def _other_member_bounds(weight: Array, prior: Array, set_size: int) -> Array:
    """Return (…, S) upper bounds of the sum, over v other than u, of w_v E [v in R]/(c_u + sum of c over R).

    Only values that occur, and others that have a weight, are used.
    """
    size, drawn = prior.shape[-1], set_size - 2
    flat, own = prior.reshape(-1, size), weight.reshape(-1, size)
    ordered = np.sort(flat, axis=-1)
    least, most = ordered[:, :drawn].sum(axis=-1), ordered[:, size - drawn :].sum(axis=-1)
    total = flat.sum(axis=-1)
    out: Array = np.zeros(flat.shape)
    for row, (c, x) in enumerate(zip(flat, own, strict=True)):
        u, w = np.flatnonzero(c), np.flatnonzero(x)
        both = c[u, None] + c[w]
        high = _chord_at_mean(both, (total[row] - both) * drawn / (size - 2), least[row], most[row])
        out[row, u] = np.where(u[:, None] == w, 0.0, high) @ x[w]
    out *= (set_size - 1) / (size - 1)
    return out.reshape(prior.shape)


def _chord_at_mean(at: Array, mean: Array, least: Array, most: Array) -> Array:
    """Return the chord of x -> 1/(at + x) over [least, most] at the mean of x; 0 if at + least is 0."""
    low, high = at + least, at + most
    # 1/low + (mean - least)/(most - least) (1/high - 1/low), with a range of no width left out
    return np.divide(high - (mean - least), low * high, out=np.zeros(high.shape), where=low > 0)
