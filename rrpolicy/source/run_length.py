"""Sorted rows with equal neighbours added up: the result of grouping, at the cost of one look at each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.source.protocol import MULTIPLICITY

BATCH = 1 << 16

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.counts import Ints

    Mask = npt.NDArray[np.bool_]


def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield distinct rows with their multiplicities.

    Args:
        batches: rows in an order in which equal ones are neighbours; the last column `MULTIPLICITY` counts each.

    Yields:
        Batches under the same columns, no row twice. Nulls are equal to one another.
    """
    held: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        here = batch if held is None or batch.schema.equals(held.schema) else batch.cast(held.schema)
        if held is not None:
            last = held.slice(held.num_rows - 1)
            if not _run_starts(pa.concat_batches([last, here.slice(0, 1)]))[1]:
                here, held = pa.concat_batches([last, here]), held.slice(0, held.num_rows - 1)
            if held.num_rows:
                yield held
        held = _merge_equal_rows(here)
    if held is not None:
        yield held


def _merge_equal_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    starts = np.flatnonzero(_run_starts(rows))
    if len(starts) == rows.num_rows:
        return rows
    n = np.add.reduceat(as_numpy(rows.column(rows.num_columns - 1)), starts)
    distinct = rows.take(number_array(starts))
    return pa.RecordBatch.from_arrays([*distinct.columns[:-1], number_array(n)], schema=rows.schema)


def blocks(batches: Iterable[pa.RecordBatch], records: int) -> Iterator[pa.RecordBatch]:
    """Cut distinct rows with their multiplicities into blocks of so many records, the last one of the remainder.

    The last column of the batches has the multiplicities. A row on both sides of a cut is in both blocks.
    """
    waiting: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        n = as_numpy(batch.column(batch.num_columns - 1))
        ends = np.cumsum(n) + held
        last = int(ends[-1]) if len(ends) else held
        low = held
        while low < last:
            high = low - low % records + records
            part = slice(int(np.searchsorted(ends, low, side="right")), int(np.searchsorted(ends, high)) + 1)
            times = np.minimum(ends[part], high) - np.maximum(ends[part] - n[part], low)
            rows = batch.slice(part.start, len(times))
            waiting.append(pa.RecordBatch.from_arrays([*rows.columns[:-1], number_array(times)], schema=batch.schema))
            low = min(high, last)
            if low == high:
                yield pa.concat_batches(waiting)
                waiting = []
        held = last % records
    if waiting:
        yield pa.concat_batches(waiting)


def with_unit_multiplicity(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows with a last column `MULTIPLICITY` of ones."""
    for batch in batches:
        ones = number_array(np.ones(batch.num_rows, dtype=np.int64))
        yield batch.append_column(pa.field(MULTIPLICITY, pa.int64()), ones)


def repeated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield rows repeated by the number in their last column, without it; no batch has more than `BATCH` rows."""
    for batch in batches:
        rows, ends = batch.select(range(batch.num_columns - 1)), np.cumsum(as_numpy(batch.columns[-1]))
        for start in range(0, int(ends[-1]) if len(ends) else 0, BATCH):
            places = np.arange(start, min(start + BATCH, int(ends[-1])))
            yield rows.take(number_array(np.searchsorted(ends, places, side="right")))


def _run_starts(rows: pa.RecordBatch) -> Mask:
    new = np.zeros(rows.num_rows, dtype=bool)
    new[0] = True
    for column in reversed(rows.columns[:-1]):  # those that sort last differ most
        if new.all():
            break
        new[1:] |= differs_from_previous(column)
    return new


def differs_from_previous(column: pa.Array) -> Mask:
    """Return (n - 1,) whether each of (n,) values differs from the one before; for lists always True."""
    if pa.types.is_list(column.type):
        return np.ones(len(column) - 1, dtype=bool)
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        values = as_numpy(column)
        return np.asarray(values[1:] != values[:-1])
    later, before = column.slice(1), column.slice(0, len(column) - 1)
    differs: Mask = as_numpy(pc.not_equal(later, before), absent=False)
    if column.null_count:
        differs = differs | (as_numpy(later.is_null()) != as_numpy(before.is_null()))
    return differs


def sorts_before_previous(column: pa.Array) -> Mask:
    """Return (n - 1,) whether each of (n,) values sorts before the one before it; nulls come last."""
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        values = as_numpy(column)
        return np.asarray(values[1:] < values[:-1])
    later, before = column.slice(1), column.slice(0, len(column) - 1)
    less: Mask = as_numpy(pc.less(later, before), absent=False)
    return np.asarray(less | (as_numpy(later.is_valid()) & ~as_numpy(before.is_valid())))


class UniqueValueCounter:
    """Counts the values that occur in one record only; nulls do not count."""

    def __init__(self) -> None:
        self._last: pa.Array | None = None
        self._records = 0
        self._found = 0

    def take(self, values: pa.Array, n: Ints) -> None:
        """Take the next values, sorted over all calls, and the number of records with each."""
        if len(values) == 0:
            return
        if self._last is not None:
            values, n = pa.concat_arrays([self._last, values]), np.concatenate(([self._records], n))
        starts = np.flatnonzero(np.concatenate(([True], differs_from_previous(values))))
        records = n if len(starts) == len(n) else np.add.reduceat(n, starts)
        alone = records[:-1] == 1
        if values.null_count:
            alone &= as_numpy(values.is_valid())[starts[:-1]]
        self._found += int(np.count_nonzero(alone))
        self._last, self._records = values.slice(len(values) - 1), int(records[-1])

    def count(self) -> int:
        """Return the number of values that occur in one record only."""
        last = self._last is not None and self._last.null_count == 0 and self._records == 1
        return self._found + int(last)


MOST = 250_000
"""About the most records of a sample; a table of no more is taken whole."""


class SystematicSampler:
    """Takes every s-th record of distinct rows with multiplicities as they pass, s = ceil(N / MOST)."""

    def __init__(self, records: int, most: int = MOST) -> None:
        self._step = max(1, -(-records // most))
        self._seen = 0
        self._parts: list[pa.RecordBatch] = []

    def take(self, batch: pa.RecordBatch) -> None:
        """Take from the next distinct rows, in canonical order, the last column their multiplicities."""
        ends = self._seen + np.cumsum(as_numpy(batch.columns[-1]))
        if not len(ends):
            return
        first = -(-self._seen // self._step) * self._step
        chosen = np.searchsorted(ends, np.arange(first, int(ends[-1]), self._step), side="right")
        self._seen = int(ends[-1])
        self._parts.append(batch.select(range(batch.num_columns - 1)).take(number_array(chosen)))

    def table(self) -> pa.Table:
        """Return the records taken."""
        return pa.Table.from_batches(self._parts)


def systematic_sample(rows: Iterable[pa.RecordBatch], records: int, most: int = MOST) -> pa.Table:
    """Return every s-th of the rows.

    `rows` are all records, in canonical order; about `most` of them are taken.
    """
    sample = SystematicSampler(records, most)
    for batch in rows:
        ones = number_array(np.ones(batch.num_rows, dtype=np.int64))
        sample.take(pa.record_batch([*batch.columns, ones], names=[*batch.schema.names, MULTIPLICITY]))
    return sample.table()
