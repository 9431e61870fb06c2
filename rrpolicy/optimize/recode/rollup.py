"""Equivalence classes at every node of a generalisation lattice, rolled up from counts: rows are never read again.

A node is the level of its hierarchy at which each attribute is released. The classes of a node are the sums of the
classes of any finer one; the smallest finer table that is still in memory is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Ints

Node: TypeAlias = tuple[int, ...]
"""For each attribute the position of its level among those that may be chosen."""

_HELD = 1 << 22
"""The most cells of all tables in memory for rolling up."""
_SPARSE = 4
"""The number of cells per cell of the finer table above which a table is sorted, not spread out."""


class GeneralisationLevels(Struct, frozen=True):
    """The levels of one attribute, from the finest that may be chosen to the coarsest, with their numbers.

    `becomes` is, for each level, (size,) the group of each category, groups numbered as they first occur.
    """

    attribute: str
    becomes: tuple[Ints, ...]
    level: tuple[int, ...]

    @property
    def groups(self) -> tuple[int, ...]:
        """Return the number of groups at each level."""
        return tuple(int(b.max()) + 1 for b in self.becomes)

    def widths(self, place: int) -> Ints:
        """Return (groups,) the number of categories in each group of a level."""
        return np.bincount(self.becomes[place]).astype(np.int64)

    def between(self, finer: int, coarser: int) -> Ints:
        """Return (groups of the finer level,) the group of each at the coarser one."""
        image = np.zeros(self.groups[finer], dtype=np.int64)
        image[self.becomes[finer]] = self.becomes[coarser]
        return image


@dataclass(frozen=True)
class Joint:
    """Counts of one sensitive attribute in classes, occupied cells only.

    Attributes:
        group: (cells,) the class.
        value: (cells,) the sensitive value.
        n: (cells,) records.
        values: number of sensitive values.
    """

    group: Ints
    value: Ints
    n: Ints
    values: int

    def dense(self, classes: int) -> Ints:
        """Return (classes, values) counts."""
        flat = np.bincount(self.group * self.values + self.value, weights=self.n, minlength=classes * self.values)
        return flat.reshape(classes, self.values).astype(np.int64)

    def rolled(self, image: Ints, classes: int) -> Joint:
        """Return the counts of coarser classes.

        Args:
            image: (classes so far,) the new class of each.
            classes: number of new classes.
        """
        key = image[self.group] * self.values + self.value
        key, n = _sum_by_key(key, self.n, classes * self.values)
        return Joint(key // self.values, key % self.values, n, self.values)


@dataclass(frozen=True)
class Table:
    """The classes of one node.

    Attributes:
        node: the node of the classes.
        codes: (classes, attributes) group of each attribute.
        n: (classes,) records; all > 0, except for classes that only a population has.
        joints: one for each sensitive attribute.
    """

    node: Node
    codes: Ints
    n: Ints
    joints: tuple[Joint, ...]

    def histogram(self, which: int) -> Ints:
        """Return (classes, values) counts of a sensitive attribute."""
        return self.joints[which].dense(len(self.n))


@dataclass
class LatticeTables:
    """The tables of a lattice, made on demand from the finest node, (0, …, 0); `reference` is a population's."""

    ladders: tuple[GeneralisationLevels, ...]
    finest: Table
    reference: LatticeTables | None = None
    _held: list[Table] = field(default_factory=list)
    _nodes: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    _sizes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self._hold(self.finest)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the number of levels of each attribute."""
        return tuple(len(ladder.becomes) for ladder in self.ladders)

    @property
    def records(self) -> int:
        """Return N."""
        return int(self.finest.n.sum())

    def at(self, node: Node) -> Table:
        """Return the classes of a node."""
        finer = np.flatnonzero((self._nodes <= np.array(node, dtype=np.int64)).all(axis=1))
        source = self._held[int(finer[np.argmin(self._sizes[finer])])]
        if source.node == node:
            return source
        table = self._rolled(source, node)
        self._hold(table)
        return table

    def people(self, table: Table) -> tuple[Ints, int]:
        """Return (classes,) the people of the population in the classes of a table, and the number in none."""
        assert self.reference is not None
        theirs = self.reference.at(table.node)
        shape = [ladder.groups[place] for ladder, place in zip(self.ladders, table.node, strict=True)]
        known, found = (_row_numbers(codes, shape) for codes in (theirs.codes, table.codes))
        place = np.minimum(np.searchsorted(known, found), len(known) - 1)
        people: Ints = np.where(known[place] == found, theirs.n[place], 0)
        return people, int(theirs.n.sum() - people.sum())

    def united(self) -> tuple[Table, Ints | None]:
        """Return the finest table with the classes that only the population has, and (classes,) people in each."""
        table = self.finest
        if self.reference is None:
            return table, None
        theirs = self.reference.finest
        shape = [ladder.groups[0] for ladder in self.ladders]
        known, found = (_row_numbers(codes, shape) for codes in (table.codes, theirs.codes))
        every = np.union1d(known, found)
        records, people = np.zeros(len(every), dtype=np.int64), np.zeros(len(every), dtype=np.int64)
        image = np.searchsorted(every, known)
        records[image], people[np.searchsorted(every, found)] = table.n, theirs.n
        codes = np.stack(np.unravel_index(every, shape), axis=1) if shape else np.zeros((len(every), 0), np.int64)
        joints = tuple(replace(joint, group=image[joint.group]) for joint in table.joints)
        return Table(table.node, codes, records, joints), people

    def _rolled(self, source: Table, node: Node) -> Table:
        shape = [ladder.groups[place] for ladder, place in zip(self.ladders, node, strict=True)]
        key = np.zeros(len(source.n), dtype=np.int64)
        for number, (ladder, old, new) in enumerate(zip(self.ladders, source.node, node, strict=True)):
            codes = source.codes[:, number]
            key = key * shape[number] + (codes if old == new else ladder.between(old, new)[codes])
        cells = math.prod(shape)
        found, n = _sum_by_key(key, source.n, cells)
        if cells <= _SPARSE * len(key):
            place = np.zeros(cells, dtype=np.int64)
            place[found] = np.arange(len(found))
            image = place[key]
        else:
            image = np.searchsorted(found, key)
        codes = np.stack(np.unravel_index(found, shape), axis=1) if shape else np.zeros((len(found), 0), np.int64)
        return Table(node, codes, n, tuple(joint.rolled(image, len(found)) for joint in source.joints))

    def _hold(self, table: Table) -> None:
        """Keep a table while there is room; the finest one stays."""
        size = len(table.n) + sum(len(joint.n) for joint in table.joints)
        self._held.append(table)
        self._sizes = np.append(self._sizes, size)
        while self._sizes[1:].sum() > _HELD and len(self._held) > 2:  # noqa: PLR2004 the finest, and this one
            del self._held[1]
            self._sizes = np.delete(self._sizes, 1)
        self._nodes = np.array([t.node for t in self._held], dtype=np.int64).reshape(len(self._held), -1)


def finest_tables(
    ladders: Sequence[GeneralisationLevels],
    codes: Ints,
    n: Ints,
    joints: Sequence[tuple[Ints, Ints, Ints, int]] = (),
    reference: LatticeTables | None = None,
) -> LatticeTables:
    """Return the tables of a lattice from (cells, attributes) counts over original categories, repeated cells allowed.

    `joints` has, for each sensitive attribute, (cells, attributes) categories, (cells,) its value, (cells,) records,
    and its number of values.
    """
    shape = [ladder.groups[0] for ladder in ladders]
    if math.prod(shape) >= 1 << 62:
        raise OverflowError("the combinations of the attributes cannot be numbered")

    def key_of(rows: Ints) -> Ints:
        groups = [ladder.becomes[0][rows[:, number]] for number, ladder in enumerate(ladders)]
        return _row_numbers(np.stack(groups, axis=1) if groups else rows.astype(np.int64), shape)

    found, total = _sum_by_key(key_of(codes), n, math.prod(shape))
    tables = []
    for rows, value, count, values in joints:
        joint = Joint(np.searchsorted(found, key_of(rows)), value.astype(np.int64), count, values)
        tables.append(joint.rolled(np.arange(len(found)), len(found)))
    unpacked = np.stack(np.unravel_index(found, shape), axis=1) if shape else np.zeros((len(found), 0), np.int64)
    return LatticeTables(tuple(ladders), Table((0,) * len(ladders), unpacked, total, tuple(tables)), reference)


def _row_numbers(codes: Ints, shape: Sequence[int]) -> Ints:
    """Return one number for each row of codes, increasing with the rows' order."""
    key = np.zeros(len(codes), dtype=np.int64)
    for column, size in enumerate(shape):
        key = key * size + codes[:, column]
    return key


def _sum_by_key(key: Ints, n: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the sum of n at each; keys with sum 0 are dropped."""
    if size <= _SPARSE * len(key):
        total = np.bincount(key, weights=n, minlength=size)
        found = np.flatnonzero(total)
        return found, total[found].astype(np.int64)
    order = np.argsort(key, kind="stable")
    key, n = key[order], n[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.zeros(0, np.int64)
    found, total_n = key[starts], np.add.reduceat(n, starts) if len(key) else n
    return found[total_n > 0], total_n[total_n > 0]
