"""Grouping: the axes of the columns that are named, the weights of a condition, and the sums of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.sets import SetWeights

CELLS = 10_000_000
"""The largest marginal that is reconstructed densely."""


class GroupAxis(Struct, frozen=True):
    """The groups of one axis.

    Attributes:
        columns: released names.
        labels: one tuple a group, one label a column.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Value, ...], ...]


def group_values(by: Sequence[str], groups: Sequence[GroupAxis]) -> list[Mapping[str, Value]]:
    """Return the group of each cell of a table by some columns, in the order of its rows."""
    parts = [[dict(zip(g.columns, labels, strict=True)) for labels in g.labels] for g in groups]
    merged = ({k: v for part in cell for k, v in part.items()} for cell in product(*parts))
    return [{b: cell[b] for b in by} for cell in merged]


def grouping(
    columns: Columns, by: Sequence[str], condition: Condition | None = None
) -> tuple[tuple[str, ...], list[AxisWeights]]:
    """Return the exact names of columns and their axes, each axis once.

    `condition`: its columns of sets are counted as those grouped by are, and then form one group.

    Raises:
        PolicyError: RR262 or RR263 for a name that cannot be grouped by, or one that is named twice.
    """
    names = tuple(map(columns.name, by))
    if len(set(names)) < len(names):
        raise PolicyError(Problem("RR263", "a column is grouped by twice", hint="name each column once"))
    axes = {id(a): a for a in map(columns.axis, names)}
    sets = (a for a, _ in condition.masks.values() if isinstance(a, SetWeights)) if condition else ()
    return names, list((axes | {id(a): a for a in sets}).values())


def count_of_records(axes: Sequence[AxisWeights], codes: Sequence[Ints], n: Ints) -> int:
    """Return the number of counted records; records with sets are in several cells, the first of which has them all."""
    whole = np.ones(len(n), dtype=bool)
    for axis, code in zip(axes, codes, strict=False):
        if isinstance(axis, SetWeights):
            whole &= code == 0
    return int(n[whole].sum())


class WeightedGroups(Struct, frozen=True):
    """Groups of released records: which cell of the grouping axes each lies in, and its weight in the condition.

    Attributes:
        shape: released cells of each grouping axis.
        flat: (groups,) cell in C order.
        weight: (groups,) product of the condition's weights.
        speaks: (groups,) 1 if the released values support the condition, else 0.
    """

    shape: tuple[int, ...]
    flat: Ints
    weight: Array
    speaks: Array

    def sums(self, values: Array) -> Array:
        """Return the sums of values by cell, of `shape`."""
        cells = math.prod(self.shape)
        return np.bincount(self.flat, weights=values, minlength=cells).astype(float).reshape(self.shape)


def ungrouped_condition_axes(axes: Sequence[AxisWeights], condition: Condition) -> list[tuple[AxisWeights, Mask]]:
    """Return the randomised axes of a condition that are not grouping axes, with the cells that satisfy it."""
    return [(axis, mask) for axis, mask in condition.masks.values() if all(axis is not a for a in axes)]


def weigh_groups(
    axes: Sequence[AxisWeights], others: Sequence[tuple[AxisWeights, Mask]], codes: Sequence[Ints], size: int
) -> WeightedGroups:
    """Weigh groups of released records by a condition's axes.

    `others`: the axes of the condition, with the cells that satisfy it. `codes`: released cells of the grouping axes,
    then of the others.
    """
    weight, speaks, flat = np.ones(size), np.ones(size), np.zeros(size, dtype=np.int64)
    for (axis, mask), code in zip(others, codes[len(axes) :], strict=False):
        weight *= axis.vector(mask)[code]
        speaks *= axis.under(mask[:, None])[code, 0]
    shape = tuple(a.counted for a in axes)
    for length, code in zip(shape, codes, strict=False):
        flat = flat * length + code
    return WeightedGroups(shape, flat, weight, speaks)


def groups_of(axis: AxisWeights, names: Sequence[str], condition: Condition) -> tuple[GroupAxis, Mask | None]:
    """Return the groups of an axis, and their categories: (V, groups), or None for every category by itself."""
    shown = tuple(c for c in (*axis.columns, *(c for c, _ in axis.more)) if c in names)
    mask = condition.leaves(axis)
    if not shown:
        return GroupAxis((), ((),)), mask[:, None]
    labels = list(zip(*map(axis.labels_of, shown), strict=True))
    groups = tuple(dict.fromkeys(v for v, keep in zip(labels, mask, strict=True) if keep))
    if len(groups) == len(axis.original):
        return GroupAxis(shown, groups), None
    number = {g: i for i, g in enumerate(groups)}
    targets = np.zeros((len(axis.original), len(groups)), dtype=bool)
    for v in np.flatnonzero(mask):
        targets[v, number[labels[v]]] = True
    return GroupAxis(shown, groups), targets


class Grouping(Struct, frozen=True, dict=True):
    """The groups of some columns.

    Attributes:
        by: exact names of the columns.
        axes: each axis once.
        groups: the groups of each axis.
        masks: the original categories in the groups of each axis, (V, groups); None for every category by itself.
    """

    by: tuple[str, ...]
    axes: Sequence[AxisWeights]
    groups: tuple[GroupAxis, ...]
    masks: tuple[Mask | None, ...]

    @classmethod
    def of(cls, columns: Columns, by: Sequence[str], condition: Condition) -> Grouping:
        """Return the groups that a condition leaves; raises as `grouping`."""
        names, axes = grouping(columns, by, condition)
        return cls.over(axes, names, condition)

    @classmethod
    def over(cls, axes: Sequence[AxisWeights], names: tuple[str, ...], condition: Condition) -> Grouping:
        """Return the groups by columns of some axes; an axis without a column has one group of all its cells."""
        each = [groups_of(axis, names, condition) for axis in axes]
        return cls(names, axes, tuple(group for group, _ in each), tuple(mask for _, mask in each))

    @property
    def axis_masks(self) -> tuple[tuple[AxisWeights, Mask | None], ...]:
        """Return each axis with the categories in its groups."""
        return tuple(zip(self.axes, self.masks, strict=True))

    @cached_property
    def keys(self) -> tuple[Mapping[str, Value], ...]:
        """Return the categories of each group, by column."""
        return tuple(group_values(self.by, self.groups))

    def check_size(self) -> None:
        """Refuse a table that is too large to be dense.

        Raises:
            PolicyError: RR268.
        """
        cells = max(math.prod(a.counted for a in self.axes), math.prod(len(g.labels) for g in self.groups))
        if cells > CELLS:
            message = f"a table by {', '.join(map(repr, self.by))} has {cells:,} cells, more than {CELLS:,}"
            hint = "group by fewer columns, and name the categories you need in the condition"
            raise PolicyError(Problem("RR268", message, hint=hint))
