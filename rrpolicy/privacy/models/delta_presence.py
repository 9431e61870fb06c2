"""delta-presence: how likely somebody of a known population is in the table lies within limits.

Of a class with f records of the table and F people of a reference table, f/F of these are in the table; nobody is where
the table lacks the class. For everybody of the population:

    min <= f/F <= max

References:
    Nergiz, Atzori, Clifton 2007, "Hiding the Presence of Individuals from Shared Databases", definition of
    (delta_min, delta_max)-presence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_down, round_up
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes import class_model as class_assessor
from rrpolicy.privacy.classes.class_model import (
    POPULATION_ADVERSARY,
    SUPPRESSED,
    ClassModel,
    ClassOutcome,
    ModelWording,
    Protected,
    class_model_assessor,
    conclude,
    population_obstacle,
    with_population_assumptions,
)
from rrpolicy.privacy.model import EVERY_MODEL, Assessor, Order, PerClass
from rrpolicy.privacy.wording import percent_rounded_up

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.privacy.classes.class_population import Population
    from rrpolicy.privacy.classes.histograms import Classes, Integers, Mask
    from rrpolicy.source.counts import Ints

NAME = "delta-presence"
REFERENCE = "Nergiz, Atzori, Clifton 2007"
NOT_COVERED = (
    "Which record is whose, and what it says: k-anonymity and l-diversity limit that.",
    "Attackers who know another population than the reference table.",
    *EVERY_MODEL,
)
HIDDEN = (
    "Records whose quasi-identifiers are all suppressed are one more class, which the requirement is held to as well."
)
ABSENT = "people of the population whose class the table lacks"
LEAST = "least probability that somebody of the population is in the table"
WORDS = ModelWording(
    NAME, "presence", "largest probability that somebody of the population is in the table", REFERENCE, least=False
)


class DeltaPresenceOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        max: the largest probability that somebody of the population is in the table, in [0, 1].
        min: the least.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max: Annotated[Rational, Field(description="the largest probability that somebody is in the table, in [0, 1]")]
    min: Annotated[Rational, Field(description="the least probability that somebody is in the table, in [0, 1]")] = (
        Fraction(0)
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 0 <= self.min <= self.max <= 1:
            raise ValueError(f"0 <= min <= max <= 1, got {exact(self.min)} and {exact(self.max)}")
        return self

    @property
    def needs_reference(self) -> bool:
        """Return that people are to be counted in a reference table."""
        return True

    @property
    def limit(self) -> Fraction:
        """Return max."""
        return self.max


class DeltaPresence:
    """The privacy model `delta-presence`."""

    name = NAME
    options = DeltaPresenceOptions
    not_covered = NOT_COVERED
    example = "max = 0.5"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: DeltaPresenceOptions) -> str:
        """Return such as `presence in [1/10, 1/2]`."""
        return f"presence in [{exact(options.min)}, {exact(options.max)}]"

    def promise(self, options: DeltaPresenceOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        least = f" or below {percent_rounded_up(options.min)}" if options.min else ""
        return (
            "Presence: nobody who has a list of the population says of a person on it that they are in the table with "
            f"a probability above {percent_rounded_up(options.max)}{least}."
        )

    def refuses(self, options: DeltaPresenceOptions, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers."""
        del options
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy names no quasi-identifier"

    def compare(self, old: DeltaPresenceOptions, new: DeltaPresenceOptions) -> Order:
        """Compare the limits: the narrower are stronger."""
        return Order.together(Order.by(old.max - new.max), Order.by(new.min - old.min))


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (replace(class_model_assessor(NAME, CLASS_MODEL), supports=supports, adversary=POPULATION_ADVERSARY),)


def supports(requirement: Requirement[DeltaPresenceOptions], policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse a policy for which nobody can be counted, what no classes tell, and `min` of a subgroup."""
    if requirement.where and requirement.options.min > 0:
        return "`min` speaks of people whose class the table lacks, too, and `where` does not tell which these are"
    return class_assessor.supports(requirement, policy, axes) or population_obstacle(policy)


def find(options: DeltaPresenceOptions, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach, held against both limits; undecided if nothing is known of the population."""
    del columns
    return _presence_outcome(classes, options)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the largest presence, with the least beside it, where the population was counted."""
    counted = classes.population is not None and classes.population.standing is Standing.EXACT
    if column is None and counted:
        yield replace(_presence_outcome(classes, None), requirement="presence")


def _presence_outcome(classes: Classes, options: DeltaPresenceOptions | None) -> Finding:
    from rrpolicy.privacy.classes.histograms import largest_ratio

    limit, known = None if options is None else options.max, classes.population
    if known is None:
        return with_population_assumptions(
            conclude(WORDS, [ClassOutcome("", Measure(0.0), None)], classes, limit), classes
        )
    if known.standing is not Standing.EXACT:
        raise TypeError("delta-presence needs a reference table")
    records, people, concerned = _with_suppressed(classes, known)
    most = largest_ratio(records, people, concerned)
    inverse = largest_ratio(people, records, concerned)
    least = Fraction(0) if known.elsewhere or inverse is None else 1 / inverse
    beside = [
        Companion("least presence", Measure(round_down(least)), Basis.ORIGINAL, LEAST),
        Companion("absent", Measure(known.elsewhere), Basis.ORIGINAL, ABSENT),
    ]
    passes = None if options is None else presence_within(options, records, people)
    each = None if passes is None else passes[: len(classes.sizes)]
    achieved = Measure(0.0 if most is None else round_up(most))
    found = with_population_assumptions(
        conclude(WORDS, [ClassOutcome("", achieved, each)], classes, limit, beside), classes
    )
    if len(records) > len(classes.sizes):
        found = replace(found, assumptions=tuple(HIDDEN if a == SUPPRESSED else a for a in found.assumptions))
    elsewhere = options is not None and options.min > 0 and known.elsewhere
    hidden = passes is not None and not passes[len(classes.sizes) :].all()
    return replace(found, verdict=Verdict.FAILED) if elsewhere or hidden else found


def _with_suppressed(classes: Classes, known: Population) -> tuple[Integers, Integers, Mask]:
    """Return (classes,) records, people, and whether they are concerned; the suppressed last, where they are known."""
    if not classes.suppressed or math.isnan(known.suppressed):
        return classes.sizes, known.n, classes.concerned
    import numpy as np

    ends = ((classes.sizes, classes.suppressed), (known.n, int(known.suppressed)), (classes.concerned, True))
    records, people, concerned = (np.append(array, last) for array, last in ends)
    return records, people, concerned


def presence_within(options: DeltaPresenceOptions, records: Integers, people: Integers) -> Mask:
    """Return (classes,) whether min <= records/people <= max, in integers; 0/0 is in any limits."""
    from rrpolicy.privacy.classes.histograms import ratio_at_most

    below, above = people * options.min.numerator, records * options.min.denominator
    return ratio_at_most(records, people, options.max) & ratio_at_most(below, above, Fraction(1))


def per_class(requirement: Requirement[DeltaPresenceOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on single classes: merged, they have a presence between theirs."""
    del policy
    asked = requirement.options

    def whoever(histograms: Ints) -> Mask:
        mask: Mask = histograms.sum(axis=1) >= 0
        return mask

    def held(records: Ints, people: Ints) -> Mask:
        return presence_within(asked, records, people)

    of_all = PerClass(None, whoever, monotone=True, monotone_with_suppression=False, where=requirement.where)
    return (replace(of_all, people=held, hidden=True),)


CLASS_MODEL = ClassModel(
    *(REFERENCE, find, measure, per_class),
    asks="max",
    called={"max": "presence_max", "min": "presence_min"},
    counted=True,
)
