"""Estimates that are proper tables: maximum likelihood by EM, and projection on the simplex; both are biased.

EM for lambda = P pi with multinomial counts, axis by axis (Agrawal and Aggarwal 2001, "iterative Bayes"; van den Hout
and van der Heijden 2002): pi <- pi * P^T(n / P pi) / N. In the interior it ends at the moment estimate. In tables with
few cells the same maximum is found by sequential quadratic programming, which does not slow down where cells tend to 0.
Intervals belong to the moment estimate in every case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.scan import DataFile, count
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, Mask, MatrixWeights, RetentionWeights
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number

if TYPE_CHECKING:
    from rrpolicy.estimate.invert.estimator import Inversion

_STEPS = 20_000
_GAP = 1e-6
_EMPTY = 1e-3
_SLACK = 1e-3
_SMALL = 256
"""Original cells up to which quadratic problems are solved, with one matrix of all axes."""
_ENTRIES = 2**17
_HALVINGS = 30
_RIDGE = 1e-12


class MaximumLikelihoodTable(Struct, frozen=True):
    """The table of the largest likelihood."""

    counts: Array  # of original cells, all >= 0, with the total of the released ones
    gap: float  # the log-likelihood is at most this far below its maximum (N (max gradient - 1), by concavity)
    converged: bool  # whether the gap is below 1e-6


def matrix_of(axis: AxisWeights) -> Array | None:
    """Return (U, V) the column-stochastic matrix of an axis; None for a form without one."""
    match axis:
        case IdentityWeights():
            return np.eye(len(axis.original))
        case RetentionWeights(blocks=blocks):
            P = np.zeros((len(axis.released), len(axis.original)))
            for block in blocks:
                P[np.ix_(block.members, block.members)] = float(block.move)
                P[block.members, block.members] = float(block.keep)
            return P
        case MatrixWeights(rows=rows):
            return np.array([[float(v) for v in row] for row in rows])
        case _:
            return None


def transition(axis: AxisWeights) -> Array:
    """Return the matrix of an axis (RR278 for a form without one)."""
    P = matrix_of(axis)
    if P is None:
        columns = ", ".join(map(repr, axis.columns))
        message = f"{columns} is not released through a matrix: EM is not defined for it here"
        raise PolicyError(Problem("RR278", message))
    return P


def kronecker_product(matrices: Sequence[Array]) -> Array:
    """Return the matrix of all axes together."""
    return reduce(lambda a, b: np.asarray(np.kron(a, b)), matrices)


def maximum_likelihood(released: Array, matrices: Sequence[Array]) -> MaximumLikelihoodTable:
    """Return the original table under which the released counts, one dimension per axis, are likeliest."""
    total = float(released.sum())
    shape = tuple(P.shape[1] for P in matrices)
    if total <= 0:
        return MaximumLikelihoodTable(np.zeros(shape), 0.0, converged=True)
    small = math.prod(shape) <= _SMALL and math.prod(P.size for P in matrices) <= _ENTRIES
    if len(shape) > 1 and small:
        found = maximum_likelihood(released.reshape(-1), [kronecker_product(matrices)])
        return replace(found, counts=found.counts.reshape(shape))
    n = released / total
    # one posterior step from the uniform table is positive wherever the data allow it
    pi = np.full(shape, 1 / np.prod(shape))
    pi = pi * _ratio(pi, n, matrices)
    gap, ratio = np.inf, np.ones(shape)
    for _ in range(_STEPS):
        ratio = _ratio(pi, n, matrices)
        gap = total * (float(ratio.max()) - 1)
        if gap <= _GAP:
            break
        uphill = _quadratic(pi, ratio, n, matrices[0]) if small else None
        pi = _accelerate_em(pi, pi * ratio, n, matrices) if uphill is None else uphill
    # a cell that tends to 0 never reaches it, but its gradient is negative
    pi = np.where((total * pi < _EMPTY) & (ratio < 1 - _SLACK), 0.0, pi)
    return MaximumLikelihoodTable(total * pi / pi.sum(), gap, converged=gap <= _GAP)


def project_to_simplex(counts: Array, total: float) -> Array:
    """Return the table nearest to `counts` in L2 among those with no negative cell and the given total.

    Sorting and one threshold (Held, Wolfe, Crowder 1974): max(x - theta, 0).
    """
    flat = np.sort(counts.reshape(-1))[::-1]
    if total <= 0:
        return np.zeros(counts.shape)
    excess = (np.cumsum(flat) - total) / np.arange(1, flat.size + 1)
    theta = excess[np.flatnonzero(flat > excess)[-1]]
    return np.asarray(np.maximum(counts - theta, 0.0))


def apply_along_axes(x: Array, matrices: Sequence[Array], *, transpose: bool = False) -> Array:
    """Apply each axis' matrix along its dimension."""
    if x.ndim == 1:
        return np.asarray((matrices[0].T if transpose else matrices[0]) @ x)
    for i, P in enumerate(matrices):
        x = np.moveaxis(np.tensordot(P.T if transpose else P, x, axes=(1, i)), 0, i)
    return x


def _ratio(pi: Array, n: Array, matrices: Sequence[Array]) -> Array:
    expected = apply_along_axes(pi, matrices)
    quotient = np.divide(n, expected, out=np.zeros_like(n), where=n > 0)
    return apply_along_axes(quotient, matrices, transpose=True)


def _quadratic(pi: Array, ratio: Array, n: Array, P: Array) -> Array | None:
    """Return the next table by sequential quadratic programming; None where it leads nowhere.

    The quadratic model of sum n log(P pi) - sum pi at `pi` is maximised over pi >= 0. The step is halved until it leads
    uphill (Kim, Carbonetto, Stephens, Anitescu 2020). At the maximum of that function sum pi = 1, since columns of P
    add up to 1.
    """
    known = n > 0
    scaled = P[known] * (np.sqrt(n[known]) / (P[known] @ pi))[:, None]
    H = scaled.T @ scaled
    H[np.diag_indices_from(H)] += _RIDGE * np.trace(H)
    try:
        aim = maximise_quadratic(H, H @ pi + ratio - 1, pi)
    except np.linalg.LinAlgError:  # singular but for rounding, or too many steps: EM goes on
        return None
    # aim is not 0: as sum pi ratio = 1, the slope at 0, which is 2 ratio - 1, is positive somewhere
    whole, before = aim / aim.sum(), _likelihood(pi, n, [P])
    for _ in range(_HALVINGS):
        moved = aim / aim.sum()
        if _likelihood(moved, n, [P]) > before:
            return np.asarray(moved)
        aim = (pi + aim) / 2
    # near the maximum rounding hides which way is uphill, but slopes show it
    return whole if float(_ratio(whole, n, [P]).max()) < float(ratio.max()) else None


def _accelerate_em(first: Array, second: Array, n: Array, matrices: Sequence[Array]) -> Array:
    """Extrapolate two EM steps (SQUAREM, Varadhan and Roland 2008), and fall back where that is not uphill."""
    third = second * _ratio(second, n, matrices)
    r, v = second - first, third - 2 * second + first
    length = math.sqrt(np.vdot(v, v))
    step = max(1.0, math.sqrt(np.vdot(r, r)) / length) if length else 1.0
    jumped = first + 2 * step * r + step**2 * v
    jumped = np.where(jumped < 0, third / 2, jumped)
    jumped = jumped / jumped.sum()
    return np.asarray(jumped if _likelihood(jumped, n, matrices) >= _likelihood(third, n, matrices) else third)


def _likelihood(pi: Array, n: Array, matrices: Sequence[Array]) -> float:
    known = n > 0
    expected = apply_along_axes(pi, matrices)[known]
    if expected.min() <= 0:
        return -np.inf
    return float((n[known] * np.log(expected)).sum())


def released_counts(
    data: DataFile, axes: Sequence[AxisWeights], condition: str = "", parameters: Sequence[Any] = ()
) -> Array:
    """Return the released records that satisfy a condition, as `count` does, one dimension per axis."""
    codes, n = count(data, axes, condition, parameters)
    shape = [len(axis.released) for axis in axes]
    flat = np.zeros(len(n), dtype=np.int64)
    for size, code in zip(shape, codes, strict=True):
        flat = flat * size + code
    return np.bincount(flat, weights=n, minlength=math.prod(shape)).astype(float).reshape(shape)


_FLAT = 1e-13
_ROUNDS = 3


def maximise_quadratic(square: Array, slope: Array, near: Array) -> Array:
    """Return the x >= 0 at which slope' x - x' square x / 2 is largest, from a point near it.

    Active sets (Lawson and Hanson 1974, chapter 23) on the normal equations (Bro and de Jong 1997): most entries that
    are 0 at the start are 0 in the end.

    Raises:
        numpy.linalg.LinAlgError: if the square is singular, or rounding leads round in circles.
    """
    x, free = near.copy(), near > 0
    flat = _FLAT * float(np.abs(slope).max() + (np.abs(square) @ near).max())
    for _ in range(_ROUNDS * len(x) + _ROUNDS):
        x, free = _maximise_on_face(square, slope, x, free)
        up = np.where(free, -np.inf, slope - square @ x)
        best = int(up.argmax())
        if up[best] <= flat:
            return x
        free[best] = True
    raise np.linalg.LinAlgError("no highest point was found")


def _maximise_on_face(square: Array, slope: Array, x: Array, free: Mask) -> tuple[Array, Mask]:
    """Go to the highest point of the face of the free entries; those that reach 0 on the way are free no more."""
    while True:
        aim = np.zeros_like(x)
        aim[free] = np.linalg.solve(square[np.ix_(free, free)], slope[free])
        ends = free & (aim <= 0)
        if not ends.any():
            return aim, free
        share = np.full_like(x, np.inf)
        share[ends] = np.divide(x[ends], x[ends] - aim[ends], out=np.zeros(int(ends.sum())), where=x[ends] > 0)
        x = x + share.min() * (aim - x)
        free = free & (share > share.min())
        x[~free] = 0.0


LIKELIHOOD_CELLS = 1_000_000
"""The largest table that EM runs on."""


class MaximumLikelihoodEstimator:
    """Maximum likelihood among tables without negative cells, over the grouping axes and those of the condition."""

    name = "em"
    told = "maximum likelihood (EM)"

    def counts(self, asked: Inversion) -> tuple[Array, str]:
        """Run EM (RR278 if it is not defined for a column; RR268 for too many cells)."""
        cells = max(math.prod(sizes) for sizes in zip(*asked.sizes, strict=True)) if asked.sizes else 1
        if cells > LIKELIHOOD_CELLS:
            raise PolicyError(
                Problem(
                    "RR268",
                    f"EM would run on {cells:,} cells, more than {LIKELIHOOD_CELLS:,}",
                    hint='group by fewer columns, or use estimator="moment"',
                )
            )
        matrices = asked.matrices
        found = maximum_likelihood(asked.released, matrices)
        short = "" if found.converged else f"stopped {plain_number(found.gap, 2)} below the largest log-likelihood"
        return asked.answer(found.counts), short


class Projection:
    """The nearest table without negative cells."""

    name = "projection"
    told = "projection on the simplex"

    def counts(self, asked: Inversion) -> tuple[Array, str]:
        """Project the moment estimates."""
        total = min(max(float(asked.moment.sum()), 0.0), float(asked.records))
        return project_to_simplex(asked.moment, total), ""
