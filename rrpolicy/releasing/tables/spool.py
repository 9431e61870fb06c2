"""Putting drawn rows in canonical order, out of core: categories travel as ranks, packed into integers that sort alike.

Sorting ten million rows by a few integers costs a fraction of sorting them by their texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.table import Column, TableSpec
from rrpolicy.engine.arrays import as_numpy, listed, numbers
from rrpolicy.engine.connect import batches, engine
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.formats.column_types import arrow_schema, label_places
from rrpolicy.formats.rows import plain
from rrpolicy.source.duckdb.packing import digits
from rrpolicy.source.runs import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Ints

_WIDEST = 1 << 62


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
        self._keys = _keys([named[name] for name in (*spec.sort, *rest)], self._schema)
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


class _Packed:
    """Adjacent category columns as one integer: the mixed-radix number of their labels' ranks."""

    def __init__(self, columns: list[Column], schema: pa.Schema) -> None:
        import pyarrow as pa

        from rrpolicy.channel.values import labels

        self._names = [c.name for c in columns]
        self._labels = [_in_order(labels(c).cast(schema.field(c.name).type)) for c in columns]
        narrow = math.prod(map(len, self._labels)) <= 1 << 32
        self.type = pa.uint32() if narrow else pa.int64()  # half the bytes sort in four fifths of the time

    def pack(self, rows: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa

        number = np.zeros(rows.num_rows, dtype=np.int64)
        for name, labels in zip(self._names, self._labels, strict=True):
            column = rows.column(name)
            number *= len(labels)
            if pa.types.is_dictionary(column.type):
                number += label_places(column.dictionary, labels, name)[as_numpy(column.indices)]
            else:
                number += label_places(column, labels, name)
        return numbers(number.astype(self.type.to_pandas_dtype()))

    def unpack(self, column: pa.Array) -> dict[str, pa.Array]:
        import pyarrow as pa

        ranks = digits(as_numpy(column), tuple(map(len, self._labels)))
        return {
            name: pa.DictionaryArray.from_arrays(numbers(rank), labels)
            for name, labels, rank in zip(self._names, self._labels, ranks, strict=True)
        }


class _Plain:
    """A column that sorts as it is."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self.type = kind
        self._name = name

    def pack(self, rows: pa.RecordBatch) -> pa.Array:
        return plain(rows.column(self._name))

    def unpack(self, column: pa.Array) -> dict[str, pa.Array]:
        return {self._name: column if column.type == self.type else column.cast(self.type)}


def _keys(columns: list[Column], schema: pa.Schema) -> list[_Packed | _Plain]:
    """Group the columns in sorting order: neighbours that are categories are packed while their product fits."""
    keys: list[_Packed | _Plain] = []
    waiting: list[Column] = []
    size = 1
    for column in [*columns, None]:
        category = column is not None and column.kind in {"category", "interval"}
        labels = len(column.labels) if category and column else 1
        if waiting and (not category or size * labels > _WIDEST):
            keys.append(_Packed(waiting, schema))
            waiting, size = [], 1
        if column is None:
            break
        if category:
            waiting.append(column)
            size *= labels
        else:
            keys.append(_Plain(column.name, schema.field(column.name).type))
    return keys


def _in_order(labels: pa.Array) -> pa.Array:
    """Return labels in canonical order: numbers by value, text by code points (which UTF-8's bytes sort by)."""
    values = labels.to_pylist()
    return listed(sorted(values, key=lambda v: v.encode() if isinstance(v, str) else v), labels.type)
