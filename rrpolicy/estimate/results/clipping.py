"""How far intervals reach; cut off at what is possible, and never to a point."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.source.counts import Array


def quantile(level: float, degrees: float = math.inf) -> float:
    """Return how many standard errors a normal interval reaches to each side; with degrees of freedom, Student's."""
    if math.isinf(degrees):
        return NormalDist().inv_cdf((1 + level) / 2)
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def clip_interval(centre: Array, half: Array, within: Array) -> Array:
    """Return (rows, 2) intervals centre ± half, clipped to what is possible.

    One that lies outside altogether would shrink to a point, which reads as certainty: it is drawn around the nearest
    possible value.

    Args:
        centre: (rows,) estimates.
        half: (rows,) half lengths; NaN for none.
        within: (rows or 1, 2) what is possible.
    """
    middle = np.where(lies_outside(centre, half, within), np.clip(centre, within[:, 0], within[:, 1]), centre)
    ends = np.stack([middle - half, middle + half], axis=1)
    return np.clip(ends, within[:, :1], within[:, 1:])


def lies_outside(centre: Array, half: Array, within: Array) -> Mask:
    """Return which intervals hold no inner point of what is possible; never one of length 0."""
    return np.asarray((half > 0) & ((centre + half <= within[:, 0]) | (centre - half >= within[:, 1])))


def is_uninformative(ends: Array, within: Array) -> Mask:
    """Return which intervals hold all that is possible; without an end on either side, where everything is.

    Args:
        ends: (rows, 2) of the intervals.
        within: (rows or 1, 2) what is possible.
    """
    low, high = within.T
    return np.asarray((low < high) & (ends[:, 0] <= low) & (ends[:, 1] >= high))
