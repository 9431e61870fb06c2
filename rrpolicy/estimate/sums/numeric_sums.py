"""Columns of numbers by groups of released records: which records have one, and what the numbers add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import (
    GroupAxis,
    WeightedGroups,
    check_size,
    group_values,
    grouping,
    groups_of,
    ungrouped_condition_axes,
    weigh_groups,
)
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_numbers
from rrpolicy.estimate.counts.scan import count, total
from rrpolicy.estimate.expression import Expression, columns_of
from rrpolicy.estimate.weights.base import AxisWeights, Mask, cross_products
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@frozen(slots=False)
class NumericGroups:
    """Groups of released records with what their numbers add up to.

    Attributes:
        cells: where each group lies, and its weight.
        n: records that have the number (estimated, if that is randomised itself).
        first: sums of the number (of its weight, if the number is randomised itself).
        second: sums of squares of `first`'s terms.
        cross: sums of the products of `n`'s terms and `first`'s.
        counted: sums of squares of `n`'s terms.
        squares: estimated sums of the squared number; as `second` unless the number is randomised.
        centre: what was taken from every number.
        missing: records without it.
        everybody: records, those without it included.
        categories: those of who is without it.
        within: what a mean can be.
    """

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


@frozen(slots=False)
class GroupSums:
    """GroupSums over released records, by group.

    Attributes:
        name: of the column of numbers.
        by: names of what is grouped by.
        groups: of each axis.
        axes: that are grouped by.
        masks: what each group counts.
        numbers: where the records lie.
    """

    name: str
    by: tuple[str, ...]
    groups: tuple[GroupAxis, ...]
    axes: Sequence[AxisWeights]
    masks: Sequence[Mask | None]
    numbers: NumericGroups

    @property
    def keys(self) -> tuple[dict[str, Value], ...]:
        """Return what each group is of."""
        return tuple(dict(key) for key in group_values(self.by, self.groups))

    def of(self, values: Array, power: int) -> Array:
        """Return the sums of values times a power of the record weights."""
        x = self.numbers.cells.sums(values * self.numbers.cells.weight**power)
        for i, (axis, mask) in enumerate(zip(self.axes, self.masks, strict=True)):
            x = axis.contract(x, i, mask, power)
        return x

    def crossed(self, values: Array) -> Array:
        """Return (groups, groups) the sums of values times a record's weights in two groups."""
        x = self.numbers.cells.sums(values * self.numbers.cells.weight**2)
        return cross_products(x, self.axes, self.masks)

    def released(self) -> Array:
        """Return (groups,) released records that speak for each group."""
        x = self.numbers.cells.sums(self.numbers.everybody * self.numbers.cells.speaks)
        for i, (axis, mask) in enumerate(zip(self.axes, self.masks, strict=True)):
            x = axis.support(x, i, mask)
        return x.reshape(-1)


def sums_of(release: Release, value: str, by: Sequence[str], conjuncts: Sequence[Expression], what: str) -> GroupSums:
    """Return the sums of a column of numbers by groups.

    Args:
        release: opened.
        value: the column.
        by: as for `Release.crosstab`.
        conjuncts: what records must satisfy.
        what: the sums are for, in words.

    Raises:
        PolicyError: as `Release.crosstab`; RR274 if the column holds no numbers, or is grouped by as well; RR288 if
            counts are spread inside released groups.
    """
    release = release.reading([value, *by, *(c for e in conjuncts for c in columns_of(e))])
    condition = split(conjuncts, release.columns)
    names, axes = grouping(release.columns, by, condition)
    refuse_biased([*axes, *(axis for axis, _ in condition.masks.values())], what)
    name = release.columns.name(value)
    grouped = [groups_of(axis, names, condition) for axis in axes]
    groups = tuple(g for g, _ in grouped)
    check_size(axes, groups, names)
    return GroupSums(
        name, names, groups, axes, [mask for _, mask in grouped], _sum_numbers(release, name, axes, condition)
    )


def _sum_numbers(release: Release, name: str, axes: Sequence[AxisWeights], condition: Condition) -> NumericGroups:
    """Return the sums of a column of numbers by groups of released records.

    Raises:
        PolicyError: RR274 if it holds no numbers, or is grouped by as well.
    """
    own = release.columns.axes.get(name)
    if own is not None:
        return _sum_category_values(release, name, own, axes, condition)
    check_numbers(release.columns, name)
    others = ungrouped_condition_axes(axes, condition)
    found = total(release.data, [*axes, *(a for a, _ in others)], name, condition.filter, condition.parameters)
    cells = weigh_groups(axes, others, found.codes, len(found.n))
    n = found.n.astype(float)
    first, second = found.first, found.second
    return NumericGroups(cells, n, first, second, first, n, second, found.centre, found.missing, n)


def _sum_category_values(
    release: Release, name: str, own: AxisWeights, axes: Sequence[AxisWeights], condition: Condition
) -> NumericGroups:
    """Return the sums of a column whose categories are numbers: sum n omega with P^T omega = y.

    Records of a category that is no number (missing, or text for what is outside), or that the condition leaves out,
    count as 0 in omega, and as 0 in kappa, the weight of having a number.
    """
    check_not_grouped_by(name, own, axes)
    sizes = category_numbers(release.columns, name, condition.leaves(own))
    others = [(axis, mask) for axis, mask in ungrouped_condition_axes(axes, condition) if axis is not own]
    known = sizes.known
    centre = float(sizes.y[known].mean()) if known.any() else 0.0
    y, has = np.where(known, sizes.y - centre, 0.0), known.astype(float)
    codes, n = count(release.data, [*axes, *(a for a, _ in others), own], condition.filter, condition.parameters)
    cells, code = weigh_groups(axes, others, codes[:-1], len(n)), codes[-1]
    return NumericGroups(
        cells,
        n * own.adding(has)[code],
        n * own.adding(y)[code],
        n * own.products(y, y)[code],
        n * own.products(y, has)[code],
        n * own.products(has, has)[code],
        n * own.adding(y**2)[code],
        centre,
        missing=0,
        everybody=n * own.adding(sizes.among.astype(float))[code],
        categories=sizes.absent,
        within=sizes.within,
    )


def check_not_grouped_by(name: str, own: AxisWeights, axes: Sequence[AxisWeights]) -> None:
    """Refuse a column of numbers whose own axis is grouped by.

    Args:
        name: of the column.
        own: its axis.
        axes: that are grouped by; sets of a condition are counted among them.

    Raises:
        PolicyError: RR274.
    """
    if any(own is axis for axis in axes):
        message = f"{name!r} is averaged, and {' and '.join(map(repr, own.columns))} stands in the groups as well"
        raise PolicyError(Problem("RR274", message, hint="average it from the crosstab of its categories"))
