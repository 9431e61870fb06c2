"""Released tables as Parquet. A sorted table of few distinct rows costs its runs, not its rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channel.table import TableSpec
from rrpolicy.release.columns import arrow_schema
from rrpolicy.release.formats import category_names, coded, plain, repeated

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints


class ParquetTable:
    """One Parquet file: zstd, dictionaries for categories, statistics for the column that rows are sorted by first."""

    def __init__(self, path: Path, spec: TableSpec) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._coded = set(category_names(spec))
        schema = arrow_schema(spec)
        text = {f.name for f in schema if pa.types.is_string(f.type)}
        self._coded &= text
        self._schema = pa.schema(
            [pa.field(f.name, pa.dictionary(pa.int32(), f.type) if f.name in self._coded else f.type) for f in schema]
        )
        self._file = path.open("xb")
        lists = {f.name for f in schema if pa.types.is_list(f.type)}
        first = [name for name in spec.sort[:1] if name not in lists]
        self._writer = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            use_dictionary=[c for c in category_names(spec) if c not in lists],
            write_statistics=first or False,
            store_schema=False,
        )

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write one row group."""
        import pyarrow as pa

        columns = [
            self._coded_column(column, n) if name in self._coded else repeated(plain(column), n)
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
        ]
        batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self._writer.write_batch(batch, row_group_size=max(1, batch.num_rows))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Let go of the file."""
        self._writer.is_open = False  # its finaliser would write a footer
        self._file.close()

    @staticmethod
    def _coded_column(column: pa.Array, n: Ints) -> pa.Array:
        """Return codes into the labels that these rows hold, in order of appearance, and no others."""
        import numpy as np
        import pyarrow as pa

        known = coded(column)
        codes = known.indices
        if len(n) != int(n.sum()):
            codes = repeated(codes, n) if codes.null_count else pa.array(np.repeat(codes.to_numpy(), n))
        return pa.DictionaryArray.from_arrays(codes, known.dictionary)
