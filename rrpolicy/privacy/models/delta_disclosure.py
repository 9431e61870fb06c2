"""delta-disclosure privacy: every sensitive value is about as frequent in a class as in the whole release.

With p_v the share of a value in the whole release and q_v in a class, in bits:

    |log2(q_v/p_v)| < delta     for every class and every value of the release

By the definition a class that lacks a value discloses infinitely much: that its members do not have it. `values =
"occurring"` requires the same of the values in a class only, and permits classes that exclude values.

References:
    Brickell, Shmatikov 2008, "The Cost of Privacy: Destruction of Data-Mining Utility in Anonymized Data Publishing":
    delta-disclosure privacy.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rrpolicy.canonical_json import exact
from rrpolicy.channels.probability import DIGITS, log_decimal
from rrpolicy.finding import Risk
from rrpolicy.numbers import figure
from rrpolicy.privacy.classes.class_model import ClassOptions, ModelWording, SensitiveAttributes
from rrpolicy.privacy.classes.share_ratio_model import FrequencyRatios, PositiveLimit, ShareRatioModel
from rrpolicy.privacy.model import EVERY_MODEL, FINDING, MORE_KNOWN, WHOLE_RELEASE
from rrpolicy.wording import attribute_phrase

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Integers, Mask


class ComparedValues(StrEnum):
    """Which values of a class are compared with the whole release."""

    ALL = "all"
    OCCURRING = "occurring"


class DeltaDisclosureOptions(ClassOptions):
    """Keys of the [[privacy]] entry.

    Attributes:
        delta: exclusive upper bound of the bits that a class reveals about a sensitive value; over 0.
        values: all values in the release, or those that occur in the class alone.
        sensitive: the attributes to protect, each by itself; by default every sensitive one.
    """

    delta: Annotated[PositiveLimit, Field(description="|log2(q/p)| of each value's shares stays under it; over 0")]
    values: Annotated[
        ComparedValues, Field(description="all values in the release, or only those that occur in a class")
    ] = ComparedValues.ALL
    sensitive: SensitiveAttributes = ()


class DeltaDisclosure(ShareRatioModel[DeltaDisclosureOptions]):
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
    methods = ("generalised",)
    bounds = frozenset({Risk.READING})
    asks = "delta"
    kind = "values"
    strict = ComparedValues.ALL

    def promise(self, options: DeltaDisclosureOptions) -> str:
        """Return the guarantee in plain words."""
        return (
            f"Guessing the value: the shares of the sensitive values{attribute_phrase(options.sensitive)} in every "
            "group that agrees in the quasi-identifiers differ from those of the whole release by a factor below "
            f"2^{figure(float(options.delta))}."
        )

    def wording(self, options: DeltaDisclosureOptions) -> ModelWording:
        """Return the words for the compared values."""
        meaning = (
            "bits by which a sensitive value's share differs between a class and the whole release, where it is most"
        )
        if self.is_strict(options):
            meaning += "; infinite if a class lacks a value"
        return ModelWording(f"delta over {options.values.value} values", meaning)

    def describe_limit(self, options: DeltaDisclosureOptions) -> str:
        """Return the limit, such as `delta < 2`, with the compared values."""
        return f"delta < {exact(options.delta)}{'' if self.is_strict(options) else ' over values that occur'}"

    def monotone(self, options: DeltaDisclosureOptions) -> bool:
        """Return whether all values are compared: a share in merged classes is a mean of theirs.

        A class that lacks a value, and need not have it, makes it rarer in the merged class.
        """
        return self.is_strict(options)

    def within(self, options: DeltaDisclosureOptions, ratios: FrequencyRatios) -> Mask:
        """Return (classes,) whether every ratio is strictly between 2^-delta and 2^delta."""
        import numpy as np

        from rrpolicy.privacy.classes.entropy import sign_of_logarithm
        from rrpolicy.privacy.classes.histograms import CLOSE_MARGIN

        delta, (above, below) = options.delta, _ends(ratios)
        bits = np.log2(above.astype(np.float64) / below.astype(np.float64))
        fine: Mask = bits < float(delta)
        for i in np.flatnonzero(np.abs(bits - float(delta)) <= CLOSE_MARGIN * max(float(delta), 1.0)):
            powers = [(int(above[i]), delta.denominator), (int(below[i]), -delta.denominator), (2, -delta.numerator)]
            fine[i] = sign_of_logarithm(powers) < 0
        return ratios.by_class(fine)

    def condition(self, ratios: FrequencyRatios) -> Mask:
        """Return (classes,) whether a class has every value of the release; an empty one does."""
        histograms = ratios.histograms
        mask: Mask = (histograms.distinct == (histograms.whole > 0).sum()) | (histograms.sizes == 0)
        return mask

    def worst(self, ratios: FrequencyRatios, among: Mask) -> float:
        """Return the most bits by which a share differs, rounded up."""
        ratio = ratios.largest(*_ends(ratios), among)
        with localcontext(prec=DIGITS, rounding=ROUND_CEILING):
            bits = log_decimal(ratio) / Decimal(2).ln()
        found = float(bits)
        if (2**found == ratio and found.is_integer()) or Decimal(found) >= bits:
            return found
        return math.nextafter(found, math.inf)


def _ends(ratios: FrequencyRatios) -> tuple[Integers, Integers]:
    """Return (cells,) the larger and the smaller of numerator and denominator."""
    import numpy as np

    return np.maximum(ratios.numerator, ratios.denominator), np.minimum(ratios.numerator, ratios.denominator)
