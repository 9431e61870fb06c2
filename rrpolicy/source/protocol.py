"""Interfaces of an engine (`Source`, `Snapshot`) and of a table in the rest of rrpolicy (`Original`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from rrpolicy.canonical_json import Value
from rrpolicy.policy.model import PLAIN, Attribute, Policy, Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Counts, Ints, UnitCounts
    from rrpolicy.source.units import Units


RecordBlock: TypeAlias = "tuple[int, pa.RecordBatch]"
"""The number of a block, and its distinct rows, the last column their multiplicities."""
DrawnBlock: TypeAlias = "list[tuple[pa.RecordBatch, Ints | None]]"
"""A draw's result for a block: released rows, and the multiplicity of each; None for once."""

MULTIPLICITY = "n\x1f"
"""The last column of distinct rows: the multiplicity of each. No column of a table has this name (RR217)."""


SNAPSHOT = ("columns", "records", "released_type", "distinct", "tally", "rows", "unchanged")
"""Required methods of a snapshot; without `units` the number of records per person stays unknown."""


class Snapshot(Protocol):
    """One pinned state of a table. Every read raises `RefusedError` (RR410) if it changed since it was opened."""

    def columns(self) -> Mapping[str, str]:
        """Return each column's name and engine type (DuckDB's name of it, such as `VARCHAR`), in table order."""
        ...

    def records(self) -> int:
        """Return the number of rows."""
        ...

    def released_type(self, attribute: Attribute) -> str:
        """Return the engine type of the values released for an attribute: of its categories, or of the carried column.

        Raises:
            DataError: RR312 if the column's type does not fit the domain or the bins, RR321 if it cannot be carried.
        """
        ...

    def distinct(self, attribute: Attribute, most: int) -> tuple[Value | None, ...]:
        """Return the column's distinct values (None for null or NaN), sorted, at most `most + 1` of them."""
        ...

    def tally(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return grouped counts in one pass: an int32 code column for each attribute, the carried columns, and `n`.

        The bins, the domain, `outside` and `nulls` of an attribute are applied inside the engine; a code is the
        position in `attribute.domain`. -1 is a value outside the domain, -2 a null, that the policy does not allow.
        Sorted by the carried columns, then by the codes; `n` is the last one.
        """
        ...

    def rows(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return encoded rows, the codes as in `tally` then the carried columns, sorted by all of them."""
        ...

    def units(self, column: str) -> Units:
        """Return the number of distinct values of a column by their number of rows, and the number of rows without one.

        Values are compared as such, never by their hashes, in memory that does not grow with the table. Without this
        method the number of records per person stays undecided.
        """
        ...

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table is no longer in the pinned state."""
        ...


@runtime_checkable
class Distributed(Protocol):
    """A snapshot whose rows are processed in place: they are drawn there, and only released rows travel."""

    def in_blocks(
        self,
        attributes: Sequence[Attribute],
        carried: Sequence[str],
        columns: Sequence[str],
        records: int,
        call: Callable[[RecordBlock], DrawnBlock],
    ) -> Iterator[DrawnBlock]:
        """Yield the results of a call for each block of so many records, in the order of the blocks.

        The rows are those of `tally`, in its order; equal ones are adjacent. A call may be made several times for one
        block, and in other processes: it can be pickled, and returns the same each time.

        Args:
            attributes: see `tally`.
            carried: likewise.
            columns: names of all of them, in the order in which the call takes them.
            records: number of records of a block, except for the last.
            call: takes a block.

        Raises:
            RefusedError: RR410 if the table changed.
        """
        ...


class Source(Protocol):
    """An engine: opens a table read-only, pinned to one state.

    Attributes:
        schemes: the schemes of its uris (`demo`), or the endings of its files (`.parquet`).
        paths: whether a path follows the scheme, which then starts in the policy's folder; by default it does, except
            for `//`.
    """

    schemes: ClassVar[tuple[str, ...]]

    def open(
        self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN
    ) -> AbstractContextManager[Snapshot]:
        """Open a table.

        Args:
            uri: uri of the table, already resolved against the policy's folder.
            table: the table or view inside a database.
            scratch: a folder of mode 0700 for spilling; the caller wipes it.
            reading: codes of missing values, which become null, the format of CSV, and the weights that are rounded
                (`rounding` has the SQL; one that is not is refused, RR148); by default nothing. Of its `selection` one
                record of each unit is read, and a snapshot that does not state the number of the table's records as
                `selected_from` is refused (RR330). `encoded` does all of it.

        Raises:
            DataError: if it cannot be read: docs/tutorials/plugins.md lists the codes.
        """
        ...


class Original(Protocol):
    """A snapshot read under a policy: domains resolved, invalid values refused. The rest of rrpolicy sees only this."""

    @property
    def policy(self) -> Policy:
        """Return the policy, with observed domains filled in."""
        ...

    @property
    def records(self) -> int:
        """Return the number of records N."""
        ...

    @property
    def types(self) -> Mapping[str, str]:
        """Return the engine type of the values released for every released attribute, by the attribute's name."""
        ...

    @property
    def units(self) -> Units | None:
        """Return the numbers of units of protection by their number of records; None if not counted."""
        ...

    @property
    def reference(self) -> Original | None:
        """Return the population's class-defining attributes, read under the same policy; None if not available."""
        ...

    def counts(self, *attributes: str) -> Counts:
        """Return the contingency table of categorical attributes; memoised, and rolled up from finer ones."""
        ...

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield all records in the canonical order of their original values.

        Columns are in the given order: int32 codes for categorical attributes, unmodified values for others.
        """
        ...

    def sample(self, *columns: str) -> pa.Table:
        """Return every s-th record in canonical order, at least 125,000; all of a table that has no more.

        Columns are in the given order, encoded as by `rows`.
        """
        ...

    def content(self) -> bytes:
        """Return the 32-byte fingerprint of all released columns' values.

        It is unkeyed, so it leaves the process only inside an HMAC.
        """
        ...

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table changed since it was opened."""
        ...


@runtime_checkable
class UnitCounter(Protocol):
    """An original that reads the records of each unit of protection together."""

    def unit_counts(self, *columns: str, unit: str | None = None) -> UnitCounts:
        """Count units by the cells of their records over released columns, in the given order.

        The code of a column with a domain is the position in it; other values are numbered as they occur. `unit`: the
        column that identifies units; by default that of the units of protection.

        Raises:
            ValueError: if no column identifies units.
        """
        ...
