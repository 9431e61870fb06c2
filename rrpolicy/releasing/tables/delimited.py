"""Released tables as CSV (RFC 4180): text always quoted, null empty and unquoted, lists as JSON text, UTF-8, CRLF.

Text that a spreadsheet would run as a formula is escaped, unless the policy keeps it: see
`rrpolicy.untrusted.formulas`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channel.table import Column, TableSpec
from rrpolicy.engine.arrays import constant, texts
from rrpolicy.releasing.tables.column_types import arrow_schema
from rrpolicy.releasing.tables.rows import plain, repeated
from rrpolicy.untrusted import formulas

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints


class CsvTable:
    """One CSV file: a line of every distinct row is built once and repeated."""

    def __init__(self, path: Path, spec: TableSpec, handling: formulas.Handling) -> None:
        arrow_schema(spec)  # refuses types that no file can hold, before there is a file
        escaped = escaped_columns(spec, handling)
        self._escaped = [column in escaped for column in spec.columns]
        self._file = path.open("xb")
        self._file.write(header(spec))

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        fields = [_field(plain(c), escape=e) for c, e in zip(rows.columns, self._escaped, strict=True)]
        fields[-1] = pc.binary_join_element_wise(
            fields[-1], constant("\r\n", pa.large_string()), constant("", pa.large_string())
        )
        lines = pc.binary_join_element_wise(*fields, constant(",", pa.large_string()))
        whole = repeated(lines, n).cast(pa.large_binary())
        offsets, data = whole.buffers()[1:]
        if data is not None:
            bounds = memoryview(offsets).cast("q")
            start, stop = bounds[whole.offset], bounds[whole.offset + len(whole)]
            self._file.write(memoryview(data)[start:stop])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    abandon = close


def header(spec: TableSpec) -> bytes:
    """Return the first line of a table's file."""
    return ",".join('"' + c.name.replace('"', '""') + '"' for c in spec.columns).encode() + b"\r\n"


def escaped_columns(spec: TableSpec, handling: formulas.Handling) -> tuple[Column, ...]:
    """Return the columns of a table whose text is escaped where it begins as a formula does."""
    if handling == "keep":
        return ()
    return tuple(c for c in spec.columns if c.escapable)


def _field(column: pa.Array, *, escape: bool = False) -> pa.Array:
    """Return a column as CSV spells it, without nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind):
        spelled = [None if v is None else json.dumps(v, ensure_ascii=False) for v in column.to_pylist()]
        return _field(texts(spelled))
    text = column.cast(pa.large_string())
    if pa.types.is_string(kind):
        quote = constant('"', pa.large_string())
        inner = pc.replace_substring(text, '"', '""')
        if escape:
            inner = pc.replace_substring_regex(inner, formulas.PATTERN, r"'\1")
        text = pc.binary_join_element_wise(quote, inner, quote, constant("", pa.large_string()))
    return pc.fill_null(text, constant("", text.type))
