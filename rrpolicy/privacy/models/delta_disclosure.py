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
from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.finding import Measure
from rrpolicy.numbers import figure
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import ClassModel, ClassOptions, ModelWording, SensitiveAttributes
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE
from rrpolicy.privacy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Histograms, Mask


class ComparedValues(StrEnum):
    """Which values of a class are compared with the whole release."""

    ALL = "all"
    OCCURRING = "occurring"


class DeltaDisclosureOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        delta: the bits that a class may tell of a sensitive value stay under it; over 0.
        values: all that the release holds, or those that occur in the class alone.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    delta: Annotated[Rational, Field(description="|log2(q/p)| of each value's shares stays under it; over 0")]
    values: Annotated[
        ComparedValues, Field(description="all that the release holds, or those that occur in a class alone")
    ] = ComparedValues.ALL
    sensitive: SensitiveAttributes = ()

    @field_validator("delta")
    @classmethod
    def _bits(cls, delta: Fraction) -> Fraction:
        if delta <= 0:
            raise ValueError(f"delta must be over 0, got {exact(delta)}")
        return delta


class DeltaDisclosure(ClassModel[DeltaDisclosureOptions]):
    """The privacy model `delta-disclosure`."""

    name = "delta-disclosure"
    options = DeltaDisclosureOptions
    not_covered = (
        FINDING,
        'That a member of a class does not have a value that the class lacks, where `values` is "occurring".',
        WHOLE_RELEASE,
        MORE_KNOWN,
        *EVERY_MODEL,
    )
    reference = "Brickell, Shmatikov 2008, delta-disclosure privacy"
    example = "delta = 2"
    asks = "delta"
    kind = "values"

    def promise(self, options: DeltaDisclosureOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Guessing the value: the shares of the sensitive values{attribute_phrase(options.sensitive)} in every "
            "group that agrees in the quasi-identifiers differ from those of the whole release by a factor below "
            f"2^{figure(float(options.delta))}."
        )

    def wording(self, options: DeltaDisclosureOptions) -> ModelWording:
        """Return the words for the values that are compared."""
        meaning = (
            "bits by which a sensitive value's share differs between a class and the whole release, where it is most"
        )
        if options.values is ComparedValues.ALL:
            meaning += "; infinite if a class lacks a value"
        return ModelWording(f"delta over {options.values.value} values", meaning)

    def describe_limit(self, options: DeltaDisclosureOptions) -> str:
        """Return such as `delta < 2`, with which values."""
        over = " over values that occur" if options.values is ComparedValues.OCCURRING else ""
        return f"delta < {exact(options.delta)}{over}"

    def strength(self, options: DeltaDisclosureOptions) -> tuple[Fraction | int, ...]:
        """Return delta and values: the smaller delta is stronger, and all values imply those that occur."""
        return -options.delta, options.values is ComparedValues.ALL

    def unlimited(self) -> Iterator[DeltaDisclosureOptions]:
        """Yield all values, and those that occur in a class."""
        return (DeltaDisclosureOptions(delta=Fraction(1), values=values) for values in ComparedValues)

    def monotone(self, options: DeltaDisclosureOptions) -> bool:
        """Return whether all values are compared: a share in merged classes is a mean of theirs.

        A class that lacks a value, and is not asked about it, makes it rarer in what it is merged with.
        """
        return options.values is ComparedValues.ALL

    def classes_satisfying(self, options: DeltaDisclosureOptions, histograms: Histograms) -> Mask:
        """Return (classes,) which satisfy the requirement; an empty class does."""
        from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios

        ratios = FrequencyRatios.of(histograms)
        fine = ratios.within_bits(options.delta)
        return fine & ratios.complete() if options.values is ComparedValues.ALL else fine

    def achieved(self, options: DeltaDisclosureOptions, histograms: Histograms, among: Mask) -> Measure:
        """Return the delta over which some classes (classes,) satisfy every one; infinity if there is none."""
        from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios, log2_rounded_up

        ratios = FrequencyRatios.of(histograms)
        if options.values is ComparedValues.ALL and not ratios.complete()[among].all():
            return Measure(math.inf)
        return Measure(log2_rounded_up(ratios.furthest(among)))
