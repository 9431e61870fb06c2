"""Profile of a column for a draft: number of values, number of unique ones, and quantiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rrpolicy.engine.arrays import as_numpy
from rrpolicy.engine.column_types import TypeFamily, family
from rrpolicy.source.names import likely_missing_codes

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.protocol import Snapshot

MAX_DRAFT_CATEGORIES = 50
MOST_TEXTS = 100_000
"""Maximum number of distinct texts that are searched for codes of missing values."""
LEAST, LONGEST, _SMALL = 5, 40, 20
"""Minimum records of a text for a draft to show it; its maximum length; fewer than 100 records are few."""
FEW = 8
"""Number of last values to check."""
_GRID = 1000
"""Approximate number of cut points kept for a column with many values."""


class QuantileCut(Struct, frozen=True):
    """A value of a column, and the number of records below it."""

    value: Any
    below: int


class ColumnProfile(Struct, frozen=True):
    """Profile of a column.

    Attributes:
        kind: its engine type.
        singles: number of values that only one record has.
        low: the least value; None without values.
        values: the first distinct ones in order, at most one more than a domain may list.
        n: number of records of each of these.
        cuts: values in order, about 1,000 of them evenly spread over the records.
        most: maximum number of records that share a value.
        last: the last distinct values in order, at most `FEW`.
    """

    name: str
    kind: str
    records: int
    nulls: int = 0
    distinct: int = 0
    singles: int = 0
    low: Any = None
    high: Any = None
    values: tuple[Any, ...] = ()
    cuts: tuple[QuantileCut, ...] = ()
    most: int = 0
    last: tuple[Any, ...] = ()
    n: tuple[int, ...] = ()

    @property
    def common(self) -> tuple[Any, ...]:
        """Return the values that a draft may show: short texts of at least `LEAST` records, or 2 in a small table.

        Drafts go to version control: a text of few records may be a person's name, address or diagnosis.
        """
        if self.family is not TypeFamily.TEXT:
            return self.values
        least = LEAST if self.records >= LEAST * _SMALL else 2
        return tuple(v for v, n in zip(self.values, self.n, strict=True) if n >= least and len(v) <= LONGEST)

    @property
    def codes(self) -> tuple[Any, ...]:
        """Return the numbers that look like codes of missing values."""
        numbers = self.family in {TypeFamily.INTEGER, TypeFamily.REAL}
        return likely_missing_codes(self.values[:FEW], self.last) if numbers else ()

    @property
    def family(self) -> TypeFamily:
        """Return the family of its type."""
        return family(self.kind)

    @property
    def known(self) -> int:
        """Return the number of records with a value."""
        return self.records - self.nulls

    @property
    def row_number(self) -> bool:
        """Whether it numbers the records: whole numbers, one per record, without a gap."""
        whole = self.family is TypeFamily.INTEGER and self.distinct == self.records > 1
        return whole and int(self.high) - int(self.low) == self.records - 1

    @property
    def alike(self) -> int:
        """Return the number of listed texts that differ from another only in case or white space."""
        texts = Counter(" ".join(v.split()).casefold() for v in self.values if isinstance(v, str))
        return sum(n for n in texts.values() if n > 1)

    @property
    def padded(self) -> int:
        """Return the number of listed texts that begin or end with white space."""
        return sum(isinstance(v, str) and v != v.strip() for v in self.values)


def profile(snapshot: Snapshot, name: str, kind: str) -> ColumnProfile:
    """Read one column of a table."""
    records = snapshot.records()
    if family(kind) is TypeFamily.OTHER:
        return ColumnProfile(name, kind, records)
    nulls = distinct = singles = most = below = 0
    low = high = None
    values: list[Any] = []
    counts: list[int] = []
    last: list[Any] = []
    cuts: list[QuantileCut] = []
    for batch in snapshot.tally([], [name]):
        column, n = batch.column(0), as_numpy(batch.column(1))
        valid = as_numpy(column.is_valid())
        nulls += int(n[~valid].sum())
        singles += int((n[valid] == 1).sum())
        distinct += int(valid.sum())
        most = max(most, int(n[valid].max(initial=0)))
        known = column.drop_null()
        if not len(known):
            continue
        low = known[0].as_py() if low is None else low
        high = known[-1].as_py()
        values += known.slice(0, MAX_DRAFT_CATEGORIES + 1 - len(values)).to_pylist()
        counts += n[valid][: len(values) - len(counts)].tolist()
        last = [*last, *known.slice(max(len(known) - FEW, 0)).to_pylist()][-FEW:]
        sums = below + n[valid].cumsum() - n[valid]
        below = int(sums[-1] + n[valid][-1])
        if family(kind) is not TypeFamily.TEXT:
            cuts += _thinned_cuts(known, sums, cuts[-1].below if cuts else -records, max(records // _GRID, 1))
    seen = tuple(values), tuple(cuts), most, tuple(last), tuple(counts)
    return ColumnProfile(name, kind, records, nulls, distinct, singles, low, high, *seen)


def _thinned_cuts(values: pa.Array, below: Any, last: int, step: int) -> Iterator[QuantileCut]:
    """Yield values with at least `step` records between two of them.

    `below`: (values,) records below each value; `last`: records below the last kept value.
    """
    place = 0
    while place < len(below):
        if below[place] - last >= step:
            last = int(below[place])
            yield QuantileCut(values[place].as_py(), last)
        place = max(place + 1, int(below.searchsorted(last + step)))


def distinct_texts(snapshot: Snapshot, name: str) -> tuple[list[str], list[int]]:
    """Return a text column's distinct values and their numbers of records; empty if there are too many."""
    values: list[str] = []
    n: list[int] = []
    for batch in snapshot.tally([], [name]):
        values += batch.column(0).to_pylist()
        n += batch.column(1).to_pylist()
        if len(values) > MOST_TEXTS:
            return [], []
    return values, n
