"""Exact laws over categories, compiled for drawing: binary trees of exact conditional probabilities, and boundaries.

Everything exact is a Python integer of any size; numpy sees only 64 binary digits at a time.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from rrpolicy.counts import Codes, Ints

WORD = 64
_ENDLESS = np.iinfo(np.int64).max
_GUIDE = 12  # digits that nearly always suffice: a search for each number would take longer

Words = npt.NDArray[np.uint64]


class DiscreteDistribution(Struct, frozen=True, dict=True):
    """A probability law: `values[i]` with probability `weights[i] / sum(weights)`.

    Attributes:
        values: distinct, the likeliest first, then by value; none has probability zero.
        weights: positive integers of any size.
    """

    values: tuple[int, ...]
    weights: tuple[int, ...]

    @classmethod
    def of(cls, column: Mapping[int, Fraction]) -> DiscreteDistribution:
        """Return the law of a matrix column. Zero entries are left out: they can never be drawn.

        Raises ValueError if an entry is negative or the column does not sum to exactly 1.
        """
        scale = math.lcm(*(f.denominator for f in column.values()))
        weights = {value: f.numerator * (scale // f.denominator) for value, f in column.items() if f}
        if sum(weights.values()) != scale or min(weights.values()) < 0:
            raise ValueError("a column of probabilities must be non-negative and sum to exactly 1")
        order = sorted(weights, key=lambda value: (-weights[value], value))
        return cls(tuple(order), tuple(weights[value] for value in order))

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """Return (0, w_1, w_1 + w_2, …, total)."""
        return tuple(accumulate(self.weights, initial=0))

    @cached_property
    def codes(self) -> Ints | Codes:
        """Return the values as an array, each in 32 bits if all fit: half as wide, they are read in half the time."""
        narrow = max(map(abs, self.values)) < np.iinfo(np.int32).max
        codes = np.array(self.values, dtype=np.int64)
        return codes.astype(np.int32) if narrow else codes

    @cached_property
    def boundaries(self) -> Words:
        """Return the first 64 binary digits of each inner boundary of the cumulative law, (len(values) - 1,)."""
        total = self.cumulative[-1]
        return np.array([(c << WORD) // total for c in self.cumulative[1:-1]], dtype=np.uint64)

    @cached_property
    def guide(self) -> Ints | Codes:
        """Return the value drawn by each first 12 digits of a word; `unsure` if these do not determine it."""
        edges = np.arange(1 << _GUIDE, dtype=np.uint64) << np.uint64(WORD - _GUIDE)
        below = np.searchsorted(self.boundaries, edges, side="left")
        after = np.append(below[1:], len(self.boundaries))
        guide = self.codes[below]
        guide[below < after] = self.unsure
        return guide

    @cached_property
    def unsure(self) -> int:
        """Return a number that is less than every value."""
        return min(self.values) - 1

    def drawn(self, words: Words) -> PartialSample:
        """Return the values of the numbers that begin with these 64 binary digits.

        `words`: (k,) the digits.
        """
        if not len(self.boundaries):
            return PartialSample(self.codes[np.zeros(len(words), np.int64)], np.zeros(0, np.int64))
        if len(words) < 1 << _GUIDE:
            values, unsure = self.codes[np.zeros(len(words), np.int64)], np.arange(len(words))
        else:
            values = self.guide[(words >> np.uint64(WORD - _GUIDE)).view(np.int64)]
            unsure = np.flatnonzero(values == self.unsure)
        place = np.searchsorted(self.boundaries, words[unsure], side="left")
        values[unsure] = self.codes[place]
        last = len(self.boundaries) - 1
        return PartialSample(values, unsure[self.boundaries[np.minimum(place, last)] == words[unsure]])


class PartialSample(Struct, frozen=True):
    """Values drawn by a law from numbers.

    Attributes:
        values: (k,) one each.
        ties: those whose digits agree with a boundary's, so that they need further digits.
    """

    values: Ints | Codes
    ties: Ints


class BinaryExpansions:
    """The binary digits of many probabilities, by exact long division.

    Attributes:
        length: (probabilities,) digits before the remainder is 0; endless if it never is.
    """

    def __init__(self, numerators: Sequence[int], denominators: Sequence[int]) -> None:
        """Start the division of each numerator by its denominator; 0 <= numerator < denominator."""
        self._remainders = list(numerators)
        self._denominators = list(denominators)
        self._digits: list[Words] = []
        self.length = np.array(
            [_expansion_length(a, b) for a, b in zip(numerators, denominators, strict=True)], dtype=np.int64
        )

    def digits(self, word: int) -> Words:
        """Return binary digits 64 word + 1 … 64 word + 64 of every probability, the first in the highest bit."""
        while len(self._digits) <= word:
            pairs = [divmod(a << WORD, b) for a, b in zip(self._remainders, self._denominators, strict=True)]
            self._remainders = [remainder for _, remainder in pairs]
            self._digits.append(np.array([quotient for quotient, _ in pairs], dtype=np.uint64))
        return self._digits[word]


def _expansion_length(a: int, b: int) -> int:
    b //= math.gcd(a, b)
    return b.bit_length() - 1 if b & (b - 1) == 0 else _ENDLESS


class SamplingTrees:
    """One binary tree a law. An inner node sends a record left with an exact conditional probability.

    The trees are cut where the two sides weigh most equally, so that a record needs few more bits than its entropy.

    Attributes:
        roots: (laws,) node of each law's root.
        left: (nodes,) node of the left side; -1 at a leaf.
        right: (nodes,) node of the right side; -1 at a leaf.
        value: (nodes,) the value at a leaf.
        chance: probability of going left, by node (0 at leaves).
    """

    def __init__(self, laws: Sequence[DiscreteDistribution]) -> None:
        self._left: list[int] = []
        self._right: list[int] = []
        self._value: list[int] = []
        self._chance: list[tuple[int, int]] = []
        self.roots: Ints = np.array([self._grow(law) for law in laws], dtype=np.int64)
        self.left: Ints = np.array(self._left, dtype=np.int64)
        self.right: Ints = np.array(self._right, dtype=np.int64)
        self.value: Ints = np.array(self._value, dtype=np.int64)
        self.chance = BinaryExpansions([a for a, _ in self._chance], [b for _, b in self._chance])

    def _grow(self, law: DiscreteDistribution) -> int:
        sums = law.cumulative
        root = self._node()
        todo = [(root, 0, len(law.values))]
        while todo:
            node, low, high = todo.pop()
            if high - low == 1:
                self._value[node] = law.values[low]
                continue
            cut = _median_split(sums, low, high)
            self._left[node], self._right[node] = self._node(), self._node()
            self._chance[node] = (sums[cut] - sums[low], sums[high] - sums[low])
            todo += [(self._left[node], low, cut), (self._right[node], cut, high)]
        return root

    def _node(self) -> int:
        self._left.append(-1)
        self._right.append(-1)
        self._value.append(-1)
        self._chance.append((0, 1))
        return len(self._left) - 1


def _median_split(sums: Sequence[int], low: int, high: int) -> int:
    """Return the inner position whose cumulative weight is nearest to the middle of [low, high]."""
    twice = sums[low] + sums[high]
    near = bisect_left(sums, -(-twice // 2), low + 1, high - 1)
    return min((c for c in (near - 1, near) if low < c < high), key=lambda c: abs(2 * sums[c] - twice))


def quantile_position(law: DiscreteDistribution, prefix: int, bits: int) -> int | None:
    """Return the position in the law of a uniform number known to `bits` binary digits; None if undetermined.

    The number lies in [prefix, prefix + 1) / 2^bits.
    """
    total = law.cumulative[-1]
    for index, (low, high) in enumerate(pairwise(law.cumulative)):
        if (low << bits) <= prefix * total and (prefix + 1) * total <= (high << bits):
            return index
    return None
