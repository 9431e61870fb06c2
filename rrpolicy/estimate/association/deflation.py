"""A two-way table without the association that randomisation alone puts into its estimate.

Estimation errors look like association: on average chi-square, mutual information and functions of them are larger
at the moment estimate q than at the true shares p. With the residuals e = q - r c of the estimated margins r and c,

    Var(e_ij) = (E[(W_i - r_i)^2 (V_j - c_j)^2] - E[(1_i - r_i)^2 (1_j - c_j)^2])/N

for record weights W of the rows and V of the columns, unbiased and independent given the record; the first expectation
is a mean over released records, the second one over original ones, estimated. Of a table whose residuals have the mean
square t r_i c_j, those of the estimate have t r_i c_j + Var(e_ij): t is their maximum likelihood, 0 or more, if they
are normal. The deflated table is

    r_i c_j + e_ij (t r_i c_j / (t r_i c_j + Var(e_ij)))^(1/2)

so that its residuals have the mean square of the true ones, cell by cell: well known cells hardly change, and those
that are all noise go to independence. Cells without a variance are known: t is not estimated from them. Every measure
of association is taken there.

It is not unbiased: an association of 0 is estimated above 0, and where all is noise association is lost.
docs/reference/utility.md has its accuracy.

References:
    Louis 1984, "Estimating a Population of Parameter Values Using Bayes and Empirical Bayes Methods" (estimates that
    have the spread of what they estimate); Chaudhuri, Mukerjee 1988, chapter 3, for the variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import AxisWeights, Mask

    Grouped: TypeAlias = tuple[AxisWeights, Mask | None]
    """An axis, and the original cells that each group counts; None for each by itself."""

ROUNDS = 200
CLOSE = 1e-10
"""The likelihood equation is iterated at most `ROUNDS` times, and until t changes by no more, relative to itself."""
LEAST = 1e-150
"""The least variance whose square is divided by: a smaller one has a square that is 0 in doubles."""


def deflate_table(counted: Array, row: Grouped, column: Grouped) -> Array:
    """Return (rows, columns) shares, in sum about 1, of records by the cells of both axes; some may be negative."""
    return _shrink_residuals(*residuals(counted, row, column))


def deflate_coupled_table(counted: Array, axis: Grouped, shape: tuple[int, int]) -> Array:
    """Deflate a table of two attributes that one listed matrix randomises together.

    With weights W_ij of their combinations in the place of products W_i V_j

        Var(e_ij) = (E[(W_ij - r_i W_.j - c_j W_i. + r_i c_j)^2] - E[(1_i - r_i)^2 (1_j - c_j)^2])/N.

    `counted` has (released cells,) records, and the axis counts the cells of `shape` in C order.
    """
    return _shrink_residuals(*coupled_residuals(counted, axis, shape))


def _shrink_residuals(independent: Array, residual: Array, variance: Array) -> Array:
    held, uncertain = independent > 0, variance > 0
    spread = np.zeros(independent.shape)
    estimated = held & uncertain
    if estimated.any():
        t = _mean_square(independent[estimated], residual[estimated], variance[estimated])
        spread[held] = t * independent[held]
    share = np.sqrt(np.divide(spread, spread + variance, out=np.ones_like(spread), where=uncertain))
    return np.asarray(independent + share * residual)


def residuals(counted: Array, row: Grouped, column: Grouped) -> tuple[Array, Array, Array]:
    """Return (rows, columns) the product of the margins, the estimate less it, and the variance of the difference."""
    axes = (row, column)
    records = float(_total(_total(counted, column, 1), row, 0).item())
    q = counted
    for place, (axis, targets) in enumerate(axes):
        q = axis.contract(q, place, targets, 1)
    q = q / records
    margins = (q.sum(axis=1), q.sum(axis=0))
    drawn, given = (_squares(counted, axes, margins, given=given) for given in (False, True))
    independent = np.outer(*margins)
    return independent, q - independent, np.maximum(drawn - given, 0.0) / records**2


def coupled_residuals(counted: Array, axis: Grouped, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Return the same as `residuals`, with the arguments of `deflate_coupled_table`."""
    records = float(counted.sum())
    weights = axis[0].factors(axis[1]).reshape(-1, *shape)
    q = np.tensordot(counted, weights, axes=1) / records
    r, c = q.sum(axis=1), q.sum(axis=0)
    independent = np.outer(r, c)
    centred = weights - r[:, None] * weights.sum(axis=1)[:, None, :] - c * weights.sum(axis=2)[:, :, None] + independent
    rows, columns = (np.where(np.eye(len(m), dtype=bool), (1 - m)[:, None], m[:, None]) ** 2 for m in (r, c))
    variance = np.tensordot(counted, centred**2, axes=1) / records - rows @ q @ columns.T
    return independent, q - independent, np.maximum(variance, 0.0) / records


def _mean_square(independent: Array, residual: Array, variance: Array) -> float:
    """Return t, the root of sum w (e^2 - Var - t r c) with w = r c/(t r c + Var)^2; 0 if no root is positive.

    Only cells with a positive variance count: the others are known, and would make t the mean square of roundings.
    """
    t = float((residual**2 / independent).mean())
    for _ in range(ROUNDS):
        weight = independent / np.maximum(t * independent + variance, LEAST) ** 2
        found = max(float((weight * (residual**2 - variance)).sum() / (weight * independent).sum()), 0.0)
        if abs(found - t) <= CLOSE * t:
            break
        t = (t + found) / 2
    return t


def _total(x: Array, axis: Grouped, place: int) -> Array:
    """Return sums of records along one dimension, which keeps one place."""
    return axis[0].contract(x, place, np.ones((len(axis[0].original), 1), dtype=bool), 1)


def _squares(x: Array, axes: Sequence[Grouped], margins: Sequence[Array], *, given: bool) -> Array:
    """Return sums over records of products of (W - margin)^2, or of their expectations given the original record."""
    for place, (grouped, margin) in enumerate(zip(axes, margins, strict=True)):
        axis, targets = grouped
        m = np.moveaxis(np.expand_dims(margin, tuple(range(1, x.ndim))), 0, place)
        estimates, total = axis.contract(x, place, targets, 1), _total(x, grouped, place)
        if given and axis.unbiased:
            x = (1 - 2 * m) * estimates + m**2 * total
        else:  # nothing is drawn where it is biased: a weight is its own expectation
            x = axis.contract(x, place, targets, 2) - 2 * m * estimates + m**2 * total
    return x
