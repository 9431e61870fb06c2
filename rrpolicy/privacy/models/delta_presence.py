"""delta-presence: the probability that a person of a known population is in the table is within limits.

Of a class with f records of the table and F people of a reference table, f/F of these are in the table; 0 of a class
that the table lacks. For everybody of the population:

    min <= f/F <= max

References:
    Nergiz, Atzori, Clifton 2007, "Hiding the Presence of Individuals from Shared Databases", definition of
    (delta_min, delta_max)-presence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.numbers import percent_rounded_up
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import (
    POPULATION_ADVERSARY,
    SUPPRESSED,
    ClassModel,
    ClassOptions,
    ClassOutcome,
    ModelWording,
    Protected,
    population_obstacle,
    records_at_least,
    with_population_assumptions,
)
from rrpolicy.privacy.model import EVERY_MODEL, Assessor, PerClass

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.classes.class_population import Population
    from rrpolicy.privacy.classes.histograms import Classes, Integers, Mask
    from rrpolicy.privacy.classes.unit_classes import UnitClasses

HIDDEN = "Records whose quasi-identifiers are all suppressed form one more class, which the requirement covers as well."
ABSENT = "people of the population whose class the table lacks"
LEAST = "least probability that a person of the population is in the table"


class DeltaPresenceOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        max: the largest probability that a person of the population is in the table, in [0, 1].
        min: the least such probability.
    """

    max: Annotated[Rational, Field(description="the largest probability that a person is in the table, in [0, 1]")]
    min: Annotated[Rational, Field(description="the least probability that a person is in the table, in [0, 1]")] = (
        Fraction(0)
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 0 <= self.min <= self.max <= 1:
            raise ValueError(f"0 <= min <= max <= 1, got {exact(self.min)} and {exact(self.max)}")
        return self

    @property
    def needs_reference(self) -> bool:
        """Return that people are counted in a reference table."""
        return True


class DeltaPresence(ClassModel[DeltaPresenceOptions]):
    """The privacy model `delta-presence`."""

    name = "delta-presence"
    options = DeltaPresenceOptions
    not_covered = (
        "Linking a person to a record, and learning its values: k-anonymity and l-diversity limit that.",
        "Attackers who know another population than the reference table.",
        *EVERY_MODEL,
    )
    reference = "Nergiz, Atzori, Clifton 2007"
    example = "max = 0.5"
    methods = ("generalised",)
    words = ModelWording("presence", "largest probability that a person of the population is in the table")
    asks = "max"
    called = MappingProxyType({"max": "presence_max", "min": "presence_min"})
    counted = True
    linking = True
    by_units = False
    adversary = POPULATION_ADVERSARY

    def describe_limit(self, options: DeltaPresenceOptions) -> str:
        """Return such as `presence in [1/10, 1/2]`."""
        return f"presence in [{exact(options.min)}, {exact(options.max)}]"

    def promise(self, options: DeltaPresenceOptions) -> str:
        """Return the guarantee in plain words."""
        least = f" or below {percent_rounded_up(options.min)}" if options.min else ""
        return (
            "Presence: an attacker with a list of the population concludes that a listed person is in the table "
            "with a probability of at most"
            f" {percent_rounded_up(options.max)}{least}."
        )

    def strength(self, options: DeltaPresenceOptions) -> tuple[Fraction | int, ...]:
        """Return the limits: the narrower are stronger."""
        return -options.max, options.min

    def assessors(self) -> tuple[Assessor, ...]:
        """Return no assessor for suppressed tuples: these agree with everybody in or outside the table."""
        return tuple(assessor for assessor in super().assessors() if assessor.channel is not SuppressionChannel)

    def supports(
        self, requirement: Requirement[DeltaPresenceOptions], policy: Policy, axes: Sequence[type[Axis]]
    ) -> str | None:
        """Refuse a policy without a population, and `min` for a subgroup."""
        if requirement.where and requirement.options.min > 0:
            return "`min` also covers people whose class is not in the table, and `where` does not identify these"
        return super().supports(requirement, policy, axes) or population_obstacle(policy)

    def measure(
        self, column: Protected | None, classes: Classes, units: UnitClasses | None = None
    ) -> Iterator[Finding]:
        """Yield the largest and the least presence, if the population was counted."""
        if classes.population is not None and classes.population.standing is Standing.EXACT:
            yield from super().measure(column, classes, units)

    def find(
        self, options: DeltaPresenceOptions, columns: Sequence[Protected], classes: Classes, *, limited: bool = True
    ) -> Finding:
        """Return the finding by both limits; undecided if the population is unknown."""
        from rrpolicy.privacy.classes.histograms import largest_ratio

        del columns
        known = classes.population
        if known is None:
            nothing = ClassOutcome("", Measure(0.0), None)
            return with_population_assumptions(self._conclude(options, [nothing], classes, limited=limited), classes)
        assert known.standing is Standing.EXACT
        records, people, concerned = _with_suppressed(classes, known)
        most = largest_ratio(records, people, concerned)
        inverse = largest_ratio(people, records, concerned)
        least = Fraction(0) if known.elsewhere or inverse is None else 1 / inverse
        companions = [
            Companion("least presence", Measure(round_down(least)), Basis.ORIGINAL, LEAST),
            Companion("absent", Measure(known.elsewhere), Basis.ORIGINAL, ABSENT),
        ]
        passes = presence_within(options, records, people) if limited else None
        each = None if passes is None else passes[: len(classes.sizes)]
        reached = ClassOutcome("", Measure(0.0 if most is None else round_up(most)), each)
        found = self._conclude(options, [reached], classes, limited=limited, companions=companions)
        found = with_population_assumptions(found, classes)
        if len(records) > len(classes.sizes):
            found = replace(found, assumptions=tuple(HIDDEN if a == SUPPRESSED else a for a in found.assumptions))
        elsewhere = limited and options.min > 0 and known.elsewhere
        hidden = passes is not None and not passes[len(classes.sizes) :].all()
        return replace(found, verdict=Verdict.FAILED) if elsewhere or hidden else found

    def per_class(self, requirement: Requirement[DeltaPresenceOptions], policy: Policy) -> tuple[PerClass, ...]:
        """Return the requirement on single classes: merged, they have a presence between theirs."""
        del policy

        def held(records: Ints, people: Ints) -> Mask:
            return presence_within(requirement.options, records, people)

        of_all = records_at_least(0, requirement)
        return (replace(of_all, monotone_with_suppression=False, people=held, hidden=True),)


def _with_suppressed(classes: Classes, known: Population) -> tuple[Integers, Integers, Mask]:
    """Return (classes,) records, people, and whether they are concerned; the suppressed last, if they are known."""
    if not classes.suppressed or math.isnan(known.suppressed):
        return classes.sizes, known.n, classes.concerned
    import numpy as np

    ends = ((classes.sizes, classes.suppressed), (known.n, int(known.suppressed)), (classes.concerned, True))
    records, people, concerned = (np.append(array, last) for array, last in ends)
    return records, people, concerned


def presence_within(options: DeltaPresenceOptions, records: Integers, people: Integers) -> Mask:
    """Return (classes,) whether min <= records/people <= max, in integers; 0/0 is within all limits."""
    from rrpolicy.privacy.classes.histograms import ratio_at_most

    below, above = people * options.min.numerator, records * options.min.denominator
    return ratio_at_most(records, people, options.max) & ratio_at_most(below, above, Fraction(1))
