"""One in the number of people of a class, given its records: expectation and variance.

Of a class of f records that stands for F people, with p = f/F, the number K of its people given f is distributed as a
negative binomial of f successes with probability p (the posterior of K under a prior in proportion to 1/K, everybody
being sampled with probability p). With q = 1 - p, from 1/K = ∫ s^(K-1) ds and 1/K^2 = -∫ s^(K-1) ln s ds over [0, 1],

    E 1/K   = p/f 2F1(1, 1; f + 1; q)
    E 1/K^2 = p ∫ u^(f-1)/(p + q u) ln((p + q u)/u) du           over [0, 1]
            = p Σ_m c_m m!/(f … (f + m)),   c_m = q c_(m-1) + (1 - q^m)/m,   c_0 = 0

References:
    Benedetti, Franconi 1998, "Statistical and technological solutions for controlled data dissemination"; Franconi,
    Polettini 2004, "Individual risk estimation in mu-Argus: a review", section 2 (the distribution, and E 1/K).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints

POSTERIOR = "The number of people of a class, given its records, is negative binomial: f records, probability f/F."
INDEPENDENT = (
    "Standard errors are the root mean squared distance of the true number from what is stated, the people of "
    "different classes being independent of one another given the records."
)
_FEW, _TERMS = 20, 120
"""Records of a class up to which functions and integrals are asked for, and terms of the series beyond."""
_STEP, _REACH = 1 / 32, 4.0
"""Of the double exponential rule: the rest is below 10^-11 of the integral for up to `_FEW` records."""


def individual_risk(f: Ints, people: Array) -> Array:
    """Return (classes,) the risk of each record of a class, by the hypergeometric function.

    Args:
        f: (classes,) records, 1 at least.
        people: (classes,) F, estimated; f at least.
    """
    from scipy.special import hyp2f1

    p = f / people
    few = f <= _FEW
    risk: Array = p / f
    risk[few] *= hyp2f1(1.0, 1.0, f[few] + 1.0, 1.0 - p[few])
    risk[~few] *= _hypergeometric_series(f[~few], 1.0 - p[~few])
    return risk


def _hypergeometric_series(f: Ints, z: Array) -> Array:
    """Return 2F1(1, 1; f + 1; z), the sum of k! z^k / ((f + 1) … (f + k)), of many records."""
    term, total = np.ones(len(f)), np.ones(len(f))
    for k in range(1, _TERMS):
        term = term * z * k / (f + k)
        total += term
    return total


def individual_variance(f: Ints, people: Array) -> Array:
    """Return (classes,) the variance of one in the number of a class's people, given its records.

    Args:
        f: (classes,) records, 1 at least.
        people: (classes,) F, estimated; f at least.
    """
    p = f / people
    few = (f <= _FEW) & (p < 1)
    square: Array = 1 / people**2
    square[few] = _inverse_square_integral(f[few], p[few])
    many = (f > _FEW) & (p < 1)
    square[many] = _inverse_square_series(f[many], p[many])
    variance: Array = np.maximum(square - individual_risk(f, people) ** 2, 0.0)
    return variance


def _inverse_square_integral(f: Ints, p: Array) -> Array:
    """Return E 1/K^2 of few records, by v = ln(p + q u) and the double exponential rule for its ends.

    With d = -ln p the integral is p/q ∫ u^(f-1) (v - ln u) dv over v = -d b, b in [0, 1], and a = 1 - b.
    """
    total, d, q = np.zeros(len(f)), -np.log(p), 1 - p
    for t in np.arange(-_REACH, _REACH + _STEP / 2, _STEP):
        a, b = 1 / (1 + np.exp(-np.pi * np.sinh(t))), 1 / (1 + np.exp(np.pi * np.sinh(t)))
        log_u = np.log(p * np.expm1(d * a) / q) if a <= b else np.log1p(np.expm1(-d * b) / q)
        total += np.pi * np.cosh(t) * a * b * np.exp((f - 1) * log_u) * (-d * b - log_u)
    integral: Array = p / q * d * _STEP * total
    return integral


def _inverse_square_series(f: Ints, p: Array) -> Array:
    """Return E 1/K^2 of many records, by its series."""
    q, c, beta, total = 1 - p, np.zeros(len(f)), 1 / f, np.zeros(len(f))
    for m in range(1, _TERMS):
        c = q * c + (1 - q**m) / m
        beta = beta * m / (f + m)
        total += c * beta
    series: Array = p * total
    return series


@frozen(slots=False)
class InverseSizePosterior:
    """What the records of every class tell of one in the number of its people.

    Attributes:
        mean: (classes,) expectations.
        variance: (classes,) variances.
    """

    mean: Array
    variance: Array

    @classmethod
    def of(cls, f: Ints, people: Array) -> InverseSizePosterior:
        """Return it for (classes,) records and people, both as for `individual_risk`."""
        pairs, place = np.unique(np.stack([f, people], axis=1).astype(np.float64), axis=0, return_inverse=True)
        records, among, place = pairs[:, 0].astype(np.int64), pairs[:, 1], place.ravel()
        return cls(individual_risk(records, among)[place], individual_variance(records, among)[place])

    def off(self, weight: Array, said: float) -> float:
        """Return the root mean squared distance of Σ weight/K from a number, the classes independent of one another.

        Args:
            weight: (classes,) of each.
            said: the number.
        """
        expected, variance = float((weight * self.mean).sum()), float((weight**2 * self.variance).sum())
        return math.hypot(math.sqrt(variance), expected - said)
