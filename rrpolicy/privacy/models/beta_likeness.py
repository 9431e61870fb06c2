"""beta-likeness: no sensitive value is much more frequent in a class than in the whole release.

With p_v the share of a value in the whole release and q_v in a class, for every value with q_v > p_v:

    basic       (q_v - p_v)/p_v <= beta
    enhanced    (q_v - p_v)/p_v <= min(beta, -ln p_v)

Both are monotone, as a share in merged classes is a mean of theirs.

References:
    Cao, Karras 2012, "Publishing Microdata with a Robust Privacy Guarantee": basic and enhanced beta-likeness.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rrpolicy.channels.probability import log_at_most, round_up
from rrpolicy.finding import Risk
from rrpolicy.numbers import figure
from rrpolicy.privacy.classes.class_model import ClassOptions, ModelWording, SensitiveAttributes
from rrpolicy.privacy.classes.share_ratio_model import FrequencyRatios, PositiveLimit, ShareRatioModel
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE
from rrpolicy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Mask

RARER_VALUES = (
    "Inference from values that are rarer in a class than in the release, or absent: delta-disclosure limits that."
)


class LikenessKind(StrEnum):
    """How far a value's share may grow."""

    BASIC = "basic"
    ENHANCED = "enhanced"


class BetaLikenessOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        beta: the largest relative increase of a value's share from the whole release to a class, over 0.
        likeness: basic, or enhanced, which also limits the relative increase of a share p to -ln p.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    beta: Annotated[
        PositiveLimit, Field(description="by how much of itself a value's share may grow in a class, over 0")
    ]
    likeness: Annotated[
        LikenessKind, Field(description="basic, or enhanced: by -ln p of a share p at most as well")
    ] = LikenessKind.BASIC
    sensitive: SensitiveAttributes = ()


class BetaLikeness(ShareRatioModel[BetaLikenessOptions]):
    """The privacy model `beta-likeness`."""

    name = "beta-likeness"
    options = BetaLikenessOptions
    not_covered = (RARER_VALUES, FINDING, WHOLE_RELEASE, MORE_KNOWN, *EVERY_MODEL)
    reference = "Cao, Karras 2012, basic and enhanced beta-likeness"
    example = "beta = 2"
    methods = ("generalised",)
    bounds = frozenset({Risk.READING})
    asks = "beta"
    kind = "likeness"
    strict = LikenessKind.ENHANCED

    def promise(self, options: BetaLikenessOptions) -> str:
        """Return the guarantee in plain words."""
        return (
            f"Guessing the value: no sensitive value{attribute_phrase(options.sensitive)} is more than "
            f"{figure(float(1 + options.beta))} times as frequent in a group that agrees in the quasi-identifiers as "
            "in the whole release."
        )

    def wording(self, options: BetaLikenessOptions) -> ModelWording:
        """Return the words for a likeness."""
        meaning = "by how much of itself a value's share grows from the whole release to a class, where it grows most"
        if self.is_strict(options):
            meaning += "; infinite if some share p grows by more than -ln p of itself"
        return ModelWording(f"{options.likeness.value} beta", meaning)

    def within(self, options: BetaLikenessOptions, ratios: FrequencyRatios) -> Mask:
        """Return (classes,) whether no ratio exceeds 1 + beta."""
        from rrpolicy.privacy.classes.histograms import ratio_at_most

        return ratios.by_class(ratio_at_most(ratios.numerator, ratios.denominator, 1 + options.beta))

    def condition(self, ratios: FrequencyRatios) -> Mask:
        """Return (classes,) whether no ratio exceeds 1 - ln p_v.

        A gain is rational and the logarithm is not, unless both are 0: never equal otherwise.
        """
        import numpy as np

        from rrpolicy.privacy.classes.histograms import CLOSE_MARGIN

        total = ratios.histograms.whole[ratios.histograms.value]
        gain = ratios.numerator.astype(np.float64) / ratios.denominator.astype(np.float64) - 1
        allowed = -np.log(total / ratios.records)
        fine: Mask = gain <= allowed
        for i in np.flatnonzero(np.abs(gain - allowed) <= CLOSE_MARGIN * np.maximum(allowed, 1)):
            exact_gain = Fraction(int(ratios.numerator[i]), int(ratios.denominator[i])) - 1
            fine[i] = exact_gain <= 0 or not log_at_most(Fraction(ratios.records, int(total[i])), exact_gain)
        return ratios.by_class(fine)

    def worst(self, ratios: FrequencyRatios, among: Mask) -> float:
        """Return the largest gain of a share."""
        return round_up(ratios.largest(ratios.numerator, ratios.denominator, among) - 1)
