"""Writing released tables: Parquet, CSV and DuckDB, from distinct rows with multiplicities and nothing else.

Every file is new and holds released values only: dictionaries are built from the rows of their own row group, no
pandas or Arrow metadata, times, hosts or paths are written. Parquet and CSV have the same bytes for the same rows and
library versions, however the rows arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from rrpolicy.untrusted.formulas import Handling

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channel.table import TableSpec
    from rrpolicy.source.counts import Ints

Format: TypeAlias = Literal["parquet", "csv", "duckdb"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "duckdb")
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
        from rrpolicy.release.tables.parquet import ParquetTable

        return ParquetTable(path, spec)
    if form == "csv":
        from rrpolicy.release.tables.delimited import CsvTable

        return CsvTable(path, spec, handling)
    if form == "duckdb":
        from rrpolicy.release.tables.duckdb import DatabaseTable

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
        for part, count in _bounded(rows, n, self._size):
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

        rows = self._rows[0] if len(self._rows) == 1 else _joined(self._rows)
        self._writer.write(rows, np.concatenate(self._n))
        self._rows, self._n, self._held = [], [], 0


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches as one; dictionaries that differ are unified."""
    import pyarrow as pa

    if len({part.schema for part in parts}) > 1:
        parts = [pa.RecordBatch.from_arrays(list(map(plain, p.columns)), names=p.schema.names) for p in parts]
    return pa.Table.from_batches(parts).unify_dictionaries().combine_chunks().to_batches()[0]


def plain(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary."""
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def coded(column: pa.Array) -> pa.DictionaryArray:
    """Return a column coded by the values that it holds, in order of appearance, and no others."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.dictionary_encode()
    if column.null_count:
        return plain(column).dictionary_encode()
    held = column.indices.dictionary_encode()
    return pa.DictionaryArray.from_arrays(held.indices, column.dictionary.take(held.dictionary))


def _bounded(rows: pa.RecordBatch, n: Ints, size: int) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Cut rows into parts of at most `size` rows in all; a single row that stands more often is repeated."""
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


def repeated(values: pa.Array, n: Ints) -> pa.Array:
    """Return each value n times."""
    import numpy as np
    import pyarrow as pa

    if len(n) == int(n.sum()):
        return values
    return values.take(pa.array(np.repeat(np.arange(len(n), dtype=np.int32), n)))


def category_names(spec: TableSpec) -> Sequence[str]:
    """Return the columns whose few labels repeat."""
    return [column.name for column in spec.columns if column.kind in {"category", "interval"}]
