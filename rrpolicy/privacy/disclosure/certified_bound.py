"""A certified upper bound of R_QI from occupied cells alone, for domains too wide for an optimiser.

By Jensen's inequality, for any weights w on the occupied groups that sum to 1,

    1 / sum_gamma pi[gamma] P[beta, gamma]  <=  sum_gamma w[gamma]^2 / (pi[gamma] P[beta, gamma]);

summed against P[beta, alpha]^2 and minimised over w this gives

    R_QI(alpha) <= pi[alpha] / sum_gamma pi[gamma] prod_a 1/K_a(alpha_a, gamma_a),
    K_a(x, y) = sum_u P_a[u, x]^2 / P_a[u, y]     (1 if x = y).

For retention 1/K is one number for other members of the block and 0 outside it, so that the sum over gamma is a
polynomial in marginal counts: 2^m roll-ups of the occupied cells, whatever the size of the domain. Terms may be left
out, which only raises the bound: of other matrices, and of more than a few axes, agreement alone is counted. It is
exact where nothing is randomised and where everything is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.probability import keep_probability
from rrpolicy.counts import number_rows

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.evidence import Evidence

MOST_AXES = 8
"""Axes that are rolled up; 2^8 numbers are kept a group."""
CHUNK_GROUPS = 2**11
"""Groups that are contracted at a time."""
Weights: TypeAlias = "tuple[Array, Array]"
"""Of each group's block, and of agreement, (groups,) each."""


class SparseBound:
    """The bound of one table, as a function of the retention probabilities (one in all blocks of an axis).

    The roll-ups are made once; a value costs 2^(m+1) multiply-adds an occupied group, all derivatives thrice as many.
    """

    def __init__(self, evidence: Evidence) -> None:
        """Roll the groups up by agreement and by block, in every combination; the axes may have any probabilities."""
        self.pi = evidence.n / evidence.records
        self.axes = len(evidence.axes)
        able = [i for i, a in enumerate(evidence.axes) if isinstance(a, Retention) and a.original_size > 1]
        self.rolled = sorted(sorted(able, key=lambda i: evidence.axes[i].original_size)[:MOST_AXES])
        blocks = [_axis_blocks(evidence.axes[i]) for i in self.rolled]
        self.sizes = [sizes for sizes, _ in blocks]
        self.block = [of[evidence.codes[:, i]] for i, (_, of) in zip(self.rolled, blocks, strict=True)]
        codes = evidence.codes.astype(np.int64)
        fixed = [evidence.context, *(codes[:, i] for i in range(self.axes) if i not in self.rolled)]
        exact = [codes[:, i] for i in self.rolled]
        self._sums = np.empty((*(2,) * len(self.rolled), len(self.pi)))
        for agree in product((0, 1), repeat=len(self.rolled)):
            chosen = [own if yes else block for yes, own, block in zip(agree, exact, self.block, strict=True)]
            number, _ = number_rows([*fixed, *chosen], len(self.pi))
            self._sums[agree] = np.bincount(number, weights=self.pi)[number]

    def value(self, retention: Sequence[float]) -> Array:
        """Return the bound of every group, (groups,), at retention probabilities (axes,) in [0, 1]."""
        weights = [self._weights(number, retention[i])[0] for number, i in enumerate(self.rolled)]
        total = np.empty(len(self.pi))
        for part in self._parts():
            total[part] = _contracted_sum(self._sums[..., part], _weights_of_part(weights, part))
        return self.pi / total

    def jacobian(self, retention: Sequence[float]) -> tuple[Array, ...]:
        """Return the derivatives by each axis' retention probability, (groups,) each.

        The intermediate values after each axis are stored, so that all derivatives together cost three values.
        """
        both = [self._weights(number, retention[i]) for number, i in enumerate(self.rolled)]
        slopes = [np.zeros(len(self.pi)) for _ in range(self.axes)]
        for part in self._parts():
            weights = _weights_of_part([weight for weight, _ in both], part)
            before = list(accumulate(weights, _contract_axis, initial=self._sums[..., part]))
            scale = -self.pi[part] / before[-1] ** 2
            for number, i in enumerate(self.rolled):
                (slope,) = _weights_of_part([both[number][1]], part)
                slopes[i][part] = scale * _contracted_sum(_contract_axis(before[number], slope), weights[number + 1 :])
        return tuple(slopes)

    def _weights(self, number: int, retention: float) -> tuple[Weights, Weights]:
        """Return (1/K, 1 - 1/K) of each group's block, and their derivatives."""
        kernel, slope = (x[self.block[number]] for x in cross_kernel(retention, self.sizes[number]))
        return (kernel, 1 - kernel), (slope, -slope)

    def _parts(self) -> Iterator[slice]:
        """Yield groups a part at a time, whose numbers fit in a cache."""
        return (slice(start, start + CHUNK_GROUPS) for start in range(0, len(self.pi), CHUNK_GROUPS))


def _weights_of_part(weights: Sequence[Weights], part: slice) -> list[Weights]:
    return [(block[part], agree[part]) for block, agree in weights]


def _contract_axis(sums: Array, weights: Weights) -> Array:
    """Return the remainder of (2, …, groups) sums: weight of the block + weight of agreement, if there is one."""
    block, agree = weights
    left: Array = block * sums[0]
    left += agree * sums[1]
    return left


def _contracted_sum(sums: Array, weights: Sequence[Weights]) -> Array:
    """Return sum_gamma pi[gamma] prod_a (weight of the block + weight of agreement, if gamma agrees)."""
    return reduce(_contract_axis, weights, sums)


def cross_kernel(retention: float, sizes: Array) -> tuple[Array, Array]:
    """Return 1/K of two members of each of some blocks, by their sizes, and its derivative by the retention.

    K = p^2/q + q^2/p + (d-2) q; 1/K = 0 if nothing is randomised, and for a block of one.
    """
    d = np.maximum(sizes, 2)
    p = np.array([keep_probability(retention, int(size)) for size in d])
    q = (1 - p) / (d - 1)
    above, below = p * q, p**3 + q**3 + (d - 2) * p * q**2
    p_slope, q_slope = (d - 1) / d, -1 / d
    above_slope = p_slope * q + p * q_slope
    below_slope = 3 * p**2 * p_slope + 3 * q**2 * q_slope + (d - 2) * (p_slope * q**2 + 2 * p * q * q_slope)
    several = sizes > 1
    slope = (above_slope * below - above * below_slope) / below**2
    return np.where(several, above / below, 0.0), np.where(several, slope, 0.0)


def _axis_blocks(axis: Axis) -> tuple[Array, Ints]:
    """Return (blocks,) sizes and (categories,) the block of each."""
    assert isinstance(axis, Retention)
    of = np.empty(axis.original_size, dtype=np.int64)
    for number, block in enumerate(axis.blocks):
        of[list(block.members)] = number
    return np.array([block.size for block in axis.blocks], dtype=np.float64), of
