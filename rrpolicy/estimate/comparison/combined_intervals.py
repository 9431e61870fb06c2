"""Intervals of combinations and ratios of estimates, of the estimates' own intervals.

With estimates x_j in [l_j, u_j], the combination sum c_j x_j reaches down by the root of sum d_j^2 + 2 sum_{j<k} r_jk
d_j d_k, d_j = c_j x_j - min(c_j l_j, c_j u_j) (Zou and Donner 2008, "MOVER"), and up likewise: with normal intervals it
is the normal one, with others as skewed as they are. Of a ratio they are the values r at which 0 is not outside the
interval of x_1 - r x_0 (Fieller's way with the same distances; Donner and Zou 2012). Where correlations are known in
limits only, the widest interval is taken. A distance is never taken for less than the normal one: an end that was
clipped to what is possible says nothing of how far the estimate may be off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array


def variance(weights: Array, errors: Array, least: Array, most: Array) -> Array:
    """Return (rows,) the largest variance of a combination that correlations allow.

    Args:
        weights: (estimates,) c.
        errors: (estimates, rows) standard errors, or distances to an end.
        least: (estimates, estimates, rows) least correlations; those of an estimate with itself are not read.
        most: likewise the largest.
    """
    signed = weights[:, None] * errors
    found = (signed**2).sum(axis=0)
    for j in range(len(weights)):
        for k in range(j):
            product = signed[j] * signed[k]
            found = found + 2 * product * np.where(product >= 0, most[j, k], least[j, k])
    return np.asarray(np.maximum(found, 0.0))


def distances(estimates: Array, ends: Array, normal: Array) -> tuple[Array, Array]:
    """Return (estimates, rows) how far each interval reaches below its estimate, and above; at least as the normal one.

    Args:
        estimates: (estimates, rows).
        ends: (estimates, rows, 2) the intervals; an end that is none is infinite.
        normal: (estimates, rows) half of the normal intervals; NaN where there is none.
    """
    least = np.nan_to_num(normal)
    return np.maximum(estimates - ends[..., 0], least), np.maximum(ends[..., 1] - estimates, least)


def combined_interval(weights: Array, estimates: Array, reach: tuple[Array, Array], least: Array, most: Array) -> Array:
    """Return (rows, 2) the interval of a combination.

    Args:
        weights: (estimates,) c.
        estimates: (estimates, rows) x.
        reach: `distances`; infinite ones make infinite ends.
        least: as for `variance`.
        most: as for `variance`.
    """
    middle = weights @ estimates
    below, above = reach
    down, up = (np.where(weights[:, None] >= 0, *sides) for sides in ((below, above), (above, below)))
    found = []
    for sign, far in ((-1, down), (1, up)):
        bounded = np.isfinite(far).all(axis=0) | ~np.isfinite(middle)
        root = np.sqrt(variance(weights, np.where(np.isfinite(far), far, 0.0), least, most))
        found.append(np.where(bounded, middle + sign * root, sign * np.inf))
    return np.stack(found, axis=1)


def ratio_interval(above: Array, below: Array, reach: tuple[Array, Array], largest: Array) -> Array:
    """Return (rows, 2) the interval of a ratio of two numbers that are not negative; an end that is none is infinite.

    Args:
        above: (rows,) the estimate that is divided.
        below: (rows,) that which it is divided by.
        reach: `distances` of `above` and `below`, each (2, rows).
        largest: (rows,) the largest of the correlation's absolute values.
    """
    down, up = reach
    found = []
    for root, far in ((-1, (down[0], up[1])), (1, (up[0], down[1]))):
        bounded = np.isfinite(far[0]) & np.isfinite(far[1])
        a, b = (np.where(bounded, d, 0.0) for d in far)
        square, cross, rest = below**2 - b**2, above * below + largest * a * b, above**2 - a**2
        inside = np.sqrt(np.maximum(cross**2 - square * rest, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            end = (cross + root * inside) / square
        none = 0.0 if root < 0 else np.inf
        found.append(np.where(bounded & (square > 0) & (below > 0), np.maximum(end, 0.0), none))
    return np.stack(found, axis=1)
