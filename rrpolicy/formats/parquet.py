"""Released tables as Parquet. Writing a sorted table of few distinct rows takes time by its runs, not its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.concurrency import BackgroundRunner
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.engine.quoting import literal
from rrpolicy.engine.quoting import literal_path as plain_path
from rrpolicy.escaping.formulas import Handling
from rrpolicy.formats.column_types import arrow_schema
from rrpolicy.formats.format import TableWriter
from rrpolicy.formats.rows import category_column_names, decode_dictionary, encode_dictionary, repeat_values

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.counts import Ints


class ParquetFormat:
    """The format `parquet`."""

    name = "parquet"
    media_type = "application/vnd.apache.parquet"
    packaged = True
    alone = False
    same_bytes = True
    note = ""

    def writer(self, path: Path, spec: TableSpec, handling: Handling) -> TableWriter:
        """Create a file."""
        del handling
        return ParquetTableWriter(path, spec)

    def relation(self, connection: duckdb.DuckDBPyConnection, path: Path, spec: TableSpec, handling: Handling) -> str:
        """Return SQL that reads a file; parts of the path do not become columns."""
        return self.relation_of(connection, [path], spec, handling)

    def relation_of(
        self, connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], spec: TableSpec, handling: Handling
    ) -> str:
        """Return SQL that reads files one after the other; parts of their paths do not become columns."""
        del connection, spec, handling
        listed = ", ".join(literal(plain_path(path)) for path in paths)
        return f"read_parquet([{listed}], hive_partitioning = false)"

    def sql(self, path: str, columns: Sequence[Column], handling: Handling) -> str:
        """Return SQL that reads a file."""
        del columns, handling
        return f"read_parquet({literal(path)})"


NARROW = 128
"""Number of labels below which they are coded in one byte."""


class ParquetTableWriter:
    """One Parquet file: zstd, dictionaries for categories, no statistics and no metadata."""

    def __init__(self, path: Path, spec: TableSpec) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._coded = set(category_column_names(spec))
        schema = arrow_schema(spec)
        text = {f.name for f in schema if pa.types.is_string(f.type)}
        self._coded &= text
        narrow = {c.name: pa.int8() if len(c.labels) < NARROW else pa.int32() for c in spec.columns}
        self._schema = pa.schema(
            [
                pa.field(f.name, pa.dictionary(narrow[f.name], f.type) if f.name in self._coded else f.type)
                for f in schema
            ]
        )
        self._encoder = BackgroundRunner()
        self._file = path.open("xb")
        lists = {f.name for f in schema if pa.types.is_list(f.type)}
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            use_dictionary=[c for c in category_column_names(spec) if c not in lists],
            write_statistics=False,  # they would cost more than the data
            store_schema=False,
        )

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write one row group; it is encoded while the next one is assembled."""
        import pyarrow as pa

        columns = [
            self._coded_column(name, column, n) if name in self._coded else repeat_values(decode_dictionary(column), n)
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._encoder.run(self._writer.write_batch, batch, row_group_size=max(1, batch.num_rows))

    def close(self) -> None:
        """Write the footer."""
        self._encoder.close()
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Release the file."""
        self._encoder.abandon()
        self._writer.is_open = False  # its finaliser would write a footer
        self._file.close()

    def _coded_column(self, name: str, column: pa.Array, n: Ints) -> pa.Array:
        """Return codes into the labels in these rows, in canonical order, without other labels."""
        import numpy as np
        import pyarrow as pa

        known = encode_dictionary(column)
        codes = known.indices.cast(self._schema.field(name).type.index_type, safe=False)
        if len(n) != int(n.sum()):
            codes = repeat_values(codes, n) if codes.null_count else number_array(np.repeat(as_numpy(codes), n))
        return pa.DictionaryArray.from_arrays(codes, known.dictionary, safe=False)
