"""What an engine offers (`Source`, `Snapshot`) and what the rest of rrpolicy sees of a table (`Original`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from rrpolicy.canonical_json import Value
from rrpolicy.policy.model import PLAIN, Attribute, Policy, Reading

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.counts import Counts, Ints
    from rrpolicy.source.units import Units


RecordBlock: TypeAlias = "tuple[int, pa.RecordBatch]"
"""The number of a block, and its distinct rows, the last column their multiplicities."""
DrawnBlock: TypeAlias = "list[tuple[pa.RecordBatch, Ints | None]]"
"""What a draw makes of a block: released rows, and how often each stands; None for once."""

MULTIPLICITY = "n\x1f"
"""The last column of distinct rows, which says how often each stands. No column of a table is called so (RR217)."""


SNAPSHOT = ("columns", "records", "released_type", "distinct", "tally", "rows", "unchanged")
"""What every snapshot has; one without `units` leaves it open how many records a person has."""


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
        """Return how many distinct values of a column stand in how many rows each, and how many rows have none.

        Values are compared as such, never by a hash of theirs, in memory that does not grow with the table. Of an
        engine that has no such method it stays undecided how many records a person has.
        """
        ...

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table is not in the pinned state any more."""
        ...


@runtime_checkable
class Distributed(Protocol):
    """A snapshot whose rows lie where calls can be made of them: there they are drawn, and released rows travel."""

    def in_blocks(
        self,
        attributes: Sequence[Attribute],
        carried: Sequence[str],
        columns: Sequence[str],
        records: int,
        call: Callable[[RecordBlock], DrawnBlock],
    ) -> Iterator[DrawnBlock]:
        """Yield what a call makes of each block of so many records, in the order of the blocks.

        The rows are those of `tally`, in its order; equal ones stand together. A call may be made several times of one
        block, and in other processes: it can be pickled, and gives the same each time.

        Args:
            attributes: as for `tally`.
            carried: likewise.
            columns: names of all of them, in the order in which the call takes them.
            records: of a block, but for the last.
            call: of a block.

        Raises:
            RefusedError: RR410 if the table changed.
        """
        ...


class Source(Protocol):
    """An engine: opens a table read-only, pinned to one state.

    Attributes:
        schemes: what its uris begin with (`demo`), or the endings of its files (`.parquet`).
        paths: whether a path follows the scheme, which then starts in the policy's folder; of an engine that does not
            say, it does, but for `//`.
    """

    schemes: ClassVar[tuple[str, ...]]

    def open(
        self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN
    ) -> AbstractContextManager[Snapshot]:
        """Open a table.

        Args:
            uri: where it is; resolved against the policy's folder already.
            table: the table or view inside a database.
            scratch: a folder of mode 0700 for spilling; the caller wipes it.
            reading: codes of missing values, which become null, how a CSV file is spelled, and which weights are
                rounded (`rounding` has the SQL; one that is not is refused, RR148); by default nothing.

        Raises:
            DataError: if it cannot be read: docs/tutorials/plugins.md lists the codes.
        """
        ...


class Original(Protocol):
    """A snapshot read under a policy: domains resolved, surprises refused. All that the rest sees of a table."""

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
        """Return how many units of protection have how many records; None if that was not counted."""
        ...

    @property
    def reference(self) -> Original | None:
        """Return the population: a table of what makes classes, read under the same policy; None if none is at hand."""
        ...

    def counts(self, *attributes: str) -> Counts:
        """Return the contingency table of categorical attributes; memoised, and rolled up from finer ones."""
        ...

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield all records in the canonical order of their original values.

        Columns come in the order asked for: int32 codes for categorical attributes, values as they are for others.
        """
        ...

    def sample(self, *columns: str) -> pa.Table:
        """Return every s-th record in canonical order, at least 125,000; all of a table that has no more.

        Columns come in the order asked for, encoded as by `rows`.
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
