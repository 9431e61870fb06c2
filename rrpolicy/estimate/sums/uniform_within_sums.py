"""Numbers of generalised records: which records a group can hold, and between which numbers each of them has one.

A record may be counted, or must be; its number is known, or lies among those of its label. Means and totals that are
certain follow record by record (`rrpolicy.estimate.sums.uniform_within`), and even spread gives an estimate between
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import (
    check_size,
    group_values,
    grouping,
    groups_of,
    ungrouped_condition_axes,
)
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_numbers
from rrpolicy.estimate.counts.scan import count, values
from rrpolicy.estimate.expression import Expression, columns_of
from rrpolicy.estimate.sums.anatomy_sums import anatomy_numbers
from rrpolicy.estimate.sums.numeric_sums import check_not_grouped_by
from rrpolicy.estimate.sums.uniform_within import (
    LargestSums,
    OptionalCells,
    RatioBounds,
    blocks,
    exchanged_values_error,
    largest_sums,
    ratio,
)
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array, Ints

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@frozen(slots=False)
class NumberRanges:
    """Released records alike in what is asked, with the numbers that each can have.

    Attributes:
        codes: of each axis, (groups,) the released cell.
        n: (groups,) records.
        least: (groups,) the least number.
        most: (groups,) the largest.
        middle: (groups,) the mean of the numbers of its label.
        has: (groups,) how much of its label is numbers; below 1 the record may have none.
        among: (groups,) how much of it a condition on the column itself leaves.
        missing: records that certainly have none, and are left out.
        categories: those that are no number.
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


@frozen(slots=False)
class SpreadNumbers:
    """Numbers by groups of generalised records.

    Attributes:
        name: of the column.
        by: names of what is grouped by.
        keys: what each group is of.
        means: what is known of the means.
        totals: of the sums.
        sizes: (rows,) records with a number, by even spread.
        missing: records without it.
        categories: those that are no number.
        left_out: the estimated share of the records that have none.
    """

    name: str
    by: tuple[str, ...]
    keys: tuple[Mapping[str, Value], ...]
    means: RatioBounds
    totals: RatioBounds
    sizes: Array
    missing: int
    categories: tuple[Value, ...]
    left_out: float


def spread_numbers(
    release: Release, value: str, by: Sequence[str], conjuncts: Sequence[Expression]
) -> SpreadNumbers | None:
    """Return the numbers by groups where labels are cut by what is asked; None where nothing is spread.

    Args:
        release: opened.
        value: the column of numbers.
        by: as for `Release.crosstab`.
        conjuncts: what records must satisfy.

    Raises:
        PolicyError: RR274 if the column holds no numbers, or is grouped by as well; RR288 where another column was
            randomised, or two columns are released in tables of their own.
    """
    release = release.reading([value, *by, *(c for e in conjuncts for c in columns_of(e))])
    condition = split(conjuncts, release.columns)
    names, axes = grouping(release.columns, by, condition)
    others = ungrouped_condition_axes(axes, condition)
    name = release.columns.name(value)
    own = release.columns.axes.get(name)
    every = [*axes, *(axis for axis, _ in others), *([own] if own is not None else [])]
    if all(axis.unbiased for axis in every):
        return None
    grouped = [groups_of(axis, names, condition) for axis in axes]
    check_size(axes, [g for g, _ in grouped], names)
    whole = [np.eye(len(axis.original), dtype=bool) for axis in axes]
    masks = [one if mask is None else mask for one, (_, mask) in zip(whole, grouped, strict=True)]
    if own is not None:
        check_not_grouped_by(name, own, axes)
    asked = [*zip(axes, masks, strict=True), *((axis, mask[:, None]) for axis, mask in others if axis is not own)]
    keys = tuple(group_values(names, [g for g, _ in grouped]))
    if any(isinstance(axis, AnatomyWeights) for axis in every):
        return _anatomy_number_bounds(release, name, every, asked, condition, names, keys)
    told = [axis for axis in every if axis is not own]
    found = (
        _unchanged_number_ranges(release, name, told, condition)
        if own is None
        else _category_number_ranges(release, name, own, told, condition)
    )
    chosen = [
        c for _, c in blocks([OptionalCells.of(axis, mask, mask) for axis, mask in asked], found.codes, len(found.n))
    ]
    can = np.concatenate([c.part for c in chosen]) & (found.has > 0)[:, None]
    sure = np.concatenate([c.surely_part for c in chosen]) & (found.has == 1)[:, None]
    share = np.concatenate([c.part_share for c in chosen])
    ends = []
    for row in range(len(keys)):
        at = can[:, row]
        low, high = (largest_sums(found.n[at], sure[at, row], y[at]) for y in (-found.least, found.most))
        ends.append((low, high))
    return _mean_and_total_bounds(
        (name, names, keys),
        ends,
        sizes=(found.n * found.has) @ share,
        sums=(found.n * found.has * found.middle) @ share,
        everybody=float(((found.n * found.among) @ share).sum()),
        missing=found.missing,
        categories=found.categories,
    )


def _anatomy_number_bounds(  # noqa: PLR0917 what is asked, and of what
    release: Release,
    name: str,
    every: Sequence[AxisWeights],
    asked: Sequence[tuple[AxisWeights, Mask]],
    condition: Condition,
    by: tuple[str, ...],
    keys: tuple[Mapping[str, Value], ...],
) -> SpreadNumbers:
    """Return the numbers of dealt groups."""
    shared, *more = {id(a): a for a in every if isinstance(a, AnatomyWeights)}.values()
    if more:
        raise shared.beside(more[0])
    drawn = next((a for a in every if a.randomised and not isinstance(a, AnatomyWeights)), None)
    if drawn is not None:
        raise exchanged_values_error(drawn)
    found = anatomy_numbers(release, name, shared, asked, condition)
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
        (name, by, keys),
        ends,
        sizes=np.array([row.weight.sum() for row in found.rows]),
        sums=np.array([row.weight @ row.y for row in found.rows]),
        everybody=sum(row.everybody for row in found.rows),
        missing=found.missing,
        categories=found.categories,
    )


def _mean_and_total_bounds(
    of: tuple[str, tuple[str, ...], tuple[Mapping[str, Value], ...]],
    ends: Sequence[tuple[LargestSums, LargestSums]],
    *,
    sizes: Array,
    sums: Array,
    everybody: float,
    missing: int,
    categories: tuple[Value, ...],
) -> SpreadNumbers:
    """Return what is known of means and totals; of the least, the ends are those of the numbers with the other sign."""
    means = np.array([(-low.mean, high.mean) for low, high in ends]).reshape(-1, 2)
    totals = np.array([(-low.total, high.total) for low, high in ends]).reshape(-1, 2) + 0.0
    left_out = 1 - float(sizes.sum()) / everybody if categories and everybody else 0.0
    known = _bounds_around(ratio(sums, sizes), means), _bounds_around(sums, totals)
    return SpreadNumbers(*of, *known, sizes, missing, categories, left_out)


def _bounds_around(estimate: Array, ends: Array) -> RatioBounds:
    low, high = ends[:, 0], ends[:, 1]
    return RatioBounds(np.where(np.isnan(low), np.nan, np.clip(estimate, low, high)), low, high)


def _unchanged_number_ranges(
    release: Release, name: str, axes: Sequence[AxisWeights], condition: Condition
) -> NumberRanges:
    """Return the numbers of a column that is released as it is."""
    check_numbers(release.columns, name)
    codes, y, missing = values(release.data, axes, name, condition.filter, condition.parameters)
    one = np.ones(len(y))
    return NumberRanges(codes, one, y, y, y, one, one, missing, ())


def _category_number_ranges(
    release: Release, name: str, own: AxisWeights, axes: Sequence[AxisWeights], condition: Condition
) -> NumberRanges:
    """Return the numbers of a column whose categories are numbers, some of its labels standing for several."""
    if own.randomised and own.unbiased:
        raise exchanged_values_error(own)
    sizes = category_numbers(release.columns, name, condition.leaves(own))
    groups = own.groups if isinstance(own, RecodeWeights) else tuple((u,) for u in range(len(sizes.y)))
    held = [sizes.y[[v for v in group if sizes.known[v]]] for group in groups]
    has = np.array([len(h) / len(group) for h, group in zip(held, groups, strict=True)])
    among = np.array([sizes.among[list(group)].mean() for group in groups])
    least, most, middle = (
        np.array([float(of(h)) if len(h) else 0.0 for h in held]) for of in (np.min, np.max, np.mean)
    )
    codes, n = count(release.data, [*axes, own], condition.filter, condition.parameters)
    code = codes[-1]
    numbers = (least[code], most[code], middle[code], has[code], among[code])
    return NumberRanges(codes[:-1], n.astype(float), *numbers, 0, sizes.absent)
