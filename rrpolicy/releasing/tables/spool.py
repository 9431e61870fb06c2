"""Putting drawn rows in canonical order, out of core: categories travel as ranks, packed into integers that sort alike.

Sorting ten million rows by a few integers costs a fraction of sorting them by their texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channel.table import TableSpec
from rrpolicy.engine.arrays import as_numpy, numbers
from rrpolicy.engine.connect import batches, engine
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.formats.column_types import arrow_schema
from rrpolicy.releasing.tables.keys import keys
from rrpolicy.source.runs import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints


class Spool:
    """A scratch file of rows with multiplicities, in no order."""

    def __init__(self, spec: TableSpec, scratch: Path) -> None:
        """Start a spool.

        Args:
            spec: the table; rows are sorted by its `sort`, then by what columns remain.
            scratch: folder of the file and of the sort's spilling; the caller wipes it.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._scratch = scratch
        self._path = scratch / f"{spec.name}.spool"
        self._schema = arrow_schema(spec)
        rest = (c.name for c in spec.columns if c.name not in spec.sort)
        named = {c.name: c for c in spec.columns}
        self._keys = keys([named[name] for name in (*spec.sort, *rest)], self._schema)
        fields = [pa.field(f"k{i}", key.type) for i, key in enumerate(self._keys)]
        self._writer = pq.ParquetWriter(
            str(self._path), pa.schema([*fields, pa.field("n", pa.int64())]), compression="lz4", use_dictionary=False
        )

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take rows under the table's schema, each `n` times.

        Raises:
            ValueError: if a value is not among its column's labels.
        """
        import pyarrow as pa

        columns = [key.pack(rows) for key in self._keys]
        columns.append(numbers(n))
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._writer.schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()

    def sorted(self) -> Iterator[tuple[pa.RecordBatch, Ints]]:
        """Yield distinct rows in canonical order, categories as dictionary arrays, with their multiplicities."""
        import pyarrow as pa

        names = [f"k{i}" for i in range(len(self._keys))]
        order = ", ".join(f"{name} ASC NULLS LAST" for name in names)
        query = f"SELECT * FROM read_parquet({literal(str(self._path))}) ORDER BY {order}"  # noqa: S608 our own names
        if any(pa.types.is_list(key.type) for key in self._keys):
            listed = ", ".join(map(identifier, names))
            query = query.replace("SELECT *", f"SELECT {listed}, sum(n)::BIGINT AS n").replace(
                " ORDER BY", f" GROUP BY {listed} ORDER BY"
            )
        with engine(self._scratch) as connection:
            for batch in counted(batches(connection, query)):
                columns: dict[str, pa.Array] = {}
                for key, column in zip(self._keys, batch.columns, strict=False):
                    columns |= key.unpack(column)
                ordered = [columns[name] for name in self._schema.names]
                yield pa.RecordBatch.from_arrays(ordered, names=self._schema.names), as_numpy(batch.column("n"))
        self._path.unlink()
