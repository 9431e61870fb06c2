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

from rrpolicy.canonical import exact
from rrpolicy.channel.base import Axis
from rrpolicy.finding import Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.assessor import ClassModel, Outcome, Protected, Words, assessor, conclude, supports
from rrpolicy.privacy.model import Assessor, Order, PerClass

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.privacy.population.people import Population
    from rrpolicy.source.counts import Ints

NAME = "k-map"
REFERENCE = "Sweeney 2001, k-map"
NOT_COVERED = (
    "Adversaries who know that a person is in the table: k-anonymity.",
    "What the members of a class share. If all have one sensitive value, it is known of each of them: l-diversity.",
    "Adversaries who know more than what is released beside the sensitive attributes.",
)
WORDS = Words(NAME, "k", "people of the population in the class of fewest", REFERENCE, least=True)


class Options(BaseModel):
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
    def limit(self) -> Fraction:
        """Return k."""
        return Fraction(self.k)


class KMap:
    """The privacy model `k-map`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED
    example = 'k = 5\nsampling_fraction = 0.01\ndecided_by = "estimate"'

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return OF_CLASSES

    def describe(self, options: Options) -> str:
        """Return such as `k >= 5 people of the population`, and that an estimate decides."""
        how = (
            ""
            if options.sampling_fraction is None
            else f" at a sampling fraction of {exact(options.sampling_fraction)}"
        )
        decided = ", decided by an estimate" if options.decided_by == "estimate" else ""
        return f"k >= {options.k} people of the population{how}{decided}"

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers."""
        del options
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy names no quasi-identifier"

    def compare(self, old: Options, new: Options) -> Order:
        """Compare k, the fraction and what decides: a greater k and fraction, and certainty, are stronger."""
        if (old.sampling_fraction is None) != (new.sampling_fraction is None):
            return Order.INCOMPARABLE
        one, other = old.sampling_fraction or 0, new.sampling_fraction or 0
        changes = {
            (new.k > old.k) - (new.k < old.k),
            (other > one) - (other < one),
            (old.decided_by == "estimate") - (new.decided_by == "estimate"),
        }
        return Order.INCOMPARABLE if {1, -1} <= changes else Order.by(sum(changes))


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (replace(assessor(NAME, OF_CLASSES), supports=estimable, estimates=True),)


def estimable(requirement: Requirement[Options], policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse what no plan can decide: a plan has no reference table."""
    if requirement.options.sampling_fraction is None or requirement.decided_by != "estimate":
        return (
            "a plan knows of the population by a sampling fraction alone, which gives an estimate; say "
            '`sampling_fraction` and `decided_by = "estimate"`, or hold the release to a reference table with '
            "`rrpolicy check-table --reference`"
        )
    return supports(requirement, policy, axes)


def find(options: Options, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach, held against k; undecided where an estimate does not decide."""
    from rrpolicy.privacy.population.people import Population

    del columns
    known = classes.population
    if known is None and options.sampling_fraction is not None:
        known = Population.sampled(classes.sizes, options.sampling_fraction)
    if known is None:
        raise TypeError("k-map needs to know of the population")
    found = _reached(known, classes, options.k)
    if known.standing is Standing.ESTIMATE and options.decided_by != "estimate":
        return replace(found, verdict=Verdict.UNDECIDED)
    return found


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the people in the class of fewest, where the population is known."""
    if column is None and classes.population is not None:
        yield replace(_reached(classes.population, classes, None), requirement="k people of the population")


def _reached(known: Population, classes: Classes, k: int | None) -> Finding:
    import numpy as np

    achieved = Measure(math.inf)
    if classes.concerned.any():
        fewest = int(np.argmin(np.where(classes.concerned, known.n.astype(np.float64), np.inf)))
        achieved = Measure(float(known.n[fewest]), known.standing, known.error(classes.sizes, fewest))
    passes: Mask | None = None if k is None else known.n >= k
    found = conclude(WORDS, [Outcome("", achieved, passes)], classes, None if k is None else Fraction(k))
    return replace(found, assumptions=(*found.assumptions, known.assumption))


def per_class(requirement: Requirement[Options], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on single classes, by the sampling fraction: monotone, also with suppression."""
    del policy
    least = requirement.options.k * (requirement.options.sampling_fraction or Fraction(1))

    def holds(histograms: Ints) -> Mask:
        sizes = histograms.sum(axis=1)
        mask: Mask = (sizes >= math.ceil(least)) | (sizes == 0)
        return mask

    return (PerClass(None, holds, monotone=True, monotone_with_suppression=True, where=requirement.where),)


OF_CLASSES = ClassModel(
    *(REFERENCE, find, measure, per_class),
    asks="k",
    called={"k": "k_map"},
    population=lambda options: options.sampling_fraction is None,
)
