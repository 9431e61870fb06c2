"""Intervals of combinations and ratios of estimates, from the estimates' own intervals.

With estimates x_j in [l_j, u_j], the combination sum c_j x_j reaches down by the root of sum d_j^2 + 2 sum_{j<k} r_jk
d_j d_k, d_j = c_j x_j - min(c_j l_j, c_j u_j) (Zou and Donner 2008, "MOVER"), and up likewise. With normal intervals it
is the normal one, with others it is as skewed as these. For a ratio they are the values r at which 0 is not outside the
interval of x_1 - r x_0 (Fieller's way with the same distances; Donner and Zou 2012). Where only limits of correlations
are known, the widest interval is taken. A distance is at least the normal one: an end that was clipped to the possible
range does not limit the error of the estimate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.intervals import holm
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn

if TYPE_CHECKING:
    from rrpolicy.counts import Array


def refuse_spread(parts: Iterable[EstimatedQuantity], hint: str) -> None:
    """Refuse counts that are spread inside groups (RR288)."""
    for part in parts:
        if part.biased:
            message = f"{part.name!r} is spread inside groups: it has bounds and no errors"
            raise PolicyError(Problem("RR288", message, hint=hint))


def p_value_columns(name: str, p: Array, *, printed: bool = True) -> tuple[ResultColumn, ResultColumn]:
    """Return the columns of p-values of a quantity, and of those adjusted for all rows (Holm 1979)."""
    return (
        ResultColumn(f"{name}_p", tuple(p.tolist()), key=False, printed=printed, p_values=True),
        ResultColumn(f"{name}_p_holm", tuple(holm(p).tolist()), key=False, printed=printed, p_values=True),
    )


def variance(weights: Array, errors: Array, least: Array, most: Array) -> Array:
    """Return (rows,) the largest variance of a combination, with (estimates,) weights, that correlations allow.

    `errors` has (estimates, rows) standard errors, or distances to an end; least and largest correlations are
    (estimates, estimates, rows), without those of an estimate with itself.
    """
    signed = weights[:, None] * errors
    found = (signed**2).sum(axis=0)
    for j in range(len(weights)):
        for k in range(j):
            product = signed[j] * signed[k]
            found = found + 2 * product * np.where(product >= 0, most[j, k], least[j, k])
    return np.asarray(np.maximum(found, 0.0))


def distances(estimates: Array, ends: Array, normal: Array) -> tuple[Array, Array]:
    """Return (estimates, rows) the distances from each estimate down and up to its ends; at least the `normal` ones.

    The (estimates, rows, 2) ends are infinite where they are missing; NaN is for no normal interval.
    """
    least = np.nan_to_num(normal)
    return np.maximum(estimates - ends[..., 0], least), np.maximum(ends[..., 1] - estimates, least)


def combined_interval(weights: Array, estimates: Array, reach: tuple[Array, Array], least: Array, most: Array) -> Array:
    """Return (rows, 2) the interval of a combination with (estimates,) weights; `reach` has `distances`.

    Infinite distances make infinite ends; `least` and `most` are as for `variance`.
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
    """Return (rows, 2) the interval of a ratio of two numbers that are not negative; a missing end is infinite.

    `reach` has the `distances` of both, each (2, rows), and `largest` the largest of the correlation's absolute values.
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
