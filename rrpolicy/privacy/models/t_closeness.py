"""t-closeness: the sensitive values of every class have nearly the distribution of the whole release.

The whole release has all records: suppressed ones are released with their sensitive values, and count.
`rrpolicy.privacy.classes.distance` defines the distances.

References:
    Li, Li, Venkatasubramanian 2007, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", definition 2, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_up
from rrpolicy.finding import Measure, Risk
from rrpolicy.numbers import figure
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import (
    ClassModel,
    ClassOptions,
    ClassOutcome,
    ModelWording,
    Protected,
    SensitiveAttributes,
)
from rrpolicy.privacy.classes.distance import ValueDistance
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE
from rrpolicy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask


class TClosenessOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        t: the largest distance of a class from the whole release, in [0, 1].
        distance: variational (all values equally far), ordered (by place in the domain), or hierarchical (by the
            attribute's hierarchy).
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    t: Annotated[Rational, Field(description="the largest distance of a class from the whole release, in [0, 1]")]
    distance: Annotated[ValueDistance, Field(description="how far two values are from each other")] = (
        ValueDistance.VARIATIONAL
    )
    sensitive: SensitiveAttributes = ()

    @field_validator("t")
    @classmethod
    def _distance(cls, t: Fraction) -> Fraction:
        if not 0 <= t <= 1:
            raise ValueError("t lies in [0, 1]")
        return t


class TCloseness(ClassModel[TClosenessOptions]):
    """The privacy model `t-closeness`."""

    name = "t-closeness"
    options = TClosenessOptions
    not_covered = (FINDING, WHOLE_RELEASE, MORE_KNOWN, *EVERY_MODEL)
    reference = "Li, Li, Venkatasubramanian 2007, definition 2, section 4"
    example = "t = 0.2"
    methods = ("generalised", "sets")
    bounds = frozenset({Risk.READING})
    asks = "t"
    kind = "distance"

    def limits_nothing(self, options: TClosenessOptions) -> str | None:
        """Return that t = 1 limits nothing."""
        return "limits nothing: no distance exceeds 1" if options.t >= 1 else None

    def promise(self, options: TClosenessOptions) -> str:
        """Return the guarantee in plain words."""
        return (
            f"Guessing the value: the sensitive values{attribute_phrase(options.sensitive)} of every group that agrees "
            "in the quasi-identifiers are spread nearly as those of the whole release, at most "
            f"{figure(float(options.t))} apart on a scale from 0 to 1."
        )

    def wording(self, options: TClosenessOptions) -> ModelWording:
        """Return the words for a distance."""
        meaning = "distance of the sensitive values from those of the whole release, in the class where it is largest"
        return ModelWording(f"{options.distance.value} t", meaning)

    def describe_limit(self, options: TClosenessOptions) -> str:
        """Return such as `variational distance <= 1/5`."""
        return f"{options.distance.value} distance <= {exact(options.t)}"

    def incomparable(self, options: TClosenessOptions) -> tuple[object, ...]:
        """Return distance and attributes."""
        return options.distance, options.sensitive

    def unlimited(self) -> Iterator[TClosenessOptions]:
        """Yield each distance."""
        return (TClosenessOptions(t=Fraction(1), distance=distance) for distance in ValueDistance)

    def lacks(self, options: TClosenessOptions, column: Protected) -> tuple[str, str] | None:
        """Return the order or hierarchy that the distance needs and a column does not have."""
        return options.distance.lacks(column)

    def placed(self, options: TClosenessOptions) -> bool:
        """Return whether the distance is by the values' places."""
        return options.distance.placed

    def _outcome(
        self, options: TClosenessOptions, column: Protected | None, classes: Classes, *, limited: bool
    ) -> ClassOutcome:
        """Return the largest distance of a class."""
        from rrpolicy.privacy.classes.histograms import largest_ratio, ratio_at_most

        assert column is not None
        apart, whole = options.distance.of(classes.histograms[column.name], column.hierarchy)
        worst = largest_ratio(apart, whole, classes.concerned)
        passes = ratio_at_most(apart, whole, options.t) if limited else None
        return ClassOutcome(column.name, Measure(0.0 if worst is None else round_up(worst)), passes)

    def class_test(self, options: TClosenessOptions, column: Protected | None) -> Callable[[Histograms], Mask]:
        """Return the test of distances: monotone, as a distance is convex (Li et al. 2007, section 3)."""
        from rrpolicy.privacy.classes.histograms import ratio_at_most

        hierarchy = None if column is None else column.hierarchy
        return lambda histograms: ratio_at_most(*options.distance.of(histograms, hierarchy), options.t)
