"""The derivatives of R by the retention probabilities: the analytic gradients for an optimiser.

With M the projection on block means, P = rho I + (1 - rho) M and d lambda / d rho_a = (lambda - M_a lambda)/rho_a: one
pass an axis instead of another product of m passes. The elementwise square a I + b J in a block has a similar rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.retention import Retention, apply_block_exchange
from rrpolicy.channels.base import Transition
from rrpolicy.channels.probability import keep_probability
from rrpolicy.frozen import replace
from rrpolicy.privacy.disclosure.reconstruction import ReleasedSlab

if TYPE_CHECKING:
    from fractions import Fraction

    from rrpolicy.counts import Array, Ints

TOGETHER = 2**18
"""Cells up to which the changes by several axes are carried back in one array."""
TINY = 1e-300


class FloatRetention(Struct, frozen=True):
    """A retention axis in doubles, for optimisers, without the cost of fractions.

    `keep` is p of each block, `retention` rho of the largest one.
    """

    blocks: tuple[tuple[int, ...], ...]
    keep: tuple[float, ...]
    original_size: int
    retention: float

    @classmethod
    def of(cls, axis: Retention, retention: float) -> FloatRetention:
        """Return an axis with one retention probability in all its blocks."""
        blocks = tuple(block.members for block in axis.blocks)
        keep = tuple(keep_probability(retention, len(members)) for members in blocks)
        return cls(blocks, keep, axis.original_size, retention)

    @classmethod
    def as_it_is(cls, axis: Retention) -> FloatRetention:
        """Return an axis with the probabilities that it has."""
        keep = tuple(float(block.keep) for block in axis.blocks)
        return cls(
            tuple(block.members for block in axis.blocks), keep, axis.original_size, float(axis.largest.retention)
        )

    @property
    def released_size(self) -> int:
        """Return the number of categories."""
        return self.original_size

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Refuse: doubles have no exact entries."""
        raise TypeError(f"column {code} is asked of an axis in doubles")

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P (or its elementwise square) applied to x along an axis."""
        parts = [(m, p**power, self._move(m, p) ** power) for m, p in zip(self.blocks, self.keep, strict=True)]
        return apply_block_exchange(x, axis, parts)

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T applied to x along an axis; P is symmetric."""
        return self.forward(x, axis, power)

    def released_slope(self, released: Array, along: int) -> Array:
        """Return d lambda / d rho = (lambda - M lambda)/rho."""
        return (released - self._means(released, along)) / max(self.retention, TINY)

    def square_slope(self, back: Array, along: int) -> Array:
        """Return d(P o P)/d rho applied to x, given y = (P o P) x.

        In a block, y = a x + b sum x with a = p^2 - q^2 and b = q^2, hence x from y, hence a' x + b' sum x.
        """
        own, other = np.zeros(self.original_size), np.zeros(self.original_size)
        for block, p in zip(self.blocks, self.keep, strict=True):
            d = len(block)
            if d == 1:
                continue
            q = self._move(block, p)
            a, b = (p - q) * (p + q), q * q
            a_slope, b_slope = 2 * (p * (d - 1) + q) / d, -2 * q / d
            ratio = a_slope / max(a, TINY)
            own[list(block)] = ratio
            other[list(block)] = d * (b_slope - ratio * b) / (a + d * b)
        shape = [1] * back.ndim
        shape[along] = self.original_size
        slope: Array = own.reshape(shape) * back
        slope += other.reshape(shape) * self._means(back, along)
        return slope

    def _means(self, x: Array, along: int) -> Array:
        """Return the block means, M x; they broadcast where there is one block."""
        if len(self.blocks) == 1:
            mean: Array = np.add.reduce(x, axis=along, keepdims=True) / self.original_size
            return mean
        return apply_block_exchange(x, along, [(m, 1 / len(m), 1 / len(m)) for m in self.blocks])

    @staticmethod
    def _move(block: tuple[int, ...], keep: float) -> float:
        return (1 - keep) / (len(block) - 1) if len(block) > 1 else 0.0


MovableAxis: TypeAlias = Transition | FloatRetention


class ValueWithGradient(Struct, frozen=True):
    """Values with their derivatives by the retention probability of each axis (0 for axes without one)."""

    value: Array
    slope: tuple[Array, ...]


def reconstruction_gradient(
    pi: Array, geometry: Iterable[ReleasedSlab], axes: Sequence[MovableAxis], *, slope: bool = True
) -> ValueWithGradient:
    """Return R_QI of every group and its derivatives, from (groups,) shares and slabs that span every axis.

    `axes`: the randomised axes in their new place; `slope`: whether derivatives are needed.
    """
    value = 1 / pi
    slopes = tuple(np.zeros(len(pi)) for _ in axes) if slope else ()
    variable = [(i, a) for i, a in enumerate(axes) if slope and isinstance(a, FloatRetention)]
    for place in geometry:
        slab = replace(place, inside=tuple(axes))
        released = slab.forward(slab.scatter(pi))
        inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
        back = slab.back(inverse.copy(), 2)
        value[slab.groups] = slab.at_groups(back)
        step = max(1, TOGETHER // math.prod(slab.shape))
        for start in range(0, len(variable), step):
            part = variable[start : start + step]
            falls = inverse * inverse
            changes = [falls * axis.released_slope(released, number + 1) for number, axis in part]
            carried = slab.back(np.concatenate(changes), 2) if len(changes) > 1 else slab.back(changes[0], 2)
            for (number, axis), total in zip(part, np.split(carried, len(part)), strict=True):
                slopes[number][slab.groups] = slab.at_groups(axis.square_slope(back, number + 1) - total)
    return ValueWithGradient(pi * value, tuple(pi * s for s in slopes))


def sensitive_gradient(
    shares: Array, axis: MovableAxis, part: Ints | None = None, *, slope: bool = True
) -> ValueWithGradient:
    """Return R_S(u | alpha), (groups, values), and its derivative by the retention probability of the moved axis.

    Rows of the (groups, categories) shares sum to 1. `part` is (categories,) the value of an attribute that the axis
    releases with others; None if the axis is only of the attribute.
    """
    released = axis.forward(shares, 1)
    inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
    moved = axis if slope and isinstance(axis, FloatRetention) else None
    if part is None:
        back = axis.back(inverse, 1, 2)
        if moved is None:
            return ValueWithGradient(shares * back, ())
        change = moved.back(moved.released_slope(released, 1) * inverse**2, 1, 2)
        return ValueWithGradient(shares * back, (shares * (moved.square_slope(back, 1) - change),))
    values = int(part.max()) + 1
    value, slopes = np.zeros((len(shares), values)), np.zeros((len(shares), values))
    falls = released if moved is None else moved.released_slope(released, 1) * inverse
    for u in range(values):
        mine = np.where(part == u, shares, 0.0)
        share = mine.sum(axis=1)
        own = axis.forward(mine, 1)
        read = own * inverse
        np.divide((own * read).sum(axis=1), share, out=value[:, u], where=share > 0)
        if moved is not None:
            change = (read * (2 * moved.released_slope(own, 1) - own * falls)).sum(axis=1)
            np.divide(change, share, out=slopes[:, u], where=share > 0)
    return ValueWithGradient(value, () if moved is None else (slopes,))
