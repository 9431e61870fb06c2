"""A private DuckDB: it spills only into a given folder, loads no extension, and knows no time zone but UTC."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrpolicy.errors import DataError, Problem

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


MEMORY = "700MiB"
_TYPE = re.compile(r"(TIMESTAMP WITH TIME ZONE|[A-Z][A-Z0-9_]*(\(\d{1,3}(, ?\d{1,3})?\))?)(\[\])*")


@contextmanager
def engine(
    scratch: Path, database: Path | None = None, *, read_only: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a private DuckDB.

    Queries spill to `scratch`, which the caller wipes. Without a database file the engine works in memory.
    """
    import duckdb

    settings: dict[str, Any] = {
        "temp_directory": str(scratch),
        "memory_limit": MEMORY,
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(str(database) if database else ":memory:", read_only=read_only, config=settings)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def batches(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: list[Any] | None = None
) -> pa.RecordBatchReader:
    """Return a query's rows as a stream of batches."""
    relation = connection.sql(query, params=parameters or None)
    rows = 1 << 17
    if not hasattr(relation, "to_arrow_reader"):  # pragma: no cover - an older DuckDB
        return relation.fetch_arrow_reader(rows)
    return relation.to_arrow_reader(rows)


def query_integer(connection: duckdb.DuckDBPyConnection, query: str, parameters: list[Any] | None = None) -> int:
    """Return the one integer that a query yields."""
    return int(connection.execute(query, parameters or []).fetchall()[0][0])


def checked_type_name(name: str) -> str:
    """Return the name of an engine type, checked to be only a name: it becomes part of queries."""
    if not _TYPE.fullmatch(name):
        raise DataError(
            Problem("RR339", f"a released column cannot be of type {name!r}", hint="cast it in a view of the source")
        )
    return name


@contextmanager
def query_connection(*, alone: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection for one query.

    If `alone`, it is in a separate engine, as attached databases stay.
    """
    import duckdb

    with duckdb.connect() if alone else _process_engine(os.getpid()).cursor() as connection:
        yield connection


@cache
def _process_engine(process: int) -> duckdb.DuckDBPyConnection:
    """Return the engine of a process: its threads do not survive a fork, and without them it cannot be closed."""
    import duckdb

    del process
    engine = duckdb.connect()
    engine.execute("SET enable_external_file_cache = false")  # a file may be written again under the same name
    return engine
