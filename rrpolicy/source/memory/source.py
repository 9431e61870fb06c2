"""The engine of a table in memory: copied into an engine of our own when it is opened, so that it cannot change.

The copy stays in memory, as the table did; only what the engine sorts goes to the scratch folder, as for files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb

from rrpolicy.engine.column_types import Stored
from rrpolicy.engine.errors import translated
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import PLAIN, Reading
from rrpolicy.source.duckdb.missing import masked
from rrpolicy.source.duckdb.snapshot import TableSnapshot
from rrpolicy.source.duckdb.source import confine, connect
from rrpolicy.source.memory.kinds import PLAN_ON, SCHEME
from rrpolicy.source.memory.stream import stream

if TYPE_CHECKING:
    import pyarrow as pa

HELD = "held"
"""The copy's name."""
WORKING = 1 << 30
"""Bytes for the engine's work beside the copy."""
TWICE = 2
"""The copy takes at most so many bytes for one of the table."""


@dataclass(frozen=True, slots=True)
class Copied:
    """The state of a copy of our own."""

    def unchanged(self) -> None:
        """Return: nobody else has it."""


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Opens one table in memory; a `Source`.

    Attributes:
        held: the caller's table.
        kind: what it is called.
    """

    schemes: ClassVar[tuple[str, ...]] = (SCHEME, PLAN_ON)
    held: Any
    kind: str

    @contextmanager
    def open(  # uri and table tell nothing: this is one table
        self,
        uri: str,  # noqa: ARG002
        table: str | None,  # noqa: ARG002
        scratch: Path,
        reading: Reading = PLAIN,
    ) -> Iterator[TableSnapshot]:
        """Copy the table and open the copy; see `Source.open`.

        Args:
            uri: of the scheme; what follows it is for messages.
            table: not looked at: it tells one of a database's tables, and this is one table.
            scratch: where DuckDB spills.
            reading: the codes of missing values; how CSV is spelled is not looked at.

        Raises:
            DataError: RR344 if a column cannot be read, RR308 if columns share a name.
        """
        name = f"the {self.kind}"
        records, size = stream(self.held, self.kind)
        connection = connect(scratch, f"{WORKING + TWICE * size}B" if size else "")
        try:
            confine(connection, scratch, ())
            count = _copied(connection, records, name)
            described = connection.execute(f"DESCRIBE {HELD}").fetchall()
            columns = [Stored(row[0], row[1]) for row in described]
            source = masked(HELD, columns, reading)
            yield TableSnapshot(name, source, {c.name: c for c in columns}, count, Copied(), connection, scratch)
        finally:
            connection.close()


def _copied(connection: duckdb.DuckDBPyConnection, records: pa.RecordBatchReader, name: str) -> int:
    """Copy records into a table and return how many there are.

    Raises:
        DataError: RR344 if they cannot be read to their end.
        RefusedError: RR408 if a disk is full.
    """
    try:
        connection.register("given", records)
        connection.execute(f"CREATE TABLE {HELD} AS SELECT * FROM given")
        connection.unregister("given")
    except Exception as error:  # noqa: BLE001 another library's, and its message may hold values
        ours = translated(name, error)
        if ours.exit_status != DataError.exit_status:
            raise ours from None
        hint = "look at it where it was made; what it is made from may be closed, or its query fails"
        raise DataError(Problem("RR344", f"{name} cannot be read to its end", hint=hint)) from None
    return int(connection.execute(f"SELECT count(*) FROM {HELD}").fetchall()[0][0])
