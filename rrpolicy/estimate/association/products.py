"""What record weights do, given the original: the expected products of a record's weights in the cells of a table.

With w the weights of a record and S_v = E[w w' | original v], corrected counts have the covariance sum_v x_v S_v less
diag(x) for this table, and less x x' / N for the population, at any true table x: it need not be estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from rrpolicy.estimate.invert.simplex import transition
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.source.counts import Array


def products(axes: Sequence[tuple[AxisWeights, Mask | None]]) -> Array:
    """Return (cells, cells, cells): for each original cell the expected products of a record's weights.

    Args:
        axes: each axis with what its groups count, (V, groups); None for every category by itself. Of a group of
            several categories it is the mean; under retention they are all alike.

    Raises:
        PolicyError: RR278 for a form that is none of matrices or sets, RR267 where weights are not determined.
    """
    return reduce(_product_over_axes, (_of_axis(axis, targets) for axis, targets in axes), np.ones((1, 1, 1)))


def _of_axis(axis: AxisWeights, targets: Mask | None) -> Array:
    chosen = np.eye(len(axis.original), dtype=bool) if targets is None else targets
    sizes = np.maximum(chosen.sum(axis=0), 1)
    if isinstance(axis, SetWeights):
        given = _of_sets(axis)
        summed = np.einsum("vjk,jg,kh->vgh", given, chosen.astype(float), chosen.astype(float), optimize=True)
    else:
        weights = axis.table if targets is None else axis.solve(targets)
        summed = np.einsum("uv,ug,uh->vgh", transition(axis), weights, weights, optimize=True)
    return np.tensordot(chosen / sizes, summed, axes=(0, 0))


def _of_sets(axis: SetWeights) -> Array:
    """Return (S, S, S): a set holds its own value, and any one or two others with known probabilities."""
    S, chance = len(axis.original), float(axis.inclusion)
    two = chance * (axis.set_size - 2) / (S - 2) if S > 2 else 0.0  # noqa: PLR2004 - two others
    own = np.eye(S)
    alone = own + chance * (1 - own)
    # Pr(j and k in set | v): one other where j or k is v, else two others, or one where j is k
    both = np.broadcast_to(two * (1 - own) + chance * own, (S, S, S)).copy()
    for v in range(S):
        both[v, v], both[v, :, v] = alone[v], alone[v]
    held, not_held = axis.held, axis.not_held
    step = held - not_held
    return np.asarray(
        not_held**2 + not_held * step * (alone[:, :, None] + alone[:, None, :]) + step**2 * both, dtype=np.float64
    )


def _product_over_axes(first: Array, second: Array) -> Array:
    """Return the products over two axes that are randomised apart."""
    cells = first.shape[0] * second.shape[0]
    return np.asarray(np.einsum("aij,bkl->abikjl", first, second).reshape(cells, cells, cells))
