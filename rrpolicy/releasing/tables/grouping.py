"""Distinct rows cut into groups of exactly so many rows, however they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.formats.format import GROUP_ROWS, TableWriter
from rrpolicy.formats.rows import bounded, joined

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints


class Grouping:
    """Cuts distinct rows with multiplicities into groups of exactly `GROUP_ROWS` rows, however they arrive."""

    def __init__(self, writer: TableWriter, size: int = GROUP_ROWS) -> None:
        self._writer = writer
        self._size = size
        self._rows: list[pa.RecordBatch] = []
        self._n: list[Ints] = []
        self._held = 0
        self.written = 0

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take the next distinct rows."""
        import numpy as np

        self.written += int(n.sum())
        for part, count in bounded(rows, n, self._size):
            total = int(count.sum())
            if self._held + total >= self._size:
                room = self._size - self._held
                ends = np.cumsum(count)
                whole = int(np.searchsorted(ends, room, side="left"))  # the row in which the group becomes full
                first = count[: whole + 1].copy()
                first[-1] -= ends[whole] - room
                self._hold(part.slice(0, whole + 1), first)
                self._flush()
                rest = count[whole:].copy()
                rest[0] = ends[whole] - room
                skip = int(rest[0] == 0)
                part, count = part.slice(whole + skip), rest[skip:]  # noqa: PLW2901 what is left of it
            if len(count):
                self._hold(part, count)

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

        rows = self._rows[0] if len(self._rows) == 1 else joined(self._rows)
        self._writer.write(rows, np.concatenate(self._n))
        self._rows, self._n, self._held = [], [], 0
