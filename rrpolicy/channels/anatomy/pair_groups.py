"""Groups that differ in two sensitive attributes at once: the combinations of values in each.

Two records may share a group if they differ in both attributes. Of records as edges between the values of the one and
of the other attribute, a group is a matching, and dealing all records into G groups a proper edge colouring with G
colours. It exists if no value has more than G records (König 1916): the condition of each attribute by itself, with G =
floor(N/l), is enough for both.

That every group has l records or more comes from the sizes. Add D_2 - l rows and D_1 - l columns to the table of counts
(D_1 and D_2 values occur), so that every row and every column adds up to G: a value's difference from G is in the added
columns or rows, and the r = N - l G records that are left over in the corner of both. A table of whole numbers with
equal sums is a sum of permutations (Birkhoff 1946), each of D_1 + D_2 - l entries. One that has z entries in the corner
has l + z of records: a group of l + z combinations that differ in both attributes.

The same counts always give the same kinds of groups; nothing is drawn here. There are no more kinds than combinations
that occur and entries that were added.

References:
    König 1916, "Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre", theorem A; Birkhoff 1946,
    "Tres observaciones sobre el algebra lineal".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrpolicy.channels.anatomy.partition_plan import groups_of, largest_eligible
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.counts import Counts

MAX_COMBINATIONS = 20_000
"""The most combinations of both domains for which kinds of groups are searched in acceptable time."""


@frozen
class PairGroupKind:
    """Groups of the same combinations.

    Attributes:
        groups: number of groups.
        held: the place of each combination in them, in the order given.
    """

    groups: int
    held: tuple[int, ...]


def group_kinds_of_table(counts: Counts, size: int) -> tuple[PairGroupKind, ...]:
    """Return the kinds of groups of a table, whose `held` are rows of the counts; see `pair_group_kinds`.

    Args:
        counts: of both sensitive attributes, in the order of the channel.
        size: l.

    Raises:
        ValueError: likewise.
    """
    return pair_group_kinds([(a, b) for a, b in counts.codes.tolist()], counts.n.tolist(), size)


def largest_pair_group_size(pairs: Sequence[tuple[int, int]], n: Sequence[int]) -> int:
    """Return the largest l for which groups exist that differ in both attributes; 0 for no records."""
    return min(largest_eligible(_value_totals([pair[side] for pair in pairs], n)) for side in (0, 1))


def pair_group_kinds(pairs: Sequence[tuple[int, int]], n: Sequence[int], size: int) -> tuple[PairGroupKind, ...]:
    """Return the kinds of groups into which records are dealt.

    Args:
        pairs: the values of both attributes of each combination that occurs, each once.
        n: records of each; all > 0.
        size: l.

    Raises:
        ValueError: if a value has more than N/l records, or there are none.
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

    Returns:
        (place of an amount, line, part of it on that line), and the room that each line has left.
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
        """Return the column of each row, all different."""
        for row, column in enumerate(self.column_of):
            if column is None:
                self._match(row)
        return [column for column in self.column_of if column is not None]

    def take(self, many: int) -> None:
        """Subtract a number from every entry of the matching."""
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
        raise AssertionError("a table with equal sums has no perfect matching")

    def _turn(self, start: int, column: int, came: dict[int, int]) -> None:
        while True:
            row = came[column]
            before = self.column_of[row]
            self.column_of[row], self.row_of[column] = column, row
            if row == start:
                return
            assert before is not None
            column = before
