"""How a released table becomes files, and who writes them: this process, or an engine that a plugin brings."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rrpolicy.escaping.formulas import Handling
from rrpolicy.formats.format import Format, TableWriter, file_name
from rrpolicy.formats.grouping import RowGrouper, SplitFileWriter
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plugin_errors.type_checks import check_protocol

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.table import TableSpec
    from rrpolicy.source.counts import Ints


@frozen
class FileParts:
    """The files of a released table, no matter who writes them: the same rows give the same files.

    It can be sent to another process, which then writes them as this one would.

    Attributes:
        spec: the table.
        folder: public/ of the bundle in the making.
        form: of the files.
        handling: of text that a spreadsheet would run as a formula, in CSV.
        rows_per_file: of each file but the last; None for one file.
    """

    spec: TableSpec
    folder: Path
    form: Format
    handling: Handling
    rows_per_file: int | None

    def name(self, number: int) -> str:
        """Return the name of a file, from 0 on, relative to the folder."""
        return file_name(self.spec.name, self.form.name, None if self.rows_per_file is None else number)

    def begin(self, number: int) -> TableWriter:
        """Create a file."""
        path = self.folder / self.name(number)
        path.parent.mkdir(exist_ok=True)
        return self._writer(path)

    def write(self, number: int, rows: Iterable[tuple[pa.RecordBatch, Ints]], attempts: Path) -> int:
        """Write a file whole or not at all, even if others are writing it, or have tried to.

        Args:
            number: of the file.
            rows: distinct rows in canonical order, with their multiplicities: all of the file.
            attempts: a folder on the same file system as the files'; what is unfinished stands there.

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
            os.replace(path, self.folder / self.name(number))  # noqa: PTH105 the same bytes may stand there already
        except BaseException:
            with suppress(Exception):  # what went wrong first is what matters
                whole.abandon()
            path.unlink(missing_ok=True)
            raise
        return size

    def _writer(self, path: Path) -> TableWriter:
        writer = self.form.writer(path, self.spec, self.handling)
        check_protocol(writer, ("write", "close", "abandon"), self.form.writer)
        return writer


class FileSink(Protocol):
    """What expands drawn counts into records, and writes these into files; in this process, or elsewhere.

    It decides nothing: which rows there are, in which order, and how they are cut is settled. The files of a format
    with `same_bytes` have the same bytes no matter who writes them.

    Attributes:
        name: what `--sink` calls it.
    """

    name: str

    def writer(self, parts: FileParts, scratch: Path) -> TableWriter:
        """Begin to write a table.

        Args:
            parts: how its rows become files; `parts.write` writes one of them, in whatever process.
            scratch: a folder for what must not stay; the caller wipes it.

        Returns:
            What is handed all distinct rows in canonical order with their multiplicities, any number at a time. `close`
            returns when the files stand where `parts` says, and `abandon` when nobody writes them any more.

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
