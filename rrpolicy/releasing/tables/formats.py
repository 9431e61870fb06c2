"""Writing released tables: Parquet, CSV and DuckDB, from distinct rows with multiplicities and nothing else.

Every file is new and holds released values only: dictionaries are built from the rows of their own row group, no
pandas or Arrow metadata, times, hosts or paths are written. Parquet and CSV have the same bytes for the same rows and
library versions, however the rows arrive.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args

from rrpolicy.policy.model import Format
from rrpolicy.releasing.tables.rows import bounded, joined
from rrpolicy.untrusted.formulas import Handling

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channel.table import TableSpec
    from rrpolicy.source.counts import Ints

FORMATS: tuple[Format, ...] = get_args(Format)
GROUP_ROWS = 1 << 20
"""Rows of a Parquet row group, and of what the other writers hold at a time."""


class TableWriter(Protocol):
    """Writes one table's file."""

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write distinct rows, each `n` times; at most `GROUP_ROWS` in all.

        Args:
            rows: of the table's Arrow schema; text may come as dictionary arrays.
            n: (rows,) multiplicities, all > 0.
        """
        ...

    def close(self) -> None:
        """Finish the file."""
        ...

    def abandon(self) -> None:
        """Let go of the file, finished or not; the caller removes it."""
        ...


def file_name(table: str, form: Format) -> str:
    """Return the name of a released table's file."""
    return f"{table}.{form}"


def open_writer(form: Format, path: Path, spec: TableSpec, handling: Handling = "escape") -> TableWriter:
    """Create a table's file.

    Args:
        form: of the file.
        path: must not exist.
        spec: the table.
        handling: of text that a spreadsheet would run as a formula, in CSV.

    Raises:
        ValueError: if the format is unknown.
    """
    if form == "parquet":
        from rrpolicy.releasing.tables.parquet import ParquetTable

        return ParquetTable(path, spec)
    if form == "csv":
        from rrpolicy.releasing.tables.delimited import CsvTable

        return CsvTable(path, spec, handling)
    if form == "duckdb":
        from rrpolicy.releasing.tables.duckdb import DatabaseTable

        return DatabaseTable(path, spec)
    raise ValueError(f"unknown format {form!r}")


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
