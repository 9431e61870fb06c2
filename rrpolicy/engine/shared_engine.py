"""The engine that queries released files: started once a process, for that costs more than most queries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


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
