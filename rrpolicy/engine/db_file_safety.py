"""A DuckDB file from an untrusted source may contain one plain table, and nothing that runs when it is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from rrpolicy.engine.quoting import identifier

if TYPE_CHECKING:
    import duckdb

_OTHERS = {
    "duckdb_views": "NOT internal",
    "duckdb_functions": "NOT internal",
    "duckdb_types": "NOT internal",
    "duckdb_schemas": "NOT internal",
    "duckdb_sequences": "true",
    "duckdb_indexes": "true",
    "duckdb_constraints": "true",
    "duckdb_triggers": "true",
}
"""Catalogues of objects that must be absent."""


def create_table_sql(name: str, columns: Sequence[tuple[str, str]]) -> str:
    """Return the statement that makes a released table."""
    return f"CREATE TABLE {identifier(name)} ({', '.join(f'{identifier(c)} {kind}' for c, kind in columns)})"


def unexpected_contents(
    connection: duckdb.DuckDBPyConnection, database: str, table: str, columns: Sequence[tuple[str, str]]
) -> str:
    """Return the unexpected contents of a database in words; "" if it is exactly the expected plain table.

    Generated columns, defaults, constraints and comments count: the table's statement must be the expected one.
    """
    for catalogue, condition in _engine_catalogues():
        query = f"SELECT count(*) FROM {catalogue}() WHERE {condition} AND database_name = ?"
        found = connection.execute(query, [database]).fetchall()[0][0]
        if found:
            return f"{found} of the entries in {catalogue}"
    query = "SELECT schema_name, table_name, sql, comment FROM duckdb_tables() WHERE database_name = ?"
    tables = connection.execute(query, [database]).fetchall()
    if [t[:2] for t in tables] != [("main", table)]:
        return f"other tables than the one table {table!r}"
    if tables != [("main", *_expected_definition(table, tuple(columns)), None)]:
        return f"a table {table!r} that was made otherwise"
    commented = "SELECT count(*) FROM duckdb_columns() WHERE database_name = ? AND comment IS NOT NULL"
    return "comments" if connection.execute(commented, [database]).fetchall()[0][0] else ""


@cache
def _engine_catalogues() -> tuple[tuple[str, str], ...]:
    """Return the catalogues that this engine has; a database cannot contain objects of a catalogue that it lacks."""
    import duckdb

    with duckdb.connect() as plain:
        found = plain.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
    return tuple((name, condition) for name, condition in _OTHERS.items() if (name,) in set(found))


@lru_cache(maxsize=64)
def _expected_definition(table: str, columns: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """Return the name and the statement of the expected table, as the engine reports them."""
    import duckdb

    with duckdb.connect() as plain:
        plain.execute(create_table_sql(table, columns))
        ((name, sql),) = plain.execute("SELECT table_name, sql FROM duckdb_tables()").fetchall()
    return name, sql
