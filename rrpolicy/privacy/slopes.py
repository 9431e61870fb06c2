"""How R changes with the retention probabilities: the analytic gradients that an optimiser follows.

With M the projection on block means, P = rho I + (1 - rho) M and d lambda / d rho_a = (lambda - M_a lambda)/rho_a: one
pass an axis where another product of m passes would stand. The elementwise square a I + b J in a block has a like rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard, cast

import numpy as np

from rrpolicy.channel.probability import keep_probability
from rrpolicy.channel.retention import Block, Retention
from rrpolicy.privacy.reconstruction import slabs

if TYPE_CHECKING:
    from rrpolicy.channel.base import Axis
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.counts import Array


@dataclass(frozen=True, slots=True)
class Sloped:
    """Values with their derivatives by the retention probability of each axis (0 for axes without one)."""

    value: Array
    slope: tuple[Array, ...]


def variable(axis: Axis) -> TypeGuard[Retention]:
    """Whether an axis has a retention probability to look for."""
    return isinstance(axis, Retention)


def retained(axis: Retention, retention: float) -> Retention:
    """Return the axis with one retention probability in all its blocks."""
    rho = Fraction(retention)
    blocks = tuple(Block(b.members, keep_probability(rho, b.size)) for b in axis.blocks)
    return replace(axis, blocks=blocks)


def retention_of(axis: Retention) -> float:
    """Return the retention probability of the largest block."""
    return float(max(axis.blocks, key=lambda b: b.size).retention)


def sloped_reconstruction(evidence: Evidence) -> Sloped:
    """Return R_QI of every group and its derivatives; for domains that fit into one slab a context.

    Raises:
        OverflowError: if the domain is too wide; see `rrpolicy.privacy.bound`.
    """
    pi = evidence.n / evidence.records
    value = np.zeros(len(pi))
    slope = [np.zeros(len(pi)) for _ in evidence.axes]
    for slab in slabs(evidence):
        if len(slab.inside) < len(evidence.axes):
            raise OverflowError("the domain is too wide for exact gradients")
        released = slab.forward(slab.scatter(pi[slab.groups]))
        inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
        back = slab.back(inverse, 2)
        value[slab.groups] = slab.at_groups(back)
        for number, axis in enumerate(evidence.axes):
            if variable(axis):
                change = _released_slope(axis, released, number + 1)
                change *= -(inverse**2)
                total = slab.back(change, 2) + _square_slope(axis, back, number + 1)
                slope[number][slab.groups] = slab.at_groups(total)
    return Sloped(pi * value, tuple(pi * s for s in slope))


def sloped_sensitive(shares: Array, axis: Axis, *, slope: bool = True) -> Sloped:
    """Return R_S(u | alpha), (groups, categories), and its derivative by the axis' retention probability.

    Args:
        shares: (groups, categories) c, rows sum to 1.
        axis: of the sensitive attribute.
        slope: whether the derivative is wanted.
    """
    transition = cast("Retention", axis)
    released = transition.forward(shares, 1)
    inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
    back = transition.back(inverse, 1, 2)
    if not slope or not variable(axis):
        return Sloped(shares * back, ())
    change = transition.back(-_released_slope(transition, released, 1) * inverse**2, 1, 2)
    return Sloped(shares * back, (shares * (change + _square_slope(transition, back, 1)),))


def _means(axis: Retention, x: Array, along: int) -> Array:
    """Return the block means, M x: retention-replacement that retains nothing."""
    return retained(axis, 0.0).forward(x, along)


def _released_slope(axis: Retention, released: Array, along: int) -> Array:
    """Return d lambda / d rho."""
    return (released - _means(axis, released, along)) / retention_of(axis)


def _square_slope(axis: Retention, back: Array, along: int) -> Array:
    """Return d(P o P)/d rho applied to x, given y = (P o P) x."""
    own, other = np.zeros(axis.original_size), np.zeros(axis.original_size)
    for block in axis.blocks:
        if block.size == 1:
            continue
        d, p, q = block.size, float(block.keep), float(block.move)
        a, b = (p - q) * (p + q), q * q
        a_slope, b_slope = 2 * (p * (d - 1) + q) / d, -2 * q / d
        ratio = a_slope / a
        members = list(block.members)
        own[members] = ratio
        other[members] = d * (b_slope - ratio * b) / (a + d * b)
    shape = [1] * back.ndim
    shape[along] = len(own)
    return own.reshape(shape) * back + other.reshape(shape) * _means(axis, back, along)


def by_keep(axes: Sequence[Axis], columns: Sequence[Array]) -> list[Array]:
    """Return derivatives by the keep probability of the largest block, of those axes that have one."""
    found = []
    for axis, column in zip(axes, columns, strict=True):
        if variable(axis):
            d = max(b.size for b in axis.blocks)
            found.append(column * (d / (d - 1) if d > 1 else 0.0))
    return found
