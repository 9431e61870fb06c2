"""Numbers of generalised records: the records that a group can contain, and bounds of the number of each.

A record may be counted, or must be; its number is known, or lies among those of its label. Means and totals that are
certain follow record by record (`rrpolicy.estimate.sums.uniform_within`), and even spread gives an estimate between
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array, Ints
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import Grouping, ungrouped_condition_axes
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_not_grouped_by, check_numbers
from rrpolicy.estimate.counts.scan import count, values
from rrpolicy.estimate.expression import Expression, columns_of
from rrpolicy.estimate.results.estimates import Inference
from rrpolicy.estimate.sums.anatomy_sums import anatomy_numbers
from rrpolicy.estimate.sums.uniform_within import (
    LargestSums,
    OptionalCells,
    between,
    blocks,
    exchanged_values_error,
    largest_sums,
    ratio,
)
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.recode import RecodeWeights

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


class NumberRanges(Struct, frozen=True):
    """Released records with equal labels in the columns of the question, with the range of their numbers.

    Attributes:
        codes: for each axis, (groups,) the released cell.
        n: (groups,) records.
        least: (groups,) the least number.
        most: (groups,) the largest.
        middle: (groups,) the mean of the numbers of its label.
        has: (groups,) share of its label's categories that are numbers; below 1 the record may have none.
        among: (groups,) share of its label's categories that a condition on the column itself selects.
        missing: records that certainly have none, and are left out.
        categories: categories that are not numbers.
    """

    codes: list[Ints]
    n: Array
    least: Array
    most: Array
    middle: Array
    has: Array
    among: Array
    missing: int
    categories: tuple[Value, ...]


class NumericQuestion(Struct, frozen=True):
    """A column of numbers by groups.

    Attributes:
        release: opened.
        name: name of the column.
        own: its axis; None for a column that is released unchanged.
        condition: condition on the records.
        grouping: the groups.
    """

    release: Release
    name: str
    own: AxisWeights | None
    condition: Condition
    grouping: Grouping

    @classmethod
    def of(cls, release: Release, value: str, by: Sequence[str], conjuncts: Sequence[Expression]) -> NumericQuestion:
        """Return a question by names as they are typed; raises as `Release.crosstab`."""
        release = release.for_columns([value, *by, *(c for e in conjuncts for c in columns_of(e))])
        condition = split(conjuncts, release.columns)
        grouping, name = Grouping.of(release.columns, by, condition), release.columns.name(value)
        return cls(release, name, release.columns.axes.get(name), condition, grouping)

    @property
    def others(self) -> list[tuple[AxisWeights, Mask]]:
        """Return the randomised axes of the condition alone, without that of the numbers."""
        return [
            (axis, mask)
            for axis, mask in ungrouped_condition_axes(self.grouping.axes, self.condition)
            if axis is not self.own
        ]

    @property
    def axes(self) -> list[AxisWeights]:
        """Return all axes but that of the numbers: those of the groups, then those of the condition alone."""
        return [*self.grouping.axes, *(axis for axis, _ in self.others)]


class SpreadNumbers(Struct, frozen=True):
    """Numbers by groups of generalised records.

    Attributes:
        asked: the question.
        means: means of the numbers.
        totals: totals of the numbers.
        sizes: (rows,) records with a number, by even spread.
        missing: records without it.
        categories: categories that are not numbers.
        left_out: the estimated share of the records that have none.
    """

    asked: NumericQuestion
    means: Inference
    totals: Inference
    sizes: Array
    missing: int
    categories: tuple[Value, ...]
    left_out: float


def spread_numbers(asked: NumericQuestion) -> SpreadNumbers | None:
    """Return the numbers by groups where labels are cut by the question; None where nothing is spread.

    Raises:
        PolicyError: RR274 if the column contains no numbers, or is a grouping column as well; RR288 where another
            column was randomised, or two columns are released in separate tables.
    """
    grouping, own = asked.grouping, asked.own
    others = ungrouped_condition_axes(grouping.axes, asked.condition)
    every = [*grouping.axes, *(axis for axis, _ in others), *([own] if own is not None else [])]
    if all(axis.unbiased for axis in every):
        return None
    grouping.check_size()
    if own is not None:
        check_not_grouped_by(asked.name, own, grouping.axes)
    counted = [
        *(
            (axis, np.eye(len(axis.original), dtype=bool) if mask is None else mask)
            for axis, mask in grouping.axis_masks
        ),
        *((axis, mask[:, None]) for axis, mask in asked.others),
    ]
    if any(isinstance(axis, AnatomyWeights) for axis in every):
        return _anatomy_number_bounds(asked, every, counted)
    found = _unchanged_number_ranges(asked) if own is None else _category_number_ranges(asked, own)
    choices = [OptionalCells.of(axis, mask, mask) for axis, mask in counted]
    chosen = [c for _, c in blocks(choices, found.codes, len(found.n))]
    can = np.concatenate([c.part for c in chosen]) & (found.has > 0)[:, None]
    sure = np.concatenate([c.surely_part for c in chosen]) & (found.has == 1)[:, None]
    share = np.concatenate([c.part_share for c in chosen])
    ends = []
    for row in range(len(grouping.keys)):
        at = can[:, row]
        low, high = (largest_sums(found.n[at], sure[at, row], y[at]) for y in (-found.least, found.most))
        ends.append((low, high))
    return _mean_and_total_bounds(
        asked,
        ends,
        sizes=(found.n * found.has) @ share,
        sums=(found.n * found.has * found.middle) @ share,
        everybody=float(((found.n * found.among) @ share).sum()),
        missing=found.missing,
        categories=found.categories,
    )


def _anatomy_number_bounds(
    asked: NumericQuestion, every: Sequence[AxisWeights], counted: Sequence[tuple[AxisWeights, Mask]]
) -> SpreadNumbers:
    """Return the numbers of dealt groups."""
    shared, *more = {id(a): a for a in every if isinstance(a, AnatomyWeights)}.values()
    if more:
        raise shared.beside(more[0])
    drawn = next((a for a in every if a.randomised and not isinstance(a, AnatomyWeights)), None)
    if drawn is not None:
        raise exchanged_values_error(drawn)
    found = anatomy_numbers(asked.release, asked.name, shared, counted, asked.condition)
    ends = []
    for row in found.rows:
        low, high = (
            largest_sums(
                np.ones(len(must) + len(can)), np.arange(len(must) + len(can)) < len(must), np.append(must, can)
            )
            for must, can in (row.mirrored().extreme(), row.extreme())
        )
        ends.append((low, high))
    return _mean_and_total_bounds(
        asked,
        ends,
        sizes=np.array([row.weight.sum() for row in found.rows]),
        sums=np.array([row.weight @ row.y for row in found.rows]),
        everybody=sum(row.everybody for row in found.rows),
        missing=found.missing,
        categories=found.categories,
    )


def _mean_and_total_bounds(
    asked: NumericQuestion,
    ends: Sequence[tuple[LargestSums, LargestSums]],
    *,
    sizes: Array,
    sums: Array,
    everybody: float,
    missing: int,
    categories: tuple[Value, ...],
) -> SpreadNumbers:
    """Return estimates and bounds; the least are the negated largest of the negated numbers."""
    means = np.array([(-low.mean, high.mean) for low, high in ends]).reshape(-1, 2)
    totals = np.array([(-low.total, high.total) for low, high in ends]).reshape(-1, 2) + 0.0
    left_out = 1 - float(sizes.sum()) / everybody if categories and everybody else 0.0
    known = between(ratio(sums, sizes), *means.T), between(sums, *totals.T)
    return SpreadNumbers(asked, *known, sizes, missing, categories, left_out)


def _unchanged_number_ranges(asked: NumericQuestion) -> NumberRanges:
    """Return the numbers of a column that is released unmodified."""
    release, condition = asked.release, asked.condition
    check_numbers(release.columns, asked.name)
    codes, y, missing = values(release.data, asked.axes, asked.name, condition.filter, condition.parameters)
    one = np.ones(len(y))
    return NumberRanges(codes, one, y, y, y, one, one, missing, ())


def _category_number_ranges(asked: NumericQuestion, own: AxisWeights) -> NumberRanges:
    """Return the ranges of a column whose categories are numbers, if some of its labels cover several categories."""
    if own.randomised and own.unbiased:
        raise exchanged_values_error(own)
    release, condition = asked.release, asked.condition
    sizes = category_numbers(release.columns, asked.name, condition.leaves(own))
    groups = own.groups if isinstance(own, RecodeWeights) else tuple((u,) for u in range(len(sizes.y)))
    held = [sizes.y[[v for v in group if sizes.known[v]]] for group in groups]
    has = np.array([len(h) / len(group) for h, group in zip(held, groups, strict=True)])
    among = np.array([sizes.among[list(group)].mean() for group in groups])
    least, most, middle = (
        np.array([float(of(h)) if len(h) else 0.0 for h in held]) for of in (np.min, np.max, np.mean)
    )
    codes, n = count(release.data, [*asked.axes, own], condition.filter, condition.parameters)
    code = codes[-1]
    numbers = (least[code], most[code], middle[code], has[code], among[code])
    return NumberRanges(codes[:-1], n.astype(float), *numbers, 0, sizes.absent)
