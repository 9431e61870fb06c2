"""The engine: Parquet files (or a glob of them), CSV, and DuckDB tables and views, read in place and read-only.

The engine sees the table's files and its scratch folder and nothing else: no network, no extensions, no other file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import duckdb

from rrpolicy.canonical import Value
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import Attribute
from rrpolicy.source import database, delimited, parquet
from rrpolicy.source.columns import Stored
from rrpolicy.source.encoding import Encoded, encode, released_type
from rrpolicy.source.failures import engine_errors
from rrpolicy.source.files import Pinned, pin, shown
from rrpolicy.source.packing import Pack, pack
from rrpolicy.source.quoting import literal

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17
MEMORY = "1GiB"
PARQUET = ("parquet", ".parquet", ".pq")
CSV = ("csv", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
DATABASE = ("duckdb", ".duckdb", ".ddb", ".db")


@dataclass(frozen=True)
class TableSnapshot:
    """One pinned state of a table in DuckDB; a `Snapshot`.

    Attributes:
        name: the table, as messages name it.
        source: SQL that stands after FROM.
        stored: its columns, in table order.
        count: the number of rows.
        pinned: the files and their state.
        connection: DuckDB, locked down; every read has a cursor of its own.
    """

    name: str
    source: str
    stored: Mapping[str, Stored]
    count: int
    pinned: Pinned
    connection: duckdb.DuckDBPyConnection

    def columns(self) -> Mapping[str, str]:
        """Return each column's name and type, in table order."""
        return {name: column.type for name, column in self.stored.items()}

    def records(self) -> int:
        """Return the number of rows."""
        return self.count

    def released_type(self, attribute: Attribute) -> str:
        """Return the engine type of the released values; see `Snapshot.released_type`."""
        return released_type(attribute, self.stored[attribute.name])

    def distinct(self, attribute: Attribute, most: int) -> tuple[Value | None, ...]:
        """Return the column's distinct values (None for null or NaN, last), sorted, at most `most + 1` of them."""
        column = self.stored[attribute.name].observed
        sql = f"SELECT value FROM (SELECT DISTINCT {column} AS value FROM {self.source}) LIMIT {int(most) + 1}"
        found = (v for batch in self._stream(sql, ["value"], _Query()) for v in batch.column(0).to_pylist())
        values = [int(v) if isinstance(v, Decimal) else v for v in found]
        return (*sorted(v for v in values if v is not None), *[None] * (None in values))

    def tally(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return grouped counts in one pass; see `Snapshot.tally`."""
        query = self._query(attributes, carried)
        if carried:
            select = ", ".join([*query.packed, *query.carried, "count(*) AS n"])
            sql = f"SELECT {select} FROM (SELECT {', '.join(query.keys)} FROM {self.source}) {query.joins} GROUP BY ALL"
        else:
            # Grouped by keys first: the codes are then computed once a group.
            inner = f"SELECT {', '.join([*query.keys, 'count(*) AS n'])} FROM {self.source}"
            inner += " GROUP BY ALL" if attributes else ""
            select = ", ".join([*query.packed, "sum(n)::BIGINT AS n"])
            sql = f"SELECT {select} FROM ({inner}) {query.joins}" + (" GROUP BY ALL" if attributes else "")
        return self._stream(sql + query.order, [*(a.name for a in attributes), *carried, "n"], query)

    def rows(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return encoded rows; see `Snapshot.rows`."""
        query = self._query(attributes, carried)
        inner = f"SELECT {', '.join(query.keys)} FROM {self.source}"
        sql = f"SELECT {', '.join([*query.packed, *query.carried])} FROM ({inner}) {query.joins}{query.order}"
        return self._stream(sql, [*(a.name for a in attributes), *carried], query)

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table is not in the pinned state any more."""
        self.pinned.unchanged()

    def _query(self, attributes: Sequence[Attribute], carried: Sequence[str]) -> _Query:
        encoded = [encode(a, self.stored[a.name], f"k{i}") for i, a in enumerate(attributes)]
        keys = [f"{sql} AS {name}" for e in encoded for name, sql in e.keys.items()]
        keys += [f"{self.stored[name].released} AS c{i}" for i, name in enumerate(carried)]
        packs = pack([e.code for e in encoded], [len(a.domain or ()) for a in attributes])
        return _Query(keys, packs, [f"c{i}" for i in range(len(carried))], encoded)

    def _stream(self, sql: str, names: Sequence[str], query: _Query) -> pa.RecordBatchReader:
        import pyarrow as pa

        packs = query.packs
        with engine_errors(self.name):
            self.unchanged()
            cursor = self.connection.cursor()
            for table, content in query.tables():
                cursor.register(table, content)
            relation = cursor.sql(sql)
            fetch = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            reader = fetch(BATCH)
        codes = sum(len(p.codes) for p in packs)
        types = [*[pa.int32()] * codes, *(f.type for f in list(reader.schema)[len(packs) :])]
        schema = pa.schema([pa.field(n, t) for n, t in zip(names, types, strict=True)])
        return pa.RecordBatchReader.from_batches(schema, self._guarded(cursor, reader, packs, schema))

    def _guarded(
        self, cursor: duckdb.DuckDBPyConnection, reader: pa.RecordBatchReader, packs: Sequence[Pack], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches unpacked under the table's own names, then look whether the table is still the same."""
        import pyarrow as pa

        with engine_errors(self.name):
            for batch in reader:
                codes = [c for p, numbers in zip(packs, batch.columns, strict=False) for c in p.unpack(numbers)]
                yield pa.RecordBatch.from_arrays([*codes, *batch.columns[len(packs) :]], schema=schema)
            cursor.close()
            self.unchanged()


@dataclass(frozen=True, slots=True)
class _Query:
    """The parts of a statement, under names of ours: keys k0, k0_null, …, packed codes p0, …, carried columns c0, …."""

    keys: Sequence[str] = ()
    packs: Sequence[Pack] = ()
    carried: Sequence[str] = ()
    encoded: Sequence[Encoded] = ()

    @property
    def joins(self) -> str:
        return " ".join(e.join for e in self.encoded if e.join)

    def tables(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables of domains that are joined, by name."""
        import pyarrow as pa

        for table, how in (e.joined for e in self.encoded if e.joined):
            kind = {"VARCHAR": pa.string(), "HUGEINT": pa.decimal128(38, 0), "BIGINT": pa.int64()}.get(how.type)
            values = pa.array(how.values, kind or pa.float64())
            yield table, pa.table({"value": values, "code": pa.array(how.places, pa.int32())})

    @property
    def packed(self) -> list[str]:
        return [f"{p.sql} AS p{i}" for i, p in enumerate(self.packs)]

    @property
    def order(self) -> str:
        columns = ", ".join(f"{i + 1} ASC NULLS LAST" for i in range(len(self.packs) + len(self.carried)))
        return f" ORDER BY {columns}" if columns else ""


class DuckDBSource:
    """Opens files by their endings: Parquet, CSV and DuckDB databases; or by the schemes parquet:, csv: and duckdb:."""

    schemes: ClassVar[tuple[str, ...]] = (*PARQUET, *CSV, *DATABASE)

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path) -> Iterator[TableSnapshot]:
        """Open a table; see `Source.open`.

        Args:
            uri: a path, a glob of Parquet files, or one of these after `parquet:`, `csv:` or `duckdb:`.
            table: the table or view of a database, such as `people` or `schema.people`.
            scratch: where DuckDB spills.

        Raises:
            DataError: RR300 to RR309 if it cannot be read.
            RefusedError: RR410 if it changes while it is opened.
        """
        scheme, path = _split(uri)
        kind = scheme or _ending(path)
        name = shown(path)
        if table is not None and kind not in DATABASE:
            raise DataError(
                Problem("RR306", f"{name}: `table` is given, but a file is one table", hint="take `table` out")
            )
        pinned = pin(os.path.abspath(path), (".wal",) if kind in DATABASE else ())  # noqa: PTH100
        connection = _connect(scratch)
        try:
            with engine_errors(name):
                opened = _opened(connection, kind, pinned, table, scratch)
            opened.unchanged()
            yield opened
        finally:
            connection.close()


def _opened(
    connection: duckdb.DuckDBPyConnection, kind: str, pinned: Pinned, table: str | None, scratch: Path
) -> TableSnapshot:
    name = shown(pinned.pattern)
    if kind in DATABASE:
        connection.execute(f"ATTACH {literal(pinned.files[0])} AS {database.ALIAS} (TYPE duckdb, READ_ONLY)")
        _confine(connection, scratch, ())
        source, columns = database.find(connection, name, table)
    elif kind in CSV:
        _confine(connection, scratch, pinned.files)
        names = _named(name, _single(name, pinned))
        source = delimited.scan(escaped(pinned.files[0]), names)
        count, columns = delimited.columns(connection, source, names)
        return TableSnapshot(name, source, {c.name: c for c in columns}, count, pinned, connection)
    else:
        _confine(connection, scratch, pinned.files)
        source, columns = parquet.find(connection, name, [escaped(f) for f in pinned.files])
    row = connection.execute(f"SELECT count(*) FROM {source}").fetchone()
    assert row is not None
    return TableSnapshot(name, source, {c.name: c for c in columns}, row[0], pinned, connection)


def _single(name: str, pinned: Pinned) -> str:
    if len(pinned.files) > 1:
        raise DataError(
            Problem("RR301", f"{name}: a glob of {len(pinned.files)} CSV files", expected="one CSV file, or Parquet")
        )
    return pinned.files[0]


def _named(name: str, path: str) -> tuple[str, ...]:
    names = delimited.header(path)
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


def escaped(path: str) -> str:
    """Return a path for the engine, with the characters of globs taken as they are."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def _connect(scratch: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        ":memory:",
        config={
            "temp_directory": str(scratch / "duckdb"),
            "memory_limit": MEMORY,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
        },
    )


def _confine(connection: duckdb.DuckDBPyConnection, scratch: Path, files: Sequence[str]) -> None:
    """Let the engine see these files and the scratch folder only, for good."""
    paths = ", ".join(literal(p) for f in files for p in dict.fromkeys((f, escaped(f))))
    connection.execute(f"SET allowed_paths = [{paths}]::VARCHAR[]")
    connection.execute(f"SET allowed_directories = [{literal(str(scratch.resolve()) + os.sep)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _split(uri: str) -> tuple[str, str]:
    scheme, colon, path = uri.partition(":")
    return (scheme, path) if colon and scheme in {"parquet", "csv", "duckdb"} else ("", uri)


def _ending(path: str) -> str:
    low = path.lower()
    return max((s for s in DuckDBSource.schemes if s.startswith(".") and low.endswith(s)), key=len, default=".parquet")
