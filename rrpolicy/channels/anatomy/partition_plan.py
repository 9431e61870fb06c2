"""The groups that anatomy can make of a table, from the counts of its sensitive values only.

While l buckets are not empty, the l largest give one record each. Over many steps that is simple: some buckets are so
large that they are in every group (`above`); the others in question stay level with each other, never more than one
record apart, and take turns in random order (`level`). The rest wait until the level has fallen to them. A `Phase`
lasts until a bucket reaches the level, from above or from below; there are no more phases than buckets.

Of two sensitive attributes, two records may share a group if they differ in both. Of records as edges between the
values of the one and of the other attribute, a group is a matching, and dealing all records into G groups a proper edge
colouring with G colours. It exists if no value has more than G records (König 1916): the condition of each attribute by
itself, with G = floor(N/l), is enough for both.

That every group has l records or more comes from the sizes. Add D_2 - l rows and D_1 - l columns to the table of counts
(D_1 and D_2 values occur), so that every row and every column adds up to G: a value's difference from G is in the added
columns or rows, and the r = N - l G records that are left over in the corner of both. A table of whole numbers with
equal sums is a sum of permutations (Birkhoff 1946), each of D_1 + D_2 - l entries. One that has z entries in the corner
has l + z of records: a group of l + z combinations that differ in both attributes.

The same counts always give the same kinds of groups; nothing is drawn here. There are no more kinds than combinations
that occur and entries that were added.

References:
    Xiao, Tao 2006, "Anatomy: Simple and Effective Privacy Preservation", figure 3; properties 1 to 3.
    König 1916, "Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre", theorem A; Birkhoff 1946,
    "Tres observaciones sobre el algebra lineal".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from rrpolicy.counts import Counts


class PartitionPhase(Struct, frozen=True):
    """Groups that are made in the same way.

    Attributes:
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
    records, or if there are no records.
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

    A bucket above falls by one per group, the level by floor((behind + turns groups)/level) in all.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if middle - (behind + turns * middle) // level >= gap:
            high = middle
        else:
            low = middle + 1
    return low


MAX_COMBINATIONS = 20_000
"""The most combinations of both domains for which kinds of groups are searched in acceptable time."""


class PairGroupKind(Struct, frozen=True):
    """Groups of the same combinations.

    Attributes:
        held: the position of each combination in the groups, in the order given.
    """

    groups: int
    held: tuple[int, ...]


def group_kinds_of_table(counts: Counts, size: int) -> tuple[PairGroupKind, ...]:
    """Return the kinds of groups of a table, whose `held` are rows of the counts; see `pair_group_kinds`."""
    return pair_group_kinds([(a, b) for a, b in counts.codes.tolist()], counts.n.tolist(), size)


def largest_pair_group_size(pairs: Sequence[tuple[int, int]], n: Sequence[int]) -> int:
    """Return the largest l for which groups exist that differ in both attributes; 0 for no records."""
    return min(largest_eligible(_value_totals([pair[side] for pair in pairs], n)) for side in (0, 1))


def pair_group_kinds(pairs: Sequence[tuple[int, int]], n: Sequence[int], size: int) -> tuple[PairGroupKind, ...]:
    """Return the kinds of groups into which records are dealt.

    `pairs` has the values of both attributes of each combination that occurs, each once; `n` the records of each, all
    > 0. Raises ValueError if a value has more than N/l records, or if there are no records.
    """
    largest = largest_pair_group_size(pairs, n)
    if not 1 <= size <= largest:
        raise ValueError(f"no groups of {size} that differ in both attributes; the largest l is {largest}")
    groups, _ = groups_of(sum(n), size)
    table = _square_table(pairs, n, size, groups)
    places = {(row, column): place for place, (row, column) in enumerate(_number_values(pairs))}
    matching = _PerfectMatching(table)
    found: list[PairGroupKind] = []
    while groups:
        columns = matching.complete()
        many = min(table[row][column] for row, column in enumerate(columns))
        entries = [places[entry] for entry in enumerate(columns) if entry in places]
        found.append(PairGroupKind(many, tuple(sorted(entries))))
        matching.take(many)
        groups -= many
    return tuple(found)


def _value_totals(values: Sequence[int], n: Sequence[int]) -> list[int]:
    found: dict[int, int] = {}
    for value, many in zip(values, n, strict=True):
        found[value] = found.get(value, 0) + many
    return list(found.values())


def _number_values(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return combinations with the values of each attribute numbered from 0, in order, without gaps."""
    numbers = [{v: i for i, v in enumerate(sorted({pair[side] for pair in pairs}))} for side in (0, 1)]
    return [(numbers[0][a], numbers[1][b]) for a, b in pairs]


def _square_table(pairs: Sequence[tuple[int, int]], n: Sequence[int], size: int, groups: int) -> list[dict[int, int]]:
    """Return the table with its added rows and columns: for each row its entries > 0 by column."""
    numbered = _number_values(pairs)
    rows, columns = (1 + max(pair[side] for pair in numbered) for side in (0, 1))
    table: list[dict[int, int]] = [{} for _ in range(rows + columns - size)]
    lack = [[groups] * rows, [groups] * columns]
    for (row, column), many in zip(numbered, n, strict=True):
        table[row][column] = many
        lack[0][row] -= many
        lack[1][column] -= many
    beside, left = _fill_lines(lack[0], rows - size, groups)
    for row, column, many in beside:
        table[row][columns + column] = many
    below, over = _fill_lines(lack[1], columns - size, groups)
    for column, row, many in below:
        table[rows + row][column] = many
    for row, column, many in _northwest_corner(over, left):
        table[rows + row][columns + column] = many
    return table


def _fill_lines(amounts: Sequence[int], lines: int, room: int) -> tuple[list[tuple[int, int, int]], list[int]]:
    """Fill lines of equal room with amounts, one after another.

    Returns (place of an amount, line, part of it on that line), and the room that each line has left.
    """
    left, found, line = [room] * lines, [], 0
    for place, amount in enumerate(amounts):
        rest = amount
        while rest:
            if not left[line]:
                line += 1
            part = min(rest, left[line])
            found.append((place, line, part))
            left[line] -= part
            rest -= part
    return found, left


def _northwest_corner(rows: Sequence[int], columns: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return entries of a table with these sums, by the northwest-corner rule."""
    found, down, across = [], list(rows), list(columns)
    row = column = 0
    while row < len(down) and column < len(across):
        part = min(down[row], across[column])
        if part:
            found.append((row, column, part))
            down[row] -= part
            across[column] -= part
        if not down[row]:
            row += 1
        else:
            column += 1
    return found


class _PerfectMatching:
    """A perfect matching of a table's rows and columns, kept while entries are used up."""

    def __init__(self, table: list[dict[int, int]]) -> None:
        self.table = table
        self.column_of: list[int | None] = [None] * len(table)
        self.row_of: dict[int, int] = {}

    def complete(self) -> list[int]:
        for row, column in enumerate(self.column_of):
            if column is None:
                self._match(row)
        return [column for column in self.column_of if column is not None]

    def take(self, many: int) -> None:
        for row, column in enumerate(self.column_of):
            assert column is not None
            self.table[row][column] -= many
            if not self.table[row][column]:
                del self.table[row][column]
                del self.row_of[column]
                self.column_of[row] = None

    def _match(self, start: int) -> None:
        """Match one more row along a shortest alternating path; one exists, as all rows and columns have equal sums."""
        came: dict[int, int] = {}
        ahead = [start]
        for row in ahead:
            for column in self.table[row]:
                if column in came:
                    continue
                came[column] = row
                if column not in self.row_of:
                    self._turn(start, column, came)
                    return
                ahead.append(self.row_of[column])
        raise AssertionError("no perfect matching was found")  # pragma: no cover - equal sums have one (König)

    def _turn(self, start: int, column: int, came: dict[int, int]) -> None:
        while True:
            row = came[column]
            before = self.column_of[row]
            self.column_of[row], self.row_of[column] = column, row
            if row == start:
                return
            assert before is not None
            column = before
