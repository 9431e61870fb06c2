"""The occupied cells of a table, and runs of equal rows, from which groups are counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import number_rows
from rrpolicy.engine.arrays import as_numpy

if TYPE_CHECKING:
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.source.protocol import Original


_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""An odd number near 2^64 over the golden ratio: products with it spread over all bits."""


def occupied_cells(
    original: Original, attributes: Sequence[str], carried: Sequence[str], own: Sequence[str]
) -> tuple[Codes, Ints, list[Sequence[Value]]]:
    """Return occupied cells sorted by (attributes, carried, own), their counts, and the labels of the first two."""
    domains = [original.policy.attributes[a].domain or () for a in attributes]
    if not carried:
        counts = original.counts(*attributes, *own)
        return counts.codes, counts.n, [list(d) for d in domains]
    import pyarrow as pa

    table = pa.Table.from_batches(list(original.rows(*attributes, *carried, *own)))
    columns: list[Codes] = []
    labels: list[Sequence[Value]] = [list(d) for d in domains]
    for i in range(table.num_columns):
        column = table.column(i).combine_chunks()
        if len(attributes) <= i < len(attributes) + len(carried):
            encoded = column.dictionary_encode(null_encoding="encode")
            labels.append(encoded.dictionary.to_pylist())
            column = encoded.indices
        columns.append(as_numpy(column).astype(np.int32))  # np.asarray would load pandas
    rows = np.stack(columns, axis=1)
    rows = rows[np.lexsort(rows.T[::-1])]
    distinct, starts = equal_row_runs(rows)
    return distinct, np.diff(np.append(starts, len(rows))).astype(np.int64), labels


def equal_row_runs(rows: Codes) -> tuple[Codes, Ints]:
    """Return the distinct rows of a sorted table and where each begins."""
    first = np.ones(len(rows), dtype=bool)
    if rows.shape[1]:
        first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    else:
        first[1:] = False
    starts = np.flatnonzero(first)
    return rows[starts], starts.astype(np.int64)


def distinct_row_index(rows: Codes | Ints) -> tuple[Ints, Ints]:
    """Return the first place of each distinct row of (k, width) integers, and the distinct row that each row equals.

    Rows are sorted by a number computed from each, at a fraction of the cost of sorting the rows. Where different rows
    have the same number, some equal rows may count as different; never otherwise.
    """
    number = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        number = number * _FACTOR + column.astype(np.uint64)
        number ^= number >> np.uint64(32)
    order = np.argsort(number, kind="stable")
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.any(rows[order[1:]] != rows[order[:-1]], axis=1)
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return order[new], place


def context_numbers(rows: Codes) -> Ints:
    """Return the number of each row among the distinct rows: first those that occur twice or more, in row order."""
    number, _ = number_rows(rows.T, len(rows))
    alone = np.bincount(number) == 1
    rank = np.empty(len(alone), dtype=np.int64)
    rank[np.argsort(alone, kind="stable")] = np.arange(len(alone))
    return rank[number]
