"""The base of models that compare a value's share in a class with its share in the whole release.

Of a class of n records, n_v of them with the value v, in a release of N with N_v: the ratio n_v N / (n N_v) of the two
shares q_v = n_v/n and p_v = N_v/N, in integers. Values that a class lacks have ratio 0 and no cell. The whole release
has all records: suppressed ones are released with their sensitive values, and count.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

from msgspec import Struct
from pydantic import AfterValidator, ValidationInfo

from rrpolicy.canonical_json import exact
from rrpolicy.finding import Measure
from rrpolicy.policy.rational import Rational
from rrpolicy.privacy.classes.class_model import ClassModel, ClassOptions

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Histograms, Integers, Mask


class FrequencyRatios(Struct, frozen=True):
    """The ratio of every cell.

    Attributes:
        histograms: the cells.
        records: N, 1 at least.
        numerator: (cells,) n_v N.
        denominator: (cells,) n N_v; all > 0.
    """

    histograms: Histograms
    records: int
    numerator: Integers
    denominator: Integers

    @classmethod
    def of(cls, histograms: Histograms) -> FrequencyRatios:
        """Return the ratios of all released classes."""
        from rrpolicy.privacy.classes.histograms import integer_type_for

        records = max(int(histograms.whole.sum()), 1)
        kind = integer_type_for(records * records)
        own, total = histograms.n.astype(kind), histograms.whole.astype(kind)[histograms.value]
        return cls(histograms, records, own * records, histograms.sizes.astype(kind)[histograms.group] * total)

    def largest(self, numerator: Integers, denominator: Integers, among: Mask) -> Fraction:
        """Return the largest of (cells,) ratios in some classes (classes,); 1 if they have no record."""
        from rrpolicy.privacy.classes.histograms import largest_ratio

        found = largest_ratio(numerator, denominator, among[self.histograms.group])
        return Fraction(1) if found is None else found

    def by_class(self, fine: Mask) -> Mask:
        """Return (classes,) whether all (cells,) of a class are fine."""
        mask: Mask = self.histograms.sums((~fine).astype("int64")) == 0
        return mask


def _positive(limit: Fraction, info: ValidationInfo) -> Fraction:
    if limit <= 0:
        raise ValueError(f"{info.field_name} must be over 0, got {exact(limit)}")
    return limit


PositiveLimit: TypeAlias = Annotated[Rational, AfterValidator(_positive)]
Options = TypeVar("Options", bound=ClassOptions)


class ShareRatioModel(ClassModel[Options], ABC):
    """A class model that limits ratios of shares. Subclasses implement `within`, `condition` and `worst`.

    Attributes:
        strict: the value of the option `kind` that adds the condition to the limit.
    """

    strict: StrEnum

    @abstractmethod
    def within(self, options: Options, ratios: FrequencyRatios) -> Mask:
        """Return (classes,) whether all ratios of a class are within the limit."""

    @abstractmethod
    def condition(self, ratios: FrequencyRatios) -> Mask:
        """Return (classes,) whether a class satisfies the condition of the strict kind."""

    @abstractmethod
    def worst(self, ratios: FrequencyRatios, among: Mask) -> float:
        """Return the smallest limit within which the ratios of some classes (classes,) are."""

    def is_strict(self, options: Options) -> bool:
        """Return whether options add the condition."""
        return bool(getattr(options, self.kind) is self.strict)

    def strength(self, options: Options) -> tuple[Fraction | int, ...]:
        """Return limit and kind: the smaller limit is stronger, and the strict kind implies the other."""
        return -options.limit, self.is_strict(options)

    def unlimited(self) -> Iterator[Options]:
        """Yield each kind."""
        return (self.options.model_validate({self.asks: 1, self.kind: kind}) for kind in type(self.strict))

    def classes_satisfying(self, options: Options, histograms: Histograms) -> Mask:
        """Return (classes,) which satisfy the options; an empty class does."""
        ratios = FrequencyRatios.of(histograms)
        fine = self.within(options, ratios)
        return fine & self.condition(ratios) if self.is_strict(options) else fine

    def achieved(self, options: Options, histograms: Histograms, among: Mask) -> Measure:
        """Return the smallest limit that some classes (classes,) satisfy; infinity if no limit is satisfied."""
        ratios = FrequencyRatios.of(histograms)
        if self.is_strict(options) and not self.condition(ratios)[among].all():
            return Measure(math.inf)
        return Measure(self.worst(ratios, among))
