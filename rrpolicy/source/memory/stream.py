"""The records of a table in memory as one Arrow stream, in types that the engine reads like those of Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rrpolicy.errors import DataError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16
_EXTENSIONS = frozenset({"arrow.uuid", "arrow.bool8", "arrow.json"})
"""Extension types of one meaning in every program; others mean nothing without their package."""


def stream(table: Any, kind: str, name: str) -> tuple[pa.RecordBatchReader, int]:
    """Return a table's records, and its size in bytes; 0 if unknown."""
    try:
        reader, size = _library_reader(table, kind, name)
    except DataError:
        raise
    except Exception:  # noqa: BLE001 another library's, and its message may hold values
        message = f"{name} cannot be read as a table"
        hint = "what it is made from may be closed, or its query fails: look at it where it was made"
        raise DataError(Problem("RR344", message, expected="columns of one type each", hint=hint)) from None
    _check_column_names(reader.schema.names, name)
    _check_column_types(reader.schema, name)
    return _parquet_typed_reader(reader), size


def _library_reader(table: Any, kind: str, name: str) -> tuple[pa.RecordBatchReader, int]:
    """Return the records as their library supplies them, without a copy if they are in Arrow's format."""
    import pyarrow as pa

    if kind in {"DuckDB relation", "Arrow stream"}:
        if not hasattr(table, "__arrow_c_stream__"):  # pragma: no cover - DuckDB 1.3
            return table.fetch_arrow_reader(BATCH), 0
        return pa.RecordBatchReader.from_stream(table), 0
    if kind == "pandas DataFrame":
        whole = _pandas_to_arrow(table, name)
    elif kind == "polars DataFrame":
        _unsupported_columns([n for n, of in table.schema.items() if str(of) == "Object"], name, "Python objects")
        whole = pa.table(table)
    else:
        whole = pa.table(table) if isinstance(table, pa.Table) else pa.Table.from_batches([table])
    return whole.to_reader(BATCH), whole.nbytes


def _pandas_to_arrow(table: Any, called: str) -> pa.Table:
    import pyarrow as pa

    named = [place for place, name in enumerate(table.index.names) if name is not None]
    _check_column_names([str(name) for name in (*(table.index.names[i] for i in named), *table.columns)], called)
    table = table.reset_index(level=named) if named else table.copy(deep=False)
    table.attrs = {}  # Arrow writes them as metadata, and warns of values that are not JSON, such as a release
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except Exception:  # of many classes
        several = [str(name) for name, column in table.items() if not _is_convertible(column)]
        _unsupported_columns(several, called, "values of several kinds")
        raise


def _is_convertible(column: Any) -> bool:
    import pyarrow as pa

    try:
        pa.Table.from_pandas(column.to_frame(), preserve_index=False)
    except Exception:  # noqa: BLE001 of many classes
        return False
    return True


def _check_column_names(names: Sequence[str], called: str) -> None:
    folded = [name.casefold() for name in names]
    fault = None
    if not all(names):
        fault = "a column without a name"
    elif len(set(folded)) < len(folded):
        fault = "two columns with one name when case is ignored"
    if fault:
        expected = "a name for each column, different also when case is ignored"
        raise DataError(Problem("RR308", f"{called} has {fault}", expected=expected))


def _check_column_types(schema: pa.Schema, called: str) -> None:
    """Raise RR344 for types that only the package that made them interprets, or that no engine supports."""
    import pyarrow as pa

    if not schema.names:
        raise DataError(Problem("RR344", f"{called} has no columns", expected="a table"))
    own = [f.name for f in schema if getattr(f.type, "extension_name", None) not in {None, *_EXTENSIONS}]
    _unsupported_columns(own, called, "values of a type of its library's own")
    _unsupported_columns(
        [f.name for f in schema if pa.types.is_decimal256(f.type)], called, "decimals of more than 38 digits"
    )


def _unsupported_columns(names: Sequence[str], called: str, what: str) -> None:
    if names:
        listed = ", ".join(f"'{name}'" for name in names)
        hint = "cast what is needed to text, numbers or dates, and leave the rest out"
        message = f"{listed} of {called} cannot be read: {what}"
        raise DataError(Problem("RR344", message, expected="columns of one plain type each", hint=hint))


def _parquet_typed_reader(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the records in the types that Parquet would give them."""
    import pyarrow as pa

    kinds = {field.name: kind for field in reader.schema if (kind := _parquet_type(field.type)) is not None}
    if not kinds:
        return reader
    schema = pa.schema([pa.field(f.name, kinds.get(f.name, f.type)) for f in reader.schema])
    return pa.RecordBatchReader.from_batches(schema, _cast_batches(reader, schema))


def _parquet_type(kind: pa.DataType) -> pa.DataType | None:
    import pyarrow as pa

    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_timestamp(kind) and kind.unit in {"s", "ms"}:
        return pa.timestamp("us", kind.tz)
    return None


def _cast_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
