"""Rows sorted by their first columns, sorted by the rest: only rows that tie in the first ones move.

Carried columns are not changed by a draw, so that sorted records need no second sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.bundle.tables.external_sort import ExternalSorter
from rrpolicy.bundle.tables.sort_keys import PackedSortKey, PlainSortKey, sort_keys
from rrpolicy.channels.table import TableSpec
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.formats.column_types import arrow_schema
from rrpolicy.formats.rows import join_batches
from rrpolicy.source.run_length import differs_from_previous, sorts_before_previous

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from rrpolicy.counts import Ints

    Rows = tuple[pa.RecordBatch, Ints]

HELD = 1 << 18
"""The most rows of one tie in memory; if more of them are distinct, they are sorted on disk."""


class TieBreaker:
    """Sorts rows canonically that are sorted by the first columns of the order."""

    def __init__(self, spec: TableSpec, first: int, scratch: Path) -> None:
        """Begin.

        `spec.fits` returns whether ties can be sorted here. Rows are sorted by the `first` columns of its `sort`.
        """
        self._spec, self._scratch = spec, scratch
        self._first = spec.sort[:first]
        (self._rest,) = _remaining_sort_keys(spec, first)
        self._tie: list[pa.Array] = []  # its values in the first columns; none before the first row
        self._held: list[Rows] = []
        self._size = 0
        self._spool: ExternalSorter | None = None

    @staticmethod
    def fits(spec: TableSpec, first: int) -> bool:
        """Return whether the sort columns after the first ones are categories, few enough to be one number."""
        rest = _remaining_sort_keys(spec, first)
        return first > 0 and len(rest) == 1 and isinstance(rest[0], PackedSortKey)

    def write(self, rows: pa.RecordBatch, n: Ints) -> Iterator[Rows]:
        """Take the next rows and yield those whose position is now known, distinct, with their multiplicities.

        Raises:
            ValueError: if they are not sorted.
        """
        if rows.num_rows == 0:
            return
        new = self._new(rows)
        starts = np.flatnonzero(new)
        if not len(starts):
            self._hold(rows, n)
            return
        low, high = int(starts[0]), int(starts[-1])
        self._hold(rows.slice(0, low), n[:low])
        yield from self.close()
        if low < high:
            yield self._ordered(rows.slice(low, high - low), n[low:high], np.cumsum(new[low:high]))
        self._hold(rows.slice(high), n[high:])

    def close(self) -> Iterator[Rows]:
        """Yield the rows that are still in memory."""
        held, self._held, self._size = self._held, [], 0
        spool, self._spool = self._spool, None
        if spool is not None:
            for rows, n in held:
                spool.write(rows, n)
            spool.close()
            yield from spool.sorted()
        elif held:
            yield self._together(held)

    def abandon(self) -> None:
        """Close every file."""
        if self._spool is not None:
            self._spool.close()

    def _new(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Return (rows,) whether each is of another tie than the row before; remember the tie of the last."""
        import pyarrow as pa

        columns = [rows.column(name) for name in self._first]
        before = self._tie or [column.slice(0, 1) for column in columns]
        new, begun = np.zeros(rows.num_rows, dtype=bool), not self._tie
        for last, column in zip(before, columns, strict=True):
            values = pa.concat_arrays([last, column])
            if np.any(sorts_before_previous(values) & ~new):
                raise ValueError("the rows of a draw are not sorted as declared")
            new |= differs_from_previous(values)
        self._tie = [column.slice(rows.num_rows - 1) for column in columns]
        new[0] |= begun
        return new

    def _hold(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Keep rows of the current tie."""
        if rows.num_rows == 0:
            return
        self._held.append((rows, n))
        self._size += rows.num_rows
        if self._size <= HELD:
            return
        together = self._together(self._held)
        self._held, self._size = [together], together[0].num_rows
        if 2 * self._size > HELD:
            self._spool = self._spool or ExternalSorter(self._spec, self._scratch)
            self._spool.write(*together)
            self._held, self._size = [], 0

    def _together(self, parts: list[Rows]) -> Rows:
        """Return the rows of one tie in order."""
        rows = parts[0][0] if len(parts) == 1 else join_batches([part for part, _ in parts])
        return self._ordered(rows, np.concatenate([n for _, n in parts]), np.zeros(rows.num_rows, dtype=np.int64))

    def _ordered(self, rows: pa.RecordBatch, n: Ints, tie: Ints) -> Rows:
        """Return rows in order by their ties' numbers and then the rest, equal ones added up."""
        if rows.num_rows == 1 or tie[-1] - tie[0] == rows.num_rows - 1:
            return rows, n
        rest = as_numpy(self._rest.pack(rows))
        order = np.lexsort((rest, tie))
        rest, tie, n = rest[order], tie[order], n[order]
        starts = np.flatnonzero(np.concatenate(([True], (rest[1:] != rest[:-1]) | (tie[1:] != tie[:-1]))))
        return rows.take(number_array(order[starts])), np.add.reduceat(n, starts)


def _remaining_sort_keys(spec: TableSpec, first: int) -> list[PackedSortKey | PlainSortKey]:
    """Return the sort keys after the first columns of the order."""
    named = {column.name: column for column in spec.columns}
    after = [*spec.sort[first:], *(name for name in named if name not in spec.sort)]
    return sort_keys([named[name] for name in after], arrow_schema(spec))
