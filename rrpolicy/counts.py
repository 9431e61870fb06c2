"""Contingency tables: occupied cells with their counts, dense or rolled up on demand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Ints: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int32]
Array: TypeAlias = npt.NDArray[np.float64]

_DENSE = 1 << 16
"""Codes up to about here are counted in an array; wider ones are sorted."""


class Counts(Struct, frozen=True, dict=True):
    """A contingency table over categorical attributes.

    Attributes:
        attributes: names, one per axis.
        shape: the number of categories of each.
        codes: (cells, len(attributes)) occupied cells only, distinct, sorted lexicographically.
        n: (cells,) records in each; all > 0.
    """

    attributes: tuple[str, ...]
    shape: tuple[int, ...]
    codes: Codes
    n: Ints

    @property
    def size(self) -> int:
        """Return D, the number of cells of the full domain; an exact int of any size."""
        return math.prod(self.shape)

    @cached_property
    def records(self) -> int:
        """Return N."""
        return int(self.n.sum())

    @cached_property
    def flat(self) -> Ints:
        """Return (cells,) the C-order index of each occupied cell.

        Raises:
            OverflowError: if D does not fit in 63 bits.
        """
        if self.size >= 2**63:
            raise OverflowError(f"a domain of {self.size} cells has no flat index")
        index = np.zeros(len(self.n), dtype=np.int64)
        for axis, size in enumerate(self.shape):
            index = index * size + self.codes[:, axis]
        return index

    def dense(self) -> Ints:
        """Return the full array of counts, of `shape`."""
        array = np.zeros(self.size, dtype=np.int64)
        array[self.flat] = self.n
        return array.reshape(self.shape)

    def marginal(self, *attributes: str) -> Counts:
        """Return the table over some of the attributes, in the given order."""
        axes = [self.attributes.index(a) for a in attributes]
        return tabulate(attributes, tuple(self.shape[a] for a in axes), self.codes[:, axes], self.n)


def tabulate(attributes: tuple[str, ...], shape: tuple[int, ...], codes: Codes, n: Ints) -> Counts:
    """Build `Counts` from rows of codes with multiplicities: equal rows are added, empty ones dropped, rows sorted."""
    if not shape:
        return Counts((), (), np.zeros((1, 0), np.int32), np.array([int(n.sum())], np.int64))
    order = np.lexsort(codes.T[::-1])
    codes, n = codes[order], n[order]
    if len(n):
        first = np.concatenate(([True], np.any(codes[1:] != codes[:-1], axis=1)))
        starts = np.flatnonzero(first)
        codes, n = codes[starts], np.add.reduceat(n, starts)
        codes, n = codes[n > 0], n[n > 0]
    return Counts(attributes, shape, np.ascontiguousarray(codes, dtype=np.int32), n.astype(np.int64))


class UnitCounts(Struct, frozen=True):
    """The units of protection of a table by the cells of all their records.

    Attributes:
        codes: (cells, columns) occupied cells, distinct.
        members: for each number of records a unit has, (kinds, records) the cells of its records, non-decreasing in
            each row; rows are distinct.
        n: for each of `members`, (kinds,) units; all > 0.
    """

    codes: Codes
    members: tuple[Ints, ...]
    n: tuple[Ints, ...]

    @classmethod
    def of_rows(cls, columns: Sequence[Codes], n: Ints, whose: Ints | Codes) -> UnitCounts:
        """Return the counts of units.

        Args:
            columns: of codes, each (rows,).
            n: (rows,) records with these codes in that unit.
            whose: (rows,) the unit of each row, from 0.
        """
        number, distinct = number_rows(columns, len(n))
        codes = np.zeros((distinct, len(columns)), dtype=np.int32)
        for place, column in enumerate(columns):
            codes[number, place] = column
        order = np.lexsort((number, whose))
        cell, unit = np.repeat(number[order], n[order]), np.repeat(whose[order], n[order])
        starts = np.flatnonzero(np.concatenate(([True], unit[1:] != unit[:-1])))
        sizes = np.diff(np.append(starts, len(unit)))
        members, units = [], []
        for size in np.unique(sizes).tolist():
            rows = cell[starts[sizes == size][:, None] + np.arange(size)]
            kind, kinds = number_rows(rows.T, len(rows))
            each = np.zeros((kinds, size), dtype=np.int64)
            each[kind] = rows
            members.append(each)
            units.append(np.bincount(kind, minlength=kinds))
        return cls(codes, tuple(members), tuple(units))


def rank_codes(codes: Ints | Codes) -> tuple[Ints, Ints]:
    """Return the codes that occur, in order, and each entry's position among them."""
    if not len(codes) or int(codes.min()) < 0 or int(codes.max()) > _DENSE + len(codes):
        found, places = np.unique(codes, return_inverse=True)
        return found.astype(np.int64), places.astype(np.int64)
    occurs = np.bincount(codes) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[codes]


def number_rows(columns: Iterable[Ints | Codes], rows: int) -> tuple[Ints, int]:
    """Return each row's position among the distinct rows in lexicographic order, and the number of distinct rows.

    `columns`: codes >= 0, each (rows,); `rows` counts if there is no column.
    """
    number = np.zeros(rows, dtype=np.int64)
    distinct = min(rows, 1)
    for column in columns:
        found, number = rank_codes(number * (int(column.max(initial=0)) + 1) + column)
        distinct = len(found)
    return number, distinct
