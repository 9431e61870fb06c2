"""Distinct rows with multiplicities in Arrow: joined, cut, repeated, with or without a dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rrpolicy.engine.arrays import as_numpy, number_array, occurrence_mask, take_values

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.table import TableSpec
    from rrpolicy.counts import Ints


def join_batches(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches as one; dictionaries that differ are unified."""
    import pyarrow as pa

    if len({part.schema for part in parts}) > 1:
        parts = [
            pa.RecordBatch.from_arrays(list(map(decode_dictionary, p.columns)), names=p.schema.names) for p in parts
        ]
    return pa.Table.from_batches(parts).unify_dictionaries().combine_chunks().to_batches()[0]


def decode_dictionary(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary."""
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def encode_dictionary(column: pa.Array) -> pa.DictionaryArray:
    """Return a column coded by the values that occur in it, in canonical order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    known = column
    if not pa.types.is_dictionary(column.type) or column.null_count:
        known = decode_dictionary(column).dictionary_encode()
    used = occurrence_mask(as_numpy(known.indices, absent=0), len(known.dictionary))
    order = as_numpy(pc.array_sort_indices(known.dictionary)).astype(np.int64)
    order = order[used[order]]
    if np.array_equal(order, np.arange(len(known.dictionary))):
        return known
    place = np.zeros(len(known.dictionary), dtype=np.int32)
    place[order] = np.arange(len(order))
    placed = take_values(number_array(place), known.indices)
    return pa.DictionaryArray.from_arrays(placed, known.dictionary.take(number_array(order)), safe=False)


def bounded_batches(rows: pa.RecordBatch, n: Ints, size: int) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Cut rows into parts of at most `size` rows in all; a row with a larger multiplicity is repeated."""
    import numpy as np

    ends = np.cumsum(n)
    start, done = 0, 0
    while start < len(n):
        stop = int(np.searchsorted(ends, done + size, side="right"))
        if stop == start:
            left = int(n[start])
            while left:
                yield rows.slice(start, 1), np.array([min(left, size)], dtype=np.int64)
                left -= min(left, size)
            stop = start + 1
        else:
            yield rows.slice(start, stop - start), n[start:stop]
        start, done = stop, int(ends[stop - 1])


def divided(
    rows: pa.RecordBatch, n: Ints, first: int
) -> tuple[tuple[pa.RecordBatch, Ints], tuple[pa.RecordBatch, Ints]]:
    """Cut distinct rows with multiplicities into the first so many rows, and the rest; a row may be in both.

    Args:
        rows: distinct.
        n: (rows,) multiplicities.
        first: > 0.
    """
    import numpy as np

    ends = np.cumsum(n)
    whole = int(np.searchsorted(ends, first, side="left"))  # the row that fills the first part
    if whole == len(n):
        return (rows, n), (rows.slice(whole), n[whole:])
    front, back = n[: whole + 1].copy(), n[whole:].copy()
    back[0] = ends[whole] - first
    front[-1] -= back[0]
    skip = int(back[0] == 0)
    return (rows.slice(0, whole + 1), front), (rows.slice(whole + skip), back[skip:])


def repeat_values(values: pa.Array, n: Ints) -> pa.Array:
    """Return each value n times."""
    import numpy as np

    if len(n) == int(n.sum()):
        return values
    return values.take(number_array(np.repeat(np.arange(len(n), dtype=np.int32), n)))


def category_column_names(spec: TableSpec) -> Sequence[str]:
    """Return the columns with few, repeated labels."""
    return [column.name for column in spec.columns if column.kind in {"category", "interval"}]
