"""What rules are made of: items, each a category of a column, and what a record weighs in the count of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import groups_of
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.frozen_dataclass import frozen

Name = tuple[str, Value]


@frozen(slots=False)
class Items:
    """Categories of columns, in the order of the columns.

    A record weighs `base` in the count of an item, and in each of the item's rows of bits, which exclude one another,
    `more` than that.

    Attributes:
        names: column and category of each.
        axes: (items,) the axis of each, as a place among those that transactions are read by; items of one axis are in
            no rule together.
        base: (items,).
        more: (items, most rows); 0 where an item has fewer.
        rows: (items, most rows) places among the rows of the transactions; 0 where an item has fewer.
        asked: (items,) the axis of the condition that an item is of, as a place among those; -1 for none.
    """

    names: tuple[Name, ...]
    axes: Ints = field(repr=False)
    base: Array = field(repr=False)
    more: Array = field(repr=False)
    rows: Ints = field(repr=False)
    asked: Ints = field(repr=False)

    @cached_property
    def weights(self) -> Array:
        """Return (2, items, 1 + most rows): weights, and their squares, as `base` and what each row adds."""
        base = self.base[:, None]
        return np.stack([np.concatenate([base**p, (base + self.more) ** p - base**p], axis=1) for p in (1, 2)])

    def select(self, places: Sequence[int]) -> Items:
        """Return some of the items, by their places in order."""
        chosen = list(places)
        return Items(
            tuple(self.names[i] for i in chosen),
            self.axes[chosen],
            self.base[chosen],
            self.more[chosen],
            self.rows[chosen],
            self.asked[chosen],
        )

    @classmethod
    def plain(cls, names: Sequence[Name], axes: Ints) -> Items:
        """Return items that are counted as they stand, each by the row of its own place."""
        size = len(names)
        own, none = np.arange(size)[:, None], np.full(size, -1)
        return cls(tuple(names), axes, np.zeros(size), np.ones((size, 1)), own, none)


@frozen(slots=False)
class BitRow:
    """One row of bits: the records whose released cell of an axis is one of some.

    Attributes:
        axis: place of the axis.
        cells: (released cells,) which of them.
    """

    axis: int
    cells: Mask = field(repr=False)


def make_items(
    columns: Columns,
    axes: Sequence[AxisWeights],
    names: Sequence[str],
    condition: Condition,
    present: Sequence[Value] | None,
) -> tuple[Items, tuple[BitRow, ...]]:
    """Return the items of some columns, and the rows of bits that they are counted by.

    Args:
        columns: of the release.
        axes: of the columns, each once.
        names: exact names of the columns.
        condition: items have the categories that it leaves.
        present: of a column that has one of these categories, the only ones that are items; None for every category.

    Raises:
        PolicyError: RR277 if no column has a category that is `present`; RR267 where weights cannot be solved.
    """
    rows: dict[tuple[int, bytes], int] = {}
    found: list[BitRow] = []
    items: list[tuple[Name, int, float, list[tuple[int, float]], int]] = []
    asked = {axis: place for place, axis in enumerate(condition.masks)}
    only = set(map(category_text, present or ()))
    met: set[str] = set()
    place_of = {id(axis): place for place, axis in enumerate(axes)}
    for name in names:
        axis = columns.axis(name)
        place = place_of[id(axis)]
        group, mask = groups_of(axis, (name,), condition)
        weights = axis.table if mask is None else axis.solve(mask)
        labels = [value for (value,) in group.labels]
        own = {category_text(value) for value in labels} & only
        met |= own
        for label, weight in zip(labels, weights.T, strict=True):
            if own and category_text(label) not in own:
                continue
            values, of, cells = np.unique(weight, return_inverse=True, return_counts=True)
            base = int(cells.argmax())
            added = []
            for i in np.flatnonzero(np.arange(values.size) != base):
                row = BitRow(place, np.asarray(of == i))
                number = rows.setdefault((place, row.cells.tobytes()), len(found))
                if number == len(found):
                    found.append(row)
                added.append((number, float(values[i] - values[base])))
            items.append(((name, label), place, float(values[base]), added, asked.get(id(axis), -1)))
    absent = sorted(only - met)
    if absent:
        message = f"no column has the category {absent[0]!r}"
        raise PolicyError(Problem("RR277", message, hint="name categories as they were released"))
    most = max((len(added) for *_, added, _ in items), default=0)
    padded = [[*added, *[(0, 0.0)] * (most - len(added))] for *_, added, _ in items]
    shape = (len(items), most)
    return (
        Items(
            tuple(item[0] for item in items),
            np.array([item[1] for item in items], np.int64),
            np.array([item[2] for item in items], np.float64),
            np.array([[more for _, more in added] for added in padded], np.float64).reshape(shape),
            np.array([[row for row, _ in added] for added in padded], np.int64).reshape(shape),
            np.array([item[4] for item in items], np.int64),
        ),
        tuple(found),
    )
