"""Individual risk of re-identification, estimated from a sample and its weights: one over a class's people.

Of a class of f records that represents F people, with p = f/F, the number K of its people given f is distributed as a
negative binomial of f successes with probability p (the posterior of K under a prior in proportion to 1/K, everybody
being sampled with probability p). With q = 1 - p, from 1/K = ∫ s^(K-1) ds and 1/K^2 = -∫ s^(K-1) ln s ds over [0, 1],

    E 1/K   = p^f/f 2F1(f, f; f + 1; q) = p/f 2F1(1, 1; f + 1; q)
    E 1/K^2 = p ∫ u^(f-1)/(p + q u) ln((p + q u)/u) du           over [0, 1]
            = p Σ_m c_m m!/(f … (f + m)),   c_m = q c_(m-1) + (1 - q^m)/m,   c_0 = 0

The risk is E 1/K; Euler's transformation keeps its digits where p^f has none. For f = 1 and f = 2 these are logarithms.
For three or more records the series of q, cut after its first term, gives the approximation p/(f - 1 + p). Where f = F,
both are 1/f.

References:
    Benedetti, Franconi 1998, "Statistical and technological solutions for controlled data dissemination"; Franconi,
    Polettini 2004, "Individual risk estimation in mu-Argus: a review", section 2 (the distribution, and E 1/K); the
    approximation as in Templ, Kowarik, Meindl 2015, "Statistical Disclosure Control for Micro-Data Using the R Package
    sdcMicro", section 3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.finding import Measure, Standing
from rrpolicy.privacy.classes.class_model import POPULATION_ADVERSARY
from rrpolicy.privacy.population.unlimited_measures import measure_finding, related_number

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.classes.class_population import Population
    from rrpolicy.privacy.classes.histograms import Classes

REFERENCE = "Benedetti, Franconi 1998; Franconi, Polettini 2004, section 2"
POSTERIOR = "The number of people of a class, given its records, is negative binomial: f records, probability f/F."
INDEPENDENT = (
    "Standard errors are the root mean squared distance of the true number from what is stated, the people of "
    "different classes being independent of one another given the records."
)
_LOGARITHMS = 2
"""Records of a class up to which risk and approximation are the same logarithm."""
_FEW, _TERMS = 20, 120
"""Records of a class up to which functions and integrals are used, and terms of the series beyond."""
_STEP, _REACH = 1 / 32, 4.0
"""Of the double exponential rule: the rest is below 10^-11 of the integral for up to `_FEW` records."""


def individual_risk(f: Ints, people: Array) -> Array:
    """Return (classes,) E 1/K for f >= 1 records and F >= f estimated people."""
    from scipy.special import hyp2f1

    p = f / people
    few = f <= _FEW
    risk: Array = p / f
    risk[few] *= hyp2f1(1.0, 1.0, f[few] + 1.0, 1.0 - p[few])
    risk[~few] *= _hypergeometric_series(f[~few], 1.0 - p[~few])
    return risk


def _hypergeometric_series(f: Ints, z: Array) -> Array:
    """Return 2F1(1, 1; f + 1; z), the sum of k! z^k / ((f + 1) … (f + k)), for many records."""
    term, total = np.ones(len(f)), np.ones(len(f))
    for k in range(1, _TERMS):
        term = term * z * k / (f + k)
        total += term
    return total


def approximate_risk(f: Ints, people: Array) -> Array:
    """Return (classes,) p/(f - 1 + p) for three or more records, else the risk itself."""
    p = f / people
    risk: Array = np.where(f > _LOGARITHMS, p / (f - 1 + p), individual_risk(f, people))
    return risk


def individual_variance(f: Ints, people: Array) -> Array:
    """Return (classes,) the variance of 1/K for f >= 1 records and F >= f estimated people."""
    p = f / people
    few = (f <= _FEW) & (p < 1)
    square: Array = 1 / people**2
    square[few] = _inverse_square_integral(f[few], p[few])
    many = (f > _FEW) & (p < 1)
    square[many] = _inverse_square_series(f[many], p[many])
    variance: Array = np.maximum(square - individual_risk(f, people) ** 2, 0.0)
    return variance


def _inverse_square_integral(f: Ints, p: Array) -> Array:
    """Return E 1/K^2 for few records, by v = ln(p + q u) and the double exponential rule for its ends.

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
    """Return E 1/K^2 for many records, by its series."""
    q, c, beta, total = 1 - p, np.zeros(len(f)), 1 / f, np.zeros(len(f))
    for m in range(1, _TERMS):
        c = q * c + (1 - q**m) / m
        beta = beta * m / (f + m)
        total += c * beta
    series: Array = p * total
    return series


class InverseSizePosterior(Struct, frozen=True):
    """The posterior of 1/K of every class: (classes,) expectations and variances."""

    mean: Array
    variance: Array

    @classmethod
    def of(cls, f: Ints, people: Array) -> InverseSizePosterior:
        """Return the posterior for (classes,) records and people, as for `individual_risk`."""
        pairs, place = np.unique(np.stack([f, people], axis=1).astype(np.float64), axis=0, return_inverse=True)
        records, among, place = pairs[:, 0].astype(np.int64), pairs[:, 1], place.ravel()
        return cls(individual_risk(records, among)[place], individual_variance(records, among)[place])

    def distance(self, weight: Array, stated: float) -> float:
        """Return the root mean squared distance of Σ weight/K from a stated number, with independent classes."""
        expected, variance = float((weight * self.mean).sum()), float((weight**2 * self.variance).sum())
        return math.hypot(math.sqrt(variance), expected - stated)


def individual_risk_finding(classes: Classes, population: Population) -> Finding | None:
    """Return the finding for estimated people; None for a table without records."""
    f, n = classes.sizes, classes.records
    if not n:
        return None
    posterior, rough = InverseSizePosterior.of(f, population.n), approximate_risk(f, population.n)
    risk = posterior.mean
    approximated = "the same by the approximation p/(f - 1 + p) from three records a class on"

    def highest(risk: Array) -> Measure:
        top = int(risk.argmax())
        alone = (np.arange(len(f)) == top).astype(np.float64)
        return Measure(float(risk[top]), Standing.ESTIMATE, posterior.distance(alone, float(risk[top])))

    def linked(risk: Array, of: float) -> Measure:
        value = float((risk * f).sum()) / of
        return Measure(value, Standing.ESTIMATE, posterior.distance(f / of, value))

    return measure_finding(
        *("individual-risk", "highest probability of a right link", highest(risk)),
        *(POPULATION_ADVERSARY, (population.assumption, POSTERIOR, INDEPENDENT)),
        [
            related_number("average", linked(risk, n), "over records; the global risk"),
            related_number("right links", linked(risk, 1), "records linked rightly, in expectation"),
            related_number("highest, approximated", highest(rough), approximated),
            related_number("average, approximated", linked(rough, n), approximated),
        ],
        REFERENCE,
    )
