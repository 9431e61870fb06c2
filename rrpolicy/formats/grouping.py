"""Distinct rows cut into files, and these into groups, of exactly so many rows each, however they arrive."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from rrpolicy.formats.format import ROWS_PER_GROUP, TableWriter
from rrpolicy.formats.rows import bounded_batches, divided, join_batches

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints


class SplitFileWriter:
    """Writes distinct rows with multiplicities into files of so many rows each, one after the other."""

    def __init__(self, begin: Callable[[int], TableWriter], rows_per_file: int | None) -> None:
        """Begin the first file.

        Args:
            begin: number of a file, from 0 on -> what writes it.
            rows_per_file: of all but the last; None for one file.
        """
        self._begin = begin
        self._most = sys.maxsize if rows_per_file is None else rows_per_file
        self._here = 0
        self._count = 1
        self._open = RowGrouper(begin(0))

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take the next distinct rows."""
        while len(n):
            if self._here == self._most:
                self._open.close()
                self._open = RowGrouper(self._begin(self._count))
                self._count, self._here = self._count + 1, 0
            (now, times), (rows, n) = divided(rows, n, self._most - self._here)
            self._open.write(now, times)
            self._here += int(times.sum())

    def close(self) -> None:
        """Finish the last file."""
        self._open.close()

    def abandon(self) -> None:
        """Let go of the file that is open."""
        self._open.abandon()


class RowGrouper:
    """Cuts distinct rows with multiplicities into groups of exactly `GROUP_ROWS` rows, however they arrive."""

    def __init__(self, writer: TableWriter, size: int = ROWS_PER_GROUP) -> None:
        self._writer = writer
        self._size = size
        self._rows: list[pa.RecordBatch] = []
        self._n: list[Ints] = []
        self._held = 0

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take the next distinct rows."""
        for part, count in bounded_batches(rows, n, self._size):
            if self._held + int(count.sum()) < self._size:
                self._hold(part, count)
                continue
            first, rest = divided(part, count, self._size - self._held)
            self._hold(*first)
            self._flush()
            if len(rest[1]):
                self._hold(*rest)

    def close(self) -> None:
        """Write the last group and finish the file."""
        if self._held:
            self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Let go of the file."""
        self._writer.abandon()

    def _hold(self, rows: pa.RecordBatch, n: Ints) -> None:
        self._rows.append(rows)
        self._n.append(n)
        self._held += int(n.sum())

    def _flush(self) -> None:
        import numpy as np

        rows = self._rows[0] if len(self._rows) == 1 else join_batches(self._rows)
        self._writer.write(rows, np.concatenate(self._n))
        self._rows, self._n, self._held = [], [], 0
