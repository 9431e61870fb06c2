"""A systematic sample: every s-th record in canonical order, taken from a pass over all records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.source.protocol import MULTIPLICITY

MOST = 250_000
"""About the most records of a sample; a table of no more is taken whole."""


class SystematicSampler:
    """Takes every s-th record of distinct rows with multiplicities as they pass, s = ceil(N / MOST)."""

    def __init__(self, records: int, most: int = MOST) -> None:
        self._step = max(1, -(-records // most))
        self._seen = 0
        self._parts: list[pa.RecordBatch] = []

    def take(self, batch: pa.RecordBatch) -> None:
        """Take from the next distinct rows, in canonical order, the last column their multiplicities."""
        ends = self._seen + np.cumsum(as_numpy(batch.columns[-1]))
        if not len(ends):
            return
        first = -(-self._seen // self._step) * self._step
        chosen = np.searchsorted(ends, np.arange(first, int(ends[-1]), self._step), side="right")
        self._seen = int(ends[-1])
        self._parts.append(batch.select(range(batch.num_columns - 1)).take(number_array(chosen)))

    def table(self) -> pa.Table:
        """Return the records taken."""
        return pa.Table.from_batches(self._parts)


def systematic_sample(rows: Iterable[pa.RecordBatch], records: int, most: int = MOST) -> pa.Table:
    """Return every s-th of the rows.

    `rows` are all records, in canonical order; about `most` of them are taken.
    """
    sample = SystematicSampler(records, most)
    for batch in rows:
        ones = number_array(np.ones(batch.num_rows, dtype=np.int64))
        sample.take(pa.record_batch([*batch.columns, ones], names=[*batch.schema.names, MULTIPLICITY]))
    return sample.table()
