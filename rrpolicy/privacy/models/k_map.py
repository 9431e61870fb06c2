"""k-map: every released record agrees with at least k people of the population in everything that an attacker knows.

People are counted in a reference table, which contains the population: F >= k for every class. From a sampling fraction
pi they are estimated, F = f/pi for a class of f records, and an estimate decides only if the entry states it.

References:
    Sweeney 2001, "Computational Disclosure Control: A Primer on Data Privacy Protection", section 4.3 (k-map).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.base import Axis
from rrpolicy.finding import Finding, Measure, Risk, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import (
    POPULATION_ADVERSARY,
    ClassModel,
    ClassOptions,
    ClassOutcome,
    ModelWording,
    Protected,
    population_obstacle,
    records_at_least,
    with_population_assumptions,
)
from rrpolicy.privacy.model import EVERY_MODEL, SHARED_VALUE_NOTE, PerClass

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.privacy.classes.unit_classes import UnitClasses


class KMapOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        k: the least number of people of the population that agree with a class.
        sampling_fraction: the share of the population that is in the table, in (0, 1], for an estimate.
        decided_by: the basis of the decision: only certain counts (bound), or an estimate too.
    """

    k: Annotated[int, Field(ge=1, strict=True, description="the least number of people that agree with a class")]
    sampling_fraction: Annotated[
        Rational | None, Field(description="the share of the population that is in the table, in (0, 1]")
    ] = None
    decided_by: Annotated[
        Literal["bound", "estimate"],
        Field(description="the basis of the decision: certain bounds only, or an estimate as well"),
    ] = "bound"

    @model_validator(mode="after")
    def _share(self) -> Self:
        if self.sampling_fraction is not None and not 0 < self.sampling_fraction <= 1:
            raise ValueError(f"sampling_fraction lies in (0, 1], got {exact(self.sampling_fraction)}")
        return self

    @property
    def needs_reference(self) -> bool:
        """Return whether people are counted in a reference table: always, unless a fraction is stated."""
        return self.sampling_fraction is None

    @property
    def implied_by(self) -> Fraction:
        """Return the least l whose l-diversity by frequency implies it: its classes have l records, and people."""
        return self.k * (self.sampling_fraction or Fraction(1))


class KMap(ClassModel[KMapOptions]):
    """The privacy model `k-map`."""

    name = "k-map"
    options = KMapOptions
    not_covered = (
        "Attackers who know that a person is in the table: k-anonymity limits what they find.",
        SHARED_VALUE_NOTE,
        "Attackers who know more than the released columns that are not sensitive.",
        *EVERY_MODEL,
    )
    reference = "Sweeney 2001, k-map"
    example = 'k = 5\nsampling_fraction = 0.01\ndecided_by = "estimate"'
    methods = ("generalised",)
    bounds = frozenset({Risk.LINKING})
    words = ModelWording("k people of the population", "people of the population in the class of fewest", least=True)
    asks = "k"
    called = MappingProxyType({"k": "k_map"})
    linking = True
    by_units = False
    adversary = POPULATION_ADVERSARY
    estimates = True

    def describe_limit(self, options: KMapOptions) -> str:
        """Return such as `k >= 5 people of the population`, and that an estimate decides."""
        fraction = options.sampling_fraction
        how = "" if fraction is None else f" at a sampling fraction of {exact(fraction)}"
        decided = ", decided by an estimate" if options.decided_by == "estimate" else ""
        return f"k >= {options.k} people of the population{how}{decided}"

    def limits_nothing(self, options: KMapOptions) -> str | None:
        """Return that k = 1 limits nothing."""
        return "limits nothing: every class is of one person at least" if options.k == 1 else None

    def promise(self, options: KMapOptions) -> str:
        """Return the guarantee in plain words."""
        return (
            f"Re-identification: each record fits at least {options.k} people of the population by its "
            "quasi-identifiers" + (", as an estimate has it." if options.decided_by == "estimate" else ".")
        )

    def incomparable(self, options: KMapOptions) -> tuple[object, ...]:
        """Return whether people are counted."""
        return (options.sampling_fraction is None,)

    def strength(self, options: KMapOptions) -> tuple[Fraction | int, ...]:
        """Return k, the fraction and the decision: a greater k and fraction, and certainty, are stronger."""
        return options.k, options.sampling_fraction or 0, options.decided_by != "estimate"

    def supports(self, requirement: Requirement[KMapOptions], policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        """Refuse a policy without a population, and a fraction without an estimate that decides."""
        refused = super().supports(requirement, policy, axes)
        if requirement.options.needs_reference:
            other = '; or set `sampling_fraction` and `decided_by = "estimate"`'
            return refused or (f"{why}{other}" if (why := population_obstacle(policy)) is not None else None)
        if refused is None and requirement.options.decided_by != "estimate":
            return 'a sampling fraction gives an estimate, which decides only with `decided_by = "estimate"`'
        return refused

    def find(
        self, options: KMapOptions, columns: Sequence[Protected], classes: Classes, *, limited: bool = True
    ) -> Finding:
        """Return the finding; undecided where an estimate does not decide, or the population is unknown."""
        from rrpolicy.privacy.classes.class_population import Population

        known = classes.population
        if known is None and options.sampling_fraction is not None:
            known = Population.sampled(classes.sizes, options.sampling_fraction)
            classes = replace(classes, population=known)
        found = with_population_assumptions(super().find(options, columns, classes, limited=limited), classes)
        estimated = known is not None and known.standing is Standing.ESTIMATE
        if limited and estimated and options.decided_by != "estimate":
            return replace(found, verdict=Verdict.UNDECIDED)
        return found

    def measure(
        self, column: Protected | None, classes: Classes, units: UnitClasses | None = None
    ) -> Iterator[Finding]:
        """Yield the people in the class of fewest, if the population is known."""
        if classes.population is not None:
            yield from super().measure(column, classes, units)

    def _outcome(
        self, options: KMapOptions, column: Protected | None, classes: Classes, *, limited: bool
    ) -> ClassOutcome:
        import numpy as np

        del column
        known, achieved = classes.population, Measure(math.inf)
        if known is not None and classes.concerned.any():
            fewest = int(np.argmin(np.where(classes.concerned, known.n.astype(np.float64), np.inf)))
            achieved = Measure(float(known.n[fewest]), known.standing, float(known.errors(classes.sizes)[fewest]))
        return ClassOutcome("", achieved, known.n >= options.k if limited and known is not None else None)

    def per_class(self, requirement: Requirement[KMapOptions], policy: Policy) -> tuple[PerClass, ...]:
        """Return the requirement on single classes, of people or by the fraction; monotone, also with suppression."""
        del policy
        k, fraction = requirement.options.k, requirement.options.sampling_fraction
        if fraction is not None:
            return (records_at_least(math.ceil(k * fraction), requirement),)

        def enough(records: Ints, people: Ints) -> Mask:
            mask: Mask = (people >= k) | (records == 0)
            return mask

        return (replace(records_at_least(1, requirement), people=enough),)
