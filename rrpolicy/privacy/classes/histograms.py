"""Equivalence classes of a released table, and what k-anonymity and l-diversity measure on them: counts, in integers.

A class is all records that agree in everything an attacker is taken to know. Of each sensitive attribute only the
occupied cells are kept, so that wide domains cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.classes.entropy import effective_number, entropy_reaches

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.classes.class_population import Population

Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[Any]
"""Integers of 64 bits, or Python's where a product might not fit."""

_FITS = 2**62
CLOSE_MARGIN = 1e-9
"""Doubles are trusted this far; what lies nearer is decided in integers."""


@frozen(slots=False)
class Histograms:
    """Counts of one sensitive attribute in every class.

    Attributes:
        start: (classes + 1,) where the cells of each class begin; non-decreasing.
        value: (cells,) position of the sensitive value among the attribute's values; increasing within a class.
        n: (cells,) records; all > 0.
        values: how many values the attribute has, occurring or not.
        beyond: (values,) records with each value of the whole that classes are compared with, where they do not make
            it up themselves.
    """

    start: Ints
    value: Ints
    n: Ints
    values: int
    beyond: Ints | None = None

    @classmethod
    def of_dense(cls, counts: Ints) -> Histograms:
        """Return the histograms of an array (classes, values)."""
        group, value = np.nonzero(counts)
        start = np.concatenate(([0], np.cumsum(np.count_nonzero(counts, axis=1)))).astype(np.int64)
        return cls(start, value.astype(np.int64), counts[group, value].astype(np.int64), counts.shape[1])

    @classmethod
    def of_cells(cls, group: Ints, value: Ints, n: Ints, *, classes: int, values: int) -> Histograms:
        """Return the histograms of cells in any order, equal ones added.

        Args:
            group: (cells,) the class of each.
            value: (cells,) its sensitive value.
            n: (cells,) records; 0 is allowed.
            classes: how many classes there are.
            values: how many sensitive values.
        """
        key = group.astype(np.int64) * values + value
        order = np.argsort(key, kind="stable")
        key, n = key[order], n[order]
        if len(key):
            starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
            key, n = key[starts], np.add.reduceat(n, starts)
            key, n = key[n > 0], n[n > 0]
        start = np.searchsorted(key, np.arange(classes + 1, dtype=np.int64) * values)
        return cls(start.astype(np.int64), key % values, n.astype(np.int64), values)

    @property
    def classes(self) -> int:
        """Return the number of classes, empty ones included."""
        return len(self.start) - 1

    @cached_property
    def group(self) -> Ints:
        """Return (cells,) the class of each cell."""
        return np.repeat(np.arange(self.classes), np.diff(self.start))

    @cached_property
    def sizes(self) -> Ints:
        """Return (classes,) the records in each class."""
        sizes: Ints = self.sums(self.n)
        return sizes

    @cached_property
    def distinct(self) -> Ints:
        """Return (classes,) the number of sensitive values that occur."""
        return np.diff(self.start)

    @cached_property
    def commonest(self) -> Ints:
        """Return (classes,) the records with the commonest value; 0 for an empty class."""
        commonest: Ints = self._reduce(np.maximum, self.n)
        return commonest

    @cached_property
    def uniform(self) -> Mask:
        """Return (classes,) whether all values that occur are equally frequent."""
        uniform: Mask = self.commonest * self.distinct == self.sizes
        return uniform

    @cached_property
    def totals(self) -> Ints:
        """Return (values,) the records with each value over all classes."""
        totals = np.zeros(self.values, dtype=np.int64)
        np.add.at(totals, self.value, self.n)
        return totals

    @property
    def whole(self) -> Ints:
        """Return (values,) the records with each value of the whole that classes are compared with."""
        return self.totals if self.beyond is None else self.beyond

    @cached_property
    def entropy(self) -> Array:
        """Return (classes,) the entropy of the sensitive values in nats, in doubles; 0 for an empty class."""
        size = np.maximum(self.sizes, 1)
        share = self.n / size[self.group]
        return np.maximum(-np.asarray(self._reduce(np.add, share * np.log(share)), dtype=np.float64), 0.0)

    def sums(self, x: Integers) -> Integers:
        """Return (classes,) the sum over each class's cells."""
        total: Integers = self._reduce(np.add, x)
        return total

    def _reduce(self, how: np.ufunc, x: Any) -> Any:
        """Reduce cells to classes; `reduceat` alone would give an empty class its neighbour's cell."""
        occupied = np.flatnonzero(self.distinct)
        reduced = np.zeros(self.classes, dtype=x.dtype)
        if len(occupied):
            reduced[occupied] = how.reduceat(x, self.start[occupied])
        return reduced

    def counts(self, index: int) -> tuple[int, ...]:
        """Return the counts of one class in increasing order."""
        return tuple(sorted(int(x) for x in self.n[self.start[index] : self.start[index + 1]]))

    def frequent(self, l: Fraction) -> Mask:
        """Return whether r_1 l <= n, class by class."""
        return ratio_at_most(self.commonest, self.sizes, 1 / l)

    def entropic(self, l: Fraction) -> Mask:
        """Return whether the entropy is log l at least, class by class; in integers where doubles cannot tell."""
        away = self.entropy - float(np.log(float(l)))
        enough: Mask = self.distinct >= math.ceil(l)
        mask: Mask = np.where(self.uniform, enough, away >= 0)
        decided: dict[tuple[int, ...], bool] = {}
        for index in np.flatnonzero((np.abs(away) <= CLOSE_MARGIN) & ~self.uniform):
            counts = self.counts(int(index))
            if counts not in decided:
                decided[counts] = entropy_reaches(counts, l)
            mask[index] = decided[counts]
        mask |= self.sizes == 0
        return mask

    def least_effective_number(self, among: Mask) -> float | None:
        """Return e^entropy of the class with the least, rounded down; None if there is no class among these."""
        index = np.flatnonzero(among & (self.sizes > 0))
        if not len(index):
            return None
        entropy = self.entropy[index]
        tied = index[entropy <= entropy.min() + CLOSE_MARGIN]
        numbers = [float(d) for d in np.unique(self.distinct[tied[self.uniform[tied]]])]
        numbers += [effective_number(counts) for counts in {self.counts(int(i)) for i in tied[~self.uniform[tied]]}]
        return min(numbers)

    def recursive(self, l: int) -> tuple[Ints, Ints]:
        """Return (classes,) r_1 and r_l + … + r_m, which is 0 where there are fewer than l values."""
        order = np.lexsort((-self.n, self.group))
        rank = np.arange(len(order)) - self.start[self.group]
        return self.commonest, self.sums(np.where(rank >= l - 1, self.n[order], 0))


@frozen(slots=False)
class Classes:
    """The equivalence classes of a released table.

    Attributes:
        sizes: (classes,) records in each; all > 0.
        histograms: by sensitive attribute, over the same classes; the whole that they are compared with has the
            suppressed records as well, whose sensitive values are released.
        concerned: (classes,) those that may hold a record of the subgroup that a requirement is limited to.
        suppressed: records that are in no class, as all that would be known of them was suppressed.
        population: people who agree with each class, where anything is known of the population; else None.
    """

    sizes: Ints
    histograms: Mapping[str, Histograms]
    concerned: Mask
    suppressed: int = 0
    population: Population | None = None

    @property
    def records(self) -> int:
        """Return the records in classes."""
        return int(self.sizes.sum())


def ratio_at_most(numerator: Integers, denominator: Integers, limit: Fraction, *, strictly: bool = False) -> Mask:
    """Return whether numerator/denominator <= limit (or <), in integers; both >= 0, and 0/0 counts as 0.

    Args:
        numerator: (classes,) integers.
        denominator: (classes,) integers.
        limit: what the ratios are held against.
        strictly: whether equality fails.
    """
    left, right = exact_product(numerator, limit.denominator), exact_product(denominator, limit.numerator)
    mask: Mask = (left < right if strictly else left <= right).astype(bool)
    return mask


def exact_product(x: Integers, factor: int) -> Integers:
    """Return integers times one integer, in Python's integers where 64 bits might not hold it."""
    most = int(np.abs(x).max(initial=0)) if len(x) else 0
    return (x if most * abs(factor) < _FITS else x.astype(object)) * factor


def integer_type_for(bound: int) -> Any:
    """Return the type of integers that holds sums up to a bound."""
    return np.int64 if bound < _FITS else object


def largest_ratio(numerator: Integers, denominator: Integers, among: Mask) -> Fraction | None:
    """Return the largest ratio exactly; None if there is none, or if one's denominator is 0.

    Args:
        numerator: (classes,) integers >= 0.
        denominator: (classes,) integers > 0.
        among: (classes,) which of them count.
    """
    index = np.flatnonzero(among)
    if not len(index) or np.any(denominator[index] == 0):
        return None
    ratio = numerator[index].astype(np.float64) / denominator[index].astype(np.float64)
    close = index[ratio >= ratio.max() * (1 - CLOSE_MARGIN)]
    return max(Fraction(a, b) for a, b in {(int(numerator[i]), int(denominator[i])) for i in close})
