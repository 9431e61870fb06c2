"""t-closeness: the sensitive values of every class are distributed nearly as those of the whole release.

The whole release has all records: suppressed ones are released with their sensitive values, and count. Distances are
defined in `rrpolicy.privacy.classes.distance`.

References:
    Li, Li, Venkatasubramanian 2007, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", definition 2, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_up
from rrpolicy.finding import Finding, Measure
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import (
    ClassModel,
    ClassOutcome,
    ModelWording,
    Protected,
    class_model_assessor,
    conclude,
    rename_finding,
)
from rrpolicy.privacy.classes.distance import ValueDistance
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE, Assessor, Order, PerClass
from rrpolicy.privacy.models.sensitive_attributes import not_sensitive_reason
from rrpolicy.privacy.wording import attribute_phrase
from rrpolicy.report_blocks import figure

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Mask
    from rrpolicy.source.counts import Ints

NAME = "t-closeness"
REFERENCE = "Li, Li, Venkatasubramanian 2007, definition 2, section 4"
NOT_COVERED = (
    FINDING,
    WHOLE_RELEASE,
    MORE_KNOWN,
    *EVERY_MODEL,
)


class TClosenessOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        t: the largest distance of a class from the whole release, in [0, 1].
        distance: variational (all values equally far), ordered (by place in the domain), or hierarchical (by the
            attribute's hierarchy).
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    t: Annotated[Rational, Field(description="the largest distance of a class from the whole release, in [0, 1]")]
    distance: Annotated[ValueDistance, Field(description="how far two values are from each other")] = (
        ValueDistance.VARIATIONAL
    )
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()

    @field_validator("t")
    @classmethod
    def _distance(cls, t: Fraction) -> Fraction:
        if not 0 <= t <= 1:
            raise ValueError("t lies in [0, 1]")
        return t

    @property
    def limit(self) -> Fraction:
        """Return t."""
        return self.t


class TCloseness:
    """The privacy model `t-closeness`."""

    name = NAME
    options = TClosenessOptions
    not_covered = NOT_COVERED
    example = "t = 0.2"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: TClosenessOptions) -> str:
        """Return such as `variational distance <= 1/5`, with the attributes where the entry names them."""
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return f"{options.distance.value} distance <= {exact(options.t)}{of}"

    def limits_nothing(self, options: TClosenessOptions) -> str | None:
        """Return that t = 1 limits nothing."""
        return "limits nothing: no distance exceeds 1" if options.t >= 1 else None

    def promise(self, options: TClosenessOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Guessing the value: the sensitive values{attribute_phrase(options.sensitive)} of every group that agrees "
            "in the quasi-identifiers are spread nearly as those of the whole release, at most "
            f"{figure(float(options.t))} apart on a scale from 0 to 1."
        )

    def refuses(self, options: TClosenessOptions, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive, have no order, or no hierarchy, where the distance needs it."""
        names = Requirement(NAME, options).protects(policy)
        reason = not_sensitive_reason(names, policy)
        if reason is not None:
            return reason
        for name in names:
            lacking = options.distance.lacks(Protected.of(policy.attributes[name]))
            if lacking is not None:
                return "; ".join(lacking)
        return None

    def compare(self, old: TClosenessOptions, new: TClosenessOptions) -> Order:
        """Compare t: the smaller is stronger; other distances or attributes are incomparable."""
        if (old.distance, old.sensitive) != (new.distance, new.sensitive):
            return Order.INCOMPARABLE
        return Order.by(old.t - new.t)


def distance_wording(distance: ValueDistance) -> ModelWording:
    """Return how a distance speaks of itself."""
    meaning = "distance of the sensitive values from those of the whole release, in the class where it is largest"
    return ModelWording(NAME, f"{distance.value} t", meaning, REFERENCE, least=False)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (class_model_assessor(NAME, CLASS_MODEL),)


def find(options: TClosenessOptions, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach of each column by itself, held against t."""
    return _distance_outcome(options.distance, columns, classes, options.t)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield what classes reach by each distance that the column's values have."""
    if column is None:
        return
    for distance in ValueDistance:
        if not distance.lacks(column) and not (distance.placed and column.unlisted):
            finding = rename_finding(_distance_outcome(distance, [column], classes, None), distance.value)
            yield replace(finding, requirement=f"{distance.value} t of {column.name}")


def _distance_outcome(
    distance: ValueDistance, columns: Sequence[Protected], classes: Classes, t: Fraction | None
) -> Finding:
    """Return what classes reach, held against t if there is one."""
    from rrpolicy.privacy.classes.histograms import largest_ratio, ratio_at_most

    outcomes = []
    for column in columns:
        apart, whole = distance.of(classes.histograms[column.name], column.hierarchy)
        worst = largest_ratio(apart, whole, classes.concerned)
        passes = None if t is None else ratio_at_most(apart, whole, t)
        outcomes.append(ClassOutcome(column.name, Measure(0.0 if worst is None else round_up(worst)), passes))
    return conclude(distance_wording(distance), outcomes, classes, t)


def per_class(requirement: Requirement[TClosenessOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on classes that are released together.

    Monotone, as a distance is convex (Li et al. 2007, section 3); not so if classes may be suppressed, as kept ones are
    then merged with others, or if some need not satisfy it.
    """
    from rrpolicy.privacy.classes.histograms import Histograms, ratio_at_most

    options = requirement.options

    def one(name: str) -> PerClass:
        hierarchy = policy.attributes[name].hierarchy

        def holds(histograms: Ints) -> Mask:
            return ratio_at_most(*options.distance.of(Histograms.of_dense(histograms), hierarchy), options.t)

        return PerClass(
            name, holds, monotone=not requirement.where, monotone_with_suppression=False, where=requirement.where
        )

    return tuple(one(name) for name in requirement.protects(policy))


CLASS_MODEL = ClassModel(
    *(REFERENCE, find, measure, per_class),
    asks="t",
    kind="distance",
    lacks=lambda options, column: options.distance.lacks(column),
    placed=lambda options: options.distance.placed,
)
