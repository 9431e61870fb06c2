"""The engine that released files are asked through: started once a process, for it costs more than most questions."""

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
    """Open a connection for one question.

    Args:
        alone: in an engine of its own, as what is attached stays.
    """
    import duckdb

    with duckdb.connect() if alone else _process_engine(os.getpid()).cursor() as connection:
        yield connection


@cache
def _process_engine(process: int) -> duckdb.DuckDBPyConnection:
    """Return the engine of a process: its threads do not outlive a fork, and without them it cannot be let go of."""
    import duckdb

    del process
    engine = duckdb.connect()
    engine.execute("SET enable_external_file_cache = false")  # a file may be written again under the same name
    return engine
