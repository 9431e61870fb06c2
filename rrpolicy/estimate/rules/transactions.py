"""Released records as bits: how many have several things in common is counted a word of 64 records at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rrpolicy.counts import Array, Ints
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import ungrouped_condition_axes
from rrpolicy.estimate.counts.scan import iterate_batches, manifest_mismatch_error
from rrpolicy.estimate.rules.items import BitRow
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

Words = npt.NDArray[np.uint64]

_BYTES = 8
_AT_A_TIME = 1 << 18
"""Words that are combined before they are counted: as many as stay in a processor's cache."""


@frozen(slots=False)
class Transactions:
    """Released records, apart by what they weigh besides the items; each part begins with a word of its own.

    Attributes:
        words: (rows, words) bits; those behind the last record of a part are 0.
        starts: (parts + 1,) the word that each part begins with, and the end.
        records: (parts,) records of each part.
        asked: (axes of the condition, parts) what a record of a part weighs in what is asked of each axis.
    """

    words: Words = field(repr=False)
    starts: tuple[int, ...] = field(repr=False)
    records: Array
    asked: Array

    @cached_property
    def singles(self) -> Array:
        """Return (rows, parts) the records of each row."""
        return self.common((), np.arange(len(self.words)))

    @cached_property
    def pairs(self) -> Array:
        """Return (rows, rows, parts) the records that are of two rows."""
        every = np.arange(len(self.words))
        found = np.zeros((len(every), len(every), len(self.records)))
        for row in range(len(every)):
            found[row] = self.common((row,), every)
        return found

    def common(self, rows: Sequence[int], others: Ints) -> Array:
        """Return (others, parts) the records that are of all of some rows, and of each of some others.

        Args:
            rows: places of rows.
            others: places of rows.
        """
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
        """Return (n, parts) the records that are of all rows of a combination.

        Args:
            rows: of each combination its first row, its second row, ...: (n,) each. Those that begin alike stand
                together.
        """
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
    """Read the released records that satisfy a condition's filter.

    Args:
        release: opened.
        axes: that the rows are of.
        rows: what is told of each record.
        condition: its randomised axes part the records by what they weigh.

    Raises:
        PolicyError: RR269 if the data are not what the manifest says; RR288 for columns that cannot weigh records.
    """
    others = ungrouped_condition_axes(axes, condition)
    every = [*axes, *(axis for axis, _ in others)]
    kinds = [
        (next(i for i, axis in enumerate(every) if axis is of), *np.unique(of.vector(mask), return_inverse=True))
        for of, mask in condition.masks.values()
    ]
    told: list[list[Words]] = [[] for _ in range(math.prod(len(weights) for _, weights, _ in kinds))]
    records = np.zeros(len(told))
    for codes, size in iterate_batches(release.data, every, condition.filter, condition.parameters):
        of_part = np.zeros(size, dtype=np.int64)
        for place, weights, kind in kinds:
            of_part = of_part * len(weights) + kind[codes[place]]
        for part in np.unique(of_part):
            chosen = of_part == part
            told[part].append(_pack_bits(row.cells[codes[row.axis][chosen]] for row in rows))
            records[part] += chosen.sum()
    if not condition.filter and records.sum() != release.records:
        raise manifest_mismatch_error(f"it has {records.sum():.0f} records, not {release.records}")
    parts = [np.concatenate([np.zeros((len(rows), 0), np.uint64), *words], axis=1) for words in told]
    asked = np.array([*product(*(weights for _, weights, _ in kinds))], np.float64)
    return _join_parts(parts, records, asked.T)


def from_masks(masks: Iterable[Mask], records: int) -> Transactions:
    """Return records that are told of by masks, (records,) a row."""
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
