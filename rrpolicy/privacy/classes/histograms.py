"""Equivalence classes of a released table, and the integer counts with which models measure them.

A class contains all records that agree in everything that an attacker knows. Only the occupied cells of each sensitive
attribute are stored, so that wide domains cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rrpolicy.privacy.classes.entropy import effective_number, entropy_reaches

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.classes.class_population import Population

Mask: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[Any]
"""Integers of 64 bits, or Python integers if a product might not fit."""

_FITS = 2**62
CLOSE_MARGIN = 1e-9
"""Doubles decide beyond this margin, integers within it."""


@dataclass(frozen=True)
class Histograms:
    """Counts of one sensitive attribute in every class.

    Attributes:
        start: (classes + 1,) the first cell of each class; non-decreasing.
        value: (cells,) position of the sensitive value among the attribute's values; increasing within a class.
        n: (cells,) records; all > 0.
        values: the number of values of the attribute, occurring or not.
        beyond: (values,) records with each value of the whole release; None if the classes are the whole.
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
        """Return the histograms of (cells,) classes, values and records in any order; equal cells are added."""
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
        return self.sums(self.n)

    @cached_property
    def distinct(self) -> Ints:
        """Return (classes,) the number of sensitive values that occur."""
        return np.diff(self.start)

    @cached_property
    def commonest(self) -> Ints:
        """Return (classes,) the records with the commonest value; 0 for an empty class."""
        return self._reduce(np.maximum, self.n)

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
        """Return (values,) the records with each value of the whole release."""
        return self.totals if self.beyond is None else self.beyond

    @cached_property
    def entropy(self) -> Array:
        """Return (classes,) the entropy of the sensitive values in nats, in doubles; 0 for an empty class."""
        size = np.maximum(self.sizes, 1)
        share = self.n / size[self.group]
        return np.maximum(-np.asarray(self._reduce(np.add, share * np.log(share)), dtype=np.float64), 0.0)

    def sums(self, x: Integers) -> Integers:
        """Return (classes,) the sum over each class's cells."""
        return self._reduce(np.add, x)

    def _reduce(self, how: np.ufunc, x: Any) -> Integers:
        """Reduce cells to classes; `reduceat` alone would give an empty class its neighbour's cell."""
        occupied = np.flatnonzero(self.distinct)
        reduced: Integers = np.zeros(self.classes, dtype=x.dtype)
        if len(occupied):
            reduced[occupied] = how.reduceat(x, self.start[occupied])
        return reduced

    def counts(self, index: int) -> tuple[int, ...]:
        """Return the counts of one class in increasing order."""
        return tuple(sorted(int(x) for x in self.n[self.start[index] : self.start[index + 1]]))

    def frequent(self, l: Fraction) -> Mask:
        """Return (classes,) whether r_1 l <= n."""
        return ratio_at_most(self.commonest, self.sizes, 1 / l)

    def entropic(self, l: Fraction) -> Mask:
        """Return (classes,) whether the entropy is at least log l; in integers where doubles cannot decide."""
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
        """Return the least e^entropy of some classes, rounded down; None without a class."""
        index = np.flatnonzero(among & (self.sizes > 0))
        if not len(index):
            return None
        entropy = self.entropy[index]
        tied = index[entropy <= entropy.min() + CLOSE_MARGIN]
        numbers = [float(d) for d in np.unique(self.distinct[tied[self.uniform[tied]]])]
        numbers += [effective_number(counts) for counts in {self.counts(int(i)) for i in tied[~self.uniform[tied]]}]
        return min(numbers)

    def recursive(self, l: int) -> tuple[Ints, Ints]:
        """Return (classes,) r_1 and r_l + … + r_m, which is 0 for fewer than l values."""
        order = np.lexsort((-self.n, self.group))
        rank = np.arange(len(order)) - self.start[self.group]
        return self.commonest, self.sums(np.where(rank >= l - 1, self.n[order], 0))


@dataclass(frozen=True)
class Classes:
    """The equivalence classes of a released table.

    Attributes:
        sizes: (classes,) records in each; all > 0.
        histograms: sensitive attribute -> its histograms, over the same classes; their whole includes suppressed
            records, whose sensitive values are released.
        concerned: (classes,) those that may have a record of a requirement's subgroup.
        suppressed: records in no class, as all their known columns are suppressed.
        population: people who agree with each class; None if the population is unknown.
        of: what is counted in a class, records or units of protection.
    """

    sizes: Ints
    histograms: Mapping[str, Histograms]
    concerned: Mask
    suppressed: int = 0
    population: Population | None = None
    of: Literal["records", "units"] = "records"

    @property
    def records(self) -> int:
        """Return the records in classes."""
        return int(self.sizes.sum())


def ratio_at_most(numerator: Integers, denominator: Integers, limit: Fraction, *, strictly: bool = False) -> Mask:
    """Return (classes,) whether numerator/denominator <= limit (strictly: <), in integers >= 0; 0/0 counts as 0."""
    left, right = exact_product(numerator, limit.denominator), exact_product(denominator, limit.numerator)
    mask: Mask = (left < right if strictly else left <= right).astype(bool)
    return mask


def exact_product(x: Integers, factor: int) -> Integers:
    """Return integers times one integer, as Python integers if 64 bits might overflow."""
    most = int(np.abs(x).max(initial=0)) if len(x) else 0
    return (x if most * abs(factor) < _FITS else x.astype(object)) * factor


def integer_type_for(bound: int) -> Any:
    """Return the integer type for sums up to a bound."""
    return np.int64 if bound < _FITS else object


def largest_ratio(numerator: Integers, denominator: Integers, among: Mask) -> Fraction | None:
    """Return the exact largest of (classes,) ratios of integers >= 0; None without one, or with a denominator 0."""
    index = np.flatnonzero(among)
    if not len(index) or np.any(denominator[index] == 0):
        return None
    ratio = numerator[index].astype(np.float64) / denominator[index].astype(np.float64)
    close = index[ratio >= ratio.max() * (1 - CLOSE_MARGIN)]
    return max(Fraction(a, b) for a, b in {(int(numerator[i]), int(denominator[i])) for i in close})
