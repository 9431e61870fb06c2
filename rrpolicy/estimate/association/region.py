"""Which true tables a release does not contradict, and how far a measure reaches over them.

The region at a level holds the tables x, without negative cells, for which

    Q(x) - min Q <= z^2,   Q(x) = (x^ - x)' (sum_v x_v C_v)^-1 (x^ - x)

with x^ the corrected counts and C_v what an original v adds to their error: S_v of `products` for the population, where
Q is Pearson's statistic of the released counts, and S_v - e_v e_v' for this table. A measure's interval is the range of
its values over the region: those that a score test with one degree of freedom does not reject (profile score). The
error is taken at the table that is tested, not at the estimate, and no table outside the possible is considered, so
that nothing needs to be normal in the counts; an end where the measure is not bounded over the region is infinite.

Q is matrix-fractional in x, hence convex, and so is the region: each ray from a point inside leaves it once.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property

import numpy as np

from rrpolicy.counts import Array
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.frozen_dataclass import frozen

_SINGULAR = 1e-10
_RIDGE = 1e-12
_STEPS = 9
_NEAREST_STEPS = 6
_SMOOTH = 0.02
_CLOSE = 1e-9


@frozen(slots=False)
class ScoreRegion:
    """The tables around a corrected table, by their distance Q.

    Attributes:
        shape: rows and columns of the table.
        cells: (K,) where each of the first unknowns stands in it; an unknown more is whoever is in no cell.
        estimate: (K or K + 1,) corrected counts.
        parts: (K or K + 1, ...) C_v of each unknown.
        fixed: whether the total of all unknowns is fixed without being part of the error, as a population's is.
    """

    shape: tuple[int, int]
    cells: tuple[int, ...]
    estimate: Array = field(repr=False)
    parts: Array = field(repr=False)
    fixed: bool

    @property
    def records(self) -> float:
        """Return the total of all unknowns."""
        return float(self.estimate.sum())

    @cached_property
    def _reduced(self) -> tuple[Array, Array]:
        """Return (K, b) a basis of what can err, and (K, b, b) C_v in it; other contrasts are known exactly."""
        values, vectors = np.linalg.eigh(self.parts.mean(axis=0))
        basis = vectors[:, values > _SINGULAR * max(values[-1], 0.0)]
        return basis, basis.T @ self.parts @ basis

    def distance(self, points: Array) -> Array:
        """Return (P,) Q of (P, K) tables without negative cells."""
        error, score = self._score(points)
        return np.asarray((error * score).sum(axis=1))

    def sloping(self, points: Array) -> tuple[Array, Array]:
        """Return (P,) Q of (P, K) tables without negative cells, and its (P, K) gradients."""
        error, score = self._score(points)
        basis, parts = self._reduced
        own = np.einsum("pi,pvi->pv", score, np.tensordot(score, parts, axes=(1, 2)))
        return (error * score).sum(axis=1), -2 * score @ basis.T - own

    def _score(self, points: Array) -> tuple[Array, Array]:
        """Return (P, b) the errors of points in the basis, and what the inverse of their covariance makes of them."""
        basis, parts = self._reduced
        spread = np.tensordot(points, parts, axes=1)
        ridge = _RIDGE * np.maximum(np.trace(spread, axis1=1, axis2=2), _RIDGE)
        error = (self.estimate - points) @ basis
        return error, np.linalg.solve(spread + ridge[:, None, None] * np.eye(basis.shape[1]), error[..., None])[..., 0]

    def covariance(self, at: Array) -> Array:
        """Return (P, K, K) the covariance of the corrected counts if each of (P, K) tables is the true one."""
        smoothed = (1 - _SMOOTH) * at + _SMOOTH * self.records / at.shape[1]
        found = np.tensordot(smoothed, self.parts, axes=1)
        if self.fixed:
            found = found - smoothed[:, :, None] * smoothed[:, None] / max(self.records, 1.0)
        return np.asarray(found)

    def moves(self, at: Array) -> Array:
        """Return (K, d) M with M M' the covariance of the corrected counts if a table is the true one."""
        values, vectors = np.linalg.eigh(self.covariance(at[None])[0])
        kept = values > _SINGULAR * max(values[-1], 0.0)
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))

    @cached_property
    def nearest(self) -> tuple[Array, float]:
        """Return the table of least distance, and its distance: the estimate itself where no cell is negative."""
        x = self.estimate
        if x.min() >= 0:
            return x, 0.0
        x = np.maximum(x, 0.0) * self.records / np.maximum(x, 0.0).sum()
        for _ in range(_NEAREST_STEPS):
            before, x = x, _least_distance(self.estimate, self.moves(x))
            if np.abs(x - before).max() <= _CLOSE * self.records:
                break
        return x, float(self.distance(x[None])[0])

    def boundary(self, origin: Array, rays: Array, cut: float) -> Array:
        """Return (P, K) where rays leave the region Q - min Q <= cut.

        Newton's steps on a convex function come back from outside without crossing the root.

        Args:
            origin: (K,) or (P, K) tables inside.
            rays: (P, K) directions; those without length stay where they are.
            cut: how far above the least distance the region reaches.
        """
        limit = self.nearest[1] + cut
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(rays < 0, origin / -rays, np.inf)
        face, end = reach.argmin(axis=1), reach.min(axis=1)
        end = np.where(np.isfinite(end), end, 0.0)
        at_end = np.maximum(origin + end[:, None] * rays, 0.0)
        at_end[np.arange(len(rays)), face] = np.where(end > 0, 0.0, at_end[np.arange(len(rays)), face])
        outside = np.flatnonzero(self.distance(at_end) > limit)
        found = at_end
        if len(outside):
            start = np.broadcast_to(origin, rays.shape)[outside]
            found[outside] = self._leaving(start, rays[outside], end[outside], limit)
        return found

    def _leaving(self, origin: Array, rays: Array, end: Array, limit: float) -> Array:
        """Return where rays that end outside of the region leave it."""
        value, gradient = self.sloping(origin)
        slope = (gradient * rays).sum(axis=1)
        # the square term of a quadratic with this value and slope that reaches the length of each ray in its metric
        basis, parts = self._reduced
        spread = np.tensordot(origin[:1], parts, axes=1)[0]
        steps = rays @ basis
        spread = spread + _RIDGE * np.trace(spread) * np.eye(len(spread))
        square = np.maximum((steps * np.linalg.solve(spread, steps.T).T).sum(axis=1), _RIDGE)
        root = np.sqrt(np.maximum(slope**2 - 4 * square * (value - limit), 0.0))
        t = np.minimum((-slope + root) / (2 * square), (1 - _SMOOTH) * end)
        for _ in range(_STEPS):
            value, gradient = self.sloping(np.maximum(origin + t[:, None] * rays, 0.0))
            slope = (gradient * rays).sum(axis=1)
            if np.abs(value - limit).max() <= _CLOSE * limit:
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = t - (value - limit) / slope
            half = (t + end) / 2
            t = np.where((slope > 0) & (newton < half), np.maximum(newton, 0.0), half)
        return np.asarray(np.maximum(origin + t[:, None] * rays, 0.0))

    def tables(self, points: Array) -> Array:
        """Return (P, rows, columns) the tables that points stand for."""
        out = np.zeros((len(points), self.shape[0] * self.shape[1]))
        out[:, list(self.cells)] = points[:, : len(self.cells)]
        return out.reshape(-1, *self.shape)

    def gradient(self, by_cell: Array) -> Array:
        """Return (P, K) gradients by cell of tables as those by unknown."""
        out = np.zeros((len(by_cell), len(self.estimate)))
        out[:, : len(self.cells)] = by_cell.reshape(len(by_cell), -1)[:, list(self.cells)]
        return out


def score_region(
    estimate: Array, products: Array, cross: Array, *, known: Mask, records: float, everybody: bool, population: bool
) -> ScoreRegion:
    """Return the region around a corrected two-way table.

    Args:
        estimate: (rows, columns) corrected counts.
        products: (cells, cells, cells) as `rrpolicy.estimate.association.two_way_table.products`.
        cross: (cells, cells) sums over released records of the products of their weights.
        known: (rows, columns) cells that are known to be empty.
        records: N.
        everybody: whether every record is in one of the cells; else the rest is an unknown of its own, with the error
            that is left of `cross`.
        population: whether the population is asked for, of which the table is a random sample.
    """
    cells = np.flatnonzero(~known.reshape(-1))
    x, parts = estimate.reshape(-1)[cells], products[np.ix_(cells, cells, cells)]
    if not everybody:
        rest = records - float(x.sum())
        left = cross[np.ix_(cells, cells)] - np.tensordot(x, parts, axes=1)
        values, vectors = np.linalg.eigh(left)
        outside = (vectors * np.maximum(values, 0.0)) @ vectors.T / max(rest, 1.0)
        means = np.vstack([np.eye(len(x)), np.zeros(len(x))])
        x, parts = np.append(x, rest), np.stack([*map(_with_rest, [*parts, outside], means)])
    if not population:
        own = np.arange(len(x))
        parts = parts.copy()
        parts[own, own, own] -= 1
    return ScoreRegion(estimate.shape, tuple(cells.tolist()), x, parts, population)


def _with_rest(products: Array, mean: Array) -> Array:
    """Return E[w w'] with one weight more, that of the rest: 1 - sum w.

    Args:
        products: (K, K) E[w w'] given where the original is.
        mean: (K,) E[w] likewise: 1 in its own cell.
    """
    beside = mean - products.sum(axis=1)
    corner = 1 - 2 * mean.sum() + products.sum()
    return np.block([[products, beside[:, None]], [beside[None], np.array([[corner]])]])


def _least_distance(x: Array, moves: Array) -> Array:
    """Return the point without negative entries that is nearest to x, in the metric and the space of its moves.

    The smallest z with M z >= -x (least distance programming: Lawson and Hanson 1974, chapter 23).
    """
    from scipy.optimize import nnls

    scale = max(float(np.abs(x).max()), 1.0)
    system = np.vstack([moves.T / scale, -x[None] / scale])
    target = np.append(np.zeros(moves.shape[1]), 1.0)
    dual, _ = nnls(system, target)
    rest = system @ dual - target
    if rest[-1] >= -_SINGULAR:
        return np.asarray(np.maximum(x, 0.0))
    return np.asarray(np.maximum(x + moves @ (-rest[:-1] / rest[-1]), 0.0))
