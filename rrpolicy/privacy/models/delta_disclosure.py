"""delta-disclosure privacy: every sensitive value is about as frequent in a class as in the whole release.

With p_v the share of a value in the whole release and q_v in a class, in bits:

    |log2(q_v/p_v)| < delta     for every class and every value that the release holds

By the definition a class that lacks a value tells infinitely much: that its members do not have it. `values =
"occurring"` asks the same of the values that a class holds alone, and lets classes exclude values.

The whole release has all records: suppressed ones are released with their sensitive values, and count.

References:
    Brickell, Shmatikov 2008, "The Cost of Privacy: Destruction of Data-Mining Utility in Anonymized Data Publishing":
    delta-disclosure privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.finding import Finding, Measure
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import (
    ClassModel,
    ModelWording,
    Protected,
    class_model_assessor,
    class_outcomes,
    conclude,
    rename_finding,
    split_by_attribute,
)
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE, Assessor, Order, PerClass
from rrpolicy.privacy.models.sensitive_attributes import not_sensitive_reason
from rrpolicy.privacy.wording import attribute_phrase
from rrpolicy.report_blocks import figure

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes, Histograms, Mask

NAME = "delta-disclosure"
REFERENCE = "Brickell, Shmatikov 2008, delta-disclosure privacy"
NOT_COVERED = (
    FINDING,
    'That a member of a class does not have a value that the class lacks, where `values` is "occurring".',
    WHOLE_RELEASE,
    MORE_KNOWN,
    *EVERY_MODEL,
)


class ComparedValues(StrEnum):
    """Which values of a class are compared with the whole release."""

    ALL = "all"
    OCCURRING = "occurring"


class DeltaDisclosureOptions(BaseModel):
    """Keys of the [[privacy]] entry.

    Attributes:
        delta: the bits that a class may tell of a sensitive value stay under it; over 0.
        values: all that the release holds, or those that occur in the class alone.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    delta: Annotated[Rational, Field(description="|log2(q/p)| of each value's shares stays under it; over 0")]
    values: Annotated[
        ComparedValues, Field(description="all that the release holds, or those that occur in a class alone")
    ] = ComparedValues.ALL
    sensitive: Annotated[tuple[str, ...], Field(description="attributes to protect; default: every sensitive one")] = ()

    @field_validator("delta")
    @classmethod
    def _bits(cls, delta: Fraction) -> Fraction:
        if delta <= 0:
            raise ValueError(f"delta must be over 0, got {exact(delta)}")
        return delta

    @property
    def limit(self) -> Fraction:
        """Return delta."""
        return self.delta


class DeltaDisclosure:
    """The privacy model `delta-disclosure`."""

    name = NAME
    options = DeltaDisclosureOptions
    not_covered = NOT_COVERED
    example = "delta = 2"

    @property
    def of_classes(self) -> ClassModel:
        """Return how it is told of classes."""
        return CLASS_MODEL

    def describe(self, options: DeltaDisclosureOptions) -> str:
        """Return such as `delta < 2`, with which values and attributes where the entry names them."""
        over = " over values that occur" if options.values is ComparedValues.OCCURRING else ""
        of = f" ({', '.join(options.sensitive)})" if options.sensitive else ""
        return f"delta < {exact(options.delta)}{over}{of}"

    def promise(self, options: DeltaDisclosureOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Guessing the value: the shares of the sensitive values{attribute_phrase(options.sensitive)} in every "
            "group that agrees in the quasi-identifiers differ from those of the whole release by a factor below "
            f"2^{figure(float(options.delta))}."
        )

    def refuses(self, options: DeltaDisclosureOptions, policy: Policy) -> str | None:
        """Refuse attributes that are not sensitive."""
        return not_sensitive_reason(Requirement(NAME, options).protects(policy), policy)

    def compare(self, old: DeltaDisclosureOptions, new: DeltaDisclosureOptions) -> Order:
        """Compare delta: the smaller is stronger, and all values imply those that occur."""
        if old.sensitive != new.sensitive:
            return Order.INCOMPARABLE
        of_all = Order.by((new.values is ComparedValues.ALL) - (old.values is ComparedValues.ALL))
        return Order.together(Order.by(old.delta - new.delta), of_all)


def delta_wording(values: ComparedValues) -> ModelWording:
    """Return how it speaks of itself."""
    meaning = "bits by which a sensitive value's share differs between a class and the whole release, where it is most"
    if values is ComparedValues.ALL:
        meaning += "; infinite if a class lacks a value"
    return ModelWording(NAME, f"delta over {values.value} values", meaning, REFERENCE, least=False)


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of the model."""
    return (class_model_assessor(NAME, CLASS_MODEL),)


def classes_satisfying(options: DeltaDisclosureOptions, histograms: Histograms) -> Mask:
    """Return (classes,) which satisfy the requirement; an empty class does."""
    from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios

    ratios = FrequencyRatios.of(histograms)
    fine = ratios.within_bits(options.delta)
    return fine & ratios.complete() if options.values is ComparedValues.ALL else fine


def achieved_delta(values: ComparedValues, histograms: Histograms, among: Mask) -> Measure:
    """Return the delta over which some classes (classes,) satisfy every one; infinity if there is none."""
    from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios, log2_rounded_up

    ratios = FrequencyRatios.of(histograms)
    if values is ComparedValues.ALL and not ratios.complete()[among].all():
        return Measure(math.inf)
    return Measure(log2_rounded_up(ratios.furthest(among)))


def find(options: DeltaDisclosureOptions, columns: Sequence[Protected], classes: Classes) -> Finding:
    """Return what classes reach of each column by itself, held against delta."""
    reached = class_outcomes(
        columns, classes, partial(achieved_delta, options.values), partial(classes_satisfying, options)
    )
    return conclude(delta_wording(options.values), reached, classes, options.delta)


def measure(column: Protected | None, classes: Classes) -> Iterator[Finding]:
    """Yield the bits over all values, and over those that occur in a class."""
    if column is None:
        return
    for values in ComparedValues:
        reached = class_outcomes([column], classes, partial(achieved_delta, values))
        finding = rename_finding(conclude(delta_wording(values), reached, classes, None), values.value)
        yield replace(finding, requirement=f"delta over {values.value} values of {column.name}")


def per_class(requirement: Requirement[DeltaDisclosureOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the requirement on classes that are released together.

    Over all values it is monotone, as a share in merged classes is a mean of theirs. Over those that occur it is not: a
    class that lacks a value, and is not asked about it, makes it rarer in what it is merged with.
    """
    monotone = requirement.options.values is ComparedValues.ALL and not requirement.where
    return split_by_attribute(requirement, policy, partial(classes_satisfying, requirement.options), monotone=monotone)


CLASS_MODEL = ClassModel(REFERENCE, find, measure, per_class, asks="delta", kind="values")
