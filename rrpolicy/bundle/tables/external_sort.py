"""Drawn rows sorted canonically: categories are ranks, packed into integers of the same order.

Many rows are sorted out of core: ten million by a few integers, at a fraction of the cost of their texts. Few are
sorted in memory, as starting an engine takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle.tables.sort_keys import sort_keys
from rrpolicy.channels.table import TableSpec
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.engine.connect import batches, engine
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.formats.column_types import arrow_schema
from rrpolicy.source.run_length import counted

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rrpolicy.counts import Ints

HELD = 1 << 16
"""The most rows that are sorted in memory; if there are more, all of them go through a file."""


class ExternalSorter:
    """Rows with multiplicities, in no order: few in memory, many in a scratch file."""

    def __init__(self, spec: TableSpec, scratch: Path) -> None:
        """Start a spool.

        Rows are sorted by the table's `sort`, then by the other columns. The caller wipes `scratch`.
        """
        import pyarrow as pa

        self._scratch = scratch
        self._path = scratch / f"{spec.name}.spool"
        self._schema = arrow_schema(spec)
        rest = (c.name for c in spec.columns if c.name not in spec.sort)
        named = {c.name: c for c in spec.columns}
        self._keys = sort_keys([named[name] for name in (*spec.sort, *rest)], self._schema)
        self._listed = any(pa.types.is_list(key.type) for key in self._keys)  # which Arrow does not sort
        fields = [pa.field(f"k{i}", key.type) for i, key in enumerate(self._keys)]
        self._packed = pa.schema([*fields, pa.field("n", pa.int64())])
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take rows under the table's schema, each `n` times.

        Raises:
            ValueError: if a value is not among its column's labels.
        """
        import pyarrow as pa

        columns = [key.pack(rows) for key in self._keys]
        columns.append(number_array(n))
        self._held.append(pa.RecordBatch.from_arrays(columns, schema=self._packed))
        self._size += rows.num_rows
        if self._size > HELD or self._listed:
            self._spill()

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._writer is not None:
            self._spill()
            self._writer.close()

    def sorted(self) -> Iterator[tuple[pa.RecordBatch, Ints]]:
        """Yield distinct rows in canonical order, categories as dictionary arrays, with their multiplicities."""
        import pyarrow as pa

        for batch in counted(self._in_memory() if self._writer is None else self._out_of_core()):
            columns: dict[str, pa.Array] = {}
            for key, column in zip(self._keys, batch.columns, strict=False):
                columns |= key.unpack(column)
            ordered = [columns[name] for name in self._schema.names]
            yield pa.RecordBatch.from_arrays(ordered, names=self._schema.names), as_numpy(batch.column("n"))

    def _spill(self) -> None:
        """Move the rows in memory into the file."""
        import pyarrow.parquet as pq

        if self._writer is None:
            path = str(self._path)
            self._writer = pq.ParquetWriter(path, self._packed, compression="lz4", use_dictionary=False)
        for batch in self._held:
            self._writer.write_batch(batch)
        self._held, self._size = [], 0

    def _in_memory(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows in memory in order, nulls last."""
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = pa.Table.from_batches(self._held, self._packed).combine_chunks()
        order = [(name, "ascending") for name in self._packed.names[:-1]]
        yield from rows.take(pc.sort_indices(rows, sort_keys=order)).to_batches()

    def _out_of_core(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the file in order, nulls last, and remove it; equal lists count as one."""
        names = self._packed.names[:-1]
        order = ", ".join(f"{name} ASC NULLS LAST" for name in names)
        query = f"SELECT * FROM read_parquet({literal(str(self._path))}) ORDER BY {order}"  # noqa: S608 our own names
        if self._listed:
            listed = ", ".join(map(identifier, names))
            query = query.replace("SELECT *", f"SELECT {listed}, sum(n)::BIGINT AS n").replace(
                " ORDER BY", f" GROUP BY {listed} ORDER BY"
            )
        with engine(self._scratch) as connection:
            yield from batches(connection, query)
        self._path.unlink()
