"""Reading released tables back, in every format, as distinct rows in canonical order with their multiplicities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.canonical_json import category_text
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.engine.connect import batches, engine, query_integer
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.escaping import formulas
from rrpolicy.formats.column_types import arrow_schema, engine_type
from rrpolicy.formats.delimited import check_csv_header, csv_cells_sql, formula_escaped_columns
from rrpolicy.formats.format import CORE_FORMATS, Formats, UnlikeSpecError, unreadable_text
from rrpolicy.formats.format import relation_sql as relation_of
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class ReleasedTable(Struct, frozen=True):
    """A released table with open files.

    Attributes:
        relation: SQL after FROM.
        escaped: names of the columns in whose cells text that begins as a formula does is escaped.
        cells: SQL after FROM, for the unmodified cells of a CSV file.
        files: SQL after FROM, for each of its files.
    """

    spec: TableSpec
    connection: duckdb.DuckDBPyConnection
    relation: str
    escaped: tuple[str, ...] = ()
    cells: str = ""
    files: tuple[str, ...] = ()

    def rows(self) -> int:
        """Return the number of rows."""
        return query_integer(self.connection, f"SELECT count(*) FROM {self.relation}")  # noqa: S608 quoted

    def rows_of_each(self) -> tuple[int, ...]:
        """Return the number of rows in each file, if there are several."""
        return tuple(query_integer(self.connection, f"SELECT count(*) FROM {file}") for file in self.files)  # noqa: S608 quoted

    def distinct(self) -> pa.RecordBatchReader:
        """Return distinct rows under the spec's schema, in canonical order, with a column `MULTIPLICITY`."""
        import pyarrow as pa

        names = ", ".join(identifier(c.name) for c in self.spec.columns)
        order = ", ".join(f"{identifier(name)} ASC NULLS LAST" for name in self.spec.sort)
        reader = batches(
            self.connection,
            f"SELECT {names}, count(*)::BIGINT AS {identifier(MULTIPLICITY)} FROM {self.relation} "  # noqa: S608
            f"GROUP BY {names} ORDER BY {order}",
        )
        schema = arrow_schema(self.spec).append(pa.field(MULTIPLICITY, pa.int64()))
        return pa.RecordBatchReader.from_batches(schema, _with_schema(reader, schema))

    def unordered(self, *columns: str) -> pa.RecordBatchReader:
        """Return all rows of some columns in no particular order; text with labels coded, unlabelled values null."""
        spec = {c.name: c for c in self.spec.columns}
        values = ", ".join(_coded_column_sql(spec[name]) for name in columns)
        return batches(self.connection, f"SELECT {values} FROM {self.relation}")  # noqa: S608 quoted

    def bare(self) -> tuple[str, ...]:
        """Return the columns with cells that a spreadsheet would run as a formula, if they are to be escaped."""
        return tuple(
            name
            for name in self.escaped
            if query_integer(
                self.connection,
                f"SELECT count(*) FROM {self.cells} WHERE {formulas.is_formula_sql(identifier(name))}",  # noqa: S608
            )
        )

    def outside(self) -> tuple[str, ...]:
        """Return the columns with values outside their labels, or with nulls if they have labels."""
        found = []
        for column in self.spec.columns:
            if column.kind not in {"category", "interval", "set"}:
                continue
            name, labels = identifier(column.name), list(column.spelled)
            kind = engine_type(column).removesuffix("[]")
            value = f"unnest({name})" if column.kind == "set" else name
            query = (
                f"SELECT count(*) FROM (SELECT DISTINCT {value} AS v FROM {self.relation}) "  # noqa: S608
                f"WHERE v IS NULL OR v NOT IN (SELECT unnest(CAST(? AS {kind}[])))"
            )
            if query_integer(self.connection, query, [labels]):
                found.append(column.name)
        return tuple(found)


def _coded_column_sql(column: Column) -> str:
    """Return SQL of a column's values, text as positions among its labels if these can be written down."""
    name, labels = identifier(column.name), [category_text(label) for label in column.labels]
    if column.kind not in {"category", "interval"} or engine_type(column) != "VARCHAR" or "\0" in "".join(labels):
        return name
    return f"TRY_CAST({name} AS ENUM ({', '.join(map(literal, labels))})) AS {name}"


def _with_schema(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in reader:
        yield pa.RecordBatch.from_arrays(
            [c.cast(t) for c, t in zip(batch.columns, schema.types, strict=True)], schema=schema
        )


@contextmanager
def open_released_table(  # noqa: PLR0917 each is another thing
    paths: Sequence[Path],
    form: str,
    spec: TableSpec,
    scratch: Path,
    handling: formulas.Handling = "escape",
    formats: Formats = CORE_FORMATS,
) -> Iterator[ReleasedTable]:
    """Open a released table read-only.

    `paths` are in the order of the rows. `handling` is that of text that a spreadsheet would run as a formula, in CSV.

    Raises:
        UnlikeSpecError: if they cannot be read, or their columns are not those of the spec.
    """
    import duckdb

    try:
        with engine(scratch) as connection:
            if form == "csv":
                check_csv_header(paths[0], spec)
            relation = relation_of(formats[form], connection, paths, spec, handling)
            _check_columns(connection, relation, spec)
            escaped = formula_escaped_columns(spec, handling) if form == "csv" else ()
            bare = csv_cells_sql(paths[0], spec) if escaped else ""
            cut = paths if len(paths) > 1 else ()
            files = tuple(relation_of(formats[form], connection, [path], spec, handling) for path in cut)
            yield ReleasedTable(spec, connection, relation, tuple(c.name for c in escaped), bare, files)
    except duckdb.Error as error:
        raise UnlikeSpecError(unreadable_text(form, paths)) from error


def _check_columns(connection: duckdb.DuckDBPyConnection, relation: str, spec: TableSpec) -> None:
    schema = batches(connection, f"SELECT * FROM {relation} LIMIT 0").read_all().schema  # noqa: S608 quoted
    expected = arrow_schema(spec)
    if schema.names != expected.names:
        raise UnlikeSpecError("its columns are not those that release.json lists")
    wrong = [
        name for name, a, b in zip(expected.names, schema.types, expected.types, strict=True) if not _types_match(a, b)
    ]
    if wrong:
        raise UnlikeSpecError(f"its columns are of other types than release.json states: {', '.join(wrong)}")


def _types_match(found: pa.DataType, expected: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_timestamp(found) and pa.types.is_timestamp(expected):
        return (found.unit, found.tz is None) == (expected.unit, expected.tz is None)
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return _types_match(found.value_type, expected.value_type)
    return bool(found == expected)
