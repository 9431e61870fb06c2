"""beta-likeness: no sensitive value is much more frequent in a class than in the whole release.

With p_v the share of a value in the whole release and q_v in a class, for every value with q_v > p_v:

    basic       (q_v - p_v)/p_v <= beta
    enhanced    (q_v - p_v)/p_v <= min(beta, -ln p_v)

The whole release has all records: suppressed ones are released with their sensitive values, and count.

References:
    Cao, Karras 2012, "Publishing Microdata with a Robust Privacy Guarantee": basic and enhanced beta-likeness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, field_validator

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import round_up
from rrpolicy.finding import Measure
from rrpolicy.numbers import figure
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import ClassModel, ClassOptions, ModelWording, SensitiveAttributes
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE
from rrpolicy.privacy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Histograms, Mask


RARER_VALUES = (
    "What a class tells by values that are rarer in it than in the release, or absent: delta-disclosure limits that."
)


class LikenessKind(StrEnum):
    """How far a value's share may grow."""

    BASIC = "basic"
    ENHANCED = "enhanced"


class BetaLikenessOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        beta: by how much of itself a value's share may grow from the whole release to a class, over 0.
        likeness: basic, or enhanced, which besides lets no share p grow by more than -ln p of itself.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    beta: Annotated[Rational, Field(description="by how much of itself a value's share may grow in a class, over 0")]
    likeness: Annotated[
        LikenessKind, Field(description="basic, or enhanced: by -ln p of a share p at most as well")
    ] = LikenessKind.BASIC
    sensitive: SensitiveAttributes = ()

    @field_validator("beta")
    @classmethod
    def _gain(cls, beta: Fraction) -> Fraction:
        if beta <= 0:
            raise ValueError(f"beta must be over 0, got {exact(beta)}")
        return beta


class BetaLikeness(ClassModel[BetaLikenessOptions]):
    """The privacy model `beta-likeness`."""

    name = "beta-likeness"
    options = BetaLikenessOptions
    not_covered = (
        RARER_VALUES,
        FINDING,
        WHOLE_RELEASE,
        MORE_KNOWN,
        *EVERY_MODEL,
    )
    reference = "Cao, Karras 2012, basic and enhanced beta-likeness"
    example = "beta = 2"
    asks = "beta"
    kind = "likeness"

    def promise(self, options: BetaLikenessOptions) -> str:
        """Return what holds where it is satisfied, in plain words."""
        return (
            f"Guessing the value: no sensitive value{attribute_phrase(options.sensitive)} is more than "
            f"{figure(float(1 + options.beta))} times as frequent in a group that agrees in the quasi-identifiers as "
            "in the whole release."
        )

    def wording(self, options: BetaLikenessOptions) -> ModelWording:
        """Return the words for a likeness."""
        meaning = "by how much of itself a value's share grows from the whole release to a class, where it grows most"
        if options.likeness is LikenessKind.ENHANCED:
            meaning += "; infinite if some share p grows by more than -ln p of itself"
        return ModelWording(f"{options.likeness.value} beta", meaning)

    def strength(self, options: BetaLikenessOptions) -> tuple[Fraction | int, ...]:
        """Return beta and likeness: the smaller beta is stronger, and enhanced implies basic."""
        return -options.beta, options.likeness is LikenessKind.ENHANCED

    def unlimited(self) -> Iterator[BetaLikenessOptions]:
        """Yield each likeness."""
        return (BetaLikenessOptions(beta=Fraction(1), likeness=likeness) for likeness in LikenessKind)

    def classes_satisfying(self, options: BetaLikenessOptions, histograms: Histograms) -> Mask:
        """Return (classes,) which satisfy it: monotone, as a share in merged classes is a mean of theirs."""
        from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios

        ratios = FrequencyRatios.of(histograms)
        fine = ratios.gains_at_most(options.beta)
        return fine & ratios.gains_by_rarity() if options.likeness is LikenessKind.ENHANCED else fine

    def achieved(self, options: BetaLikenessOptions, histograms: Histograms, among: Mask) -> Measure:
        """Return the smallest beta that some classes (classes,) satisfy; infinity if none is."""
        from rrpolicy.privacy.classes.frequency_ratios import FrequencyRatios

        ratios = FrequencyRatios.of(histograms)
        if options.likeness is LikenessKind.ENHANCED and not ratios.gains_by_rarity()[among].all():
            return Measure(math.inf)
        return Measure(round_up(ratios.greatest(among) - 1))
