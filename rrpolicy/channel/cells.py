"""Cells with many codes: packed into as few 63-bit words as hold them, merged, and put in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rrpolicy.source.counts import Ints

_WORD = 2**62
_DENSE = 1 << 16


class Cells:
    """Counts over cells, each with one code a slot; the first slot weighs most in the order.

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
        self._room: list[int] = []
        self._place()
        self.n = n.astype(np.int64, copy=False)
        self.words = [np.zeros(len(n), dtype=np.int64) for _ in self._room]
        for (word, stride), part in zip(self._where, codes, strict=True):
            self.words[word] += part.astype(np.int64) * stride

    def _place(self) -> None:
        """Give every slot a word and a stride, from the last slot to the first."""
        words: list[tuple[int, int]] = []
        word, stride = 0, 1
        for size in reversed(self.sizes):
            if stride * size > _WORD:
                self._room.append(stride)
                word, stride = word + 1, 1
            words.append((word, stride))
            stride *= size
        self._room.append(stride)
        self._where = words[::-1]

    def __len__(self) -> int:
        return len(self.n)

    def slot(self, slot: int) -> Ints:
        """Return (cells,) the codes of a slot."""
        word, stride = self._where[slot]
        return self.words[word] // stride % self.sizes[slot]

    def replace(self, slot: int, parent: Ints, codes: Ints, n: Ints) -> None:
        """Split cells: part i is of cell parent[i], with code codes[i] in the slot and n[i] records."""
        where, stride = self._where[slot]
        change = (codes - self.slot(slot)[parent]) * stride
        self.words = [word[parent] for word in self.words]
        self.words[where] += change
        self.n = n

    def merge(self) -> None:
        """Add up equal cells and sort them."""
        if len(self.words) == 1 and self._room[0] <= 2 * len(self.n) + _DENSE:
            total = np.zeros(self._room[0], dtype=np.int64)
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
