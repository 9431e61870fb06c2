"""Columns of numbers by groups of released records: sums of the numbers, their means and totals.

With w the weight of a record in a group and y its number, the mean is R = sum w y / sum w. The numerator of its
variance is that of the count with y - R in place of 1: this table, sum (y - R)^2 (w^2 - w); population, N/(N-1) sum
(y - R)^2 w^2; the denominator is (sum w)^2. The same numerators for every r in place of R test whether the mean is r:
the values that are not rejected are the interval (Fieller 1954). Records without a number are in neither sum: where
such records are a category of a randomised column, y and 1 are replaced by their estimates from the column's weights.

The total is T = sum w y. Its variance is that of a count with y in place of 1: S1 = T, S2 = sum w^2 y^2, of which
sum w y^2 is expected without randomisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array
from rrpolicy.estimate.counts.grouping import WeightedGroups, weigh_groups
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_not_grouped_by, check_numbers
from rrpolicy.estimate.counts.scan import count, total
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.results.estimates import Inference
from rrpolicy.estimate.results.intervals import FiellerRatios, bessel, population_variance, table_variance
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.sums.uniform_within_sums import NumericQuestion, SpreadNumbers, spread_numbers
from rrpolicy.estimate.weights.base import AxisWeights, cross_products
from rrpolicy.estimate.weights.recode import refuse_biased

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.survey.people import PeopleNumbers


class NumericSums(Struct, frozen=True, dict=True):
    """Groups of released records with the sums of their numbers.

    Attributes:
        asked: the question.
        cells: the cell and the weight of each group of records.
        n: records that have the number (estimated, if that is randomised itself).
        first: sums of the number (of its weight, if the number is randomised itself).
        second: sums of squares of `first`'s terms.
        cross: sums of the products of `n`'s terms and `first`'s.
        counted: sums of squares of `n`'s terms.
        squares: estimated sums of the squared number; as `second` unless the number is randomised.
        centre: the number subtracted from every number.
        missing: records without it.
        everybody: records, those without it included.
        categories: categories of records without a number.
        within: the possible range of a mean.
    """

    asked: NumericQuestion
    cells: WeightedGroups
    n: Array
    first: Array
    second: Array
    cross: Array
    counted: Array
    squares: Array
    centre: float
    missing: int
    everybody: Array
    categories: tuple[Value, ...] = ()
    within: tuple[float, float] = (-np.inf, np.inf)

    def _sum(self, values: Array, power: int) -> Array:
        """Return the sums of values times a power of the record weights, by group."""
        x = self.cells.sums(values * self.cells.weight**power)
        for i, (axis, mask) in enumerate(self.asked.grouping.axis_masks):
            x = axis.contract(x, i, mask, power)
        return x

    def _crossed(self, values: Array) -> Array:
        """Return (groups, groups) the sums of values times a record's weights in two groups."""
        grouping = self.asked.grouping
        return cross_products(self.cells.sums(values * self.cells.weight**2), grouping.axes, grouping.masks)

    @cached_property
    def _released(self) -> Array:
        """Return (groups,) released records that support each group."""
        x = self.cells.sums(self.everybody * self.cells.speaks)
        for i, (axis, mask) in enumerate(self.asked.grouping.axis_masks):
            x = axis.support(x, i, mask)
        return x.reshape(-1)

    @cached_property
    def _size(self) -> Array:
        return self._sum(self.n, 1)

    @property
    def sizes(self) -> Array:
        """Return (groups,) the estimated records with a number."""
        return self._size.reshape(-1)

    @property
    def left_out(self) -> float:
        """Return the estimated share of the records that have no category with a number."""
        whole = float(self._sum(self.everybody, 1).sum())
        return 1 - float(self._size.sum()) / whole if self.categories and whole else 0.0

    @property
    def means(self) -> Inference:
        """Return the means."""
        size, deviation, N = self._size, self._sum(self.first, 1), self.asked.release.records
        v0, v1, v2 = (self._sum(values, 2) for values in (self.second, self.cross, self.counted))
        own, more = (self._sum(self.squares, 1), deviation, size), bessel(N)
        found = FiellerRatios.of(
            deviation, size,
            square=(v0, v1, v2), own=own, sampled=(more * v0, more * v1, more * v2),
            within=self.within, centre=self.centre,
        )  # fmt: skip

        def covariance(target: Target) -> Array:
            """Return Cov(R_i, R_j), of whose groups no record is in two: sum e_i e_j / (d_i d_j), e = w (y - R)."""
            R, d = found.estimate - found.centre, found.d
            second, cross, counted = (self._crossed(v) for v in (self.second, self.cross, self.counted))
            e = second - (R[:, None] + R) * cross + np.outer(R, R) * counted
            if target == "population":
                return np.asarray(more * e / np.outer(d, d))
            v0, v1, v2 = (v.reshape(-1) for v in own)
            return np.asarray((e - np.diag(v0 - 2 * R * v1 + R**2 * v2)) / np.outer(d, d))

        return Inference.of_ratios(found, covariance, self._released)

    @property
    def totals(self) -> Inference:
        """Return the totals."""
        c = self.centre

        def moment(n: Array, first: Array, second: Array, power: int) -> Array:
            """Return sums of w^power y^2, y = c and the rest."""
            return self._sum(second, power) + 2 * c * self._sum(first, power) + c**2 * self._sum(n, power)

        T = (self._sum(self.first, 1) + c * self._size).reshape(-1)
        square = moment(self.counted, self.cross, self.second, 2).reshape(-1)
        own = moment(self.n, self.first, self.squares, 1).reshape(-1)
        population = population_variance(square, T, self.asked.release.records)
        return Inference.of_sums(T, table_variance(square, own, population), population, self._released)


def sum_numbers(
    release: Release, value: str, by: Sequence[str], conjuncts: Sequence[Expression], what: str
) -> NumericSums | SpreadNumbers | PeopleNumbers:
    """Return the sums of a column of numbers by groups; of people of the population where a design is known.

    Raises:
        PolicyError: as `Release.crosstab`; RR274 if the column contains no numbers, or is a grouping column as well;
            RR288 where values of one column were exchanged and labels of another are cut, or a survey's counts are
            spread.
    """
    asked = NumericQuestion.of(release, value, by, conjuncts)
    grouping, condition, own = asked.grouping, asked.condition, asked.own
    if release.design is not None:
        from rrpolicy.estimate.survey.people import people_numbers

        refuse_biased([*grouping.axes, *condition.axes], what)
        grouping.check_size()
        return people_numbers(asked, release.design)
    known = spread_numbers(asked)
    if known is not None:
        return known
    grouping.check_size()
    if own is not None:
        return _sum_category_values(asked, own)
    release = asked.release
    check_numbers(release.columns, asked.name)
    found = total(release.data, asked.axes, asked.name, condition.filter, condition.parameters)
    cells, n = weigh_groups(grouping.axes, asked.others, found.codes, len(found.n)), found.n.astype(float)
    first, second = found.first, found.second
    return NumericSums(asked, cells, n, first, second, first, n, second, found.centre, found.missing, n)


def _sum_category_values(asked: NumericQuestion, own: AxisWeights) -> NumericSums:
    """Return the sums of a column whose categories are numbers: sum n omega with P^T omega = y.

    Records of a category that is not a number (missing, or text for values outside), or that the condition leaves
    out, count as 0 in omega, and as 0 in kappa, the weight of having a number.
    """
    release, condition, axes = asked.release, asked.condition, asked.grouping.axes
    check_not_grouped_by(asked.name, own, axes)
    numbers = category_numbers(release.columns, asked.name, condition.leaves(own))
    known = numbers.known
    centre = float(numbers.y[known].mean()) if known.any() else 0.0
    y, has = np.where(known, numbers.y - centre, 0.0), known.astype(float)
    codes, n = count(release.data, [*asked.axes, own], condition.filter, condition.parameters)
    cells, code = weigh_groups(axes, asked.others, codes[:-1], len(n)), codes[-1]
    return NumericSums(
        asked,
        cells,
        n * own.adding(has)[code],
        n * own.adding(y)[code],
        n * own.products(y, y)[code],
        n * own.products(y, has)[code],
        n * own.products(has, has)[code],
        n * own.adding(y**2)[code],
        centre,
        missing=0,
        everybody=n * own.adding(numbers.among.astype(float))[code],
        categories=numbers.absent,
        within=numbers.within,
    )
