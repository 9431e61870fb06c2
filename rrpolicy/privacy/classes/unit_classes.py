"""Classes of units of several records: units agree if their records, taken together, are released equally.

An attacker knows every record of a unit, and not its number. The key of a unit is the multiset of the equivalence
classes of its records: k counts the units of one key. The values of a sensitive attribute are counted

    by record: in one class, over the records of all units of one key;
    by unit: over the units of one key, as a tuple of the values of all their records.

An attribute that is constant in every unit has one value per unit, and is counted by unit alone.

References:
    Nergiz, Clifton, Nergiz 2007, "Multirelational k-Anonymity", for all tuples of a person together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.counts import number_rows
from rrpolicy.privacy.classes.equivalence import (
    ClassColumns,
    class_columns,
    recoded_columns,
    released_codes,
    subgroup_codes,
)
from rrpolicy.privacy.classes.histograms import Classes, Histograms
from rrpolicy.source.protocol import UnitCounter

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Codes, Ints, UnitCounts
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True)
class UnitKeys:
    """The units of one number of records.

    Attributes:
        group: (kinds, records) the equivalence class of each record, non-decreasing in each row.
        cell: (kinds, records) its cell.
        n: (kinds,) units.
        key: (kinds,) the key of each, numbered over all numbers of records.
        first: the first of these numbers.
        keys: how many there are.
    """

    group: Ints
    cell: Ints
    n: Ints
    key: Ints
    first: int
    keys: int


@dataclass(frozen=True)
class UnitClasses:
    """The classes of units, by key.

    Attributes:
        units: (keys,) units of each key; with a histogram of each attribute that is constant in every unit.
        records: (pairs of a key and one of its classes,) records; with a histogram of each other attribute.
        key: (pairs,) the key of each pair.
        tuples: for each number of records a unit has, the keys of these units; with a histogram of the tuples of each
            other attribute.
        varying: the other attributes.
        single: (classes,) records of each equivalence class of records.
        fewest: the fewest units with a record in one of these; what an attacker meets who knows one record of a unit.
        keyed: the units, by number of records.
    """

    units: Classes
    records: Classes
    key: Ints
    tuples: tuple[Classes, ...]
    varying: tuple[str, ...]
    single: Ints
    fewest: int
    keyed: tuple[UnitKeys, ...]

    @classmethod
    def counted(
        cls, counted: UnitCounts, known: Sequence[Ints | Codes], held: Mask, values: Mapping[str, tuple[Ints, int]]
    ) -> UnitClasses:
        """Return the classes of units.

        Args:
            counted: the units, by the cells of their records.
            known: columns of (cells,) codes that an attacker knows.
            held: (cells,) which may hold a record of the requirement's subgroup; a function of `known`.
            values: sensitive attribute -> (cells,) its codes, and their number.
        """
        group, classes = number_rows(known, len(counted.codes))
        concerned = np.zeros(classes, dtype=bool)
        concerned[group] = held
        keyed = tuple(_keys(counted, group))
        keys = sum(part.keys for part in keyed)
        units, inside = np.zeros(keys, dtype=np.int64), np.zeros(keys, dtype=bool)
        single, present = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
        for part in keyed:
            np.add.at(units, part.key, part.n)
            np.logical_or.at(inside, part.key, concerned[part.group].any(axis=1))
            n = np.broadcast_to(part.n[:, None], part.group.shape)
            once = np.concatenate((np.ones((len(part.n), 1), bool), part.group[:, 1:] != part.group[:, :-1]), axis=1)
            np.add.at(single, part.group, n)
            np.add.at(present, part.group[once], n[once])
        varying = [
            name
            for name, (code, _) in values.items()
            if any((code[p.cell] != code[p.cell[:, :1]]).any() for p in keyed)
        ]
        constant = {
            name: Histograms.of_cells(
                np.concatenate([part.key for part in keyed]),
                np.concatenate([code[part.cell[:, 0]] for part in keyed]),
                np.concatenate([part.n for part in keyed]),
                classes=keys,
                values=width,
            )
            for name, (code, width) in values.items()
            if name not in varying
        }
        return cls(
            Classes(units, constant, inside, of="units"),
            *_by_record(keyed, concerned, inside, {name: values[name] for name in varying}),
            tuple(_by_unit(part, units, inside, {name: values[name][0] for name in varying}) for part in keyed),
            tuple(varying),
            single,
            int(present[concerned].min()) if concerned.any() else 0,
            keyed,
        )


def _varies(codes: Ints) -> bool:
    return bool((codes != codes[:, :1]).any())


def unit_classes(requirement: Requirement, channel: Product, original: Original) -> UnitClasses:
    """Return the classes of the units that a product with deterministic axes will release.

    Args:
        requirement: its `sensitive` lists the attributes to count, its `where` limits the keys concerned.
        channel: the product; no record is suppressed.
        original: the table, whose units were counted.
    """
    policy, sensitive = original.policy, requirement.protects(original.policy)
    seen = class_columns(channel, policy, sensitive)
    known = [name for axis in seen.known for name in axis.attributes] + [c.attribute for c in seen.carried]
    counted = _unit_counts(original, *known, *sensitive)
    released = released_codes(seen, counted.codes[:, : len(known)])
    values = {}
    for place, (name, axis) in enumerate(zip(sensitive, seen.sensitive, strict=True), len(known)):
        code = recoded_columns(axis, counted.codes[:, [place]])[:, 0].astype(np.int64)
        values[name] = code, len(axis.columns()[0].labels)
    return UnitClasses.counted(counted, released, _in_subgroup(seen, released, requirement, policy), values)


def fewest_units(axes: Sequence[Axis], original: Original, values: Codes) -> Ints:
    """Return (rows,) the fewest units of a key that has a record with each row of original codes.

    Args:
        axes: the deterministic axes that an attacker knows.
        original: the table, whose units were counted.
        values: (rows, attributes of the axes) rows that occur.
    """
    counted = _unit_counts(original, *(name for axis in axes for name in axis.attributes))
    released = released_codes(ClassColumns(tuple(axes), (), ()), counted.codes)
    group, _ = number_rows(released, len(counted.codes))
    fewest = np.full(len(counted.codes), np.iinfo(np.int64).max)
    for part in _keys(counted, group):
        units = np.bincount(part.key - part.first, weights=part.n, minlength=part.keys).astype(np.int64)
        np.minimum.at(fewest, part.cell, np.broadcast_to(units[part.key - part.first][:, None], part.cell.shape))
    both = [np.concatenate(pair) for pair in zip(counted.codes.T, values.T, strict=True)]
    number, distinct = number_rows(both, len(fewest) + len(values))
    found = np.ones(distinct, dtype=np.int64)
    found[number[: len(fewest)]] = fewest
    return found[number[len(fewest) :]]


def _unit_counts(original: Original, *columns: str) -> UnitCounts:
    if not isinstance(original, UnitCounter):
        raise TypeError(f"{type(original).__name__} does not read the records of a unit together")
    return original.unit_counts(*columns)


def _keys(counted: UnitCounts, group: Ints) -> Iterator[UnitKeys]:
    """Yield the keys of units, by their number of records; `group` is (cells,) the class of each cell."""
    first = 0
    for cells, n in zip(counted.members, counted.n, strict=True):
        order = np.argsort(group[cells], axis=1, kind="stable")
        cell = np.take_along_axis(cells, order, axis=1)
        number, keys = number_rows(group[cell].T, len(n))
        yield UnitKeys(group[cell], cell, n, number + first, first, keys)
        first += keys


def _in_subgroup(seen: ClassColumns, released: Sequence[Codes], requirement: Requirement, policy: Policy) -> Mask:
    """Return (cells,) which may hold a record of the requirement's subgroup, by their (cells,) released codes."""
    inside = np.ones(len(released[0]) if released else 1, dtype=bool)
    place = 0
    for axis in seen.known:
        for column, images in subgroup_codes(axis, requirement, policy).items():
            inside &= np.isin(released[place + column], images)
        place += len(axis.attributes)
    return inside


def _by_record(
    keyed: Sequence[UnitKeys], held: Mask, inside: Mask, attributes: Mapping[str, tuple[Ints, int]]
) -> tuple[Classes, Ints]:
    """Return the records of each key by equivalence class, and the key of each of these pairs."""
    key = np.concatenate([np.repeat(part.key, part.group.shape[1]) for part in keyed])
    group = np.concatenate([part.group.ravel() for part in keyed])
    cell = np.concatenate([part.cell.ravel() for part in keyed])
    n = np.concatenate([np.repeat(part.n, part.group.shape[1]) for part in keyed])
    pair, pairs = number_rows([key, group], len(key))
    sizes, concerned = np.zeros(pairs, dtype=np.int64), np.zeros(pairs, dtype=bool)
    np.add.at(sizes, pair, n)
    concerned[pair] = held[group] & inside[key]
    histograms = {
        name: Histograms.of_cells(pair, code[cell], n, classes=pairs, values=width)
        for name, (code, width) in attributes.items()
    }
    of = np.zeros(pairs, dtype=np.int64)
    of[pair] = key
    return Classes(sizes, histograms, concerned), of


def _by_unit(part: UnitKeys, units: Ints, inside: Mask, attributes: Mapping[str, Ints]) -> Classes:
    """Return the units of one number of records by key, with the tuples of values of their records."""
    own = slice(part.first, part.first + part.keys)
    histograms = {}
    for name, code in attributes.items():
        value = code[part.cell]
        width = int(value.max(initial=0)) + 1
        values = np.sort(part.group * width + value, axis=1) % width  # by class, then by value
        number, distinct = number_rows(values.T, len(values))
        histograms[name] = Histograms.of_cells(
            part.key - part.first, number, part.n, classes=part.keys, values=distinct
        )
    return Classes(units[own], histograms, inside[own], of="units")
