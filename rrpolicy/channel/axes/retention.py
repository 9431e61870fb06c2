"""The axis of retention-replacement: kept with some probability, else exchanged uniformly, in the domain or in blocks.

In a block of d categories the matrix is (p - q) I + q J with keep probability p and q = (1-p)/(d-1): it is applied in
O(D) along an axis of an array of D cells, its elementwise square likewise (Guo, Ying, Wu 2011, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.canonical import Json, Value, exact
from rrpolicy.channel.axes.categories import category_column
from rrpolicy.channel.axes.exchange import exchange
from rrpolicy.channel.axes.single import Single
from rrpolicy.channel.document import expect, read_column, read_list, read_object, read_probability, read_text
from rrpolicy.channel.probability import keep_probability, retention_probability
from rrpolicy.channel.table import Decoder

if TYPE_CHECKING:
    from rrpolicy.channel.sampling.streams import Stream
    from rrpolicy.source.counts import Array, Codes, Ints


@dataclass(frozen=True, slots=True)
class Block:
    """Categories that are exchanged for one another.

    Attributes:
        members: their positions in the domain, increasing.
        keep: p, the keep probability; 1 for a single member.
    """

    members: tuple[int, ...]
    keep: Fraction

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
        """Return max(p/q, q/p); None, which stands for infinity, if one of them is 0; 1 for a single member."""
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
class Retention(Single):
    """Retention-replacement of one attribute, in one block or in several between which nothing is exchanged.

    Attributes:
        blocks: a partition of the categories' positions.
    """

    kind: ClassVar[str] = "retention"
    version: ClassVar[int] = 1

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        Single.__post_init__(self)
        if sorted(m for block in self.blocks for m in block.members) != list(range(len(self.labels))):
            raise ValueError(f"the blocks of '{self.attribute}' do not hold each of its categories once")

    @classmethod
    def uniform(cls, attribute: str, labels: Sequence[Value], keep: Fraction, release_as: str | None = None) -> Self:
        """Build the axis of one block.

        Args:
            attribute: the original attribute.
            labels: its categories; with a single one `keep` is ignored, P = [1].
            keep: the keep probability p.
            release_as: the released name; the attribute's by default.
        """
        everything = tuple(range(len(labels)))
        block = Block(everything, Fraction(1) if len(labels) == 1 else keep)
        return cls(attribute, tuple(labels), category_column(attribute, labels, release_as), (block,))

    @classmethod
    def in_blocks(
        cls,
        attribute: str,
        labels: Sequence[Value],
        blocks: Sequence[tuple[Sequence[Value], Fraction]],
        release_as: str | None = None,
    ) -> Self:
        """Build the axis from blocks of categories.

        Args:
            attribute: the original attribute.
            labels: its categories.
            blocks: (categories, keep probability) of each block; the probability of a single category is ignored.
            release_as: the released name; the attribute's by default.

        Raises:
            ValueError: if the blocks do not hold each category once.
        """
        position = {(type(label), label): i for i, label in enumerate(labels)}
        if any((type(label), label) not in position for members, _ in blocks for label in members):
            raise ValueError(f"a block of '{attribute}' names a category that its domain does not hold")
        parts = tuple(
            Block(
                tuple(sorted(position[type(label), label] for label in members)),
                Fraction(1) if len(members) == 1 else keep,
            )
            for members, keep in blocks
        )
        return cls(attribute, tuple(labels), category_column(attribute, labels, release_as), parts)

    def with_retention(self, retention: Fraction) -> Self:
        """Return the axis with one retention probability in all its blocks."""
        blocks = tuple(Block(b.members, keep_probability(retention, b.size)) for b in self.blocks)
        return replace(self, blocks=blocks)

    @property
    def largest(self) -> Block:
        """Return the largest block, whose keep probability stands for the axis where the blocks share one rho."""
        return max(self.blocks, key=lambda block: block.size)

    def decoder(self) -> Decoder:
        """Return the retention form."""
        parameters: dict[str, Json] = {
            "column": self.released.name,
            "labels": list(self.labels),
            "blocks": self._blocks_json(),
        }
        return Decoder(self.attributes, "retention", parameters, unbiased=self._invertible())

    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Randomise counts exactly; see `Axis.split`."""
        from rrpolicy.channel.sampling.variates import split_by_blocks

        blocks = [(block.members, block.keep) for block in self.blocks]
        cell, released, count = split_by_blocks(codes, n, blocks, stream)
        return cell, released[:, None].astype("int32"), count

    def max_ratio(self) -> Fraction | None:
        """Return e^epsilon exactly: max(p/q, q/p); None, which stands for infinity, with two blocks or more."""
        return self.blocks[0].max_ratio() if len(self.blocks) == 1 else None

    def min_cross_ratio(self) -> Fraction:
        """Return exp(-2 epsilon) exactly, 0 where epsilon is infinite (Ikarashi et al. 2014)."""
        ratio = self.max_ratio()
        return Fraction(0) if ratio is None else 1 / ratio**2

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return the exact non-zero entries of one column of P."""
        block = next(b for b in self.blocks if code in b.members)
        entries = dict.fromkeys(block.members, block.move) | {code: block.keep}
        return {released: entry for released, entry in entries.items() if entry}

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P (or its elementwise square) applied to x along an axis, in O(x.size)."""
        parts = [(b.members, float(b.keep) ** power, float(b.move) ** power) for b in self.blocks]
        return exchange(x, axis, parts)

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T applied to x along an axis; P is symmetric."""
        return self.forward(x, axis, power)

    def to_json(self) -> Json:
        """Return `{kind, version, attribute, column, blocks}`; the categories stand in the column."""
        return {**self.described(), "blocks": self._blocks_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Json]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ValueError: if the version is unknown, the document is not of this kind, or the blocks are no partition.
        """
        expect(document, cls.kind, cls.version)
        released = read_column(document.get("column"))
        blocks = tuple(_read_block(read_object(b, "a block")) for b in read_list(document, "blocks"))
        return cls(read_text(document, "attribute"), released.labels, released, blocks)

    def _blocks_json(self) -> list[Json]:
        return [{"members": list(b.members), "keep_probability": exact(b.keep)} for b in self.blocks]

    def _invertible(self) -> bool:
        return all(b.size == 1 or b.keep != b.move for b in self.blocks)


def _read_block(document: Mapping[str, Json]) -> Block:
    members = read_list(document, "members")
    if not all(isinstance(m, int) and not isinstance(m, bool) for m in members):
        raise ValueError("the members of a block must be positions in the domain")
    return Block(tuple(m for m in members if isinstance(m, int)), read_probability(document.get("keep_probability")))
