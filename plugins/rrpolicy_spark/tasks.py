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
