"""The axis of retention-replacement: kept with some probability, else exchanged uniformly, in the domain or in blocks.

In a block of d categories the matrix is (p - q) I + q J with keep probability p and q = (1-p)/(d-1): it is applied in
O(D) along an axis of an array of D cells, its elementwise square likewise (Guo, Ying, Wu 2011, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.canonical import Value
from rrpolicy.channel.axes.categories import category_column
from rrpolicy.channel.axes.exchange import exchange
from rrpolicy.channel.axes.single import Single
from rrpolicy.channel.decoders import Block, RetentionDecoder
from rrpolicy.channel.probability import keep_probability

if TYPE_CHECKING:
    from rrpolicy.channel.sampling.streams import Stream
    from rrpolicy.source.counts import Array, Codes, Ints


@dataclass(frozen=True, slots=True)
class Retention(Single):
    """Retention-replacement of one attribute, in one block or in several between which nothing is exchanged.

    Attributes:
        blocks: a partition of the categories' positions.
    """

    kind: ClassVar[str] = "retention"
    version: ClassVar[int] = 1
    one_number: ClassVar[bool] = True

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
        return cls(attribute, category_column(attribute, labels, release_as), (block,))

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
        return cls(attribute, category_column(attribute, labels, release_as), parts)

    def with_retention(self, retention: Fraction) -> Self:
        """Return the axis with one retention probability in all its blocks."""
        blocks = tuple(Block(b.members, keep_probability(retention, b.size)) for b in self.blocks)
        return replace(self, blocks=blocks)

    @property
    def largest(self) -> Block:
        """Return the largest block, whose keep probability stands for the axis where the blocks share one rho."""
        return max(self.blocks, key=lambda block: block.size)

    def decoder(self) -> RetentionDecoder:
        """Return the retention form."""
        column, invertible = self.released.name, all(b.size == 1 or b.keep != b.move for b in self.blocks)
        return RetentionDecoder(self.attributes, column, self.labels, self.blocks, unbiased=invertible)

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
