"""Tests that something is 0, one for each row: p-values, adjusted for all of them, and as people write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array

_SMALLEST = 0.001


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


def format_p(p: float) -> str:
    """Return a p-value as people write it: three decimals, `<0.001` below that, `-` where there is none."""
    if math.isnan(p):
        return "-"
    return f"<{_SMALLEST}" if p < _SMALLEST else f"{p:.3f}"


def describe_p(p: float, name: str = "p") -> str:
    """Return a p-value in a sentence, such as `p = 0.042` or `p < 0.001`."""
    told = format_p(p)
    return f"{name} < {told[1:]}" if told.startswith("<") else f"{name} = {told}"
