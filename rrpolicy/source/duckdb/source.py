"""The engine: Parquet files (or a glob of them), CSV, and DuckDB tables and views, read in place and read-only.

The engine sees the table's files and its scratch folder and nothing else: no network, no extensions, no other file.
"""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import duckdb

from rrpolicy.engine.column_types import StoredColumn
from rrpolicy.engine.errors import engine_errors
from rrpolicy.engine.quoting import identifier, literal, literal_path
from rrpolicy.errors import DataError, Problem
from rrpolicy.numbers import fixed_number
from rrpolicy.policy.model import PLAIN, Reading
from rrpolicy.source.duckdb import delimited
from rrpolicy.source.duckdb.counts_table import check_countable
from rrpolicy.source.duckdb.files import Pinned, checked_path, pin, shown_name
from rrpolicy.source.duckdb.missing import with_missing_as_null
from rrpolicy.source.duckdb.snapshot import MAX_ARRAY_BITS, TableSnapshot, open_records_or_counts

_OPTIONS = "union_by_name = false, hive_partitioning = false, filename = false, file_row_number = false"


def find_parquet(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> tuple[str, list[StoredColumn]]:
    """Return SQL that reads the files, and their columns."""
    first = _parquet_columns(connection, files[0])
    for file in files[1:]:
        other = _parquet_columns(connection, file)
        if other != first:
            names = sorted({n for n, _ in set(first) ^ set(other)}) or ["their order"]
            message = f"{name}: {shown_name(file)} differs from {shown_name(files[0])} in {', '.join(names)}"
            expected = "files with the same columns, in the same order, of the same types"
            hint = "write them again with one schema, or name those that belong together"
            raise DataError(Problem("RR307", message, expected=expected, hint=hint))
    given = {r[0] for r in connection.execute(f"SELECT name FROM parquet_schema({literal(files[0])})").fetchall()}
    renamed = [n for n, _ in first if n not in given]
    if renamed:
        expected = "a name for each column, different also when case is ignored"
        raise DataError(Problem("RR308", f"{name}: two columns have one name when case is ignored", expected=expected))
    listed = ", ".join(literal(f) for f in files)
    return f"read_parquet([{listed}], {_OPTIONS})", [StoredColumn(n, t) for n, t in first]


def _parquet_columns(connection: duckdb.DuckDBPyConnection, file: str) -> list[tuple[str, str]]:
    sql = f"DESCRIBE SELECT * FROM read_parquet({literal(file)}, {_OPTIONS})"
    return [(row[0], row[1]) for row in connection.execute(sql).fetchall()]


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
        message = f"{name}: the policy does not declare which of its {len(names)} tables and views"
    else:
        message = f"{name}: there is not a table or view '{table}'"
        close = difflib.get_close_matches(table, names, n=3)
        hint = f"did you mean {' or '.join(repr(n) for n in close)}?" if close else None
    return DataError(Problem("RR306", message, expected=", ".join(names[:20]) or "a table", hint=hint))


MEMORY = "1GiB"
SECONDS = 20
"""The seconds permitted to count the records of a table, and again for each GiB of its files."""
PARQUET = ("parquet", ".parquet", ".pq")
CSV = ("csv", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
DATABASE = ("duckdb", ".duckdb", ".ddb", ".db")


class DuckDBSource:
    """Opens files by their endings: Parquet, CSV and DuckDB databases; or by the schemes parquet:, csv: and duckdb:."""

    schemes: ClassVar[tuple[str, ...]] = (*PARQUET, *CSV, *DATABASE)

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[TableSnapshot]:
        """Open a table; see `Source.open`.

        `uri` is a path, a glob of Parquet files, or one of these after `parquet:`, `csv:` or `duckdb:`.
        """
        scheme, path = _split_scheme(uri)
        kind = scheme or _file_ending(path)
        name = shown_name(path)
        if table is not None and kind not in DATABASE:
            raise DataError(
                Problem("RR306", f"{name}: `table` is given, but a file is one table", hint="take `table` out")
            )
        pinned = pin(os.path.abspath(path), (".wal",) if kind in DATABASE else ())  # noqa: PTH100
        connection = connect_private(scratch)
        try:
            with engine_errors(name, reading.csv.skip):
                opened = _open_snapshot(connection, kind, pinned, table, scratch=scratch, reading=reading)
            opened.unchanged()
            yield opened
        finally:
            connection.close()


def _open_snapshot(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    pinned: Pinned,
    table: str | None,
    *,
    scratch: Path,
    reading: Reading,
) -> TableSnapshot:
    name = shown_name(pinned.pattern)
    if kind in DATABASE:
        connection.execute(f"ATTACH {literal(pinned.files[0])} AS {ALIAS} (TYPE duckdb, READ_ONLY)")
        confine_to_files(connection, scratch, ())
        source, columns = find_table(connection, name, table)
    elif kind in CSV:
        confine_to_files(connection, scratch, pinned.files)
        path = _single_csv_file(name, pinned)
        file = delimited.readable_csv(path, reading.csv, scratch)
        names = _checked_column_names(name, delimited.csv_header(path, file, reading.csv))
        source, count, columns = delimited.columns(
            connection, delimited.csv_scan_sql(literal_path(file.path), file, names), names, reading
        )
        delimited.check_record_count(path, file, count)
        return open_records_or_counts(name, source, columns, count, pinned, connection, scratch, reading)
    else:
        confine_to_files(connection, scratch, pinned.files)
        source, columns = find_parquet(connection, name, [literal_path(f) for f in pinned.files])
    source = with_missing_as_null(source, columns, reading)
    records = _record_count(connection, source, name, pinned)
    return open_records_or_counts(name, source, columns, records, pinned, connection, scratch, reading)


def _record_count(connection: duckdb.DuckDBPyConnection, source: str, name: str, pinned: Pinned) -> int:
    """Return the number of records, within a time that the files' size allows: a view may never end."""
    gib = sum(size for *_, size, _ in pinned.state) / 2**30
    allowed = SECONDS * (1 + gib)
    clock = threading.Timer(allowed, connection.interrupt)
    clock.daemon = True
    clock.start()
    try:
        row = connection.execute(f"SELECT count(*) FROM {source}").fetchone()
    except duckdb.InterruptException:
        hint = "write the view's rows into a table: CREATE TABLE … AS SELECT …"
        message = f"{name}: counting the records takes longer than {fixed_number(allowed)} seconds"
        raise DataError(Problem("RR341", message, expected="a view that ends", hint=hint)) from None
    finally:
        clock.cancel()
    assert row is not None
    check_countable(name, row[0])
    return int(row[0])


def _single_csv_file(name: str, pinned: Pinned) -> str:
    if len(pinned.files) > 1:
        raise DataError(
            Problem("RR301", f"{name}: a glob of {len(pinned.files)} CSV files", expected="one CSV file, or Parquet")
        )
    return pinned.files[0]


def _checked_column_names(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    folded = [n.casefold() for n in names]
    fault = None
    if "" in names:
        fault = "a column without a name"
    elif len(set(folded)) < len(folded):
        fault = "a name twice"
    elif any("\n" in n or "\r" in n for n in names):
        fault = "a line break in a name"  # DuckDB 2.0 finds no rows after such a header.
    if fault:
        expected = "a name on one line for each column, different also when case is ignored"
        raise DataError(Problem("RR308", f"{name}: the header has {fault}", expected=expected))
    return names


def connect_private(scratch: Path, memory: str = "") -> duckdb.DuckDBPyConnection:
    """Open an engine that loads nothing, and spills into the scratch folder alone.

    The caller wipes `scratch`; `memory` is the most that it may take.
    """
    return duckdb.connect(
        ":memory:",
        config={
            "temp_directory": checked_path(str(scratch / "duckdb")),
            "memory_limit": memory or MEMORY,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        },
    )


def confine_to_files(connection: duckdb.DuckDBPyConnection, scratch: Path, files: Sequence[str]) -> None:
    """Restrict the engine to these files and the scratch folder, irrevocably."""
    with suppress(duckdb.Error):  # DuckDB 1 has it for each session only: groups are hashed there.
        connection.execute(f"SET GLOBAL perfect_ht_threshold = {MAX_ARRAY_BITS}")
    paths = ", ".join(literal(p) for f in files for p in dict.fromkeys((f, literal_path(f))))
    connection.execute(f"SET allowed_paths = [{paths}]::VARCHAR[]")
    connection.execute(f"SET allowed_directories = [{literal(str(scratch.resolve()) + os.sep)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _split_scheme(uri: str) -> tuple[str, str]:
    scheme, colon, path = uri.partition(":")
    return (scheme, path) if colon and scheme in {PARQUET[0], CSV[0], DATABASE[0]} else ("", uri)


def _file_ending(path: str) -> str:
    low = path.lower()
    return max((s for s in DuckDBSource.schemes if s.startswith(".") and low.endswith(s)), key=len, default=".parquet")
