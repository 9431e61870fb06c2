"""The two ideas of the room: a `Channel` is Pr(released | original); an `Axis` is a factor of a product.

Nothing here imports numpy, pyarrow or duckdb: `check` works without them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self, TypeAlias, runtime_checkable

from rrpolicy.canonical_json import Json
from rrpolicy.channels.decoders import Decoder
from rrpolicy.channels.probability import log_rounded_up
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.finding import Finding, Measure
from rrpolicy.report import Section
from rrpolicy.serialization import read, record

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.sampling.prng import Stream, Streams
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.source.protocol import Original


class Sink(Protocol):
    """The destination of a draw. Its writer puts rows in canonical order and never has the original."""

    def write(
        self, table: str, batch: pa.RecordBatch, n: Ints | None = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        """Take released rows.

        Args:
            table: the `TableSpec`'s name.
            batch: released values under the released names; categories may be dictionary arrays.
            n: (rows,) multiplicity of each row; None for once.
            in_order: the caller passes distinct rows in the table's canonical order over all calls, so that nothing
                needs sorting.
            sorted_by: the rows are sorted, over all calls, by this number of the table's first `sort` columns.
        """
        ...


class Channel(ABC):
    """Pr(released | original), as data: hashed, reviewed, drawn from, assessed, published and decoded.

    A frozen dataclass is written and read by its fields, which may be text, numbers, fractions, enumerations, tuples
    and mappings of these, and dataclasses of such fields. A field that the class variable `audit_only` lists is not
    published, and needs a default.

    Attributes:
        kind: its name in documents, such as `acme.sample`; `rrpolicy_channels` offers the class by it.
        version: version of its fields; a document of another version is refused.
    """

    kind: ClassVar[str]
    version: ClassVar[int]

    @abstractmethod
    def tables(self) -> tuple[TableSpec, ...]:
        """Return the released tables."""

    @abstractmethod
    def decoders(self) -> tuple[Decoder, ...]:
        """Return the decoders of the released columns, one for each axis."""

    @abstractmethod
    def settle(self, original: Original) -> Self:
        """Return the channel as it will be drawn: engine types and the sampler's path filled in, by public facts."""

    @abstractmethod
    def draw(self, original: Original, streams: Streams, sink: Sink) -> None:
        """Draw once and write the released rows to the sink."""

    @abstractmethod
    def conforms(self, original: Original, released: Mapping[str, pa.RecordBatchReader]) -> Finding:
        """Test a release against the channel, at a false-alarm rate of at most 1e-9.

        Args:
            original: the table from which it was drawn.
            released: table name -> a reader of distinct rows under the released names, with a last column
                `rrpolicy.plugin.MULTIPLICITY`.
        """

    @abstractmethod
    def discloses(self) -> tuple[str, ...]:
        """Return the ids of facts on the original in the public description, such as `marginal:education`."""

    def sections(self, records: int, original: Original | None) -> tuple[Section, ...]:
        """Return the report's sections on this channel beyond its attributes and findings; nothing by default.

        Args:
            records: N.
            original: the table, for the audit page; None for the public one.
        """
        del records, original
        return ()

    def to_json(self) -> Json:
        """Return all of it, `{"kind", "version", …}`; audit-class."""
        return record(self)

    def to_public_json(self) -> Json:
        """Return the fields for analysts and public verification: those that are not marked for the audit."""
        return record(self, public=True)

    @classmethod
    def from_json(cls, document: Mapping[str, Json], kinds: Mapping[str, type[Channel | Axis]]) -> Self:
        """Read the channel from the output of `to_json` or `to_public_json`.

        Args:
            document: the description.
            kinds: channel and axis classes by kind; the parts of a channel are looked up in it.

        Raises:
            ValueError: if the version is unknown or the document is not of this kind.
        """
        del kinds
        return read(cls, document)


class Axis(ABC):
    """One factor of a product channel: a column-stochastic matrix over one attribute, or several coupled ones.

    The original's codes are positions in the attribute's domain; of coupled attributes, positions in the C-order
    product of their domains.

    Attributes:
        kind: its name in documents.
        version: version of its fields.
        one_number: whether `split` draws each of many cells of one record by a single uniform number, as
            `rrpolicy.plugin.split_by_columns` does, or by none; only then can the axis be part of a series.
    """

    kind: ClassVar[str]
    version: ClassVar[int]
    one_number: ClassVar[bool] = False

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """Return the original attributes; more than one if they are coupled."""

    @property
    @abstractmethod
    def original_size(self) -> int:
        """Return the number of original categories (of the product, if coupled)."""

    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return the released columns, one for each attribute."""

    @abstractmethod
    def decoder(self) -> Decoder:
        """Return the decoder of the axis."""

    @abstractmethod
    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Randomise counts exactly: every cell's count by a multinomial of its column of the matrix.

        Args:
            codes: (cells,) original code of each cell.
            n: (cells,) records in each cell.
            stream: cryptographic bits of this axis alone.

        Returns:
            cell: (k,) index into `codes` that each part comes from, non-decreasing.
            released: (k, len(columns())) released code of each column; of an axis that overrides `values`, (k, any
                width) codes that it turns into released values.
            count: (k,) records; all > 0.
        """

    def values(self, released: Codes) -> tuple[pa.Array, ...]:
        """Return released codes, as `split` gives them, as one array of values a column.

        Override it if a released value is not one of a column's labels.
        """
        from rrpolicy.channels.values import dictionary_array, labels

        return tuple(dictionary_array(released[:, place], labels(c)) for place, c in enumerate(self.columns()))

    @abstractmethod
    def max_ratio(self) -> Fraction | None:
        """Return e^epsilon = max_u max_v P[u,v] / min_v P[u,v], exact (or rounded up), all-zero rows dropped.

        None means infinity: a released value excludes an original one.
        """

    def log_ratio(self) -> Measure:
        """Return epsilon, rounded up in the last place."""
        return Measure(log_rounded_up(self.max_ratio()))

    @abstractmethod
    def min_cross_ratio(self) -> Fraction:
        """Return min P[u',v] P[v',u] / (P[u',u] P[v',v]), exact or rounded down: Pk-anonymity's factor of the axis."""

    @abstractmethod
    def discloses(self) -> tuple[str, ...]:
        """Return the ids of facts on the original in the description."""

    def sections(self, records: int) -> tuple[Section, ...]:
        """Return the report's sections on this axis beyond its parameters; nothing by default.

        Args:
            records: N.
        """
        del records
        return ()

    def to_json(self) -> Json:
        """Return all of it, `{"kind", "version", …}`."""
        return record(self)

    def to_public_json(self) -> Json:
        """Return the fields that may be published: those that are not marked for the audit."""
        return record(self, public=True)

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Self:
        """Read the axis from the output of `to_json` or `to_public_json`.

        Raises:
            ValueError: if the version is unknown or the document is not of this kind.
        """
        return read(cls, document)


Layout: TypeAlias = Sequence[tuple[tuple[str, ...], type[Axis]]]
"""Of each axis of a channel the attributes and the class."""


@runtime_checkable
class Transition(Protocol):
    """An axis whose released values can be listed: its matrix can be applied along one axis of an array."""

    @property
    def released_size(self) -> int:
        """Return the number of released categories (rows of P)."""
        ...

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return the exact non-zero entries of one column: released code -> probability."""
        ...

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P (or its elementwise square) applied to x along an axis: original -> released."""
        ...

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T (or its elementwise square) applied to x along an axis: released -> original."""
        ...


def lists_values(kind: type[Axis]) -> bool:
    """Return whether the axes of a class are `Transition`s; `issubclass` cannot decide it, as that has a property."""
    return all(hasattr(kind, name) for name in ("column", "forward", "back"))


@runtime_checkable
class Posterior(Protocol):
    """An axis too wide to list its released values, but still assessable."""

    def expected_posterior(self, prior: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of each original value's expected posterior, equal if exact.

        That is E Pr(own value | released value) over the released values of a record with that value; 0 for values that
        do not occur.

        Args:
            prior: (…, size) shares of the original values.

        Returns:
            (…, size) each.
        """
        ...


@runtime_checkable
class GuessableAxis(Protocol):
    """An axis too wide to list its released values, with the probability that the likeliest value is the true one."""

    def best_guess(self, prior: Array) -> Array:
        """Return E max_u Pr(u | released value) over the released values of records with all original values.

        Args:
            prior: (…, size) shares of the original values.

        Returns:
            (…,).
        """
        ...

    def exact_best_guess(self, counts: Sequence[int]) -> Fraction:
        """Return the same times the sum of the counts, exactly.

        Args:
            counts: (size,) records with each original value.
        """
        ...


@runtime_checkable
class Readable(Posterior, Protocol):
    """A `Posterior` axis with further methods; without them, numbers have looser bounds or are left out."""

    def worst_posterior(self, prior: Array | Ints) -> Array:
        """Return (…, size) the largest posterior of the own value, over the released values of a record with it.

        Args:
            prior: (…, size) shares or counts.
        """
        ...

    def expected_ratio(self, weight: Array, prior: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of E (P w)_s / (P c)_s over the released values s of a record with each value.

        Args:
            weight: (…, size) w, 0 or more.
            prior: (…, size) c, shares.

        Returns:
            (…, size) each; 0 for values that do not occur. An upper bound may be infinite.
        """
        ...

    def exact_ratio(self, weight: Sequence[int], prior: Sequence[int], own: int, most: int) -> Fraction | None:
        """Return one such expectation exactly, of w and c in integers over one denominator each.

        Args:
            weight: (size,) w.
            prior: (size,) c.
            own: the original value; it occurs.
            most: number of operations beyond which None is returned.
        """
        ...
