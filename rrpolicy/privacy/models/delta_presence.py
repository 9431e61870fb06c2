"""delta-presence: how likely somebody of a known population is in the table lies within limits.

Of a class with f records of the table and F people of a reference table, f/F of these are in the table; nobody is where
the table lacks the class. For everybody of the population:

    min <= f/F <= max

References:
    Nergiz, Atzori, Clifton 2007, "Hiding the Presence of Individuals from Shared Databases", definition of
    (delta_min, delta_max)-presence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rrpolicy.canonical import exact
from rrpolicy.channel.probability import round_down, round_up
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict
from rrpolicy.policy.model import Policy, Requirement, Role
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.assessor import ClassModel, Outcome, Protected, Words, conclude
from rrpolicy.privacy.model import Assessor, Order, PerClass

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes

NAME = "delta-presence"
REFERENCE = "Nergiz, Atzori, Clifton 2007"
NOT_COVERED = (
    "Which record is whose, and what it says: k-anonymity, l-diversity.",
    "Adversaries who know another population than the reference table.",
)
LEAST = "least probability that somebody of the population is in the table"
WORDS = Words(
    NAME, "presence", "largest probability that somebody of the population is in the table", REFERENCE, least=False
)


class Options(BaseModel):
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
    def limit(self) -> Fraction:
        """Return max."""
        return self.max


class DeltaPresence:
    """The privacy model `delta-presence`."""

    name = NAME
    options = Options
    not_covered = NOT_COVERED
    example = "max = 0.5"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return OF_CLASSES

    def describe(self, options: Options) -> str:
        """Return such as `presence in [1/10, 1/2]`."""
        return f"presence in [{exact(options.min)}, {exact(options.max)}]"

    def refuses(self, options: Options, policy: Policy) -> str | None:
        """Refuse a policy without quasi-identifiers."""
        del options
        return None if policy.with_role(Role.QUASI_IDENTIFIER) else "the policy names no quasi-identifier"

    def compare(self, old: Options, new: Options) -> Order:
        """Compare the limits: the narrower are stronger."""
        changes = {(new.max < old.max) - (new.max > old.max), (new.min > old.min) - (new.min < old.min)}
        return Order.INCOMPARABLE if changes == {1, -1} else Order.by(sum(changes))


def assessors() -> tuple[Assessor, ...]:
    """Return none: a plan has no reference table, and what is released is held to one by `check-table`."""
    return ()


def find(options: Options, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach, held against both limits."""
    del columns
    return _reached(classes, options)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the largest presence, with the least beside it, where the population was counted."""
    counted = classes.population is not None and classes.population.standing is Standing.EXACT
    if column is None and counted:
        yield replace(_reached(classes, None), requirement="presence")


def _reached(classes: Classes, options: Options | None) -> Finding:
    from rrpolicy.privacy.classes.histograms import at_most, largest

    known = classes.population
    if known is None or known.standing is not Standing.EXACT:
        raise TypeError("delta-presence needs a reference table")
    most = largest(classes.sizes, known.n, classes.concerned)
    inverse = largest(known.n, classes.sizes, classes.concerned)
    least = Fraction(0) if known.elsewhere or inverse is None else 1 / inverse
    passes = None
    if options is not None:
        below, above = known.n * options.min.numerator, classes.sizes * options.min.denominator
        passes = at_most(classes.sizes, known.n, options.max) & at_most(below, above, Fraction(1))
    beside = [
        Companion("least presence", Measure(round_down(least)), Basis.RELEASE, LEAST),
        Companion(
            "absent", Measure(known.elsewhere), Basis.RELEASE, "people of the population whose class the table lacks"
        ),
    ]
    achieved = Measure(0.0 if most is None else round_up(most))
    found = conclude(WORDS, [Outcome("", achieved, passes)], classes, None if options is None else options.max, beside)
    found = replace(found, assumptions=(*found.assumptions, known.assumption))
    if options is not None and options.min > 0 and known.elsewhere:
        return replace(found, verdict=Verdict.FAILED)
    return found


def per_class(requirement: Requirement[Options], policy: Policy) -> tuple[PerClass, ...]:
    """Return none: single classes do not tell."""
    del requirement, policy
    return ()


OF_CLASSES = ClassModel(
    *(REFERENCE, find, measure, per_class),
    asks="max",
    called={"max": "presence_max", "min": "presence_min"},
    population=lambda _: True,
    counted=True,
)
