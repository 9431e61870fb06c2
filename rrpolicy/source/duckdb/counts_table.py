"""Tables of distinct rows with counts: one column has the count of each row, and is not a column of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.engine.column_types import StoredColumn, TypeFamily
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import DataError, Problem
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import duckdb

MULTIPLICITY_COLUMN = identifier(MULTIPLICITY)
MAX_COUNTED_RECORDS = 10**10
WHOLE = "whole numbers of at least 0: the records that each row represents"


class CountsRelation(Struct, frozen=True):
    """A table of counts as read.

    Attributes:
        source: SQL of its rows without those of count 0, with a last column `MULTIPLICITY`.
        records: number of records that they represent.
    """

    source: str
    columns: list[StoredColumn]
    rows: int
    records: int


def read_counts_relation(
    connection: duckdb.DuckDBPyConnection, name: str, source: str, columns: Sequence[StoredColumn], multiplicity: str
) -> CountsRelation:
    """Read a table of counts."""
    stored = next((c for c in columns if c.name == multiplicity), None)
    if stored is None:
        known = ", ".join(f"'{c.name}'" for c in columns[:20])
        message = f"{name}: there is no column '{multiplicity}' with the number of records of each row"
        hint = "name the column of the counts, or leave it out (`multiplicity`, counts:COLUMN:) for a table of records"
        raise DataError(Problem("RR347", message, expected=f"one of {known}", hint=hint))
    if stored.family not in {TypeFamily.INTEGER, TypeFamily.REAL}:
        message = f"{name}: the column of counts '{multiplicity}' is {stored.type} ({stored.family.value})"
        raise DataError(Problem("RR348", message, expected=WHOLE))
    n = stored.typed
    wrong = {"no count (null, or NaN)": f"{n} IS NULL", "a count below 0": f"{n} < 0"}
    if stored.family is TypeFamily.REAL:
        wrong["a count that is not whole"] = f"{n} >= 0 AND ({n})::DOUBLE <> floor(({n})::DOUBLE)"
    wrong["a count beyond 10^10"] = f"{n} > {MAX_COUNTED_RECORDS}"
    faults = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in wrong.values())
    sound = f"{n} BETWEEN 1 AND {MAX_COUNTED_RECORDS}"
    total = f"coalesce(sum(CASE WHEN {sound} THEN ({n})::BIGINT END), 0)"
    query = f"SELECT count(*) FILTER (WHERE {sound}), {total}, {faults} FROM {source}"
    rows, records, *found = connection.execute(query).fetchall()[0]
    faulty = [f"{_row_count_text(count)} {what}" for what, count in zip(wrong, found, strict=True) if count]
    if faulty:
        message = f"{name}: {'; '.join(faulty)} in '{multiplicity}'"
        raise DataError(Problem("RR348", message, expected=WHOLE, hint="correct the statement that counted"))
    check_countable(name, records)
    kept = [c for c in columns if c is not stored]
    names = "".join(f"{identifier(c.name)}, " for c in kept)
    counted = f"(SELECT {names}({n})::BIGINT AS {MULTIPLICITY_COLUMN} FROM {source} WHERE {n} > 0)"
    return CountsRelation(counted, kept, rows, int(records))


def check_countable(name: str, records: int) -> None:
    """Raise RR342 if a table has more records than can be counted."""
    if records > MAX_COUNTED_RECORDS:
        expected = f"at most {MAX_COUNTED_RECORDS:,}"
        raise DataError(Problem("RR342", f"{name}: {records:,} records", expected=expected, hint="release it in parts"))


def _row_count_text(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"
