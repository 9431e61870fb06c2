"""Sets of l values as one released value each, if there are few: an axis of sets is then a matrix like any other.

Of S values there are C(S, l) sets, in the order of their members. A record of value u releases each of the sets that
hold u with the same chance, 1 / C(S-1, l-1).

References:
    Sei, Ohsuga, section III, for the randomised addition of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Literal

import numpy as np

from rrpolicy.channels.axes.sets import Sets
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.counts import Array, Ints

MOST_ENTRIES = 1 << 22
"""The most entries of a matrix of sets and values."""


@frozen(slots=False)
class ListedSets:
    """An axis of sets with its sets listed.

    Attributes:
        sets: the axis.
    """

    sets: Sets

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes that are released together."""
        return self.sets.attributes

    @property
    def original_size(self) -> int:
        """Return the number of values, S."""
        return self.sets.original_size

    @property
    def released_size(self) -> int:
        """Return the number of sets."""
        return comb(self.original_size, self.sets.set_size)

    @cached_property
    def holds(self) -> Array:
        """Return (sets, values) whether a set holds a value."""
        members = np.array(list(combinations(range(self.original_size), self.sets.set_size)), dtype=np.int64)
        held = np.zeros((self.released_size, self.original_size))
        np.put_along_axis(held, members, 1.0, axis=1)
        return held

    def decoder(self) -> Decoder:
        """Return the decoder of the axis."""
        return self.sets.decoder()

    def rank(self, members: Ints) -> Ints:
        """Return (records,) the position of each set in the list, of its (records, l) ascending members."""
        size, drawn = self.original_size, self.sets.set_size
        rank = np.zeros(len(members), dtype=np.int64)
        before = np.zeros(len(members), dtype=np.int64)
        for place in range(drawn):  # sets that agree so far, and whose next member is smaller
            smaller = [comb(size - 1 - value, drawn - 1 - place) for value in range(size)]
            passed = np.concatenate(([0], np.cumsum(smaller)))
            rank += passed[members[:, place]] - passed[before]
            before = members[:, place] + 1
        return rank

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return the sets that a value releases, each with its chance."""
        chance = Fraction(1, comb(self.original_size - 1, self.sets.set_size - 1))
        return dict.fromkeys(np.flatnonzero(self.holds[:, code]).tolist(), chance)

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P (or its elementwise square) applied to x along an axis."""
        return self._applied(self.holds, x, axis, power)

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T (or its elementwise square) applied to x along an axis."""
        return self._applied(self.holds.T, x, axis, power)

    def _applied(self, matrix: Array, x: Array, axis: int, power: int) -> Array:
        chance = 1 / comb(self.original_size - 1, self.sets.set_size - 1)
        found: Array = np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis) * chance**power
        return found


def can_list_sets(sets: Sets) -> bool:
    """Return whether the sets of an axis are few enough to be listed."""
    return comb(sets.original_size, sets.set_size) * sets.original_size <= MOST_ENTRIES
