"""k-map: every released record agrees with k people of the population at least in all that an attacker knows.

Against a reference table, which holds the population, it is counted: F >= k for every class. From a sampling fraction
pi it is estimated, F = f/pi for a class of f records, and an estimate decides only where the entry says so.

References:
    Sweeney 2001, "Computational Disclosure Control: A Primer on Data Privacy Protection", section 4.3 (k-map).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.base import Axis
from rrpolicy.finding import Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes import class_model as class_assessor
from rrpolicy.privacy.classes.class_model import (
    POPULATION_ADVERSARY,
    ClassModel,
    ClassOutcome,
    ModelWording,
    Protected,
    class_model_assessor,
    conclude,
    population_obstacle,
    with_population_assumptions,
)
from rrpolicy.privacy.model import (
    EVERY_MODEL,
    SHARED_VALUE_NOTE,
    Assessor,
    Order,
    PerClass,
)

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.source.counts import Ints

NAME = "k-map"
REFERENCE = "Sweeney 2001, k-map"
NOT_COVERED = (
    "Attackers who know that a person is in the table: k-anonymity limits what they find.",
    SHARED_VALUE_NOTE,
    "Attackers who know more than the released columns that are not sensitive.",
    *EVERY_MODEL,
)
WORDS = ModelWording(NAME, "k", "people of the population in the class of fewest", REFERENCE, least=True)


class KMapOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        k: the least number of people of the population that agree with a class.
        sampling_fraction: the share of the population that is in the table, in (0, 1], for an estimate.
        decided_by: what decides: only what is certain (bound), or an estimate too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: Annotated[int, Field(ge=1, strict=True, description="the least number of people that agree with a class")]
    sampling_fraction: Annotated[
        Rational | None, Field(description="the share of the population that is in the table, in (0, 1]")
    ] = None
    decided_by: Annotated[
        Literal["bound", "estimate"], Field(description="what decides: only what is certain, or an estimate too")
    ] = "bound"

    @model_validator(mode="after")
    def _share(self) -> Self:
        if self.sampling_fraction is not None and not 0 < self.sampling_fraction <= 1:
            raise ValueError(f"sampling_fraction lies in (0, 1], got {exact(self.sampling_fraction)}")
        return self

    @property
    def needs_reference(self) -> bool:
        """Return whether people are to be counted in a reference table: always, unless a fraction is stated."""
        return self.sampling_fraction is None

    @property
    def implied_by(self) -> Fraction:
        """Return the l from which on l-diversity by frequency implies it: its classes have l records, and people."""
        return self.k * (self.sampling_fraction or Fraction(1))

    @property
    def limit(self) -> Fraction:
        """Return k."""
        return Fraction(self.k)


class KMap:
    """The privacy model `k-map`."""

    name = NAME
    options = KMapOptions
    not_covered = NOT_COVERED
    example = 'k = 5\nsampling_fraction = 0.01\ndecided_by = "estimate"'

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: KMapOptions) -> str:
        """Return such as `k >= 5 people of the population`, and that an estimate decides."""
        how = (
            ""
            if options.sampling_fraction is None
            else f" at a sampling fraction of {exact(options.sampling_fraction)}"
        )
        decided = ", decided by an estimate" if options.decided_by == "estimate" else ""
        return f"k >= {options.k} people of the population{how}{decided}"

    def limits_nothing(self, options: KMapOptions) -> str | None:
        """Return that k = 1 limits nothing."""
        return "limits nothing: every class is of one person at least" if options.k == 1 else None

    def promise(self, options: KMapOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Re-identification: each record fits at least {options.k} people of the population by its "
            "quasi-identifiers" + (", as an estimate has it." if options.decided_by == "estimate" else ".")
        )

    def refuses(self, options: KMapOptions, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers."""
        del options
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy names no quasi-identifier"

    def compare(self, old: KMapOptions, new: KMapOptions) -> Order:
        """Compare k, the fraction and what decides: a greater k and fraction, and certainty, are stronger."""
        if (old.sampling_fraction is None) != (new.sampling_fraction is None):
            return Order.INCOMPARABLE
        fraction = Order.by((new.sampling_fraction or 0) - (old.sampling_fraction or 0))
        certain = Order.by((old.decided_by == "estimate") - (new.decided_by == "estimate"))
        return Order.together(Order.by(new.k - old.k), fraction, certain)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (
        replace(
            class_model_assessor(NAME, CLASS_MODEL), supports=supports, estimates=True, adversary=POPULATION_ADVERSARY
        ),
    )


def supports(requirement: Requirement[KMapOptions], policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse an entry for which nobody can be counted, or estimated to decide, and what no classes tell."""
    refused = class_assessor.supports(requirement, policy, axes)
    asked = requirement.options
    if asked.needs_reference:
        other = '; or say `sampling_fraction` and `decided_by = "estimate"`'
        return refused or (f"{why}{other}" if (why := population_obstacle(policy)) is not None else None)
    if refused is None and asked.decided_by != "estimate":
        return 'a sampling fraction gives an estimate, which decides only beside `decided_by = "estimate"`'
    return refused


def find(options: KMapOptions, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach, held against k; undecided where an estimate does not decide, or nothing is known."""
    from rrpolicy.privacy.classes.class_population import Population

    del columns
    known = classes.population
    if known is None and options.sampling_fraction is not None:
        known = Population.sampled(classes.sizes, options.sampling_fraction)
    found = _population_outcome(replace(classes, population=known), options.k)
    if known is not None and known.standing is Standing.ESTIMATE and options.decided_by != "estimate":
        return replace(found, verdict=Verdict.UNDECIDED)
    return found


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the people in the class of fewest, where the population is known."""
    if column is None and classes.population is not None:
        yield replace(_population_outcome(classes, None), requirement="k people of the population")


def _population_outcome(classes: Classes, k: int | None) -> Finding:
    import numpy as np

    known, achieved = classes.population, Measure(math.inf)
    if known is not None and classes.concerned.any():
        fewest = int(np.argmin(np.where(classes.concerned, known.n.astype(np.float64), np.inf)))
        achieved = Measure(float(known.n[fewest]), known.standing, float(known.errors(classes.sizes)[fewest]))
    passes: Mask | None = None if k is None or known is None else known.n >= k
    found = conclude(WORDS, [ClassOutcome("", achieved, passes)], classes, None if k is None else Fraction(k))
    return with_population_assumptions(found, classes)


def per_class(requirement: Requirement[KMapOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on single classes: of people, or by the fraction; monotone, also with suppression."""
    del policy
    asked = requirement.options
    least = math.ceil(asked.k * asked.sampling_fraction) if asked.sampling_fraction is not None else 1

    def holds(histograms: Ints) -> Mask:
        sizes = histograms.sum(axis=1)
        mask: Mask = (sizes >= least) | (sizes == 0)
        return mask

    def enough(records: Ints, people: Ints) -> Mask:
        mask: Mask = (people >= asked.k) | (records == 0)
        return mask

    people = enough if asked.needs_reference else None
    return (
        PerClass(None, holds, monotone=True, monotone_with_suppression=True, where=requirement.where, people=people),
    )


CLASS_MODEL = ClassModel(REFERENCE, find, measure, per_class, asks="k", called={"k": "k_map"})
