"""Items of rules, each a category of a column, and released records as bits.

How many records have several items in common is counted a word of 64 records at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import groups_of, ungrouped_condition_axes
from rrpolicy.estimate.counts.scan import iterate_batches, manifest_mismatch_error
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.numbers import fixed_number

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


Name = tuple[str, Value]


@dataclass(frozen=True)
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
        """Return (2, items, 1 + most rows): weights, and their squares, as `base` and the contribution of each row."""
        base = self.base[:, None]
        return np.stack([np.concatenate([base**p, (base + self.more) ** p - base**p], axis=1) for p in (1, 2)])

    def select(self, places: Sequence[int]) -> Items:
        """Return some of the items, by their places in order."""
        chosen = list(places)
        names, (base, more) = tuple(self.names[i] for i in chosen), (self.base[chosen], self.more[chosen])
        return Items(names, self.axes[chosen], base, more, self.rows[chosen], self.asked[chosen])

    @classmethod
    def plain(cls, names: Sequence[Name], axes: Ints) -> Items:
        """Return items that are counted without correction, each by the row in its place."""
        size = len(names)
        own, none = np.arange(size)[:, None], np.full(size, -1)
        return cls(tuple(names), axes, np.zeros(size), np.ones((size, 1)), own, none)


@dataclass(frozen=True)
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
    return _pack_items(items), tuple(row for _, row in known.values())


def _pack_items(items: Sequence[tuple[Name, int, float, list[tuple[int, float]], int]]) -> Items:
    most = max((len(added) for *_, added, _ in items), default=0)
    padded = [[*added, *[(0, 0.0)] * (most - len(added))] for *_, added, _ in items]
    return Items(
        tuple(item[0] for item in items),
        np.array([item[1] for item in items], np.int64),
        np.array([item[2] for item in items], np.float64),
        np.array([[more for _, more in added] for added in padded], np.float64).reshape(len(items), most),
        np.array([[row for row, _ in added] for added in padded], np.int64).reshape(len(items), most),
        np.array([item[4] for item in items], np.int64),
    )


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


Words = npt.NDArray[np.uint64]

_BYTES = 8
_AT_A_TIME = 1 << 18
"""Words that are combined before they are counted: as many as stay in a processor's cache."""


@dataclass(frozen=True)
class Transactions:
    """Released records, separated by their weights besides the items; each part begins with a new word."""

    words: Words = field(repr=False)  # shape (rows, words): bits; 0 behind the last record of a part
    starts: tuple[int, ...] = field(repr=False)  # shape (parts + 1,): the first word of each part, and the end
    records: Array  # shape (parts,)
    asked: Array  # shape (axes of the condition, parts): the weight of a record in each axis

    @cached_property
    def singles(self) -> Array:
        """Return (rows, parts) the records of each row."""
        return self.common((), np.arange(len(self.words)))

    @cached_property
    def pairs(self) -> Array:
        """Return (rows, rows, parts) the records that are in both rows."""
        every = np.arange(len(self.words))
        found = np.zeros((len(every), len(every), len(self.records)))
        for row in range(len(every)):
            found[row] = self.common((row,), every)
        return found

    def common(self, rows: Sequence[int], others: Ints) -> Array:
        """Return (others, parts) the records that are in all of some rows, and in each of some others."""
        found = np.zeros((len(others), len(self.records)))
        step = max(1, _AT_A_TIME // max(len(others), 1))
        for part, (start, stop) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            for first in range(start, stop, step):
                block = slice(first, min(first + step, stop))
                words = self.words[others, block]
                if rows:
                    shared = self.words[rows[0], block]
                    for row in rows[1:]:
                        shared = shared & self.words[row, block]
                    words &= shared
                found[:, part] += np.bitwise_count(words).sum(axis=1, dtype=np.uint32)
        return found

    def counts(self, rows: Sequence[Ints]) -> Array:
        """Return (n, parts) the records in all rows of n combinations, whose equal beginnings are consecutive."""
        match rows:
            case []:
                return self.records[None]
            case [one]:
                return np.asarray(self.singles[one])
            case [one, two]:
                return np.asarray(self.pairs[one, two])
        table = np.stack(rows, axis=1)
        distinct = _first_of_runs(table)
        short = table[distinct]
        starts = np.flatnonzero(_first_of_runs(short[:, :-1]))
        found = np.zeros((len(short), len(self.records)))
        for start, stop in zip(starts, [*starts[1:], len(short)], strict=True):
            found[start:stop] = self.common(short[start, :-1].tolist(), short[start:stop, -1])
        return np.asarray(found[np.cumsum(distinct) - 1])


def transactions(
    release: Release, axes: Sequence[AxisWeights], rows: Sequence[BitRow], condition: Condition
) -> Transactions:
    """Read the released records that satisfy a condition's filter, separated by their weights in its randomised axes.

    RR269 if the data differ from the manifest; RR288 for columns that cannot weigh records.
    """
    others = ungrouped_condition_axes(axes, condition)
    every = [*axes, *(axis for axis, _ in others)]
    kinds = [
        (next(i for i, axis in enumerate(every) if axis is of), *np.unique(of.vector(mask), return_inverse=True))
        for of, mask in condition.masks.values()
    ]
    read: list[list[Words]] = [[] for _ in range(math.prod(len(weights) for _, weights, _ in kinds))]
    records = np.zeros(len(read))
    for codes, size in iterate_batches(release.data, every, condition.filter, condition.parameters):
        of_part = np.zeros(size, dtype=np.int64)
        for place, weights, kind in kinds:
            of_part = of_part * len(weights) + kind[codes[place]]
        for part in np.unique(of_part):
            chosen = of_part == part
            read[part].append(_pack_bits(row.cells[codes[row.axis][chosen]] for row in rows))
            records[part] += chosen.sum()
    if not condition.filter and records.sum() != release.records:
        raise manifest_mismatch_error(
            f"it has {fixed_number(records.sum())} records, not {fixed_number(release.records)}"
        )
    parts = [np.concatenate([np.zeros((len(rows), 0), np.uint64), *words], axis=1) for words in read]
    asked = np.array([*product(*(weights for _, weights, _ in kinds))], np.float64)
    return _join_parts(parts, records, asked.T)


def from_masks(masks: Iterable[Mask], records: int) -> Transactions:
    """Return records that are given by masks, (records,) a row."""
    return _join_parts([_pack_bits(masks)], np.array([records], np.float64), np.zeros((0, 1)))


def _join_parts(parts: Sequence[Words], records: Array, asked: Array) -> Transactions:
    starts = np.cumsum([0, *(part.shape[1] for part in parts)])
    return Transactions(np.concatenate(parts, axis=1), tuple(starts.tolist()), records, asked)


def _pack_bits(masks: Iterable[Mask]) -> Words:
    """Return (rows, words) masks as bits."""
    packed = []
    for mask in masks:
        bits = np.packbits(mask, bitorder="little")
        packed.append(np.pad(bits, (0, -len(bits) % _BYTES)).view(np.uint64))
    return np.stack(packed) if packed else np.zeros((0, 0), np.uint64)


def _first_of_runs(table: Ints) -> Mask:
    """Return (n,) whether a row of a table differs from the one before it."""
    return np.concatenate([[True], np.asarray((table[1:] != table[:-1]).any(axis=1))])[: len(table)]
