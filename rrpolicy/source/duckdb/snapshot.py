"""One pinned state of a table in DuckDB: its tallies and rows, encoded inside the engine."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.engine.arrays import typed_array
from rrpolicy.engine.column_types import MOMENTS, StoredColumn, TypeFamily
from rrpolicy.engine.errors import engine_errors
from rrpolicy.engine.quoting import double_bits_sql, doubles_from_sortable, identifier, sortable_integer_sql
from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Reading, Selection
from rrpolicy.source.duckdb.counts_table import MULTIPLICITY_COLUMN, read_counts_relation
from rrpolicy.source.duckdb.encoding import AttributeEncoding, encode, grouping_encoding, released_column_type
from rrpolicy.source.duckdb.packing import PackedCodes, pack
from rrpolicy.source.duckdb.selection import select_records
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.source.units import Units

if TYPE_CHECKING:
    import duckdb


_WHOLE = 1 << 52
"""All doubles from this size up are whole numbers: such a weight, or an infinite one, is a multiple already."""


def with_rounded_weights(
    source: str, columns: Sequence[StoredColumn], reading: Reading
) -> tuple[str, list[StoredColumn]]:
    """Return SQL of a table with rounded columns, which are then doubles, and its columns; text is not rounded."""
    found = [_rounded_weight_sql(column, reading) for column in columns]
    if all(sql is None for sql in found):
        return source, [*columns]
    selected = [
        name if sql is None else f"{sql} AS {name}"
        for column, sql in zip(columns, found, strict=True)
        for name in [identifier(column.name)]
    ]
    kept = [
        column if sql is None else replace(column, type="DOUBLE", spelled=False, comma=False)
        for column, sql in zip(columns, found, strict=True)
    ]
    return f"(SELECT {', '.join(selected)} FROM {source})", kept


def _rounded_weight_sql(column: StoredColumn, reading: Reading) -> str | None:
    step = reading.rounding.get(column.name)
    if step is None or column.family not in {TypeFamily.INTEGER, TypeFamily.REAL}:
        return None
    return rounding(f"({column.typed})::DOUBLE", step)


def rounding(x: str, step: float) -> str:
    """Return SQL of the multiple that is nearest to a double; for values above 0 the least is `step`.

    Values that are not weights are unchanged, and refused later: numbers below 0, infinite ones, nulls. The SQL has
    one meaning in every engine: no engine's rule for rounding halves is used.

    Args:
        x: SQL of a double.
        step: above 0.
    """
    told = f"CAST({step!r} AS DOUBLE)"
    nearest = f"floor({x} / {told} + 0.5) * {told}"
    return (
        f"(CASE WHEN {x} > 0 AND {x} < {told} THEN {told} WHEN {x} > 0 AND {x} / {told} < {_WHOLE} THEN {nearest} "
        f"ELSE {x} END)"
    )


class RowCache:
    """The rows of one statement, once all have passed.

    Attributes:
        complete: whether all have passed.
    """

    def __init__(self, path: Path) -> None:
        """Prepare.

        `path` is in the scratch folder, which the caller wipes.
        """
        self._path = path
        self._writing = False
        self.complete = False

    def passing(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the rows and write them down as they pass; of two simultaneous readings the first is written down."""
        if self._writing or self.complete:
            yield from reader
            return
        self._writing = True
        try:
            with pa.OSFile(str(self._path), "wb") as file, pa.ipc.new_file(file, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
                    yield batch
            self.complete = True
        finally:
            self._writing = False

    def again(self) -> pa.RecordBatchReader:
        """Return the rows in the order in which they passed."""
        file = pa.OSFile(str(self._path))
        content = pa.ipc.open_file(file)

        def batches() -> Iterator[pa.RecordBatch]:
            with file:
                for place in range(content.num_record_batches):
                    yield content.get_batch(place)

        return pa.RecordBatchReader.from_batches(content.schema, batches())


BATCH = 1 << 16
MAX_ARRAY_BITS = 18
"""The most bits of keys of groups that are counted in an array."""
SELDOM = 4
"""Rows whose values occur less often on average are sorted, not grouped."""
LOOKED_AT = 1 << 20
"""The number of rows used to estimate how often values occur; it affects speed, not results."""
TEXTS = 1 << 23
"""The number of texts that are grouped at a time; numbers spill, and are grouped all at once."""


class Held(Protocol):
    """A state that a table is compared with: that of its files, or a copy."""

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table has left that state."""
        ...


@dataclass(frozen=True)
class TableSnapshot:
    """One pinned state of a table in DuckDB; a `Snapshot`.

    Attributes:
        source: SQL after FROM.
        stored: its columns, in table order.
        pinned: the state that it is compared with.
        connection: DuckDB, locked down; every read has a separate cursor.
        scratch: the folder of sorted rows; the caller wipes it.
        rows_of_counts: for a table of distinct rows with counts, the number of rows of its source, whose last column
            `MULTIPLICITY` has the number of records that each represents; None for a table of records.
        selected_from: the number of the table's records, of which one of each unit was selected; None if all are read.
    """

    name: str
    source: str
    stored: Mapping[str, StoredColumn]
    count: int
    pinned: Held
    connection: duckdb.DuckDBPyConnection
    scratch: Path
    rows_of_counts: int | None = None
    selected_from: int | None = None
    _often: dict[str, bool] = field(default_factory=dict, repr=False)
    _kept: dict[tuple[tuple[Attribute, ...], tuple[str, ...], str], RowCache] = field(default_factory=dict, repr=False)

    @property
    def lines(self) -> int:
        """Return the number of rows that the source has."""
        return self.count if self.rows_of_counts is None else self.rows_of_counts

    @property
    def one_by_one(self) -> TableSnapshot:
        """Return it as a table of records, each row of counts repeated by its count."""
        if self.rows_of_counts is None:
            return self
        names = ", ".join(map(identifier, self.stored))
        repeated = f"SELECT *, unnest(range({MULTIPLICITY_COLUMN})) FROM {self.source}"
        return replace(self, source=f"(SELECT {names} FROM ({repeated}))", rows_of_counts=None)

    def columns(self) -> Mapping[str, str]:
        """Return each column's name and type, in table order."""
        return {name: column.type for name, column in self.stored.items()}

    def records(self) -> int:
        """Return the number of records."""
        return self.count

    def released_type(self, attribute: Attribute) -> str:
        """Return the engine type of the released values; see `Snapshot.released_type`."""
        return released_column_type(attribute, self.stored[attribute.name])

    def distinct(self, attribute: Attribute, most: int) -> tuple[Value | None, ...]:
        """Return the column's distinct values (None for null or NaN, last), sorted, at most `most + 1` of them."""
        column = self.stored[attribute.name].observed
        sql = f"SELECT value FROM (SELECT DISTINCT {column} AS value FROM {self.source}) LIMIT {int(most) + 1}"
        found = (v for batch in self._stream(sql, _StatementParts()) for v in batch.column(0).to_pylist())
        values = [int(v) if isinstance(v, Decimal) else v for v in found]
        return (*sorted(v for v in values if v is not None), *[None] * (None in values))

    def tally(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return grouped counts in one pass; see `Snapshot.tally`."""
        if attributes and not carried and (swiftly := self._swiftly(attributes)) is not None:
            return swiftly
        names = [*(a.name for a in attributes), *carried, MULTIPLICITY]
        if self._mostly_distinct(carried):
            query = self._query(attributes, carried, sort=True)
            rows = self._sorted(attributes, carried, query, query.by_carried)
            rows = _merged_rows(rows, weighted=self.rows_of_counts is not None)
            return self._decoded(rows, names, query)
        query = self._query(attributes, carried)
        if carried:
            select = ", ".join([*query.packed, *query.carried, f"{self._records} AS n"])
            keys = ", ".join([*query.keys, *self._weight])
            sql = f"SELECT {select} FROM (SELECT {keys} FROM {self.source}) {query.joins} GROUP BY ALL"
        else:
            # Grouped by keys first: the codes are then computed once a group.
            inner = f"SELECT {', '.join([*query.keys, f'{self._records} AS n'])} FROM {self.source}"
            inner += " GROUP BY ALL" if attributes else ""
            select = ", ".join([*query.packed, "sum(n)::BIGINT AS n"])
            sql = f"SELECT {select} FROM ({inner}) {query.joins}" + (" GROUP BY ALL" if attributes else "")
        return self._decoded(self._stream(sql + query.by_carried, query), names, query)

    def rows(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return encoded rows; see `Snapshot.rows`."""
        query = self._query(attributes, carried, sort=True)
        rows = self._sorted(attributes, carried, query, query.by_codes)
        if self.rows_of_counts is not None:
            from rrpolicy.source.run_length import repeated

            rows = pa.RecordBatchReader.from_batches(rows.schema.remove(len(rows.schema) - 1), repeated(rows))
        return self._decoded(rows, [*(a.name for a in attributes), *carried], query)

    def units(self, column: str) -> Units:
        """Return the number of distinct values by their number of rows; see `Snapshot.units`."""
        stored = self.stored[column]
        if stored.family is not TypeFamily.TEXT or self.lines <= TEXTS:
            return self._grouped(stored, "unit")
        hashed = self._grouped(stored, "hash(unit)")
        if max(hashed.sizes, default=1) == 1:  # no two hashes are equal, so no two values are
            return hashed
        parts = 1 + self.lines // TEXTS
        return Units.together(self._grouped(stored, "unit", f"hash(unit) % {parts} = {i}") for i in range(parts))

    def _grouped(self, stored: StoredColumn, key: str, where: str = "true") -> Units:
        """Count rows by a key made of `unit`, and then the groups by their size."""
        told = f"SELECT {', '.join([f'{stored.typed} AS unit', *self._weight])} FROM {self.source}"
        grouped = f"SELECT unit IS NULL AS missing, {self._records} AS records FROM ({told}) WHERE {where}"
        grouped += f" GROUP BY unit IS NULL, {key}"
        sql = f"SELECT missing, records, count(*) AS units FROM ({grouped}) GROUP BY ALL"
        rows = self._stream(sql, _StatementParts()).read_all().to_pylist()
        sizes = {row["records"]: row["units"] for row in rows if not row["missing"]}
        return Units(sizes, sum(row["records"] for row in rows if row["missing"]))

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table is no longer in the pinned state."""
        self.pinned.unchanged()

    @property
    def _records(self) -> str:
        return "count(*)" if self.rows_of_counts is None else f"coalesce(sum({MULTIPLICITY_COLUMN}), 0)::BIGINT"

    @property
    def _weight(self) -> tuple[str, ...]:
        return () if self.rows_of_counts is None else (MULTIPLICITY_COLUMN,)

    def _swiftly(self, attributes: Sequence[Attribute]) -> pa.RecordBatchReader | None:
        """Return grouped counts of few cells, counted in an array; None if that is impossible."""
        if self.rows_of_counts is not None:
            return None  # its rows are few already
        found = [grouping_encoding(a, self.stored[a.name], f"k{i}") for i, a in enumerate(attributes)]
        swifts = [s for s in found if s is not None]
        if len(swifts) < len(found) or sum(s.bits for s in swifts) > MAX_ARRAY_BITS:
            return None
        keys = [f"{s.key} AS k{i}" for i, s in enumerate(swifts)]
        known = [f"{s.known} AS k{i}_known" for i, s in enumerate(swifts)]
        grouped = f"SELECT {', '.join([*keys, 'count(*) AS n', *known])} FROM {self.source} GROUP BY ALL"
        packs = pack([s.code for s in swifts], [len(a.domain or ()) for a in attributes])
        query = _StatementParts(packs=packs)
        columns = [*query.packed, "sum(n)::BIGINT AS n", f"bool_or({' OR '.join(s.mixed for s in swifts)}) AS mixed"]
        sql = f"SELECT {', '.join(columns)} FROM ({grouped}) GROUP BY ALL{query.by_codes}"
        names = [*(a.name for a in attributes), MULTIPLICITY, "mixed"]
        table = self._decoded(self._stream(sql, query), names, query).read_all()
        if any(table.column(table.num_columns - 1).to_pylist()):
            return None
        return table.remove_column(table.num_columns - 1).to_reader()

    def _mostly_distinct(self, carried: Sequence[str]) -> bool:
        """Return whether sorting the rows costs less than grouping them, by an estimate; both give the same."""
        for name in carried:
            if name not in self._often:
                some = f"SELECT {self.stored[name].released} AS value FROM {self.source} LIMIT {LOOKED_AT}"
                estimate = f"SELECT approx_count_distinct(value), count(*) FROM ({some})"
                distinct, rows = (c[0].as_py() for c in self._stream(estimate, _StatementParts()).read_all().columns)
                self._often[name] = distinct * SELDOM <= rows
        return not all(self._often[name] for name in carried)

    def _sorted(
        self, attributes: Sequence[Attribute], carried: Sequence[str], query: _StatementParts, order: str
    ) -> pa.RecordBatchReader:
        """Return encoded rows, sorted once in an order and then kept."""
        key = (tuple(attributes), tuple(carried), order)
        if key not in self._kept:  # a unique name: other snapshots may share the folder
            self._kept[key] = RowCache(self.scratch / f"rows-{secrets.token_hex(8)}.arrow")
        kept = self._kept[key]
        if kept.complete:
            with engine_errors(self.name):
                self.unchanged()
                return kept.again()
        inner = f"SELECT {', '.join([*query.keys, *self._weight])} FROM {self.source}"
        select = ", ".join([*query.packed, *query.carried, *self._weight])
        sql = f"SELECT {select} FROM ({inner}) {query.joins}{order}"
        reader = self._stream(sql, query)
        return pa.RecordBatchReader.from_batches(reader.schema, kept.passing(reader))

    def _query(self, attributes: Sequence[Attribute], carried: Sequence[str], *, sort: bool = False) -> _StatementParts:
        encoded = [encode(a, self.stored[a.name], f"k{i}") for i, a in enumerate(attributes)]
        keys = [f"{sql} AS {name}" for e in encoded for name, sql in e.keys.items()]
        columns = [self.stored[name] for name in carried]
        real = frozenset(i for i, column in enumerate(columns) if sort and column.released_type == "DOUBLE")
        keys += [f"{double_bits_sql(c.released) if i in real else c.released} AS c{i}" for i, c in enumerate(columns)]
        packs = pack([e.code for e in encoded], [len(a.domain or ()) for a in attributes])
        whole = [f"{sortable_integer_sql(f'c{i}')} AS c{i}" if i in real else f"c{i}" for i in range(len(columns))]
        return _StatementParts(keys, packs, whole, encoded, real)

    def _stream(self, sql: str, query: _StatementParts) -> pa.RecordBatchReader:
        """Run a statement; its rows are streamed, and afterwards the table must be unchanged."""
        with engine_errors(self.name):
            self.unchanged()
            cursor = self.connection.cursor()
            for table, content in query.tables():
                cursor.register(table, content)
            relation = cursor.sql(sql)
            fetch = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            reader = fetch(BATCH)

        def batches() -> Iterator[pa.RecordBatch]:
            with engine_errors(self.name):
                yield from reader
                cursor.close()
                self.unchanged()

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    def _decoded(
        self, reader: pa.RecordBatchReader, names: Sequence[str], query: _StatementParts
    ) -> pa.RecordBatchReader:
        packs = query.packs
        codes = sum(len(p.codes) for p in packs)
        beside = list(enumerate(list(reader.schema)[len(packs) :]))
        types = [*[pa.int32()] * codes, *(pa.float64() if i in query.real else f.type for i, f in beside)]
        schema = pa.schema([pa.field(n, t) for n, t in zip(names, types, strict=True)])

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                unpacked = [c for p, numbers in zip(packs, batch.columns, strict=False) for c in p.unpack(numbers)]
                others = [
                    doubles_from_sortable(c) if i in query.real else c
                    for i, c in enumerate(batch.columns[len(packs) :])
                ]
                yield pa.RecordBatch.from_arrays([*unpacked, *others], schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())


def _merged_rows(reader: pa.RecordBatchReader, *, weighted: bool) -> pa.RecordBatchReader:
    from rrpolicy.source.run_length import counted, with_unit_multiplicity

    schema = reader.schema if weighted else reader.schema.append(pa.field(MULTIPLICITY, pa.int64()))
    return pa.RecordBatchReader.from_batches(schema, counted(reader if weighted else with_unit_multiplicity(reader)))


def open_records_or_counts(  # noqa: PLR0917 each is another thing
    name: str,
    source: str,
    columns: Sequence[StoredColumn],
    count: int,
    pinned: Held,
    connection: duckdb.DuckDBPyConnection,
    scratch: Path,
    reading: Reading,
) -> TableSnapshot:
    """Return the snapshot of a table of records, or of counts if the reading names their column."""
    source, columns = with_rounded_weights(source, columns, reading)
    rows = None
    if reading.multiplicity is not None:
        counts = read_counts_relation(connection, name, source, columns, reading.multiplicity)
        source, columns, rows, count = counts.source, counts.columns, counts.rows, counts.records
    opened = TableSnapshot(name, source, {c.name: c for c in columns}, count, pinned, connection, scratch, rows)
    return opened if reading.selection is None else one_record_of_each(opened, reading.selection)


def one_record_of_each(opened: TableSnapshot, selection: Selection) -> TableSnapshot:
    """Return the snapshot of the selected records, which the engine keeps as a table.

    Raises DataError: RR311 or RR325 if a column is missing, RR330 if the records of units cannot be ordered.
    """
    if opened.rows_of_counts is not None:
        message = f"{opened.name}: a table of counts does not tell which rows are of one unit"
        raise DataError(Problem("RR330", message, expected="a table of records"))
    with engine_errors(opened.name):
        source, count = select_records(opened.connection, opened.name, opened.source, opened.stored, selection)
    return replace(opened, source=source, count=count, selected_from=opened.count)


class _StatementParts(Struct, frozen=True):
    """The parts of a statement, under names of ours: keys k0, k0_null, …, packed codes p0, …, carried columns c0, ….

    Attributes:
        keys: SQL over the table's columns, for each record.
        carried: SQL of the carried columns over the keys.
        encoded: the encodings that produce the codes.
        real: the carried columns that are doubles, encoded as whole numbers of the same order.
    """

    keys: Sequence[str] = ()
    packs: Sequence[PackedCodes] = ()
    carried: Sequence[str] = ()
    encoded: Sequence[AttributeEncoding] = ()
    real: frozenset[int] = frozenset()

    @property
    def joins(self) -> str:
        return " ".join(e.join for e in self.encoded if e.join)

    def tables(self) -> Iterator[tuple[str, pa.Table]]:
        """Yield the tables of domains that are joined, by name."""
        for table, how in (e.joined for e in self.encoded if e.joined):
            kind = {"VARCHAR": pa.string(), "HUGEINT": pa.decimal128(38, 0), "BIGINT": pa.int64()}.get(how.type)
            kind = pa.string() if how.type in MOMENTS else kind
            values = typed_array(how.values, kind or pa.float64())
            yield table, pa.table({"value": values, "code": typed_array(how.places, pa.int32())})

    @property
    def packed(self) -> list[str]:
        return [f"{p.sql} AS p{i}" for i, p in enumerate(self.packs)]

    @property
    def by_codes(self) -> str:
        return _order_by_sql(range(len(self.packs) + len(self.carried)))

    @property
    def by_carried(self) -> str:
        codes = len(self.packs)
        return _order_by_sql([*range(codes, codes + len(self.carried)), *range(codes)])


def _order_by_sql(places: Iterable[int]) -> str:
    columns = ", ".join(f"{place + 1} ASC NULLS LAST" for place in places)
    return f" ORDER BY {columns}" if columns else ""
