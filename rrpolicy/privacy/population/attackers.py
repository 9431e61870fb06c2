"""Sample uniques, and the risks of a prosecutor, a journalist and a marketer, from the sizes of classes.

A class j has f_j records of the table's n and F_j people of the population; J classes.

    prosecutor      knows that the person is in the table: 1/f_j; on average over records J/n
    journalist      knows that the person is in the population: 1/F_j; on average the greater of J/sum F_j, for an
                    attacker who selects a person, and of the marketer's rate, for one who selects a record
    marketer        links as many people as possible: the share of records linked correctly, sum(f_j/F_j)/n

References:
    El Emam, Dankar 2008, "Protecting Privacy Using k-Anonymity" (prosecutor, journalist); Dankar, El Emam 2010, "A
    method for evaluating marketer re-identification risk"; El Emam 2013, "Guide to the De-Identification of Personal
    Health Information", chapter 16 (averages).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.finding import Measure, Standing
from rrpolicy.privacy.classes.class_model import POPULATION_ADVERSARY, UNIT_ADVERSARY
from rrpolicy.privacy.population.individual_risk import INDEPENDENT, POSTERIOR, InverseSizePosterior
from rrpolicy.privacy.population.unlimited_measures import measure_finding, related_number

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.privacy.classes.class_population import Population
    from rrpolicy.privacy.classes.histograms import Classes
    from rrpolicy.privacy.classes.unit_classes import UnitClasses

REFERENCE = "El Emam 2013, chapter 16; El Emam, Dankar 2008"
MARKETER = "Dankar, El Emam 2010"
UNIQUES = "Skinner, Elliot 2002"
SINGLE_RECORDS = "Templ, Kowarik, Meindl 2015, section 3 (household risk)"
BY_SINGLE_RECORDS = "1 - prod(1 - 1/f) over the records of a unit: that at least one is linked, each independently"
PROSECUTOR_ADVERSARY = "Knows that the person is in the table, and everything that makes a class."
MARKETER_ADVERSARY = "Links every record of the table to a person of the population; a share of right links suffices."


def class_size_findings(classes: Classes) -> Iterator[Finding]:
    """Yield the findings on class sizes alone; nothing for a table without records."""
    f, n = classes.sizes, classes.records
    if not n:
        return
    alone, pairs = int((f == 1).sum()), int((f == 2).sum()) * 2  # noqa: PLR2004 pairs
    yield measure_finding(
        *("sample-uniques", "records alone in their class", Measure(float(alone)), PROSECUTOR_ADVERSARY, ()),
        [
            related_number("share", alone / n, "of all records, those alone in their class"),
            related_number("in pairs", pairs, "records in a class of two"),
        ],
        UNIQUES,
    )
    at_highest = int(f.min()) * int((f == f.min()).sum())
    yield measure_finding(
        *("prosecutor-risk", "highest probability of a right link", Measure(1 / int(f.min()))),
        *(PROSECUTOR_ADVERSARY, ()),
        [
            related_number("average", len(f) / n, "probability of a right link on average over records"),
            related_number("lowest", 1 / int(f.max()), "probability in the largest class"),
            related_number("at the highest", at_highest, "records in the smallest classes"),
        ],
        REFERENCE,
    )


def unit_risk_finding(units: UnitClasses) -> Finding:
    """Return the finding on units of several records: linked by all their records, and by any one of them."""
    n = units.units.sizes
    total, alone = int(n.sum()), int((n == 1).sum())
    each, weight = [], []
    for part in units.keyed:
        each.append(1 - np.prod(1 - 1 / units.single[part.group], axis=1))
        weight.append(part.n)
    risk, of = np.concatenate(each), np.concatenate(weight)
    return measure_finding(
        *("unit-risk", "highest probability of linking a unit by all its records", Measure(1 / int(n.min()))),
        *(UNIT_ADVERSARY, ()),
        [
            related_number("units", total, "units of protection in the table"),
            related_number("average", len(n) / total, "probability of a right link on average over units"),
            related_number("alone", alone, "units whose records no other unit has"),
            related_number("highest by single records", float(risk.max()), BY_SINGLE_RECORDS),
            related_number("average by single records", float((risk * of).sum() / total), "the same on average"),
        ],
        SINGLE_RECORDS,
    )


def population_findings(classes: Classes, population: Population) -> Iterator[Finding]:
    """Yield the findings that need a population; nothing for a table without records."""
    f, n = classes.sizes, classes.records
    if not n:
        return
    people, standing = population.n, population.standing
    posterior = InverseSizePosterior.of(f, people) if standing is Standing.ESTIMATE else None
    assumed = (population.assumption, *((POSTERIOR, INDEPENDENT) if posterior is not None else ()))

    def one(place: int) -> Measure:
        value = float(1 / people[place])
        alone = (np.arange(len(f)) == place).astype(np.float64)
        return Measure(value, standing, 0.0 if posterior is None else posterior.distance(alone, value))

    def right(of: float) -> Measure:
        value = float((f / people).sum()) / of
        return Measure(value, standing, 0.0 if posterior is None else posterior.distance(f / of, value))

    rate, selected = right(n), _average_over_people(classes, population)
    average = selected if selected.value > rate.value else rate
    at_highest = int(f[people == people.min()].sum())
    yield measure_finding(
        *("journalist-risk", "highest probability of a right link", one(int(people.argmin()))),
        *(POPULATION_ADVERSARY, assumed),
        [
            related_number("average", average, "the greater of the averages over people and over records"),
            related_number("lowest", one(int(people.argmax())), "probability in the class of most people"),
            related_number("at the highest", at_highest, "records of highest probability", standing),
        ],
        REFERENCE,
    )
    yield measure_finding(
        *("marketer-risk", "expected share of right links", rate, MARKETER_ADVERSARY, assumed),
        [related_number("right links", right(1), "records linked rightly, in expectation")],
        MARKETER,
    )
    if standing is Standing.EXACT:
        alone = int((people == 1).sum())
        yield measure_finding(
            *("population-uniques", "records of people alone in the population", Measure(float(alone))),
            *(POPULATION_ADVERSARY, assumed),
            [related_number("share", alone / n, "of all records, those of people alone in the population")],
            UNIQUES,
        )


def _average_over_people(classes: Classes, population: Population) -> Measure:
    """Return J/ΣF; its error to the first order in that of ΣF."""
    total, value = float(population.n.sum()), len(classes.sizes) / float(population.n.sum())
    spread = population.errors(classes.sizes)
    return Measure(value, population.standing, value * math.sqrt(float((spread**2).sum())) / total)
