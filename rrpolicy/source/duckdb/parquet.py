"""Parquet files as one table: they must agree in their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.engine.column_types import StoredColumn
from rrpolicy.engine.quoting import literal
from rrpolicy.errors import DataError, Problem
from rrpolicy.source.duckdb.files import shown_name

if TYPE_CHECKING:
    import duckdb

_OPTIONS = "union_by_name = false, hive_partitioning = false, filename = false, file_row_number = false"


def find_parquet(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> tuple[str, list[StoredColumn]]:
    """Return SQL that reads the files, and their columns."""
    first = _parquet_columns(connection, files[0])
    for file in files[1:]:
        other = _parquet_columns(connection, file)
        if other != first:
            names = sorted({n for n, _ in set(first) ^ set(other)}) or ["their order"]
            raise DataError(
                Problem(
                    "RR307",
                    f"{name}: {shown_name(file)} differs from {shown_name(files[0])} in {', '.join(names)}",
                    expected="files with the same columns, in the same order, of the same types",
                    hint="write them again with one schema, or name those that belong together",
                )
            )
    given = {r[0] for r in connection.execute(f"SELECT name FROM parquet_schema({literal(files[0])})").fetchall()}
    renamed = [n for n, _ in first if n not in given]
    if renamed:
        raise DataError(
            Problem(
                "RR308",
                f"{name}: two columns have one name when case is ignored",
                expected="a name for each column, different also when case is ignored",
            )
        )
    listed = ", ".join(literal(f) for f in files)
    return f"read_parquet([{listed}], {_OPTIONS})", [StoredColumn(n, t) for n, t in first]


def _parquet_columns(connection: duckdb.DuckDBPyConnection, file: str) -> list[tuple[str, str]]:
    sql = f"DESCRIBE SELECT * FROM read_parquet({literal(file)}, {_OPTIONS})"
    return [(row[0], row[1]) for row in connection.execute(sql).fetchall()]
