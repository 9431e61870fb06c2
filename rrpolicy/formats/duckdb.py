"""Released tables as a DuckDB file: a fresh file that only ever contained released values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.engine.connect import engine
from rrpolicy.engine.db_file_safety import create_table_sql, unexpected_contents
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.escaping.formulas import Handling
from rrpolicy.formats.column_types import arrow_schema, engine_type
from rrpolicy.formats.format import TableWriter, UnlikeSpecError
from rrpolicy.formats.rows import decode_dictionary, repeat_values

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.counts import Ints


class DuckDBFormat:
    """The format `duckdb`."""

    name = "duckdb"
    media_type = "application/vnd.duckdb.file"
    packaged = False
    alone = True
    same_bytes = False
    note = ""

    def writer(self, path: Path, spec: TableSpec, handling: Handling) -> TableWriter:
        """Create a file."""
        del handling
        return DuckDBTableWriter(path, spec)

    def relation(self, connection: duckdb.DuckDBPyConnection, path: Path, spec: TableSpec, handling: Handling) -> str:
        """Attach a file read-only after checking that it has exactly the expected table, and return that table."""
        del handling
        name = f"released_{spec.name}"
        connection.execute(f"ATTACH {literal(str(path))} AS {identifier(name)} (READ_ONLY)")
        found = unexpected_contents(connection, name, spec.name, [(c.name, engine_type(c)) for c in spec.columns])
        if found:
            message = f"the database must contain the one table {spec.name!r} as declared; it contains {found}"
            raise UnlikeSpecError(message)
        return f"{identifier(name)}.{identifier(spec.name)}"

    def sql(self, path: str, columns: Sequence[Column], handling: Handling) -> str:
        """Return the name under which estimate.sql attaches the file."""
        del columns, handling
        table = path.removesuffix(f".{self.name}")
        return f"{identifier(f'released_{table}')}.{identifier(table)}"


class DuckDBTableWriter:
    """One DuckDB file with one table of the spec's name, rows in canonical order."""

    def __init__(self, path: Path, spec: TableSpec) -> None:
        if path.exists():
            raise FileExistsError(path)
        self._schema = arrow_schema(spec)
        self._table = identifier(spec.name)
        self._open = ExitStack()
        self._connection = self._open.enter_context(engine(path.parent, path))
        self._connection.execute(create_table_sql(spec.name, [(c.name, engine_type(c)) for c in spec.columns]))

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write rows."""
        import pyarrow as pa

        whole = pa.RecordBatch.from_arrays(
            [repeat_values(decode_dictionary(c), n) for c in rows.columns], schema=self._schema
        )
        self._connection.register("released_rows", pa.Table.from_batches([whole]))
        self._connection.execute(f"INSERT INTO {self._table} SELECT * FROM released_rows")  # noqa: S608 quoted
        self._connection.unregister("released_rows")

    def close(self) -> None:
        """Write all rows into the file and leave no log file."""
        self._connection.execute("CHECKPOINT")
        self._open.close()

    def abandon(self) -> None:
        """Release the file."""
        self._open.close()
