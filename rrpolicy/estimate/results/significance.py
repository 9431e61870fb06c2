"""Tests that something is 0, one for each row: p-values and p-values adjusted for all of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array


def p_values(estimates: Array, errors: Array, degrees: float = math.inf) -> Array:
    """Return (rows,) p-values of two-sided tests that what is estimated is 0; NaN where there is no standard error.

    Args:
        estimates: (rows,).
        errors: (rows,) their standard errors; an estimate with an error of 0 is certain.
        degrees: of freedom of the errors; endless for the normal law.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where((estimates == 0) & (errors == 0), 0.0, np.abs(estimates) / errors)
    return np.asarray(2 * stdtr(degrees, -distance))


def holm(p: Array) -> Array:
    """Return (rows,) p-values adjusted for so many tests, whatever their dependence (Holm 1979); NaN stays."""
    order = np.argsort(p, kind="stable")[: int(np.count_nonzero(~np.isnan(p)))]
    out = np.full(len(p), math.nan)
    out[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return out
