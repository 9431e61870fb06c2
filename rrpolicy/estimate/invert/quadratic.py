"""The highest point of a concave quadratic among the points without negative entries.

Active sets (Lawson and Hanson 1974, chapter 23) on the normal equations (Bro and de Jong 1997), begun at a point that
is known to be near: most of what is 0 there is 0 in the end.
"""

from __future__ import annotations

import numpy as np

from rrpolicy.estimate.weights.base import Mask
from rrpolicy.source.counts import Array

_FLAT = 1e-13
_ROUNDS = 3


def maximise_quadratic(square: Array, slope: Array, near: Array) -> Array:
    """Return the x >= 0 at which slope' x - x' square x / 2 is largest.

    Args:
        square: (k, k) symmetric, positive definite.
        slope: (k,) at 0.
        near: (k,) where to begin, >= 0.

    Raises:
        numpy.linalg.LinAlgError: if the square is singular, or rounding leads round in circles.
    """
    x, free = near.copy(), near > 0
    flat = _FLAT * float(np.abs(slope).max() + (np.abs(square) @ near).max())
    for _ in range(_ROUNDS * len(x) + _ROUNDS):
        x, free = _maximise_on_face(square, slope, x, free)
        up = np.where(free, -np.inf, slope - square @ x)
        best = int(up.argmax())
        if up[best] <= flat:
            return x
        free[best] = True
    raise np.linalg.LinAlgError("no highest point was found")


def _maximise_on_face(square: Array, slope: Array, x: Array, free: Mask) -> tuple[Array, Mask]:
    """Go to the highest point of the face of the free entries; those that reach 0 on the way are free no more."""
    while True:
        aim = np.zeros_like(x)
        aim[free] = np.linalg.solve(square[np.ix_(free, free)], slope[free])
        ends = free & (aim <= 0)
        if not ends.any():
            return aim, free
        share = np.full_like(x, np.inf)
        share[ends] = np.divide(x[ends], x[ends] - aim[ends], out=np.zeros(int(ends.sum())), where=x[ends] > 0)
        x = x + share.min() * (aim - x)
        free = free & (share > share.min())
        x[~free] = 0.0
