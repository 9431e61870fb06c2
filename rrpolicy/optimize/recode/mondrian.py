"""Mondrian: the domain cut into boxes, as long as every part satisfies every requirement.

A box is cut along the attribute on which it is widest (as a share of the domain); if no cut along it is allowed, along
the next one. Along an ordered attribute the most even of the allowed cuts is taken. A group of a hierarchy becomes its
parts one level below, all of them at once. A category without order or hierarchy is separated from all others or from
none. Nothing is random: ties go to the attribute that comes first, and to the lower cut.

All requirements are tested on the parts of a cut together with the rest of the table, so that comparisons with the
whole (t-closeness) use the whole release. Finally a box is narrowed to its occupied categories, which changes no
class.

References:
    LeFevre, DeWitt, Ramakrishnan 2006, "Mondrian Multidimensional k-Anonymity" (strict multidimensional partitioning).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.partition import Boxes, Cut
from rrpolicy.channels.axes.recode import ANYTHING, Recode
from rrpolicy.declarations import Role
from rrpolicy.frozen import replace
from rrpolicy.optimize.recode.levels import Recoded, columns_of
from rrpolicy.policy.model import intervals

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.optimize.recode.lattice import ClassTest
    from rrpolicy.optimize.recode.rollup import LatticeTables, Table
    from rrpolicy.policy.model import Attribute


CategoryGroup: TypeAlias = tuple[int, ...]
"""Categories of an attribute, in domain order."""
GroupParts: TypeAlias = tuple[CategoryGroup, ...]


@dataclass
class MondrianAttribute:
    """The groups of an attribute's categories, numbered in order of first use, and the ways to cut a group."""

    recoded: Recoded
    labels: dict[CategoryGroup, int] = field(default_factory=dict)

    @property
    def attribute(self) -> Attribute:
        """Return the attribute."""
        return self.recoded.attribute

    @property
    def size(self) -> int:
        """Return the number of categories."""
        return len(self.recoded.levels[0])

    @property
    def everything(self) -> CategoryGroup:
        """Return all categories."""
        return tuple(range(self.size))

    def number(self, group: CategoryGroup) -> int:
        """Return a group's number; a new group gets the next one."""
        return self.labels.setdefault(group, len(self.labels))

    @property
    def ordered(self) -> CategoryGroup:
        """Return the categories that have an order: () for a nominal attribute; never those of missing values."""
        attribute = self.attribute
        if attribute.scale == "nominal" and attribute.bins is None:
            return ()
        apart = {v for v in (attribute.nulls, attribute.outside) if v is not None}
        declared = len(attribute.bins.labels) if attribute.bins is not None else self.size
        return tuple(c for c in range(declared) if self.recoded.levels[0][c] not in apart)

    def cuts(self, group: CategoryGroup) -> Iterator[GroupParts]:
        """Yield the ways to cut a group."""
        if len(group) == 1:
            return
        order = self.ordered
        if order and set(group) <= set(order):
            for place in range(1, len(group)):
                yield group[:place], group[place:]
        elif order:
            alone = tuple((c,) for c in group if c not in order)
            yield (order, *alone) if set(order) <= set(group) else alone
        else:
            yield self.below(group)

    def around(self, group: CategoryGroup, occupied: set[int]) -> GroupParts:
        """Return a cut of a group that leaves all occupied categories in one part, as narrow as possible; or no cut.

        A range keeps the categories between its outermost occupied ones, a group of a hierarchy the part that
        contains them all, if one does.
        """
        if set(group) <= set(self.ordered):
            first, last = (group.index(c) for c in (min(occupied), max(occupied)))
            return tuple(part for part in (group[:first], group[first : last + 1], group[last + 1 :]) if part)
        for parts in self.cuts(group):
            if sum(1 for part in parts if occupied & set(part)) == 1:
                return parts
        return (group,)

    def arranged(self, used: Collection[int]) -> list[int]:
        """Return the groups by number: first the used ones, in the order of the domain, then the others."""
        groups = list(self.labels)
        return sorted(range(len(groups)), key=lambda i: (i not in used, groups[i][0], len(groups[i]), i))

    def names(self, groups: Iterable[CategoryGroup]) -> tuple[Value, ...]:
        """Return the labels of groups, in their order; on a clash with a category, the group is spelled in full."""
        taken: dict[str, CategoryGroup] = {str(category): (c,) for c, category in enumerate(self.recoded.levels[0])}
        labels: list[Value] = []
        for group in groups:
            label = self.label(group)
            if taken.setdefault(str(label), group) != group:
                label = " or ".join(str(self.recoded.levels[0][c]) for c in group)
            while taken.setdefault(str(label), group) != group:
                label = f"({label})"
            labels.append(label)
        return tuple(labels)

    def below(self, group: CategoryGroup) -> GroupParts:
        """Return the parts of a group at the highest level of the hierarchy that divides it."""
        for level in reversed(self.recoded.levels):
            parts: dict[Value, list[int]] = {}
            for code in group:
                parts.setdefault(level[code], []).append(code)
            if len(parts) > 1:
                return tuple(tuple(codes) for codes in parts.values())
        return tuple((code,) for code in group)

    def label(self, group: CategoryGroup) -> Value:
        """Return the label of a group: a category, a group of the hierarchy, a range, or `*`."""
        domain = self.recoded.levels[0]
        if len(group) == 1:
            return domain[group[0]]
        for level in self.recoded.levels[1:]:
            if tuple(c for c in range(self.size) if level[c] == level[group[0]]) == group:
                return level[group[0]]
        if len(group) == self.size:
            return ANYTHING
        bins = self.attribute.bins
        if bins is not None and domain[: len(bins.labels)] == intervals(bins.edges):
            last = str(domain[group[-1]])
            return f"{str(domain[group[0]]).partition(',')[0]},{last.partition(',')[2]}"
        return f"{domain[group[0]]} to {domain[group[-1]]}"


Box: TypeAlias = tuple[CategoryGroup, ...]
"""One group of each attribute."""


class MondrianPartition(Struct, frozen=True, dict=True):
    """A partition in the making.

    `table` has the classes of the finest domain; with a population also those that only it has, with (classes,) people.
    """

    sides: tuple[MondrianAttribute, ...]
    table: Table
    people: Ints | None
    tests: Sequence[ClassTest]

    def partition(self) -> Boxes | None:
        """Return the cuts; None if the whole table, or the parts that must be separate, fail a requirement."""
        whole = tuple(side.everything for side in self.sides)
        start = tuple(side.number(group) for side, group in zip(self.sides, whole, strict=True))
        cuts: list[Cut | None] = []
        every = tuple(range(len(whole)))
        waiting: list[tuple[Box, Ints, bool, tuple[int, ...]]] = [(whole, np.arange(len(self.table.n)), False, every)]
        while waiting:
            box, here, checked, places = waiting.pop()
            found = self._forced(box)
            if found is None:
                if not checked and not self._holds(box, here):
                    return None
                checked, found = True, self._best(box, here, places)
                if found is not None:
                    places = every
                elif (found := self._narrower(box, here)) is not None:
                    places = found[:1]  # the other attributes were tried, and the same records are in the box
            if found is None:
                cuts.append(None)
                continue
            place, parts = found
            cuts.append(Cut(place, tuple(self.sides[place].number(part) for part in parts)))
            codes = self.table.codes[here, place]
            waiting += [
                (_replace_part(box, place, part), here[np.isin(codes, part)], checked, places)
                for part in reversed(parts)
            ]
        return Boxes(start, tuple(cuts))

    def _forced(self, box: Box) -> tuple[int, GroupParts] | None:
        """Return a cut that no requirement may prevent: an attribute that is not generalised is released unmodified."""
        for place, (side, group) in enumerate(zip(self.sides, box, strict=True)):
            if side.attribute.role is not Role.QUASI_IDENTIFIER and len(group) > 1:
                return place, tuple((code,) for code in group)
        return None

    def _best(self, box: Box, here: Ints, places: Sequence[int]) -> tuple[int, GroupParts] | None:
        """Return the first allowed cut along some attributes, the widest first."""
        if len(here) < 2:  # noqa: PLR2004 - one cell cannot be cut
            return None
        for place in sorted(places, key=lambda p: (-len(box[p]) / self.sides[p].size, p)):
            n = self._by_code(self.table.n[:, None], here, place)[:, 0]
            ways = [w for w in self.sides[place].cuts(box[place]) if sum(n[list(part)].any() for part in w) > 1]
            allowed = self._allowed(box, here, place, ways) if ways else []
            best = [(max(int(n[list(part)].sum()) for part in w), i) for i, w in enumerate(ways) if allowed[i]]
            if best:
                return place, ways[min(best)[1]]
        return None

    def _narrower(self, box: Box, here: Ints) -> tuple[int, GroupParts] | None:
        """Return a cut that leaves all records and people in one part: it narrows the box and separates no two."""
        if not len(here):
            return None
        for place, (side, group) in enumerate(zip(self.sides, box, strict=True)):
            parts = side.around(group, set(self.table.codes[here, place].tolist()))
            if len(parts) > 1:
                return place, parts
        return None

    def _holds(self, box: Box, here: Ints) -> bool:
        return self._allowed(box, here, 0, [(box[0],)])[0]

    def _allowed(self, box: Box, here: Ints, place: int, ways: Sequence[GroupParts]) -> list[bool]:
        """Return, for each way to cut a box along an attribute, whether all its parts satisfy every test."""
        parts = [part for way in ways for part in way]
        fine = np.ones(len(parts), dtype=bool)
        for test in self.tests:
            dense = self._dense[test.joint]
            by_code = self._by_code(dense, here, place)
            inside = np.array([by_code[list(part)].sum(axis=0) for part in parts])
            rest = len(ways) * (self._totals[test.joint] - by_code.sum(axis=0))  # shares of the whole do not change
            mask = test.rule.holds(np.vstack([inside, rest[None, :]]))[:-1]
            if test.rule.peaks is not None:
                most = self._by_code(dense, here, place, np.maximum)
                mask = mask & test.rule.peaks(inside, np.array([most[list(part)].max(axis=0) for part in parts]))
            if test.rule.people is not None and self.people is not None:
                both = self._by_code(np.stack([self.table.n, self.people], axis=1), here, place)
                mask = mask & test.rule.people(*np.array([both[list(part)].sum(axis=0) for part in parts]).T)
            for attribute, category in test.concerned:
                mask = mask | np.array([category not in _replace_part(box, place, part)[attribute] for part in parts])
            fine &= mask
        ends = np.cumsum([len(way) for way in ways])
        return [bool(x.all()) for x in np.split(fine, ends[:-1])]

    def _by_code(self, dense: Ints, here: Ints, place: int, gather: np.ufunc = np.add) -> Ints:
        """Return (categories, values) counts of some rows by an attribute: their sums, or another aggregate."""
        out = np.zeros((self.sides[place].size, dense.shape[1]), dtype=np.int64)
        gather.at(out, self.table.codes[here, place], dense[here])
        return out

    @cached_property
    def _dense(self) -> dict[int | None, Ints]:
        joints = {test.joint for test in self.tests} - {None}
        return {None: self.table.n[:, None]} | {j: self.table.histogram(j) for j in joints if j is not None}

    @cached_property
    def _totals(self) -> dict[int | None, Ints]:
        return {joint: dense.sum(axis=0) for joint, dense in self._dense.items()}


def mondrian_partition(
    counted: LatticeTables, attributes: Sequence[Recoded], tests: Sequence[ClassTest]
) -> Recode | None:
    """Return the partition as an axis; None if even the whole table fails a requirement.

    Codes of the finest table of `counted` are those of the domains.
    """
    sides = tuple(MondrianAttribute(a) for a in attributes)
    table, people = counted.united()
    boxes = MondrianPartition(sides, table, people, tests).partition()
    if boxes is None:
        return None
    used = [set(numbers) for numbers in zip(*boxes.boxes(), strict=True)]
    orders = [side.arranged(own) for side, own in zip(sides, used, strict=True)]
    groups = [tuple(list(side.labels)[i] for i in order) for side, order in zip(sides, orders, strict=True)]
    columns = tuple(
        replace(column, labels=side.names(of_side[: len(own)]))
        for column, side, of_side, own in zip(columns_of(attributes), sides, groups, used, strict=True)
    )
    return Recode(tuple(a.domain for a in attributes), columns, tuple(groups), boxes.numbered(orders))


def _replace_part(box: Box, place: int, part: CategoryGroup) -> Box:
    return (*box[:place], part, *box[place + 1 :])
