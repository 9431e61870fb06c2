"""The decoders that undo an axis: a closed list of forms, so that no analyst needs a plugin.

A seventh form undoes nothing: the publisher withholds the matrix, and the form has the facts known without it.

The weight of a released record is the product over decoders of the axis' weight; `matrix` is the general form. A third
party's axis publishes one of the six.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Self, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.channels.probability import keep_probability, retention_probability

Cell: TypeAlias = tuple[Value, ...]
"""A category; of attributes taken together, one label each."""
Rows: TypeAlias = tuple[tuple[Fraction, ...], ...]
"""(released, original) exact; every column sums to 1."""


class Block(Struct, frozen=True):
    """Categories that are exchanged for one another.

    Attributes:
        members: their positions in the domain, increasing.
        keep: p, the keep probability; 1 for a single member.
    """

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"keep": "keep_probability"})

    members: tuple[int, ...]
    keep: Fraction

    @classmethod
    def of(cls, retention: Fraction, members: Iterable[int]) -> Self:
        """Build a block from its retention probability."""
        own = tuple(members)
        return cls(own, keep_probability(retention, len(own)) if len(own) > 1 else Fraction(1))

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("a block has no member")
        if not 0 <= self.keep <= 1:
            raise ValueError(f"a keep probability must lie in [0, 1], got {self.keep}")
        if len(self.members) == 1 and self.keep != 1:
            raise ValueError("a category alone in its block has keep probability 1")

    @property
    def size(self) -> int:
        """Return d."""
        return len(self.members)

    @property
    def move(self) -> Fraction:
        """Return q, the probability of each other member; 0 for a single one."""
        return (1 - self.keep) / (self.size - 1) if self.size > 1 else Fraction(0)

    @property
    def retention(self) -> Fraction:
        """Return rho, the retention probability."""
        return retention_probability(self.keep, self.size)

    def max_ratio(self) -> Fraction | None:
        """Return max(p/q, q/p); None, for infinity, if one of them is 0; 1 for a single member."""
        if self.size == 1:
            return Fraction(1)
        least, most = sorted((self.keep, self.move))
        return most / least if least else None

    def inverse_norm(self) -> Fraction:
        """Return the squared norm of a column of the inverse (I - q J)/(p - q), the same for all columns.

        d times it is (d-1)^3/(d p - 1)^2 + 1 (Guo, Ying, Wu 2011, Result 2).

        Raises:
            ZeroDivisionError: if p = q, so that there is no inverse.
        """
        if self.size == 1:
            return Fraction(1)
        q = self.move
        return ((1 - q) ** 2 + (self.size - 1) * q**2) / (self.keep - q) ** 2


@dataclass(frozen=True, slots=True)
class _DecoderBase:
    """The common fields of decoders.

    Attributes:
        attributes: the original attributes.
        unbiased: whether sums of weights are unbiased for counts.
        independent: whether the weights of records are independent given the original.
    """

    attributes: tuple[str, ...]
    unbiased: bool = field(default=True, kw_only=True)
    independent: bool = field(default=True, kw_only=True)

    @property
    def drawn(self) -> bool:
        """Return whether the release is random."""
        return True


@dataclass(frozen=True, slots=True)
class IdentityDecoder(_DecoderBase):
    """An unmodified column.

    Attributes:
        column: the released column.
        labels: its categories; () if it has no list of them.
    """

    form: ClassVar[str] = "identity"

    column: str
    labels: tuple[Value, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the released column."""
        return (self.column,)

    @property
    def drawn(self) -> bool:
        """Return False."""
        return False


@dataclass(frozen=True, slots=True)
class RetentionDecoder(_DecoderBase):
    """Retention in blocks: a value is kept, or exchanged for another of its block, each equally likely.

    Attributes:
        columns: the released columns; more than one if attributes are randomised together.
        labels: the categories; of several columns, their combinations in C order.
        blocks: positions among them, and keep probabilities.
    """

    form: ClassVar[str] = "retention"

    columns: tuple[str, ...]
    labels: tuple[Cell, ...]
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if sorted(m for block in self.blocks for m in block.members) != list(range(len(self.labels))):
            raise ValueError("the blocks must contain each category once")

    @property
    def drawn(self) -> bool:
        """Return whether anything can be exchanged: an optimised matrix may be the identity."""
        return any(block.keep != 1 for block in self.blocks)

    def matrix(self) -> Rows:
        """Return P."""
        rows = [[Fraction(0)] * len(self.labels) for _ in self.labels]
        for block in self.blocks:
            for u in block.members:
                for v in block.members:
                    rows[u][v] = block.keep if u == v else block.move
        return tuple(map(tuple, rows))


@dataclass(frozen=True, slots=True)
class MatrixDecoder(_DecoderBase):
    """Any transition matrix, written down entry by entry: the general form.

    Attributes:
        columns: the released columns.
        released: cells, the rows.
        original: cells, the columns.
        rows: P, column-stochastic.
    """

    form: ClassVar[str] = "matrix"

    columns: tuple[str, ...]
    released: tuple[Cell, ...]
    original: tuple[Cell, ...]
    rows: Rows

    def __post_init__(self) -> None:
        if len(self.rows) != len(self.released) or any(len(row) != len(self.original) for row in self.rows):
            raise ValueError("a matrix must have a row for each released cell and an entry for each original one")

    @property
    def drawn(self) -> bool:
        """Return whether the matrix differs from the identity."""
        identity = self.released == self.original
        return not identity or any(x != (u == v) for u, row in enumerate(self.rows) for v, x in enumerate(row))

    def matrix(self) -> Rows:
        """Return P."""
        return self.rows


@dataclass(frozen=True, slots=True)
class AdditionDecoder(_DecoderBase):
    """A set of distinct values that contains the record's own.

    Attributes:
        columns: list columns; of attributes taken together the i-th entries of all lists belong together.
        labels: the cells that a set can contain.
        set_size: l.
    """

    form: ClassVar[str] = "addition"

    columns: tuple[str, ...]
    labels: tuple[Cell, ...]
    set_size: int

    @property
    def silent(self) -> bool:
        """Whether every set contains every value: no count can be estimated."""
        return self.set_size == len(self.labels)


@dataclass(frozen=True, slots=True)
class AnatomyDecoder(_DecoderBase):
    """Two tables: a record of `of` has a value with the value's share in the record's group, in `table`.

    Attributes:
        table: the table of the values.
        of: the table of the records.
        key: the column that joins both tables.
        column: the column of the values.
        count: the count of a value in a group.
        labels: the values.
        size: l.
    """

    form: ClassVar[str] = "anatomy"

    table: str
    of: str
    key: str
    column: str
    count: str
    labels: tuple[Value, ...]
    size: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column of the values."""
        return (self.column,)


@dataclass(frozen=True, slots=True)
class RecodeDecoder(_DecoderBase):
    """Generalised columns: a record counts in equal shares for every category of its label.

    Attributes:
        columns: the released columns, decoded one by one.
        released: labels of each.
        original: categories of each attribute.
        groups: for each column and each of its labels, the positions of the label's categories.
    """

    form: ClassVar[str] = "recode"

    columns: tuple[str, ...]
    released: tuple[tuple[Value, ...], ...]
    original: tuple[tuple[Value, ...], ...]
    groups: tuple[tuple[tuple[int, ...], ...], ...]

    def __post_init__(self) -> None:
        sizes = {len(self.columns), len(self.released), len(self.original), len(self.groups)}
        if len(sizes) > 1 or [len(c) for c in self.released] != [len(c) for c in self.groups]:
            raise ValueError("every column needs labels, and every label its categories")

    @property
    def drawn(self) -> bool:
        """Return False: a label is a function of the category."""
        return False


@dataclass(frozen=True, slots=True)
class WithheldDecoder(_DecoderBase):
    """A withheld matrix: its probabilities are not published, so counts cannot be corrected.

    Attributes:
        columns: the released columns.
        released: cells, the rows of the matrix.
        original: cells, its columns.
        doubly_stochastic: whether its rows add up to 1, too.
        half: whether every category is kept with a probability of at least one half.
    """

    form: ClassVar[str] = "withheld"

    columns: tuple[str, ...]
    released: tuple[Cell, ...]
    original: tuple[Cell, ...]
    doubly_stochastic: bool
    half: bool

    @property
    def square(self) -> bool:
        """Whether released categories are the original ones."""
        return self.released == self.original


Decoder: TypeAlias = (
    IdentityDecoder
    | RetentionDecoder
    | MatrixDecoder
    | AdditionDecoder
    | AnatomyDecoder
    | RecodeDecoder
    | WithheldDecoder
)
"""The way to undo an axis, or that it is withheld."""


def without_matrix(decoder: IdentityDecoder | RetentionDecoder | MatrixDecoder) -> IdentityDecoder | WithheldDecoder:
    """Return the publishable part of a decoder if matrices are withheld: an identity is unchanged."""
    if isinstance(decoder, IdentityDecoder):
        return decoder
    rows = decoder.matrix()
    if isinstance(decoder, RetentionDecoder):
        released = original = decoder.labels
    else:
        released, original = decoder.released, decoder.original
    square = released == original
    return WithheldDecoder(
        decoder.attributes,
        decoder.columns,
        released,
        original,
        doubly_stochastic=square and all(sum(row) == 1 for row in rows),
        half=square and all(2 * row[u] >= 1 for u, row in enumerate(rows)),
        unbiased=False,
    )


def label_cells(labels: Sequence[Value]) -> tuple[Cell, ...]:
    """Return the categories of one column as cells."""
    return tuple((label,) for label in labels)
