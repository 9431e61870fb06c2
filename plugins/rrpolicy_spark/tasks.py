"""What Spark's tasks do: they read a few distinct rows with the engine of our own, as the driver would.

These are classes, so that Spark sends what they hold, and each worker imports what they do from its own rrpolicy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.plugin import MULTIPLICITY, Reading, Snapshot, encoded

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.plugin.engines import FileParts
    from rrpolicy.plugin.types import Ints

KIND = "Spark DataFrame"


@dataclass(frozen=True, slots=True)
class Counts:
    """Distinct rows with their counts, the last column, to be read as a table of counts.

    Attributes:
        names: of the other columns.
        name: of the table, for messages.
        reading: the codes of missing values.
    """

    names: tuple[str, ...]
    name: str
    reading: Reading

    @contextmanager
    def read(self, table: pa.Table, scratch: Path) -> Iterator[Snapshot]:
        """Open them as a snapshot.

        Args:
            table: of distinct rows; what its columns are called does not matter.
            scratch: where our own engine spills.
        """
        counts = table.rename_columns([*self.names, MULTIPLICITY])
        counting = replace(self.reading, multiplicity=MULTIPLICITY)
        with encoded(counts, self.name, scratch, counting, kind=KIND) as found:
            yield found


@dataclass(frozen=True, slots=True)
class UnitSizes:
    """Counts the sizes of units, of which each stands in one row.

    Attributes:
        counts: of the column that tells units apart.
    """

    counts: Counts
    schema = "size long, units long, missing long"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield, of each batch, how many units have so many records, and how many records have no unit."""
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
class Cells:
    """The cells of a file of released rows.

    Attributes:
        number: of the file.
        batches: distinct rows, the last column how often each stands; each an Arrow stream of its own, as the
            dictionaries of two may differ.
    """

    number: int
    batches: tuple[bytes, ...]

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
        parts: how rows become files.
        attempts: where files stand that are not finished.
    """

    parts: FileParts
    attempts: Path

    def __call__(self, cells: Cells) -> tuple[int, int]:
        """Return the number of the file, and its size in bytes."""
        return cells.number, self.parts.write(cells.number, cells.rows(), self.attempts)
