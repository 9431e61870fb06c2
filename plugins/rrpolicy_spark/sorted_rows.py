"""The distinct rows of a table in Spark, in canonical order: they are cut into blocks and drawn in place.

A row's position in the order is known from the number of records in the partitions before it. So a block has the same
rows for all partitions, and a repeated task has the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from rrpolicy.plugin.engines import counted, repeated
from rrpolicy_spark.file_state import PinnedFiles
from rrpolicy_spark.session import suppress_pandas_warnings, translate_errors
from rrpolicy_spark.tasks import BlocksTask, CodesTask, DrawTask, PackTask, ReleasedFileCells

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rrpolicy.plugin.engines import DrawnBlock, RecordBlock


@dataclass(frozen=True)
class SortedRows:
    """Distinct rows in order, each partition after the one before it.

    Attributes:
        frame: codes, carried values and counts; kept on the executors' disks.
        codes: the task that made the codes: names and types of the columns.
        held: the files with which the table is compared.
    """

    frame: DataFrame
    codes: CodesTask
    held: PinnedFiles

    def tally(self) -> pa.RecordBatchReader:
        """Return distinct rows with their multiplicities, some at a time."""
        return pa.RecordBatchReader.from_batches(self.codes.schema, counted(self._batches()))

    def rows(self) -> pa.RecordBatchReader:
        """Return every row repeated by its multiplicity, some at a time."""
        schema = self.codes.schema
        return pa.RecordBatchReader.from_batches(schema.remove(len(schema) - 1), repeated(self._batches()))

    def in_blocks(
        self, columns: Sequence[str], records: int, call: Callable[[RecordBlock], DrawnBlock]
    ) -> Iterator[DrawnBlock]:
        """Yield the results of a call for each block of so many records, in turn."""
        draw = DrawTask(self.codes, tuple(columns), call)

        def one(pieces: pa.Table) -> pa.Table:  # Spark looks at hints, and counts `self` among the arguments
            return draw(pieces)

        with suppress_pandas_warnings():
            cut = self.frame.mapInArrow(BlocksTask(self._starts, records), BlocksTask.schema)
            drawn = cut.groupBy("block").applyInArrow(one, draw.schema).orderBy("block", "place")
        for _, _, packed in self._passing(drawn):
            yield [ReleasedFileCells.unpacked(packed)]

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with suppress_pandas_warnings():
            packed = self.frame.mapInArrow(PackTask(), PackTask.schema)
        for _, _, rows in self._passing(packed):
            batch, n = ReleasedFileCells.unpacked(rows)
            yield self.codes.named(batch, n)

    def _passing(self, frame: DataFrame) -> Iterator[tuple[int, int, bytes]]:
        """Yield rows a partition at a time; the table must then be unchanged."""
        self.held.unchanged()
        with translate_errors(self.held.name):
            for row in frame.toLocalIterator(prefetchPartitions=True):
                yield row[0], row[1], bytes(row[2])
        self.held.unchanged()

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        with suppress_pandas_warnings(), translate_errors(self.held.name):
            sizes = self.frame.mapInArrow(PackTask(alone=True), PackTask.schema).toArrow()
        found = dict.fromkeys(range(self.frame.rdd.getNumPartitions()), 0)
        for part, n in zip(sizes.column(0).to_pylist(), sizes.column(1).to_pylist(), strict=True):
            found[part] += n
        starts = [0]
        for part in sorted(found):
            starts.append(starts[-1] + found[part])
        return tuple(starts)


@contextmanager
def sort_distinct_rows(grouped: DataFrame, codes: CodesTask, held: PinnedFiles, by_codes: bool) -> Iterator[SortedRows]:
    """Sort distinct rows, and keep them on the executors' disks as long as the context is open.

    With `by_codes` the codes come first in the order, else the carried columns.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions

    names = codes.ordered(by_codes=by_codes)
    with suppress_pandas_warnings():
        made = grouped.mapInArrow(codes, codes.columns)
        frame = made.orderBy(*(functions.col(name).asc_nulls_last() for name in names)).persist(StorageLevel.DISK_ONLY)
    try:
        yield SortedRows(frame, codes, held)
    finally:
        frame.unpersist()
