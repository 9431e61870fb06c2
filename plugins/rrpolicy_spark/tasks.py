"""The tasks of Spark: they read a few distinct rows with the local engine, as the driver would.

These are classes, so that Spark sends their fields, and each worker imports their code from its rrpolicy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.plugin import MULTIPLICITY, Attribute, Reading, Snapshot, encoded, replace
from rrpolicy.plugin.engines import counted, divided

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.plugin.engines import DrawnBlock, FileParts, RecordBlock
    from rrpolicy.plugin.types import Ints

TABLE_KIND = "Spark DataFrame"
MIN_BATCH_ROWS = 1 << 20
"""The least number of rows that are passed to the local engine at a time."""


@dataclass(frozen=True, slots=True)
class DistinctRowCounts:
    """A table of distinct rows whose last column is their count; it is read as a table of counts.

    Attributes:
        names: names of the other columns.
    """

    names: tuple[str, ...]
    name: str
    reading: Reading

    @contextmanager
    def read(self, table: pa.Table, scratch: Path) -> Iterator[Snapshot]:
        """Open them as a snapshot."""
        counts = table.rename_columns([*self.names, MULTIPLICITY])
        counting = replace(self.reading, multiplicity=MULTIPLICITY)
        with encoded(counts, self.name, scratch, counting, kind=TABLE_KIND) as found:
            yield found


@dataclass(frozen=True, slots=True)
class UnitSizeTask:
    """Counts the sizes of units, one row per unit.

    Attributes:
        counts: counts of the column that identifies units.
    """

    counts: DistinctRowCounts
    schema = "size long, units long, missing long"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield, for each batch, the number of units by number of records, and of records without a unit."""
        import pyarrow as pa

        for batch in batches:
            table = pa.Table.from_batches([batch])
            with tempfile.TemporaryDirectory() as folder, self.counts.read(table, Path(folder)) as found:
                units = found.units(self.counts.names[0])
            sizes = [*units.sizes, 0]
            counted = [*units.sizes.values(), 0]
            missing = [*[0] * len(units.sizes), units.missing]
            arrays = [pa.array(values, pa.int64()) for values in (sizes, counted, missing)]
            yield pa.RecordBatch.from_arrays(arrays, names=["size", "units", "missing"])


@dataclass(frozen=True, slots=True)
class ReleasedFileCells:
    """The cells of a file of released rows.

    Attributes:
        batches: distinct rows, the last column their multiplicities; each a separate Arrow stream, as the dictionaries
            of two may differ.
    """

    number: int
    batches: tuple[bytes, ...]

    @staticmethod
    def unpacked(packed: bytes) -> tuple[pa.RecordBatch, Ints]:
        """Return the rows of bytes by `packed`."""
        ((rows, n),) = ReleasedFileCells(0, (packed,)).rows()
        return rows, n

    @staticmethod
    def packed(rows: pa.RecordBatch, n: Ints) -> bytes:
        """Return rows with their multiplicities as bytes."""
        import pyarrow as pa

        counted = rows.append_column(MULTIPLICITY, pa.array(n, pa.int64()))
        into = pa.BufferOutputStream()
        with pa.ipc.new_stream(into, counted.schema) as stream:
            stream.write_batch(counted)
        packed: bytes = into.getvalue().to_pybytes()
        return packed

    def rows(self) -> Iterator[tuple[pa.RecordBatch, Ints]]:
        """Yield rows with their multiplicities."""
        import pyarrow as pa

        for packed in self.batches:
            with pa.ipc.open_stream(packed) as stream:
                for batch in stream:
                    last = batch.num_columns - 1
                    yield batch.select(range(last)), batch.column(last).to_numpy()


@dataclass(frozen=True, slots=True)
class FileTask:
    """Writes one file of a release.

    Attributes:
        attempts: folder of unfinished files.
    """

    parts: FileParts
    attempts: Path

    def __call__(self, cells: ReleasedFileCells) -> tuple[int, int]:
        """Return the number of the file, and its size in bytes."""
        return cells.number, self.parts.write(cells.number, cells.rows(), self.attempts)


@dataclass(frozen=True)
class CodesTask:
    """Makes codes of distinct rows with their counts: the columns a0, a1, …, c0, c1, …, and n.

    Attributes:
        carried: name, Spark's type and Arrow's of the carried columns.
    """

    counts: DistinctRowCounts
    attributes: tuple[Attribute, ...]
    carried: tuple[tuple[str, str, pa.DataType], ...]

    @property
    def columns(self) -> str:
        """Return the columns in Spark's SQL."""
        codes = [f"a{i} int" for i in range(len(self.attributes))]
        return ", ".join([*codes, *(f"c{i} {kind}" for i, (_, kind, _) in enumerate(self.carried)), "n long"])

    @property
    def names(self) -> list[str]:
        """Return the names of the columns in the table."""
        return [*(a.name for a in self.attributes), *(name for name, *_ in self.carried), MULTIPLICITY]

    @property
    def schema(self) -> pa.Schema:
        """Return the columns in Arrow, by the table's names."""
        import pyarrow as pa

        kinds = [*[pa.int32()] * len(self.attributes), *(kind for _, _, kind in self.carried), pa.int64()]
        return pa.schema(list(zip(self.names, kinds, strict=True)))

    def ordered(self, *, by_codes: bool) -> list[str]:
        """Return Spark's names of the columns in sorting order."""
        codes = [f"a{i}" for i in range(len(self.attributes))]
        values = [f"c{i}" for i in range(len(self.carried))]
        return [*codes, *values] if by_codes else [*values, *codes]

    def named(self, rows: pa.RecordBatch, n: Ints) -> pa.RecordBatch:
        """Return rows with their multiplicities under the table's names."""
        import pyarrow as pa

        return pa.RecordBatch.from_arrays([*rows.columns, pa.array(n, pa.int64())], schema=self.schema)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the codes of all rows of a partition, some at a time."""
        import pyarrow as pa

        names = [*self.ordered(by_codes=True), "n"]
        made = pa.schema([(name, f.type) for name, f in zip(names, self.schema, strict=True)])
        for table in _merge_batches(batches):
            with tempfile.TemporaryDirectory() as folder, self.counts.read(table, Path(folder)) as found:
                for batch in found.tally(self.attributes, [name for name, *_ in self.carried]):
                    columns = [c.cast(f.type) for c, f in zip(batch.columns, made, strict=True)]
                    yield pa.RecordBatch.from_arrays(columns, schema=made)


@dataclass(frozen=True, slots=True)
class PackTask:
    """Packs rows, each batch with the number of its partition and of its records.

    Attributes:
        alone: whether only the numbers are needed.
    """

    alone: bool = False
    schema = "part int, n long, rows binary"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each batch."""
        part = _partition_number()
        for batch in batches:
            rows, n = _split_multiplicities(batch)
            yield _single_row_batch(
                self.schema, part, int(n.sum()), b"" if self.alone else ReleasedFileCells.packed(rows, n)
            )


@dataclass(frozen=True, slots=True)
class BlocksTask:
    """Cuts rows in order where a block of records begins.

    Attributes:
        starts: number of records before each partition.
        records: number of records of a block.
    """

    starts: tuple[int, ...]
    records: int
    schema = "block long, place long, rows binary"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield pieces of blocks, each with the place of its first record in the order."""
        place = self.starts[_partition_number()]
        for batch in batches:
            rows, n = _split_multiplicities(batch)
            while len(n):
                block = place // self.records
                (now, times), (rows, n) = divided(rows, n, (block + 1) * self.records - place)
                yield _single_row_batch(self.schema, block, place, ReleasedFileCells.packed(now, times))
                place += int(times.sum())


@dataclass(frozen=True, slots=True)
class DrawTask:
    """Draws a block.

    Attributes:
        codes: the task that made the rows.
        columns: columns in the order in which the call takes them.
    """

    codes: CodesTask
    columns: tuple[str, ...]
    call: Callable[[RecordBlock], DrawnBlock]
    schema = "block long, place long, rows binary"

    def __call__(self, pieces: pa.Table) -> pa.Table:
        """Return the released rows of a block, a row for each batch of it."""
        import numpy as np
        import pyarrow as pa

        inside = pieces.sort_by("place").to_pydict()
        parts = (self.codes.named(*ReleasedFileCells.unpacked(packed)) for packed in inside["rows"])
        block = pa.Table.from_batches(counted(parts)).select([*self.columns, MULTIPLICITY]).combine_chunks()
        (number, *_), (rows,) = inside["block"], block.to_batches()
        drawn = self.call((number, rows))
        packed = [
            ReleasedFileCells.packed(b, np.ones(b.num_rows, dtype=np.int64) if n is None else n) for b, n in drawn
        ]
        return pa.Table.from_batches([_single_row_batch(self.schema, number, i, each) for i, each in enumerate(packed)])


def _partition_number() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _split_multiplicities(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
    last = batch.num_columns - 1
    return batch.select(range(last)), batch.column(last).to_numpy()


def _single_row_batch(schema: str, first: int, second: int, packed: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    kinds = {"int": pa.int32(), "long": pa.int64(), "binary": pa.binary()}
    fields = [field.split() for field in schema.split(", ")]
    values = [first, second, packed]
    arrays = [pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in fields])


def _merge_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield tables of many rows: the local engine takes time to start."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= MIN_BATCH_ROWS:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)
