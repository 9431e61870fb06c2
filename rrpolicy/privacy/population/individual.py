"""Individual risk of re-identification, estimated from a sample and its weights.

Of a class of f records that stands for F people, with p = f/F and the people of the class given f distributed as a
negative binomial of f successes with probability p, the expectation of one in their number is

    r = p^f/f 2F1(f, f; f + 1; 1 - p) = p/f 2F1(1, 1; f + 1; 1 - p)

by Euler's transformation, which keeps its digits where p^f has none. For f = 1 and f = 2 these are logarithms. From
three records on the series of 1 - p cut after its first term gives the approximation p/(f - 1 + p). Where f = F, both
are 1/f.

References:
    Benedetti, Franconi 1998, "Statistical and technological solutions for controlled data dissemination"; Franconi,
    Polettini 2004, "Individual risk estimation in mu-Argus: a review", section 2; the approximation as in Templ,
    Kowarik, Meindl 2015, "Statistical Disclosure Control for Micro-Data Using the R Package sdcMicro", section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import Measure, Standing
from rrpolicy.privacy.classes.assessor import SEARCHED
from rrpolicy.privacy.population.measured import beside, measured

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.classes.histograms import Classes
    from rrpolicy.privacy.classes.people import Population
    from rrpolicy.source.counts import Array, Ints

REFERENCE = "Benedetti, Franconi 1998; Franconi, Polettini 2004, section 2"
POSTERIOR = "The number of people of a class, given its records, is negative binomial: f records, probability f/F."
_LOGARITHMS = 2
"""Records of a class up to which both forms are the same, and a logarithm."""
_FEW, _TERMS = 20, 120
"""Records of a class up to which the function is asked of scipy, and terms of its series beyond: below 10^-20 each."""


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
    risk[~few] *= _series(f[~few], 1.0 - p[~few])
    return risk


def _series(f: Ints, z: Array) -> Array:
    """Return 2F1(1, 1; f + 1; z), the sum of k! z^k / ((f + 1) … (f + k)), of many records."""
    term, total = np.ones(len(f)), np.ones(len(f))
    for k in range(1, _TERMS):
        term = term * z * k / (f + k)
        total += term
    return total


def approximate_risk(f: Ints, people: Array) -> Array:
    """Return (classes,) p/(f - 1 + p) from three records on, else the risk itself."""
    p = f / people
    risk: Array = np.where(f > _LOGARITHMS, p / (f - 1 + p), individual_risk(f, people))
    return risk


def estimated(classes: Classes, population: Population) -> Finding | None:
    """Return the finding of estimated people; None for a table without records."""
    f, n = classes.sizes, classes.records
    if not n:
        return None
    risk, rough = individual_risk(f, population.n), approximate_risk(f, population.n)
    expected, estimate = float((risk * f).sum()), Standing.ESTIMATE
    approximated = "the same by the approximation p/(f - 1 + p) from three records a class on"
    return measured(
        *("individual-risk", "highest probability of a right link", Measure(float(risk.max()), estimate)),
        *(SEARCHED, (population.assumption, POSTERIOR)),
        [
            beside("average", expected / n, "over records; the global risk", estimate),
            beside("right links", expected, "records linked rightly, in expectation", estimate),
            beside("highest, approximated", rough.max(), approximated, estimate),
            beside("average, approximated", (rough * f).sum() / n, approximated, estimate),
        ],
        REFERENCE,
    )
