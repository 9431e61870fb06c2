"""The target of attacks: a written release, with the original and the channel from which it was drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Literal, Protocol, cast

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis, Channel, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.draw import distinct_row_counts
from rrpolicy.channels.product.released_counts import count_released_rows, plain_values
from rrpolicy.declarations import Role
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.privacy.epsilon.association import GROUPS

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Array, Ints
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original


MOST_ENTRIES = 1 << 22
"""The most entries of a matrix of sets and values."""


class ListedSets(Struct, frozen=True, dict=True):
    """An axis of sets with its sets listed."""

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
        """Return (sets, values) whether a set contains a value."""
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


MAX_ATTACK_CELLS = 1 << 20
"""The most cells of a joint table that an attack counts."""
TOO_LARGE = "the joint table of the attacker's knowledge has more than 1,048,576 cells"
UNLISTED = "there are too many sets, or values that are not listed"
OTHER_TABLE = "it is probably a release of another table: {}"
_HALF = 0.5  # far above rounding, below a record


class AttackTarget(Struct, frozen=True):
    """A written release, for an evaluator who has the original as well.

    `read` opens distinct rows of a released table, with a column `MULTIPLICITY`. `table` is the place of its original
    among the named tables. `unfit` is the reason for which it is probably a release of another table, and not
    attacked; "" if it fits.
    """

    name: str
    policy: Policy
    channel: Channel
    original: Original
    read: Callable[[str], AbstractContextManager[pa.RecordBatchReader]]
    series: str | None = None
    table: int = 0
    unfit: str = ""


def are_comparable(one: AttackTarget, other: AttackTarget) -> bool:
    """Return whether two releases are of one table, as far as is known."""
    return one.table == other.table and not one.unfit and not other.unfit


class ListedAxis(Transition, Protocol):
    """An axis whose released values are listed."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the original attributes."""
        ...

    @property
    def original_size(self) -> int:
        """Return the number of original categories (columns of P)."""
        ...

    def decoder(self) -> Decoder:
        """Return the decoder of the axis."""
        ...


def apply_channel(axes: Sequence[Transition], x: Array) -> Array:
    """Return P x, axis by axis; further axes of x are unchanged."""
    for place, axis in enumerate(axes):
        x = axis.forward(x, place)
    return x


class AttackCells(Struct, frozen=True, dict=True):
    """Original and released counts over some axes of a product channel, one dimension per axis."""

    axes: tuple[ListedAxis, ...]
    original: Array
    released: Array

    @cached_property
    def expected(self) -> Array:
        """Return (released sizes) P c, the expected counts."""
        return apply_channel(self.axes, self.original)

    @property
    def impossible(self) -> bool:
        """Return whether a released combination is impossible for every original, or has a wrong certain count."""
        expected = self.expected
        drawn = tuple(place for place, axis in enumerate(self.axes) if axis.decoder().drawn)
        kept = np.abs(expected.sum(axis=drawn) - self.released.sum(axis=drawn))
        return bool(((expected <= 0) & (self.released > 0)).any() or (kept > _HALF).any())


class GroupedColumn(Struct, frozen=True, eq=False):
    """An unmodified column without categories, whose distinct values have (values,) groups."""

    name: str
    attribute: str
    values: pa.Array
    group: Ints

    @property
    def size(self) -> int:
        """Return the number of groups."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def axis(self) -> ListedAxis:
        """Return its groups as an axis of an unmodified attribute."""
        return Identity.of(self.attribute, range(self.size), self.name)

    def codes(self, values: pa.Array) -> Ints:
        """Return (rows,) the group of each value; -1 for a value that is not in the table."""
        import pyarrow.compute as pc

        places = pc.index_in(values.cast(self.values.type), value_set=self.values).fill_null(-1)
        found: Ints = np.append(self.group, -1)[as_numpy(places)]
        return found


def group_column(original: Original, column: Column, most: int) -> GroupedColumn:
    """Return a carried column in a group for each of its values; of more than `most`, in groups by rank."""
    import pyarrow as pa

    table = pa.Table.from_batches(distinct_row_counts(original, [], [column.attribute]))
    values, n = plain_values(table.column(0)), as_numpy(table.column(1))
    group = np.arange(len(values))
    if len(values) > most:
        group = (np.cumsum(n) - n) * min(most, GROUPS) // original.records
    return GroupedColumn(column.name, column.attribute, values, group)


def list_axis(axis: Axis) -> ListedAxis | None:
    """Return the axis with all its released values listed; None if they cannot be listed."""
    if isinstance(axis, Sets):
        return ListedSets(axis) if can_list_sets(axis) else None
    plain = isinstance(axis, Transition) and all(column.labels for column in axis.columns())
    return cast("ListedAxis", axis) if plain else None


def can_list_axes(axis: Axis) -> bool:
    """Return whether all released values of an axis can be listed."""
    return list_axis(axis) is not None


def listed_axes(axes: Sequence[Axis]) -> tuple[ListedAxis, ...]:
    """Return the axes that can be listed, listed."""
    return tuple(each for axis in axes if (each := list_axis(axis)) is not None)


def joint_table_size(axes: Sequence[Axis]) -> int:
    """Return the cells of the larger joint table of some listed axes, the original or the released one."""
    sizes = (axis.original_size for axis in axes), (axis.released_size for axis in listed_axes(axes))
    return max(map(math.prod, sizes))


def counting_obstacle(axes: Sequence[Axis]) -> str:
    """Return why the joint table over some axes cannot be counted; "" if it can."""
    if not all(map(can_list_axes, axes)):
        return UNLISTED
    return TOO_LARGE if joint_table_size(axes) > MAX_ATTACK_CELLS else ""


def attacked_product(target: AttackTarget) -> Product:
    """Return the channel of a release that is attacked as a product."""
    assert isinstance(target.channel, Product)
    return target.channel


def sensitive_attributes(target: AttackTarget) -> Iterator[str]:
    """Yield the sensitive attributes that axes of a product channel release."""
    for attribute in target.policy.with_role(Role.SENSITIVE):
        if any(attribute.name in axis.attributes for axis in attacked_product(target).axes):
            yield attribute.name


def attribute_names(axes: Iterable[Axis]) -> str:
    """Return the attributes of some axes, in words; "" if there are none."""
    return quoted_list(name for axis in axes for name in axis.attributes)


def count_attack_cells(
    target: AttackTarget, product: Product, axes: Sequence[Axis], carried: Sequence[GroupedColumn] = ()
) -> AttackCells:
    """Count both tables over some listed axes, and carried columns before the last of them.

    Raises `RequirementError` (RR125) if the written rows cannot come from the channel for any original.
    """
    slots, found = tuple(product.axes.index(axis) for axis in axes), listed_axes(axes)
    *known, last = slots
    counted = (*known, *range(len(product.axes), len(product.axes) + len(carried)), last)
    sets = {slot: each for slot, each in zip(slots, found, strict=True) if isinstance(each, ListedSets)}
    with target.read("data") as reader:
        released = count_released_rows(product, reader, [counted], sets, carried)
    problem = released.problem
    if problem is None and released.records != target.original.records:
        problem = "the number of records differs from the original's"
    if problem is not None:
        raise RequirementError(Problem("RR125", f"{target.name}: {problem}"))
    found = (*found[:-1], *(column.axis for column in carried), found[-1])
    return AttackCells(
        found,
        _original_counts(target.original, axes, carried)
        .reshape([axis.original_size for axis in found])
        .astype(np.float64),
        released.counts[counted].reshape([each.released_size for each in found]).astype(np.float64),
    )


def _original_counts(original: Original, axes: Sequence[Axis], carried: Sequence[GroupedColumn]) -> Ints:
    """Return the original's counts over some axes, and carried columns before the last of them, flat."""
    names = [name for axis in axes for name in axis.attributes]
    if not carried:
        return original.counts(*names).dense().reshape(-1)
    *_, last = axes
    width = len(names) - len(last.attributes)
    sizes = [len(original.policy.attributes[name].domain or ()) for name in names]
    shape = (*sizes[:width], *(column.size for column in carried), *sizes[width:])
    counts = np.zeros(math.prod(shape), dtype=np.int64)
    for batch in distinct_row_counts(original, names, [column.attribute for column in carried]):
        *columns, n = batch.columns
        codes: list[Ints] = [as_numpy(each).astype(np.int64) for each in columns[: len(names)]]
        beside = [c.codes(plain_values(each)) for c, each in zip(carried, columns[len(names) :], strict=True)]
        np.add.at(counts, np.ravel_multi_index((*codes[:width], *beside, *codes[width:]), shape), as_numpy(n))
    return counts
