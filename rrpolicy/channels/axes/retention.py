"""The axis of retention-replacement: kept with some probability, else exchanged uniformly, in the domain or in blocks.

In a block of d categories the matrix is (p - q) I + q J with keep probability p and q = (1-p)/(d-1): it is applied in
O(D) along an axis of an array of D cells, its elementwise square likewise (Guo, Ying, Wu 2011, section 3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress, product
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.categories import Domain, Several, category_column, cells_of
from rrpolicy.channels.decoders import Block, RetentionDecoder
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Codes, Ints


def apply_block_exchange(x: Array, axis: int, parts: Sequence[tuple[Sequence[int], float, float]]) -> Array:
    """Return (p - q) I + q J applied along an axis of an array, block by block; x is not changed.

    No sum of parts of unequal sign if p >= q, so that zeros stay 0; below, the matrix is written out.

    `parts` has (positions, p, q) of each block.
    """
    import numpy as np

    if len(parts) == 1 and parts[0][1] >= parts[0][2]:
        ((_, p, q),) = parts
        total: Array = x.sum(axis=axis, keepdims=True)
        total = q * total
        out: Array = (p - q) * x
        out += total
        return out
    moved = np.moveaxis(np.asarray(x, dtype=np.float64), axis, 0)
    released = np.empty_like(moved)
    for members, p, q in parts:
        part = moved[list(members)]
        if p >= q:
            total = q * part.sum(axis=0)
            part *= p - q
            part += total
        else:
            matrix = np.full((len(members), len(members)), q)
            np.fill_diagonal(matrix, p)
            part = np.tensordot(matrix, part, axes=1)
        released[list(members)] = part
    return np.moveaxis(released, 0, axis)


@dataclass(frozen=True, slots=True)
class Retention(Several):
    """Retention-replacement of one attribute, or of several as one, whose combinations are then kept or exchanged.

    Values are exchanged in one block, or in several blocks but never between them. Of attributes together, each is by
    itself kept with the retention probability of their combinations, as long as there is one block.

    Attributes:
        original: the attributes.
        released: the released columns, one for each attribute, with its categories as labels.
        blocks: a partition of the categories' positions; of combinations, in the C-order product of the domains.
    """

    kind: ClassVar[str] = "retention"
    version: ClassVar[int] = 1
    one_number: ClassVar[bool] = True

    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        Several.__post_init__(self)
        for domain, column in zip(self.original, self.released, strict=True):
            if column.labels != domain.labels:
                raise ValueError(f"'{column.name}' must contain the categories of '{domain.attribute}'")
        if sorted(m for block in self.blocks for m in block.members) != list(range(self.original_size)):
            raise ValueError(f"the blocks of {', '.join(self.attributes)} do not contain each of its categories once")

    @classmethod
    def uniform(cls, attribute: str, labels: Sequence[Value], keep: Fraction, release_as: str | None = None) -> Self:
        """Build the axis of one block.

        Args:
            attribute: the original attribute.
            labels: its categories; with a single one `keep` is ignored, P = [1].
            keep: the keep probability p.
            release_as: the released name; the attribute's by default.
        """
        return cls.of([Domain(attribute, tuple(labels))], [(range(len(labels)), keep)], [release_as])

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
            ValueError: if the blocks do not contain each category once.
        """
        position = {(type(label), label): i for i, label in enumerate(labels)}
        if any((type(label), label) not in position for members, _ in blocks for label in members):
            raise ValueError(f"a block of '{attribute}' contains a category that is not in its domain")
        parts = [([position[type(label), label] for label in members], keep) for members, keep in blocks]
        return cls.of([Domain(attribute, tuple(labels))], parts, [release_as])

    @classmethod
    def of(
        cls,
        domains: Sequence[Domain],
        blocks: Sequence[tuple[Sequence[int], Fraction]],
        release_as: Sequence[str | None] | None = None,
    ) -> Self:
        """Build the axis of an attribute, or of several that are randomised as one.

        Args:
            domains: domains of the attributes.
            blocks: (positions, keep probability) of each block, positions in the C-order product of the domains; the
                probability of a single category, or combination, is ignored.
            release_as: the released names; the attributes' by default.

        Raises:
            ValueError: if the blocks do not contain each position once.
        """
        names = release_as or [None] * len(domains)
        columns = tuple(category_column(d.attribute, d.labels, n) for d, n in zip(domains, names, strict=True))
        parts = tuple(Block(tuple(sorted(m)), Fraction(1) if len(m) == 1 else keep) for m, keep in blocks)
        return cls(tuple(domains), columns, parts)

    def with_retention(self, retention: Fraction) -> Self:
        """Return the axis with one retention probability in all its blocks."""
        blocks = tuple(Block.of(retention, b.members) for b in self.blocks)
        return replace(self, blocks=blocks)

    @property
    def largest(self) -> Block:
        """Return the largest block, whose keep probability represents the axis if the blocks share one rho."""
        return max(self.blocks, key=lambda block: block.size)

    def sizes_in(self, attributes: Collection[str]) -> tuple[int, ...] | None:
        """Return the number of cells of a marginal that contain the categories of each block, equally many in each.

        A block is exchanged among these cells as among its categories, with the same retention probability.

        Args:
            attributes: attributes of the marginal; at least one belongs to the axis.

        Returns:
            None if one cell contains more categories of a block than another.
        """
        if set(self.attributes) <= set(attributes):
            return tuple(block.size for block in self.blocks)
        cells = list(product(*(range(len(d.labels)) for d in self.original)))
        kept = [d.attribute in attributes for d in self.original]
        sizes = []
        for block in self.blocks:
            lying = Counter(tuple(compress(cells[m], kept)) for m in block.members)
            if len(set(lying.values())) > 1:
                return None
            sizes.append(len(lying))
        return tuple(sizes)

    def decoder(self) -> RetentionDecoder:
        """Return the retention form."""
        columns, cells = tuple(c.name for c in self.released), cells_of([d.labels for d in self.original])
        invertible = all(b.size == 1 or b.keep != b.move for b in self.blocks)
        return RetentionDecoder(self.attributes, columns, cells, self.blocks, unbiased=invertible)

    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Randomise counts exactly; see `Axis.split`."""
        from rrpolicy.channels.sampling.variates import split_by_blocks

        blocks = [(block.members, block.keep) for block in self.blocks]
        cell, flat, count = split_by_blocks(codes, n, blocks, stream)
        return cell, self.unravelled(flat), count

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: domains and probabilities are described, no count."""
        return ()

    def max_ratio(self) -> Fraction | None:
        """Return e^epsilon exactly: max(p/q, q/p); None, for infinity, with two blocks or more."""
        return self.blocks[0].max_ratio() if len(self.blocks) == 1 else None

    def min_cross_ratio(self) -> Fraction:
        """Return exp(-2 epsilon) exactly, 0 if epsilon is infinite (Ikarashi et al. 2014)."""
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
        return apply_block_exchange(x, axis, parts)

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T applied to x along an axis; P is symmetric."""
        return self.forward(x, axis, power)
