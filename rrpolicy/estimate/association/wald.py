"""Wald tests: a smooth function of the corrected counts that is 0 under the hypothesis, beside its covariance."""

from __future__ import annotations

import numpy as np

from rrpolicy.source.counts import Array

_SINGULAR = 1e-10


def wald(h: Array, covariance: Array) -> tuple[float, int, float]:
    """Return the statistic h' C^-1 h, its degrees of freedom and the p-value by the chi-square law.

    Args:
        h: (df,) estimates of what is 0 under the hypothesis.
        covariance: (df, df) of h.

    Returns:
        NaN in place of statistic and p-value where the covariance is singular.
    """
    scale = np.sqrt(np.abs(np.diag(covariance)))
    if h.size == 0 or bool((scale == 0).any()):
        return np.nan, h.size, np.nan
    correlation = covariance / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    if values[0] <= _SINGULAR:
        return np.nan, h.size, np.nan
    statistic = float((((h / scale) @ vectors) ** 2 / values).sum())
    return statistic, h.size, chi_square_tail(statistic, h.size)


def chi_square_tail(statistic: float, df: int) -> float:
    """Return the probability that a chi-square variable with df degrees of freedom is larger."""
    from scipy.special import chdtrc

    return float(chdtrc(df, max(statistic, 0.0)))
