"""The items of rules, each a category of a column, and the weight of a record in the count of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import groups_of
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array, Ints

Name = tuple[str, Value]


@frozen(slots=False)
class Items:
    """Categories of columns, in the order of the columns; those of one axis are in no rule together.

    A record weighs `base` in the count of an item, and in each of the item's rows of bits, which exclude one another,
    `more` than that.
    """

    names: tuple[Name, ...]
    axes: Ints = field(repr=False)  # shape (items,): numbers among those of the transactions
    base: Array = field(repr=False)  # shape (items,)
    more: Array = field(repr=False)  # shape (items, most rows); 0 where an item has fewer
    rows: Ints = field(repr=False)  # shape (items, most rows): places among the rows
    asked: Ints = field(repr=False)  # shape (items,): the axis of the condition; -1 for none

    @cached_property
    def weights(self) -> Array:
        """Return (2, items, 1 + most rows): weights, and their squares, as `base` and what each row adds."""
        base = self.base[:, None]
        return np.stack([np.concatenate([base**p, (base + self.more) ** p - base**p], axis=1) for p in (1, 2)])

    def picked(self, places: Sequence[int]) -> Items:
        """Return some of the items, by their places in order."""
        chosen = list(places)
        names, (base, more) = tuple(self.names[i] for i in chosen), (self.base[chosen], self.more[chosen])
        return Items(names, self.axes[chosen], base, more, self.rows[chosen], self.asked[chosen])

    @classmethod
    def plain(cls, names: Sequence[Name], axes: Ints) -> Items:
        """Return items that are counted without correction, each by the row of its own place."""
        size = len(names)
        own, none = np.arange(size)[:, None], np.full(size, -1)
        return cls(tuple(names), axes, np.zeros(size), np.ones((size, 1)), own, none)


@frozen(slots=False)
class BitRow:
    """One row of bits: the records whose released cell of an axis is one of some `cells` (released cells,)."""

    axis: int
    cells: Mask = field(repr=False)


def make_items(
    columns: Columns,
    axes: Sequence[AxisWeights],
    names: Sequence[str],
    condition: Condition,
    present: Sequence[Value] | None,
) -> tuple[Items, tuple[BitRow, ...]]:
    """Return the items of some columns, and the rows of bits that they are counted by (RR277, RR267).

    Items have the categories that the condition leaves. A column with a category in `present` has only those as items.
    """
    known: dict[tuple[int, bytes], tuple[int, BitRow]] = {}
    items: list[tuple[Name, int, float, list[tuple[int, float]], int]] = []
    asked = {axis: place for place, axis in enumerate(condition.masks)}
    only, met = set(map(category_text, present or ())), set[str]()
    place_of = {id(axis): place for place, axis in enumerate(axes)}
    for name in names:
        axis = columns.axis(name)
        group, mask = groups_of(axis, (name,), condition)
        weights = axis.table if mask is None else axis.solve(mask)
        labels = [value for (value,) in group.labels]
        own = {category_text(value) for value in labels} & only
        met |= own
        for label, weight in zip(labels, weights.T, strict=True):
            if not own or category_text(label) in own:
                place = place_of[id(axis)]
                base, added = _split_weights(weight, place, known)
                items.append(((name, label), place, base, added, asked.get(id(axis), -1)))
    absent = sorted(only - met)
    if absent:
        message = f"no column has the category {absent[0]!r}"
        raise PolicyError(Problem("RR277", message, hint="name categories as they were released"))
    most = max((len(added) for *_, added, _ in items), default=0)
    padded = [[*added, *[(0, 0.0)] * (most - len(added))] for *_, added, _ in items]
    shape = (len(items), most)
    found = Items(
        tuple(item[0] for item in items),
        np.array([item[1] for item in items], np.int64),
        np.array([item[2] for item in items], np.float64),
        np.array([[more for _, more in added] for added in padded], np.float64).reshape(shape),
        np.array([[row for row, _ in added] for added in padded], np.int64).reshape(shape),
        np.array([item[4] for item in items], np.int64),
    )
    return found, tuple(row for _, row in known.values())


def _split_weights(
    weights: Array, place: int, known: dict[tuple[int, bytes], tuple[int, BitRow]]
) -> tuple[float, list[tuple[int, float]]]:
    """Return the commonest weight of an item, and the differences of the others with the numbers of their rows.

    `known` has the numbers, and grows.
    """
    values, of, cells = np.unique(weights, return_inverse=True, return_counts=True)
    base, added = int(cells.argmax()), []
    for i in np.flatnonzero(np.arange(values.size) != base):
        row = BitRow(place, np.asarray(of == i))
        number, _ = known.setdefault((place, row.cells.tobytes()), (len(known), row))
        added.append((number, float(values[i] - values[base])))
    return float(values[base]), added
