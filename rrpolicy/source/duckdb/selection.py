"""One record of each unit: the first or last by a column, the same in any order of rows and in any file format.

Ties are broken by all other columns, in the order of their names. Text is ordered by the number that it spells, then
by code points, so that a column has one order whether a file holds its numbers as numbers or as text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rrpolicy.engine.column_types import StoredColumn, TypeFamily
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import Selection
from rrpolicy.source.names import INDEX_COLUMN

if TYPE_CHECKING:
    import duckdb

SELECTED = identifier("selected records")


def select_records(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    source: str,
    stored: Mapping[str, StoredColumn],
    selection: Selection,
) -> tuple[str, int]:
    """Copy one record of each unit, and all records without a unit, into a table; return its SQL and its records."""
    unit, by = _known_columns(name, stored, selection)
    missing = connection.execute(f"SELECT count(*) FILTER (WHERE {by.typed} IS NULL) FROM {source}").fetchall()[0][0]
    if missing:
        message = (
            f"{name}: {'1 record has' if missing == 1 else f'{missing:,} records have'} no '{selection.by}', "
            "by which one record of each unit is selected"
        )
        hint = "mend the table, or order the records by a column that every record has"
        raise DataError(Problem("RR330", message, expected="no nulls (or NaN)", hint=hint))
    rest = stored.keys() - {selection.unit, selection.by}
    others = (stored[column] for column in sorted(rest, key=lambda c: (bool(INDEX_COLUMN.fullmatch(c)), c)))
    order = [f"{key} {'DESC NULLS FIRST' if selection.last else 'ASC NULLS LAST'}" for key in _ordering_keys(by)]
    order += [f"{key} ASC NULLS LAST" for column in others for key in _ordering_keys(column)]
    rank = f"row_number() OVER (PARTITION BY {unit.typed} ORDER BY {', '.join(order)})"
    chosen = f"SELECT * FROM {source} QUALIFY {rank} = 1 OR {unit.typed} IS NULL"
    connection.execute(f"CREATE OR REPLACE TABLE {SELECTED} AS {chosen}")
    return SELECTED, int(connection.execute(f"SELECT count(*) FROM {SELECTED}").fetchall()[0][0])


def _known_columns(
    name: str, stored: Mapping[str, StoredColumn], selection: Selection
) -> tuple[StoredColumn, StoredColumn]:
    for code, column in (("RR325", selection.unit), ("RR311", selection.by)):
        if column not in stored:
            close = difflib.get_close_matches(column, stored, n=1)
            message = f"{name}: there is no column '{column}', by which one record of each unit is selected"
            hint = f"did you mean '{close[0]}'?" if close else None
            expected = "a column of the table, upper and lower case told apart"
            raise DataError(Problem(code, message, None, expected, hint))
    return stored[selection.unit], stored[selection.by]


def _ordering_keys(column: StoredColumn) -> Iterator[str]:
    """Yield the SQL by which the values of a column are ordered."""
    if column.family is TypeFamily.TEXT:
        yield f"TRY_CAST({column.text} AS DOUBLE)"
    yield column.typed
