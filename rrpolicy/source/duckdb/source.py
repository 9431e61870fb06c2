"""The engine: Parquet files (or a glob of them), CSV, and DuckDB tables and views, read in place and read-only.

The engine sees the table's files and its scratch folder and nothing else: no network, no extensions, no other file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import duckdb

from rrpolicy.engine.errors import engine_errors
from rrpolicy.engine.quoting import literal
from rrpolicy.engine.scan import literal_path
from rrpolicy.errors import DataError, Problem
from rrpolicy.numbers import fixed_number
from rrpolicy.policy.model import PLAIN, Reading
from rrpolicy.source.duckdb import database, delimited, parquet
from rrpolicy.source.duckdb.counts_table import MAX_COUNTED_RECORDS
from rrpolicy.source.duckdb.files import (
    Pinned,
    checked_path,
    pin,
    shown_name,
)
from rrpolicy.source.duckdb.missing import with_missing_as_null
from rrpolicy.source.duckdb.snapshot import MAX_ARRAY_BITS, TableSnapshot, open_records_or_counts

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

        Args:
            uri: a path, a glob of Parquet files, or one of these after `parquet:`, `csv:` or `duckdb:`.
            table: the table or view of a database, such as `people` or `schema.people`.
            scratch: the folder to which DuckDB spills.
            reading: the format of CSV, and the codes of missing values.

        Raises:
            DataError: RR300 to RR309 or RR326 if it cannot be read; RR342, RR347, RR348 as `weighted`.
            RefusedError: RR410 if it changes while it is opened.
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
        connection.execute(f"ATTACH {literal(pinned.files[0])} AS {database.ALIAS} (TYPE duckdb, READ_ONLY)")
        confine_to_files(connection, scratch, ())
        source, columns = database.find_table(connection, name, table)
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
        source, columns = parquet.find_parquet(connection, name, [literal_path(f) for f in pinned.files])
    source = with_missing_as_null(source, columns, reading)
    records = _record_count(connection, source, name, pinned)
    return open_records_or_counts(name, source, columns, records, pinned, connection, scratch, reading)


def _record_count(connection: duckdb.DuckDBPyConnection, source: str, name: str, pinned: Pinned) -> int:
    """Return the number of records, within a time that the files' size allows: a view may never end.

    Raises:
        DataError: RR341 if it takes longer, RR342 if there are more records than rrpolicy reads.
    """
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
    if row[0] > MAX_COUNTED_RECORDS:
        message = f"{name}: {row[0]:,} records"
        raise DataError(
            Problem("RR342", message, expected=f"at most {MAX_COUNTED_RECORDS:,}", hint="release it in parts")
        )
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

    Args:
        scratch: the caller wipes it.
        memory: the most that it may take; default: `MEMORY`.
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
    return (scheme, path) if colon and scheme in {"parquet", "csv", "duckdb"} else ("", uri)


def _file_ending(path: str) -> str:
    low = path.lower()
    return max((s for s in DuckDBSource.schemes if s.startswith(".") and low.endswith(s)), key=len, default=".parquet")
