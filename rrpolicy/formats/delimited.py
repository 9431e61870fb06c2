"""Released tables as CSV (RFC 4180): text always quoted, null empty and unquoted, lists as JSON text, UTF-8, CRLF.

Text that a spreadsheet would run as a formula is escaped, unless the policy keeps it: see
`rrpolicy.escaping.formulas`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.engine.arrays import arrow_scalar, text_array
from rrpolicy.engine.quoting import identifier, read_csv
from rrpolicy.engine.quoting import literal_path as plain_path
from rrpolicy.escaping import formulas
from rrpolicy.formats.column_types import arrow_schema, engine_type
from rrpolicy.formats.format import TableWriter, UnlikeSpecError
from rrpolicy.formats.rows import decode_dictionary, repeat_values

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.counts import Ints


class CsvFormat:
    """The format `csv`."""

    name = "csv"
    media_type = "text/csv"
    packaged = True
    alone = False
    same_bytes = True
    note = ""

    def writer(self, path: Path, spec: TableSpec, handling: formulas.Handling) -> TableWriter:
        """Create a file."""
        return CsvTableWriter(path, spec, handling)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, path: Path, spec: TableSpec, handling: formulas.Handling
    ) -> str:
        """Return SQL of the cells' values: lists from their JSON, text without escapes."""
        del connection
        lists = [c for c in spec.columns if _is_list_column(c)]
        said = {c.name: f"{identifier(c.name)}::JSON::{engine_type(c)}" for c in lists}
        said |= {
            c.name: formulas.unescape_formula_sql(identifier(c.name)) for c in formula_escaped_columns(spec, handling)
        }
        replaced = ", ".join(f"{sql} AS {identifier(name)}" for name, sql in said.items())
        read = csv_cells_sql(path, spec)
        return f"(SELECT * REPLACE ({replaced}) FROM {read})" if said else read  # noqa: S608 quoted

    def sql(self, path: str, columns: Sequence[Column], handling: formulas.Handling) -> str:
        """Return SQL that reads a file with the types of the manifest; lists stay JSON text."""
        kinds = {c.name: "VARCHAR" if c.type.endswith("[]") else c.type or "VARCHAR" for c in columns}
        read = read_csv(path, kinds, allow_quoted_nulls="false")
        escaped = [c for c in columns if handling == "escape" and c.escapable]
        said = ((identifier(c.name), formulas.unescape_formula_sql(identifier(c.name))) for c in escaped)
        replaced = ", ".join(f"{sql} AS {name}" for name, sql in said)
        return f"(SELECT * REPLACE ({replaced}) FROM {read})" if escaped else read  # noqa: S608 names quoted


class CsvTableWriter:
    """One CSV file: a line of every distinct row is built once and repeated."""

    def __init__(self, path: Path, spec: TableSpec, handling: formulas.Handling) -> None:
        arrow_schema(spec)  # refuses types that no file can contain, before there is a file
        escaped = formula_escaped_columns(spec, handling)
        self._escaped = [column in escaped for column in spec.columns]
        self._file = path.open("xb")
        self._file.write(csv_header_line(spec))

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fields = [
            _csv_field_array(decode_dictionary(c), escape=e) for c, e in zip(rows.columns, self._escaped, strict=True)
        ]
        fields[-1] = pc.binary_join_element_wise(
            fields[-1], arrow_scalar("\r\n", pa.large_string()), arrow_scalar("", pa.large_string())
        )
        lines = pc.binary_join_element_wise(*fields, arrow_scalar(",", pa.large_string()))
        whole = repeat_values(lines, n).cast(pa.large_binary())
        offsets, data = whole.buffers()[1:]
        if data is not None:
            bounds = memoryview(offsets).cast("q")
            start, stop = bounds[whole.offset], bounds[whole.offset + len(whole)]
            self._file.write(memoryview(data)[start:stop])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    abandon = close


def csv_header_line(spec: TableSpec) -> bytes:
    """Return the first line of a table's file."""
    return ",".join('"' + c.name.replace('"', '""') + '"' for c in spec.columns).encode() + b"\r\n"


def formula_escaped_columns(spec: TableSpec, handling: formulas.Handling) -> tuple[Column, ...]:
    """Return the columns of a table whose text is escaped where it begins like a formula."""
    if handling == "keep":
        return ()
    return tuple(c for c in spec.columns if c.escapable)


def csv_cells_sql(path: Path, spec: TableSpec) -> str:
    """Return SQL to follow FROM for the unmodified cells of a file; an empty text is in quotes."""
    columns = {c.name: "VARCHAR" if _is_list_column(c) else engine_type(c) for c in spec.columns}
    told = {"allow_quoted_nulls": "false", "strict_mode": "true", "hive_partitioning": "false"}
    return read_csv(plain_path(path), columns, **told, max_line_size="33554432")


def _is_list_column(column: Column) -> bool:
    return engine_type(column).endswith("[]")


def check_csv_header(path: Path, spec: TableSpec) -> None:
    """Refuse a file whose first line is not byte for byte the written one.

    Raises UnlikeSpecError if it differs.
    """
    expected = csv_header_line(spec)
    with path.open("rb") as file:
        if file.read(len(expected)) != expected:
            raise UnlikeSpecError("its first line does not contain the columns that release.json lists")


def _csv_field_array(column: pa.Array, *, escape: bool = False) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind):
        spelled = [None if v is None else json.dumps(v, ensure_ascii=False) for v in column.to_pylist()]
        return _csv_field_array(text_array(spelled))
    text = column.cast(pa.large_string())
    if pa.types.is_string(kind):
        quote = arrow_scalar('"', pa.large_string())
        inner = pc.replace_substring(text, '"', '""')
        if escape:
            inner = pc.replace_substring_regex(inner, formulas.PATTERN, r"'\1")
        text = pc.binary_join_element_wise(quote, inner, quote, arrow_scalar("", pa.large_string()))
    return pc.fill_null(text, arrow_scalar("", text.type))
