"""How much more, or less, frequent sensitive values are in each class than in the whole release, decided in integers.

Of a class of n records, n_v of them with the value v, in a release of N with N_v, suppressed records included: the
ratio n_v N / (n N_v) of the two shares q_v = n_v/n and p_v = N_v/N. Values that a class lacks have ratio 0 and no cell.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.probability import DIGITS, log_at_most, log_decimal
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.classes.entropy import sign_of_logarithm
from rrpolicy.privacy.classes.histograms import (
    CLOSE_MARGIN,
    integer_type_for,
    largest_ratio,
    ratio_at_most,
)

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Histograms, Integers, Mask


@frozen
class FrequencyRatios:
    """The ratio of every cell.

    Attributes:
        histograms: the cells.
        numerator: (cells,) n_v N.
        denominator: (cells,) n N_v; all > 0.
    """

    histograms: Histograms
    numerator: Integers
    denominator: Integers

    @classmethod
    def of(cls, histograms: Histograms) -> FrequencyRatios:
        """Return the ratios of all classes that are released."""
        records = max(int(histograms.whole.sum()), 1)
        kind = integer_type_for(records * records)
        own, total = histograms.n.astype(kind), histograms.whole.astype(kind)[histograms.value]
        return cls(histograms, own * records, histograms.sizes.astype(kind)[histograms.group] * total)

    def greatest(self, among: Mask) -> Fraction:
        """Return the largest ratio in some classes (classes,); 1, which says nothing, if they hold no record."""
        found = largest_ratio(self.numerator, self.denominator, among[self.histograms.group])
        return Fraction(1) if found is None else found

    def furthest(self, among: Mask) -> Fraction:
        """Return the largest of all ratios and their inverses in some classes (classes,); 1 if they hold no record."""
        above = np.maximum(self.numerator, self.denominator)
        found = largest_ratio(above, np.minimum(self.numerator, self.denominator), among[self.histograms.group])
        return Fraction(1) if found is None else found

    def gains_at_most(self, beta: Fraction) -> Mask:
        """Return (classes,) whether no value's ratio exceeds 1 + beta."""
        return self._all(ratio_at_most(self.numerator, self.denominator, 1 + beta))

    def gains_by_rarity(self) -> Mask:
        """Return (classes,) whether no value's ratio exceeds 1 - ln p_v.

        A gain is rational and the logarithm is not, unless both are 0: never equal otherwise.
        """
        records = max(int(self.histograms.whole.sum()), 1)
        total = self.histograms.whole[self.histograms.value]
        gain = self.numerator.astype(np.float64) / self.denominator.astype(np.float64) - 1
        allowed = -np.log(total / records)
        fine: Mask = gain <= allowed
        for i in np.flatnonzero(np.abs(gain - allowed) <= CLOSE_MARGIN * np.maximum(allowed, 1)):
            exact = Fraction(int(self.numerator[i]), int(self.denominator[i])) - 1
            fine[i] = exact <= 0 or not log_at_most(Fraction(records, int(total[i])), exact)
        return self._all(fine)

    def within_bits(self, delta: Fraction) -> Mask:
        """Return (classes,) whether every ratio lies strictly between 2^-delta and 2^delta."""
        above, below = np.maximum(self.numerator, self.denominator), np.minimum(self.numerator, self.denominator)
        bits = np.log2(above.astype(np.float64) / below.astype(np.float64))
        fine: Mask = bits < float(delta)
        for i in np.flatnonzero(np.abs(bits - float(delta)) <= CLOSE_MARGIN * max(float(delta), 1.0)):
            powers = [(int(above[i]), delta.denominator), (int(below[i]), -delta.denominator), (2, -delta.numerator)]
            fine[i] = sign_of_logarithm(powers) < 0
        return self._all(fine)

    def complete(self) -> Mask:
        """Return (classes,) whether a class holds every value that occurs in the release; an empty one does."""
        occurring = int(np.count_nonzero(self.histograms.whole))
        mask: Mask = (self.histograms.distinct == occurring) | (self.histograms.sizes == 0)
        return mask

    def _all(self, fine: Mask) -> Mask:
        mask: Mask = self.histograms.sums((~fine).astype(np.int64)) == 0
        return mask


def log2_rounded_up(ratio: Fraction) -> float:
    """Return the smallest double that is not below the binary logarithm of a ratio >= 1."""
    with localcontext(prec=DIGITS, rounding=ROUND_CEILING):
        bits = log_decimal(ratio) / Decimal(2).ln()
    found = float(bits)
    if 2**found == ratio and found.is_integer():
        return found
    return found if Decimal(found) >= bits else float(np.nextafter(found, np.inf))
