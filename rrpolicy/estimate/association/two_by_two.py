"""Measures of a 2 x 2 table with their derivatives (Guo 2010, table 3.6, with certainty and phi as they are defined).

Each is a function of a = pi_11 (both present), r = pi_1+ (row present), c = pi_+1 (column present); the other cells
follow: pi_10 = r - a, pi_01 = c - a, pi_00 = 1 - r - c + a. It returns the value and its derivatives by a, r and c.
A cell of 0 gives the limit where there is one, with numpy's warnings.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from rrpolicy.counts import Array

ValueAndDerivatives: TypeAlias = tuple[Array, Array, Array, Array]
"""The value, and its derivatives by a, r, c; of many tables at once, arrays."""


def support(a: Array, r: Array, c: Array) -> ValueAndDerivatives:  # noqa: ARG001 - all measures are called alike
    """Return pi_11."""
    none = np.zeros_like(a)
    return a, none + 1, none, none


def confidence(a: Array, r: Array, c: Array) -> ValueAndDerivatives:  # noqa: ARG001 - all measures are called alike
    """Return pi_11 / pi_1+, the share of the column among those with the row."""
    return a / r, 1 / r, -a / r**2, np.zeros_like(a)


def phi(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (pi_11 pi_00 - pi_01 pi_10) / sqrt(pi_1+ pi_+1 pi_0+ pi_+0); the numerator is a - r c."""
    s = np.sqrt(r * (1 - r) * c * (1 - c))
    v = (a - r * c) / s
    by_r = -c / s - v * (1 - 2 * r) / (2 * r * (1 - r))
    return v, 1 / s, by_r, -r / s - v * (1 - 2 * c) / (2 * c * (1 - c))


def log_odds_ratio(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return the natural logarithm of the odds ratio."""
    p10, p01, p00 = r - a, c - a, 1 - r - c + a
    v = np.log(a * p00 / (p10 * p01))
    return v, 1 / a + 1 / p00 + 1 / p10 + 1 / p01, -1 / p00 - 1 / p10, -1 / p00 - 1 / p01


def odds_ratio(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 pi_00 / (pi_10 pi_01)."""
    log, by_a, by_r, by_c = log_odds_ratio(a, r, c)
    v = np.exp(log)
    return v, v * by_a, v * by_r, v * by_c


def jaccard(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / (pi_1+ + pi_+1 - pi_11)."""
    u = r + c - a
    return a / u, 1 / u + a / u**2, -a / u**2, -a / u**2


def kappa(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (observed - chance agreement) / (1 - chance agreement) = 2 (a - r c) / (r + c - 2 r c)."""
    u = r + c - 2 * r * c
    v = 2 * (a - r * c) / u
    return v, 2 / u, -(2 * c + v * (1 - 2 * c)) / u, -(2 * r + v * (1 - 2 * r)) / u


def cosine(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / sqrt(pi_1+ pi_+1)."""
    s = np.sqrt(r * c)
    return a / s, 1 / s, -a / (2 * s * r), -a / (2 * s * c)


def interest(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / (pi_1+ pi_+1), also called lift."""
    v = a / (r * c)
    return v, 1 / (r * c), -v / r, -v / c


def ps(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return Piatetsky-Shapiro's pi_11 - pi_1+ pi_+1."""
    return a - r * c, np.ones_like(a), -c, -r


def conviction(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_1+ pi_+0 / pi_10."""
    p10 = r - a
    v = r * (1 - c) / p10
    return v, v / p10, (1 - c - v) / p10, -r / p10


def certainty(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (pi_11 / pi_1+ - pi_+1) / (1 - pi_+1)."""
    v = (a / r - c) / (1 - c)
    return v, 1 / (r * (1 - c)), -a / (r**2 * (1 - c)), (v - 1) / (1 - c)


def added_value(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / pi_1+ - pi_+1."""
    return a / r - c, 1 / r, -a / r**2, -np.ones_like(a)


def j_measure(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 log(pi_11 / (pi_1+ pi_+1)) + pi_10 log(pi_10 / (pi_1+ pi_+0)), natural logarithms."""
    p10 = r - a
    present, absent = np.log(a / (r * c)), np.log(p10 / (r * (1 - c)))
    value = np.where(a > 0, a * present, 0.0) + np.where(p10 > 0, p10 * absent, 0.0)
    return value, present - absent, absent, -a / c + p10 / (1 - c)


def risk_difference(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_00 / pi_+0 - pi_01 / pi_+1, how much likelier the row is where the column is present."""
    p10 = r - a
    return a / c - p10 / (1 - c), 1 / c + 1 / (1 - c), -1 / (1 - c), -a / c**2 - p10 / (1 - c) ** 2


def collective_strength(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (o / e) ((1 - e) / (1 - o)), o = pi_11 + pi_00 and e = pi_1+ pi_+1 + pi_0+ pi_+0."""
    o, e = 1 - r - c + 2 * a, 1 - r - c + 2 * r * c
    v = o * (1 - e) / (e * (1 - o))
    by_o, by_e = v / (o * (1 - o)), -v / (e * (1 - e))
    return v, 2 * by_o, -by_o + by_e * (2 * c - 1), -by_o + by_e * (2 * r - 1)
