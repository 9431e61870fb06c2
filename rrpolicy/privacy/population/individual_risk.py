"""Individual risk of re-identification, estimated from a sample and its weights.

Of a class of f records that stands for F people, with p = f/F, the risk is the expectation of one in the number of its
people given f (`posterior.py`),

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
from rrpolicy.privacy.classes.class_model import POPULATION_ADVERSARY
from rrpolicy.privacy.population.inverse_size import (
    INDEPENDENT,
    POSTERIOR,
    InverseSizePosterior,
    individual_risk,
)
from rrpolicy.privacy.population.unlimited_measures import measure_finding, related_measure

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.classes.class_population import Population
    from rrpolicy.privacy.classes.histograms import Classes

REFERENCE = "Benedetti, Franconi 1998; Franconi, Polettini 2004, section 2"
_LOGARITHMS = 2
"""Records of a class up to which both forms are the same, and a logarithm."""


def approximate_risk(f: Ints, people: Array) -> Array:
    """Return (classes,) p/(f - 1 + p) from three records on, else the risk itself."""
    p = f / people
    risk: Array = np.where(f > _LOGARITHMS, p / (f - 1 + p), individual_risk(f, people))
    return risk


def individual_risk_finding(classes: Classes, population: Population) -> Finding | None:
    """Return the finding of estimated people; None for a table without records."""
    f, n = classes.sizes, classes.records
    if not n:
        return None
    posterior, rough = InverseSizePosterior.of(f, population.n), approximate_risk(f, population.n)
    risk = posterior.mean
    approximated = "the same by the approximation p/(f - 1 + p) from three records a class on"

    def highest(risk: Array) -> Measure:
        top = int(risk.argmax())
        alone = (np.arange(len(f)) == top).astype(np.float64)
        return Measure(float(risk[top]), Standing.ESTIMATE, posterior.off(alone, float(risk[top])))

    def linked(risk: Array, of: float) -> Measure:
        value = float((risk * f).sum()) / of
        return Measure(value, Standing.ESTIMATE, posterior.off(f / of, value))

    return measure_finding(
        *("individual-risk", "highest probability of a right link", highest(risk)),
        *(POPULATION_ADVERSARY, (population.assumption, POSTERIOR, INDEPENDENT)),
        [
            related_measure("average", linked(risk, n), "over records; the global risk"),
            related_measure("right links", linked(risk, 1), "records linked rightly, in expectation"),
            related_measure("highest, approximated", highest(rough), approximated),
            related_measure("average, approximated", linked(rough, n), approximated),
        ],
        REFERENCE,
    )
