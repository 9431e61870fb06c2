"""The groups that anatomy can make of a table, from the counts of its sensitive values only.

While l buckets are not empty, the l largest give one record each. Over many steps that is simple: some buckets are so
large that they are in every group (`above`); the others in question stay level with each other, never more than one
record apart, and take turns in random order (`level`); the rest wait until the level has fallen to them. A `Phase`
lasts until a bucket reaches the level, from above or from below; there are no more phases than buckets.

References:
    Xiao, Tao 2006, "Anatomy: Simple and Effective Privacy Preservation", figure 3; properties 1 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.frozen_dataclass import frozen


@frozen
class PartitionPhase:
    """Groups that are made in the same way.

    Attributes:
        groups: number of groups.
        above: values in every one of them.
        level: values that take turns.
        turns: number of values of `level` in each group; all, or some drawn at random.
        ahead: number of values of `level` with one record more than the others at its beginning; all, if none has.
        joins_ahead: values that reach the level from above at its beginning; they count as ahead.
        joins_behind: values that the level reaches from above.
    """

    groups: int
    above: tuple[int, ...]
    level: tuple[int, ...]
    turns: int
    ahead: int
    joins_ahead: tuple[int, ...]
    joins_behind: tuple[int, ...]


def largest_eligible(counts: Sequence[int]) -> int:
    """Return the largest l for which no value has more than N/l records; 0 for no records."""
    most = max(counts, default=0)
    return sum(counts) // most if most else 0


def groups_of(records: int, size: int) -> tuple[int, int]:
    """Return the number of groups of an eligible table, and the number of residues (property 1)."""
    return divmod(records, size)


def partition_phases(counts: Sequence[int], size: int) -> tuple[PartitionPhase, ...]:
    """Return the phases in which groups are made.

    `counts` are the records of each sensitive value, `size` is l. Raises ValueError if a value has more than N/l
    records, or there are none.
    """
    if not 1 <= size <= largest_eligible(counts):
        raise ValueError(f"no eligible anatomy for l = {size}; the largest is {largest_eligible(counts)}")
    return tuple(_Buckets(counts, size).phases())


class _Buckets:
    """The buckets while groups are made."""

    def __init__(self, counts: Sequence[int], size: int) -> None:
        occupied = sorted(((n, v) for v, n in enumerate(counts) if n), key=lambda pair: (-pair[0], pair[1]))
        self.left, _ = groups_of(sum(counts), size)
        self.size = size
        self.top = occupied[size - 1][0]
        self.above = [(n, v) for n, v in occupied if n > self.top]
        self.level = [v for n, v in occupied if self.top - 1 <= n <= self.top]
        self.below = [(n, v) for n, v in occupied if n < self.top - 1]
        first = [v for n, v in occupied if n == self.top]
        self.ahead = len(first)
        self.joined = (tuple(first), tuple(v for n, v in occupied if n == self.top - 1))

    def phases(self) -> list[PartitionPhase]:
        found = []
        while self.left:
            groups, turns = self.length(), self.size - len(self.above)
            above, level = tuple(v for _, v in self.above), tuple(self.level)
            found.append(PartitionPhase(groups, above, level, turns, self.ahead, *self.joined))
            self.advance(groups, turns)
        return found

    def length(self) -> int:
        """Number of groups that can be formed before some bucket reaches the level."""
        turns, level = self.size - len(self.above), len(self.level)
        behind = level - self.ahead
        longest = self.left
        if self.below:
            down = self.top - 1 - self.below[0][0]
            longest = min(longest, -(-(down * level - behind) // turns))
        if self.above and turns < level:
            longest = min(longest, _groups_until_level(self.above[-1][0] - self.top, behind, turns, level, longest))
        return longest

    def advance(self, groups: int, turns: int) -> None:
        """Make the groups, and add the buckets that have reached the level."""
        level = len(self.level)
        down, behind = divmod(level - self.ahead + groups * turns, level)
        self.top -= down
        self.ahead = level - behind
        self.left -= groups
        self.above = [(n - groups, v) for n, v in self.above]
        from_above = tuple(v for n, v in self.above if n == self.top)
        from_below = tuple(v for n, v in self.below if n == self.top - 1)
        self.above = [(n, v) for n, v in self.above if n != self.top]
        self.below = [(n, v) for n, v in self.below if n != self.top - 1]
        self.level += [*from_above, *from_below]
        self.ahead += len(from_above)
        self.joined = (from_above, from_below)


def _groups_until_level(gap: int, behind: int, turns: int, level: int, most: int) -> int:
    """Return the fewest groups, at most `most`, in which a bucket that is `gap` above falls to the level.

    A bucket above falls by one a group, the level by floor((behind + turns groups)/level) in all.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if middle - (behind + turns * middle) // level >= gap:
            high = middle
        else:
            low = middle + 1
    return low
