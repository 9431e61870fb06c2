"""Counts needed by the first look at a table, taken in one pass over its distinct rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.counts import Counts, tabulate
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.source.duckdb.encoding import NULL_CODE

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Ints
    from rrpolicy.policy.model import Attribute

MOST = 1 << 20
"""The most cells, surprises included, that are counted in an array."""


class CellCounter:
    """Counts cells of categories, and nulls and invalid numbers in the carried columns."""

    def __init__(self, coded: Sequence[Attribute], probes: Sequence[Attribute | None]) -> None:
        """Prepare.

        `probes` has the result of `probe_attribute` of each carried column.
        """
        self._coded = coded
        self._n = np.zeros([len(a.domain or ()) - NULL_CODE for a in coded], dtype=np.int64)
        self._probes = probes
        self._surprising = [(0, 0)] * len(probes)

    @staticmethod
    def fit(coded: Sequence[Attribute]) -> bool:
        """Return whether the cells of some attributes are few enough."""
        return math.prod(len(a.domain or ()) - NULL_CODE for a in coded) <= MOST

    def take(self, batch: pa.RecordBatch) -> None:
        """Take distinct rows: codes of the attributes, the carried columns in order, others, and multiplicities."""
        *columns, last = batch.columns
        n = as_numpy(last)
        number = np.zeros(len(n), dtype=np.int32)
        for size, column in zip(self._n.shape, columns, strict=False):
            number *= np.int32(size)
            number += as_numpy(column)
            number -= np.int32(NULL_CODE)
        weights = None if len(n) == int(n.sum()) else n
        self._n += np.bincount(number, weights, self._n.size).astype(np.int64).reshape(self._n.shape)
        beside = zip(self._probes, self._surprising, columns[len(self._coded) :], strict=False)
        self._surprising = [_invalid_counts(probe, so_far, column, n) for probe, so_far, column in beside]

    def counts(self) -> Counts:
        """Return the table, surprises included under the codes -1 and -2."""
        names, shape = tuple(a.name for a in self._coded), tuple(len(a.domain or ()) for a in self._coded)
        codes = (np.argwhere(self._n) + NULL_CODE).astype(np.int32)
        return tabulate(names, shape, codes, self._n[self._n > 0])

    def surprising(self) -> Mapping[str, tuple[int, int]]:
        """Return the records with a null and those with an invalid number, by column that has a probe."""
        return {p.name: found for p, found in zip(self._probes, self._surprising, strict=True) if p is not None}


def _invalid_counts(probe: Attribute | None, so_far: tuple[int, int], column: pa.Array, n: Ints) -> tuple[int, int]:
    import pyarrow as pa

    if probe is None:
        return so_far
    nulls, outside = so_far
    if column.null_count:
        known = as_numpy(column.is_valid())
        nulls += int(n[~known].sum())
        column, n = column.drop_null(), n[known]
    if probe.bins is not None and len(column):
        low, high = float(probe.bins.edges[0]), float(probe.bins.edges[-1])
        values = as_numpy(column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column)
        if float(values.min()) < low or float(values.max()) > high:
            doubles = values.astype(np.float64)
            outside += int(n[(doubles < low) | (doubles > high)].sum())
    return nulls, outside
