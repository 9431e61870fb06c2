"""Another table in place of the original, for choosing parameters: its shares, the original's number of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.counts import Counts, Ints, UnitCounts, tabulate
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy
from rrpolicy.source.opening import open_original
from rrpolicy.source.protocol import Original, Source, UnitCounter
from rrpolicy.source.units import Units

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.original import TableOriginal


@contextmanager
def open_tuning_table(policy: Policy, sources: Mapping[str, Source], scratch: Path) -> Iterator[TableOriginal | None]:
    """Open the table on which parameters are chosen, and read it as the policy reads its source.

    Yields None if the policy names no such table. Its observed domains are filled in: they are those of the source.
    """
    uri = policy.mechanism.plan_on
    if uri is None:
        yield None
        return
    source = replace(policy.source, uri=uri, table=policy.mechanism.plan_on_table, min_rows=None)
    places = {**policy.places}
    if (place := policy.place("mechanism.plan_on")) is not None:
        places["source.uri"] = place
    with open_original(replace(policy, source=source, reference=None, places=places), sources, scratch) as original:
        yield original


class ResizedOriginal(Struct, frozen=True, eq=False, dict=True):
    """A table with as many records as another: each s-th record in canonical order, s a fraction; an `Original`.

    Attributes:
        table: the table whose records replace the other's.
    """

    table: Original
    records: int

    @property
    def policy(self) -> Policy:
        """Return the policy that the table was read under."""
        return self.table.policy

    @property
    def types(self) -> Mapping[str, str]:
        """Return the table's engine types."""
        return self.table.types

    @property
    def units(self) -> Units | None:
        """Return the number of units of each size in proportion to N records, rounded down."""
        units, whole = self.table.units, self.table.records
        if units is None:
            return None
        return Units({size: n * self.records // whole for size, n in units.sizes.items() if n * self.records >= whole})

    @property
    def reference(self) -> None:
        """Return None: no policy that names a population chooses parameters on another table."""
        return

    def counts(self, *attributes: str) -> Counts:
        """Return the contingency table of categorical attributes."""
        return self._joint.marginal(*attributes)

    def unit_counts(self, *columns: str, unit: str | None = None) -> UnitCounts:
        """Return the units of the table, not in proportion: the search for a generalisation alone reads them."""
        if not isinstance(self.table, UnitCounter):
            raise TypeError("the table does not read the records of a unit together")
        return self.table.unit_counts(*columns, unit=unit)

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield N records in the canonical order of these columns."""
        passed = 0
        for batch in self.table.rows(*columns):
            ends = self._rank(np.arange(passed, passed + batch.num_rows + 1))
            yield batch.take(np.repeat(np.arange(batch.num_rows), np.diff(ends)))
            passed += batch.num_rows

    def sample(self, *columns: str) -> pa.Table:
        """Return the table's sample: only its shares matter."""
        return self.table.sample(*columns)

    def content(self) -> bytes:
        """Return the table's fingerprint."""
        return self.table.content()

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table changed since it was opened."""
        self.table.unchanged()

    @cached_property
    def _joint(self) -> Counts:
        whole = self.table.counts(*(a.name for a in self.policy.released if a.categorical))
        n = np.diff(self._rank(np.concatenate([[0], np.cumsum(whole.n)])))
        return tabulate(whole.attributes, whole.shape, whole.codes[n > 0], n[n > 0])

    def _rank(self, position: Ints) -> Ints:
        ranks: Ints = (2 * self.records * position + self.table.records - 1) // (2 * self.table.records)
        return ranks
