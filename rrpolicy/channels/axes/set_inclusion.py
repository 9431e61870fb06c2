"""Expectations of released sets: the number with a value, the number with two, and sums over their values.

A record with value v releases a set that contains v for certain and any other value with probability P_E =
(l-1)/(S-1), any two others with probability (l-1)(l-2)/((S-1)(S-2)): l-1 draws without replacement from S-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.sets import Sets

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Transition
    from rrpolicy.counts import Array


class SetInclusionMatrix(Struct, frozen=True):
    """Q[j, v] = Pr(the set of a record with value v contains j), applied as a transition matrix; columns sum to l."""

    axis: Sets

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return Q (or its elementwise square) applied to x along an axis."""
        other = float(self.axis.other_included) ** power
        out: Array = (1 - other) * x + other * x.sum(axis=axis, keepdims=True)
        return out


def pair_moments(axis: Sets, c: Array) -> tuple[Array, Array]:
    """Return (S, S) the expected number of sets with two values, and the variance; on the diagonal, with one value.

    `c`: (S,) records by original value.
    """
    size, drawn = axis.original_size, axis.set_size - 1
    one = float(axis.other_included)
    two = 1.0 if axis.silent else one * (drawn - 1) / (size - 2)  # S is 3 at least where not all are held
    either = c[:, None] + c[None, :]
    neither = c.sum() - either
    mean = one * either + two * neither
    variance = one * (1 - one) * either + two * (1 - two) * neither
    single = c + one * (c.sum() - c)
    np.fill_diagonal(mean, single)
    np.fill_diagonal(variance, one * (1 - one) * (c.sum() - c))
    return mean, np.maximum(variance, 0.0)


def sum_moments(axes: Sequence[Axis], place: int, c: Array, f: Array) -> tuple[float, float]:
    """Return the variance of a sum of f over the values in the sets of all records, and the range of one term.

    Given the other axes' released values and the record's own value v, the sum over a set is f_v and the sum of l-1
    draws without replacement from the others: a mean and a variance in closed form (Cochran 1977, section 2.5).

    `c` are records by original values of the axes; `f` is by released values, of the sets by their values.
    """
    axis = axes[place]
    assert isinstance(axis, Sets)
    others, drawn = axis.original_size - 1, axis.set_size - 1
    g = np.moveaxis(f, place, -1)
    total = g.sum(axis=-1, keepdims=True) - g
    squares = (g * g).sum(axis=-1, keepdims=True) - g * g
    mean = g + drawn * total / others
    variance = drawn * (others - drawn) / max(others - 1, 1) * np.maximum(squares / others - (total / others) ** 2, 0.0)
    first, second = mean, mean**2 + variance
    for number, other in enumerate(a for i, a in enumerate(axes) if i != place):
        transition = cast("Transition", other)
        first, second = transition.back(first, number), transition.back(second, number)
    spread = float((np.moveaxis(c, place, -1) * np.maximum(second - first**2, 0.0)).sum())
    ordered = np.sort(g, axis=-1)
    most, least = ordered[..., -axis.set_size :].sum(axis=-1), ordered[..., : axis.set_size].sum(axis=-1)
    return spread, float(most.max() - least.min())
