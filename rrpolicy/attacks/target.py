"""What attacks are run against: a written release, with the original and the channel that it was drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channel.base import Axis, Channel, Transition
from rrpolicy.channel.product.channel import Product
from rrpolicy.channel.product.read import certain, read_released
from rrpolicy.errors import Problem, RequirementError

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.policy.model import Policy
    from rrpolicy.source.counts import Array
    from rrpolicy.source.protocol import Original

MOST_CELLS = 1 << 20
"""Cells of the largest joint table that an attack counts."""
TOO_LARGE = "the joint table of what he knows has more than 1,048,576 cells"
_HALF = 0.5  # far above rounding, below a record


@dataclass(frozen=True, slots=True)
class Target:
    """A written release, as an evaluator sees it who has the original as well.

    Attributes:
        name: as the caller named it.
        policy: resolved.
        channel: that it was drawn from.
        original: the table.
        read: opens distinct rows of a released table, with a column `MULTIPLICITY`.
        series: that the release belongs to; None if to none.
    """

    name: str
    policy: Policy
    channel: Channel
    original: Original
    read: Callable[[str], AbstractContextManager[pa.RecordBatchReader]]
    series: str | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """Original and released counts over some axes of a product channel.

    Attributes:
        axes: their order is that of both arrays.
        original: (original sizes) counts.
        released: (released sizes) counts.
    """

    axes: tuple[Transition, ...]
    original: Array
    released: Array

    @property
    def impossible(self) -> bool:
        """Whether a combination is released that no original can become, or not as often as it is with certainty."""
        expected = self.original
        for place, axis in enumerate(self.axes):
            expected = axis.forward(expected, place)
        drawn = tuple(place for place, axis in enumerate(self.axes) if not certain(cast("Axis", axis)))
        kept = np.abs(expected.sum(axis=drawn) - self.released.sum(axis=drawn))
        return bool(((expected <= 0) & (self.released > 0)).any() or (kept > _HALF).any())


def listed(axis: Axis) -> bool:
    """Return whether all that an axis releases can be listed."""
    return isinstance(axis, Transition) and all(column.labels for column in axis.columns())


def size(axes: Sequence[Axis]) -> int:
    """Return the cells of the larger joint table of some listed axes, the original or the released one."""
    released = (math.prod(len(column.labels) for column in axis.columns()) for axis in axes)
    return max(math.prod(axis.original_size for axis in axes), math.prod(released))


def cells(target: Target, product: Product, axes: Sequence[Axis]) -> Cells:
    """Count both tables over some listed axes.

    Raises:
        RequirementError: RR125 if what was written cannot come from the channel, whatever the original is.
    """
    slots = tuple(product.axes.index(axis) for axis in axes)
    with target.read("data") as reader:
        released = read_released(product, reader, [slots])
    problem = released.problem
    if problem is None and released.records != target.original.records:
        problem = "the number of records differs from the original's"
    if problem is not None:
        raise RequirementError(Problem("RR125", f"{target.name}: {problem}"))
    counts = target.original.counts(*(name for axis in axes for name in axis.attributes)).dense()
    listing = tuple(axis for axis in axes if isinstance(axis, Transition))
    shape = [math.prod(len(column.labels) for column in axis.columns()) for axis in axes]
    return Cells(
        listing,
        counts.reshape([axis.original_size for axis in axes]).astype(np.float64),
        released.counts[slots].reshape(shape).astype(np.float64),
    )
