"""The target of attacks: a written release, with the original and the channel from which it was drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from rrpolicy.attacks.listed_sets import ListedSets, can_list_sets
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis, Channel, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.draw import distinct_row_counts
from rrpolicy.channels.product.released_counts import count_released_rows, plain_values
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.epsilon.association import GROUPS

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.decoders import Decoder
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Array, Ints
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Original

MAX_ATTACK_CELLS = 1 << 20
"""The most cells of a joint table that an attack counts."""
TOO_LARGE = "the joint table of what he knows has more than 1,048,576 cells"
OTHER_TABLE = "it is probably a release of another table: {}"
_HALF = 0.5  # far above rounding, below a record


@frozen
class AttackTarget:
    """A written release, for an evaluator who has the original as well.

    Attributes:
        name: as the caller named it.
        policy: resolved.
        channel: of the draw.
        original: the table.
        read: opens distinct rows of a released table, with a column `MULTIPLICITY`.
        series: that the release belongs to; None if to none.
        table: the place of its original among the tables that were named.
        unfit: why it is probably a release of another table, and not attacked; "" if it is not.
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


@frozen
class AttackCells:
    """Original and released counts over some axes of a product channel.

    Attributes:
        axes: their order is that of both arrays.
        original: (original sizes) counts.
        released: (released sizes) counts.
    """

    axes: tuple[ListedAxis, ...]
    original: Array
    released: Array

    @property
    def impossible(self) -> bool:
        """Return whether a released combination is impossible for every original, or has a wrong certain count."""
        expected = self.original
        for place, axis in enumerate(self.axes):
            expected = axis.forward(expected, place)
        drawn = tuple(place for place, axis in enumerate(self.axes) if axis.decoder().drawn)
        kept = np.abs(expected.sum(axis=drawn) - self.released.sum(axis=drawn))
        return bool(((expected <= 0) & (self.released > 0)).any() or (kept > _HALF).any())


@frozen(slots=False, eq=False)
class GroupedColumn:
    """An unmodified column without categories, in groups of values.

    Attributes:
        name: the released column.
        attribute: the original one.
        values: in the table, each once.
        group: (values,) the group of each.
    """

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
    """Return a carried column in a group for each of its values; of more than `most`, in groups by rank.

    Args:
        original: the table.
        column: the released one.
        most: number of groups.
    """
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


def joint_table_size(axes: Sequence[Axis]) -> int:
    """Return the cells of the larger joint table of some listed axes, the original or the released one."""
    found = [each for axis in axes if (each := list_axis(axis)) is not None]
    return max(math.prod(axis.original_size for axis in axes), math.prod(each.released_size for each in found))


def count_attack_cells(
    target: AttackTarget, product: Product, axes: Sequence[Axis], carried: Sequence[GroupedColumn] = ()
) -> AttackCells:
    """Count both tables over some listed axes, and carried columns before the last of them.

    Raises:
        RequirementError: RR125 if the written rows cannot come from the channel for any original.
    """
    slots = tuple(product.axes.index(axis) for axis in axes)
    found = tuple(each for axis in axes if (each := list_axis(axis)) is not None)
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
