"""Measures of a 2 x 2 table with their derivatives (Guo 2010, table 3.6, with certainty and phi as they are defined).

Each is a function of a = pi_11 (both present), r = pi_1+ (row present), c = pi_+1 (column present); the other cells
follow: pi_10 = r - a, pi_01 = c - a, pi_00 = 1 - r - c + a. It returns the value and its derivatives by a, r and c.
"""

from __future__ import annotations

import math
from typing import TypeAlias

Point: TypeAlias = tuple[float, float, float, float]
"""The value, and its derivatives by a, r, c."""


def support(a: float, r: float, c: float) -> Point:  # noqa: ARG001 - all measures are called alike
    """Return pi_11."""
    return a, 1.0, 0.0, 0.0


def confidence(a: float, r: float, c: float) -> Point:  # noqa: ARG001 - all measures are called alike
    """Return pi_11 / pi_1+, the share of the column among those with the row."""
    return a / r, 1 / r, -a / r**2, 0.0


def phi(a: float, r: float, c: float) -> Point:
    """Return (pi_11 pi_00 - pi_01 pi_10) / sqrt(pi_1+ pi_+1 pi_0+ pi_+0); the numerator is a - r c."""
    s = math.sqrt(r * (1 - r) * c * (1 - c))
    v = (a - r * c) / s
    by_r = -c / s - v * (1 - 2 * r) / (2 * r * (1 - r))
    return v, 1 / s, by_r, -r / s - v * (1 - 2 * c) / (2 * c * (1 - c))


def log_odds_ratio(a: float, r: float, c: float) -> Point:
    """Return the natural logarithm of the odds ratio."""
    p10, p01, p00 = r - a, c - a, 1 - r - c + a
    v = math.log(a * p00 / (p10 * p01))
    return v, 1 / a + 1 / p00 + 1 / p10 + 1 / p01, -1 / p00 - 1 / p10, -1 / p00 - 1 / p01


def odds_ratio(a: float, r: float, c: float) -> Point:
    """Return pi_11 pi_00 / (pi_10 pi_01)."""
    log, by_a, by_r, by_c = log_odds_ratio(a, r, c)
    v = math.exp(log)
    return v, v * by_a, v * by_r, v * by_c


def jaccard(a: float, r: float, c: float) -> Point:
    """Return pi_11 / (pi_1+ + pi_+1 - pi_11)."""
    u = r + c - a
    return a / u, 1 / u + a / u**2, -a / u**2, -a / u**2


def kappa(a: float, r: float, c: float) -> Point:
    """Return (observed - chance agreement) / (1 - chance agreement) = 2 (a - r c) / (r + c - 2 r c)."""
    u = r + c - 2 * r * c
    v = 2 * (a - r * c) / u
    return v, 2 / u, -(2 * c + v * (1 - 2 * c)) / u, -(2 * r + v * (1 - 2 * r)) / u


def cosine(a: float, r: float, c: float) -> Point:
    """Return pi_11 / sqrt(pi_1+ pi_+1)."""
    s = math.sqrt(r * c)
    return a / s, 1 / s, -a / (2 * s * r), -a / (2 * s * c)


def interest(a: float, r: float, c: float) -> Point:
    """Return pi_11 / (pi_1+ pi_+1), also called lift."""
    v = a / (r * c)
    return v, 1 / (r * c), -v / r, -v / c


def ps(a: float, r: float, c: float) -> Point:
    """Return Piatetsky-Shapiro's pi_11 - pi_1+ pi_+1."""
    return a - r * c, 1.0, -c, -r


def conviction(a: float, r: float, c: float) -> Point:
    """Return pi_1+ pi_+0 / pi_10."""
    p10 = r - a
    v = r * (1 - c) / p10
    return v, v / p10, (1 - c - v) / p10, -r / p10


def certainty(a: float, r: float, c: float) -> Point:
    """Return (pi_11 / pi_1+ - pi_+1) / (1 - pi_+1)."""
    v = (a / r - c) / (1 - c)
    return v, 1 / (r * (1 - c)), -a / (r**2 * (1 - c)), (v - 1) / (1 - c)


def added_value(a: float, r: float, c: float) -> Point:
    """Return pi_11 / pi_1+ - pi_+1."""
    return a / r - c, 1 / r, -a / r**2, -1.0


def j_measure(a: float, r: float, c: float) -> Point:
    """Return pi_11 log(pi_11 / (pi_1+ pi_+1)) + pi_10 log(pi_10 / (pi_1+ pi_+0)), natural logarithms."""
    p10 = r - a
    present, absent = math.log(a / (r * c)), math.log(p10 / (r * (1 - c)))
    return a * present + p10 * absent, present - absent, absent, -a / c + p10 / (1 - c)


def risk_difference(a: float, r: float, c: float) -> Point:
    """Return pi_00 / pi_+0 - pi_01 / pi_+1, how much likelier the row is where the column is present."""
    p10 = r - a
    return a / c - p10 / (1 - c), 1 / c + 1 / (1 - c), -1 / (1 - c), -a / c**2 - p10 / (1 - c) ** 2


def collective_strength(a: float, r: float, c: float) -> Point:
    """Return (o / e) ((1 - e) / (1 - o)), o = pi_11 + pi_00 and e = pi_1+ pi_+1 + pi_0+ pi_+0."""
    o, e = 1 - r - c + 2 * a, 1 - r - c + 2 * r * c
    v = o * (1 - e) / (e * (1 - o))
    by_o, by_e = v / (o * (1 - o)), -v / (e * (1 - e))
    return v, 2 * by_o, -by_o + by_e * (2 * c - 1), -by_o + by_e * (2 * r - 1)
