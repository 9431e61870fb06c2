"""A two-way table without the association that randomisation alone puts into its estimate.

Estimation errors look like association: chi-square, mutual information and what is made of them are larger, on average,
at the moment estimate q than at the true shares p. With the residuals e = q - r c of the estimated margins r and c,

    Var(e_ij) = (E[(W_i - r_i)^2 (V_j - c_j)^2] - E[(1_i - r_i)^2 (1_j - c_j)^2])/N

for record weights W of the rows and V of the columns, unbiased and independent given the record; the first expectation
is a mean over released records, the second one over original ones, estimated. Of a table whose residuals have the mean
square t r_i c_j, those of the estimate have t r_i c_j + Var(e_ij): t is their maximum likelihood, 0 or more, if they
are normal. The deflated table is

    r_i c_j + e_ij (t r_i c_j / (t r_i c_j + Var(e_ij)))^(1/2)

so that its residuals have the mean square of the true ones, cell by cell: well known cells stay as they are, and those
that are all noise go to independence. Cells without a variance are known: t is not estimated from them. Every measure
of association is taken there.

It is no unbiased estimate of any of them: what is 0 comes out above it, and where all is noise association is lost.
docs/reference/utility.md has how near it comes.

References:
    Louis 1984, "Estimating a Population of Parameter Values Using Bayes and Empirical Bayes Methods" (estimates that
    have the spread of what they estimate); Chaudhuri, Mukerjee 1988, chapter 3, for the variances.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import AxisWeights, Mask

    Grouped: TypeAlias = tuple[AxisWeights, Mask | None]
    """An axis, and which of its original cells count for which group; None for each by itself."""
    Form: TypeAlias = Callable[[Array, Grouped, int, Array], Array]
    """Sums of a function of an axis' weights and its margin, along one dimension."""


ROUNDS = 200
LEAST = 1e-150
"""Of a variance whose square is divided by: a smaller one has a square that is 0 in doubles."""
CLOSE = 1e-10
"""The likelihood equation is iterated so often at most, and until t changes by no more, relative to itself."""


def deflate_table(counted: Array, row: Grouped, column: Grouped) -> Array:
    """Return (rows, columns) shares, in sum about 1; single ones may be negative.

    Args:
        counted: released records by the cells of both axes.
        row: what undoes the first dimension.
        column: what undoes the second one.
    """
    return _shrink_residuals(*residuals(counted, row, column))


def deflate_coupled_table(counted: Array, axis: Grouped, shape: tuple[int, int]) -> Array:
    """Return the same of two attributes that one matrix randomises together.

    With weights W_ij of their combinations in the place of products W_i V_j

        Var(e_ij) = (E[(W_ij - r_i W_.j - c_j W_i. + r_i c_j)^2] - E[(1_i - r_i)^2 (1_j - c_j)^2])/N.

    Args:
        counted: (released cells,) records.
        axis: what undoes both; its matrix is listed.
        shape: (rows, columns), whose cells in C order it counts for.
    """
    return _shrink_residuals(*coupled_residuals(counted, axis, shape))


def _shrink_residuals(independent: Array, residual: Array, variance: Array) -> Array:
    """Return the table of which residuals are shrunk by what they owe to the errors of estimates."""
    held, uncertain = independent > 0, variance > 0
    spread = np.zeros(independent.shape)
    told = held & uncertain
    if told.any():
        spread[held] = _mean_square(independent[told], residual[told], variance[told]) * independent[held]
    kept = np.sqrt(np.divide(spread, spread + variance, out=np.ones_like(spread), where=uncertain))
    return np.asarray(independent + kept * residual)


def residuals(counted: Array, row: Grouped, column: Grouped) -> tuple[Array, Array, Array]:
    """Return (rows, columns) the product of the margins, what the estimate lies off it, and the variance of that.

    Args:
        counted: released records by the cells of both axes.
        row: what undoes the first dimension.
        column: what undoes the second one.
    """
    axes = (row, column)
    records = float(_total(_total(counted, column, 1), row, 0).item())
    q = _estimates(_estimates(counted, row, 0), column, 1) / records
    margins = (q.sum(axis=1), q.sum(axis=0))
    squared = _apply(_squares, counted, axes, margins)
    given = _apply(_squared_expectations, counted, axes, margins)
    independent = np.outer(*margins)
    return independent, q - independent, np.maximum(squared - given, 0.0) / records**2


def coupled_residuals(counted: Array, axis: Grouped, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Return what `residuals` does; arguments as for `deflated_as_one`."""
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
    """Return t, the root of sum w (e^2 - Var - t r c) with w = r c/(t r c + Var)^2; 0 if none is positive.

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


def _apply(form: Form, counted: Array, axes: Sequence[Grouped], margins: Sequence[Array]) -> Array:
    """Return sums over records of the product of a form of both axes."""
    for place, (axis, margin) in enumerate(zip(axes, margins, strict=True)):
        counted = form(counted, axis, place, margin)
    return counted


def _estimates(x: Array, axis: Grouped, place: int) -> Array:
    """Return sums of weights along one dimension."""
    return axis[0].contract(x, place, axis[1], 1)


def _total(x: Array, axis: Grouped, place: int) -> Array:
    """Return sums of records along one dimension, which keeps one place."""
    return axis[0].contract(x, place, np.ones((len(axis[0].original), 1), dtype=bool), 1)


def _squares(x: Array, axis: Grouped, place: int, margin: Array) -> Array:
    """Return sums of (W - margin)^2."""
    m = np.moveaxis(np.expand_dims(margin, tuple(range(1, x.ndim))), 0, place)
    return np.asarray(
        axis[0].contract(x, place, axis[1], 2) - 2 * m * _estimates(x, axis, place) + m**2 * _total(x, axis, place)
    )


def _squared_expectations(x: Array, axis: Grouped, place: int, margin: Array) -> Array:
    """Return sums of (E W - margin)^2, the expectation that of each original record."""
    if not axis[0].unbiased:  # nothing is drawn: a weight is its own expectation
        return _squares(x, axis, place, margin)
    m = np.moveaxis(np.expand_dims(margin, tuple(range(1, x.ndim))), 0, place)
    return np.asarray((1 - 2 * m) * _estimates(x, axis, place) + m**2 * _total(x, axis, place))
