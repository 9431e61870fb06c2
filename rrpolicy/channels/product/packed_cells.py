"""Cells with many codes: packed into as few words of 62 bits as hold them, merged, and put in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rrpolicy.counts import Ints

_WORD = 62
_DENSE = 1 << 16


class PackedCells:
    """Counts over cells, each with one code a slot; the first slot is most significant in the order.

    Attributes:
        sizes: codes of each slot lie in [0, size).
        words: each (cells,) packed codes.
        n: (cells,) records.
    """

    def __init__(self, sizes: Sequence[int], codes: Sequence[Ints], n: Ints) -> None:
        """Pack codes.

        Args:
            sizes: of the slots.
            codes: one (cells,) array a slot.
            n: (cells,) records.
        """
        self.sizes = tuple(sizes)
        self._where: list[tuple[int, int]] = []
        self._bits: list[int] = []
        self._place()
        self.n = n.astype(np.int64, copy=False)
        self.words = [np.zeros(len(n), dtype=np.int64) for _ in self._bits]
        for (word, shift), part in zip(self._where, codes, strict=True):
            self.words[word] |= part.astype(np.int64) << shift

    def _place(self) -> None:
        """Give every slot a word and the bits for its codes, from the last slot to the first."""
        places: list[tuple[int, int]] = []
        word, shift = 0, 0
        for size in reversed(self.sizes):
            bits = (size - 1).bit_length()
            if shift + bits > _WORD:
                self._bits.append(shift)
                word, shift = word + 1, 0
            places.append((word, shift))
            shift += bits
        self._bits.append(shift)
        self._where = places[::-1]

    def __len__(self) -> int:
        return len(self.n)

    def slot(self, slot: int, part: slice = slice(None)) -> Ints:
        """Return (cells,) the codes of a slot; or those of a part of the cells."""
        word, shift = self._where[slot]
        return (self.words[word][part] >> shift) & ((1 << (self.sizes[slot] - 1).bit_length()) - 1)

    def replace(self, slot: int, parent: Ints, codes: Ints, n: Ints) -> None:
        """Split cells: part i is of cell parent[i], with code codes[i] in the slot and n[i] records."""
        where, shift = self._where[slot]
        others = ~(((1 << (self.sizes[slot] - 1).bit_length()) - 1) << shift)
        self.words = [word[parent] for word in self.words]
        self.words[where] &= others
        self.words[where] |= codes.astype(np.int64) << shift
        self.n = n

    def merge(self) -> None:
        """Add up equal cells and sort them."""
        if len(self.words) == 1 and 1 << self._bits[0] <= 2 * len(self.n) + _DENSE:
            total = np.zeros(1 << self._bits[0], dtype=np.int64)
            np.add.at(total, self.words[0], self.n)
            self.words = [np.flatnonzero(total)]
            self.n = total[self.words[0]]
            return
        self.sort()
        new = np.ones(len(self.n), dtype=bool)
        new[1:] = False
        for word in self.words:
            new[1:] |= word[1:] != word[:-1]
        starts = np.flatnonzero(new)
        if len(starts) < len(self.n):
            self.words = [word[starts] for word in self.words]
            self.n = np.add.reduceat(self.n, starts)

    def sort(self) -> None:
        """Put cells in the order of their codes, the first slot first."""
        order = np.argsort(self.words[0]) if len(self.words) == 1 else np.lexsort(self.words)
        self.words = [word[order] for word in self.words]
        self.n = self.n[order]
