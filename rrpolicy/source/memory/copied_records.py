"""Records of any kind as a snapshot: bins, nulls, `outside`, sorting and tallying are done here once for all engines.

A source only has to supply its records. They are copied into an engine of rrpolicy; the copy stays in memory as long as
there is room, and only sorted rows go to the scratch folder, as for files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from rrpolicy.engine.column_types import StoredColumn
from rrpolicy.engine.errors import translate_error
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import PLAIN, Reading
from rrpolicy.source.duckdb.missing import with_missing_as_null
from rrpolicy.source.duckdb.snapshot import Held, open_records_or_counts
from rrpolicy.source.duckdb.source import confine_to_files, connect_private
from rrpolicy.source.memory.kinds import MEMORY_SCHEME, TUNING_SCHEME
from rrpolicy.source.memory.stream import stream
from rrpolicy.source.protocol import Snapshot

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.source.protocol import Snapshot


HELD = "held"
"""The copy's name."""
WORKING = 1 << 30
"""Bytes for the engine's work in addition to the copy."""
TWICE = 2
"""The largest ratio of the copy's bytes to the table's."""


class CopyState(Struct, frozen=True):
    """The state of a private copy."""

    def unchanged(self) -> None:
        """Return: no other process can change the copy."""


@contextmanager
def encoded(
    records: Any,
    name: str,
    scratch: Path,
    reading: Reading = PLAIN,
    pinned: Held | None = None,
    *,
    kind: str = "Arrow stream",
) -> Iterator[Snapshot]:
    """Copy records and open the copy as a snapshot.

    Args:
        records: an Arrow table, a reader of record batches, or anything with `__arrow_c_stream__`.
        name: name of the table, for messages.
        scratch: the folder to which DuckDB spills.
        reading: the codes of missing values; the format of CSV is ignored.
        pinned: the original of the copy, whose `unchanged` is called when the table is read: see `pin` for files. By
            default the copy is the table.
        kind: kind of the records, such as `pandas DataFrame`.

    Raises:
        DataError: RR344 if a column cannot be read, RR308 if columns share a name or have none; RR342, RR347, RR348 as
            `weighted`.
        RefusedError: RR410 if `pinned` changed while they were copied; RR408 if a disk is full.
    """
    found, size = stream(records, kind, name)
    connection = connect_private(scratch, f"{WORKING + TWICE * size}B" if size else "")
    state = pinned or CopyState()
    try:
        confine_to_files(connection, scratch, ())
        count = _copy_records(connection, found, name)
        state.unchanged()
        described = connection.execute(f"DESCRIBE {HELD}").fetchall()
        columns = [StoredColumn(row[0], row[1]) for row in described]
        source = with_missing_as_null(HELD, columns, reading)
        yield open_records_or_counts(name, source, columns, count, state, connection, scratch, reading)
    finally:
        connection.close()


def _copy_records(connection: duckdb.DuckDBPyConnection, records: pa.RecordBatchReader, name: str) -> int:
    try:
        connection.register("given", records)
        connection.execute(f"CREATE TABLE {HELD} AS SELECT * FROM given")
        connection.unregister("given")
    except Exception as error:  # noqa: BLE001 another library's, and its message may contain values
        ours = translate_error(name, error)
        if ours.exit_status != DataError.exit_status:
            raise ours from None
        hint = "look at it where it was made; what it is made from may be closed, or its query fails"
        raise DataError(Problem("RR344", f"{name} cannot be read to its end", hint=hint)) from None
    return int(connection.execute(f"SELECT count(*) FROM {HELD}").fetchall()[0][0])


class MemorySource(Struct, frozen=True):
    """Opens one table in memory; a `Source`."""

    schemes: ClassVar[tuple[str, ...]] = (MEMORY_SCHEME, TUNING_SCHEME)
    paths: ClassVar[bool] = False
    held: Any
    kind: str

    def open(  # uri and table select nothing: this is one table
        self,
        uri: str,  # noqa: ARG002
        table: str | None,  # noqa: ARG002
        scratch: Path,
        reading: Reading = PLAIN,
    ) -> AbstractContextManager[Snapshot]:
        """Copy the table and open the copy; see `Source.open`.

        `table` and the format of CSV are ignored: this is one table.
        """
        return encoded(self.held, f"the {self.kind}", scratch, reading, kind=self.kind)
