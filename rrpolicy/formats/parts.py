"""Splitting a released table into files, and writing them in this process or in an engine of a plugin."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rrpolicy.escaping.formulas import Handling
from rrpolicy.formats.format import ROWS_PER_GROUP, Format, TableWriter, file_name
from rrpolicy.formats.rows import bounded_batches, divided, join_batches
from rrpolicy.plugin_errors.type_checks import check_protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.table import TableSpec
    from rrpolicy.counts import Ints


class SplitFileWriter:
    """Writes distinct rows with multiplicities into files of so many rows each, one after the other."""

    def __init__(self, begin: Callable[[int], TableWriter], rows_per_file: int | None) -> None:
        """Begin the first file.

        `begin` returns the writer of a file by its number, from 0. Without `rows_per_file` there is one file.
        """
        self._begin = begin
        self._most = sys.maxsize if rows_per_file is None else rows_per_file
        self._here = 0
        self._count = 1
        self._open = RowGrouper(begin(0))

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write the next distinct rows."""
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
        """Release the file that is open."""
        self._open.abandon()


class RowGrouper:
    """Cuts distinct rows with multiplicities into groups of exactly `ROWS_PER_GROUP` rows, for any input batches."""

    def __init__(self, writer: TableWriter, size: int = ROWS_PER_GROUP) -> None:
        self._writer = writer
        self._size = size
        self._rows: list[pa.RecordBatch] = []
        self._n: list[Ints] = []
        self._held = 0

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write the next distinct rows."""
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
        """Release the file."""
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


@dataclass(frozen=True, slots=True)
class FileParts:
    """The files of a released table with any writer: the same rows give the same files.

    It can be sent to another process, which then writes the same files.

    Attributes:
        spec: the table.
        folder: public/ of the bundle in the making.
        form: format of the files.
        handling: treatment, in CSV, of text that a spreadsheet would run as a formula.
        rows_per_file: number of rows in each file but the last; None for one file.
    """

    spec: TableSpec
    folder: Path
    form: Format
    handling: Handling
    rows_per_file: int | None

    def name(self, number: int) -> str:
        """Return the name of a file, numbered from 0, relative to the folder."""
        return file_name(self.spec.name, self.form.name, None if self.rows_per_file is None else number)

    def begin(self, number: int) -> TableWriter:
        """Create a file."""
        path = self.folder / self.name(number)
        path.parent.mkdir(exist_ok=True)
        return self._writer(path)

    def write(self, number: int, rows: Iterable[tuple[pa.RecordBatch, Ints]], attempts: Path) -> int:
        """Write a file whole or not at all, even if several processes write it, or an earlier attempt broke off.

        Args:
            number: number of the file.
            rows: distinct rows in canonical order, with their multiplicities: of the whole file.
            attempts: a folder on the same file system as the files'; for unfinished files.

        Returns:
            Its size in bytes.
        """
        path = attempts / f"{number}-{secrets.token_hex(8)}"
        whole = RowGrouper(self._writer(path))
        try:
            for batch, n in rows:
                whole.write(batch, n)
            whole.close()
            size = path.stat().st_size
            os.replace(path, self.folder / self.name(number))  # noqa: PTH105 the same bytes may be there already
        except BaseException:
            with suppress(Exception):  # the first error is the relevant one
                whole.abandon()
            path.unlink(missing_ok=True)
            raise
        return size

    def _writer(self, path: Path) -> TableWriter:
        writer = self.form.writer(path, self.spec, self.handling)
        check_protocol(writer, ("write", "close", "abandon"), self.form.writer)
        return writer


class FileSink(Protocol):
    """A writer that expands drawn counts into records and files, in this process or elsewhere.

    It decides nothing: rows, order and division into files are given. The files of a format with `same_bytes` have the
    same bytes with every writer.

    Attributes:
        name: name of the sink for `--sink`.
    """

    name: str

    def writer(self, parts: FileParts, scratch: Path) -> TableWriter:
        """Begin to write a table.

        Args:
            parts: division of its rows into files; `parts.write` writes one of them, in any process.
            scratch: a folder for temporary files; the caller wipes it.

        Returns:
            A writer that receives all distinct rows in canonical order with their multiplicities, any number at a time.
                `close` returns when the files are in the folder of `parts`, and `abandon` when no process writes them
                any more.

        Raises:
            RefusedError: RR593 if they cannot be written there.
        """
        ...


class LocalFileSink:
    """This process writes the files, one after the other; a `FileSink`."""

    name = "here"

    def writer(self, parts: FileParts, scratch: Path) -> TableWriter:
        """Begin to write a table."""
        del scratch
        return SplitFileWriter(parts.begin, parts.rows_per_file)


LOCAL_SINK: FileSink = LocalFileSink()
