"""Tables and views of an attached DuckDB database, looked up in its catalogue: a name is never run as SQL."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from rrpolicy.engine.column_types import StoredColumn
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import DataError, Problem

if TYPE_CHECKING:
    import duckdb

ALIAS = "original"


def find_table(connection: duckdb.DuckDBPyConnection, name: str, table: str | None) -> tuple[str, list[StoredColumn]]:
    """Return SQL that reads a table or view, and its columns.

    `connection` has the database attached as `ALIAS`; `table` has its schema before a dot if it is not `main`.
    """
    found = connection.execute(
        f"SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = '{ALIAS}' UNION ALL"
        f" SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = '{ALIAS}' AND NOT internal"
    ).fetchall()
    names = {t if s == "main" else f"{s}.{t}": (s, t) for s, t, _ in found}
    if table is None and len(names) == 1:
        (schema, relation) = next(iter(names.values()))
    elif table is not None and (table in names or table.removeprefix("main.") in names):
        schema, relation = names.get(table) or names[table.removeprefix("main.")]
    else:
        raise _missing_table_error(name, table, sorted(names))
    # NOCASE and its like would count different texts as one; a view's text shows them too.
    collated = any("collate" in (sql or "").lower() for *_, sql in found)
    source = f"{ALIAS}.{identifier(schema)}.{identifier(relation)}"
    rows = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    return source, [StoredColumn(row[0], row[1], collated=collated and row[1] == "VARCHAR") for row in rows]


def _missing_table_error(name: str, table: str | None, names: list[str]) -> DataError:
    hint: str | None = "name one as `table` in [source]"
    if table is None:
        message = f"{name}: the policy does not say which of its {len(names)} tables and views"
    else:
        message = f"{name}: there is no table or view '{table}'"
        close = difflib.get_close_matches(table, names, n=3)
        hint = f"did you mean {' or '.join(repr(n) for n in close)}?" if close else None
    return DataError(Problem("RR306", message, expected=", ".join(names[:20]) or "a table", hint=hint))
