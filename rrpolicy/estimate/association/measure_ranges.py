"""The range of measures of association over the true tables that a release does not contradict.

The region at a level contains the tables x, without negative cells, for which

    Q(x) - min Q <= z^2,   Q(x) = (x^ - x)' (sum_v x_v C_v)^-1 (x^ - x)

with x^ the corrected counts and C_v what an original v adds to their error: S_v of `products` for the population, where
Q is Pearson's statistic of the released counts, and S_v - e_v e_v' for this table. A measure's interval is the range of
its values over the region: those that a score test with one degree of freedom does not reject (profile score). The
error is taken at the table that is tested, not at the estimate, and only possible tables are considered. So nothing
needs to be normal in the counts; an end where the measure is not bounded over the region is infinite.

Q is matrix-fractional in x, hence convex, and so is the region: each ray from a point inside leaves it once.

The least and the largest value lie where the region ends, except that a measure of dependence is 0 at independence.
Rays in all directions find these points; a few steps from the best ones sharpen them.

Around a point Q is nearly a quadratic, whose square term is the covariance there. So the highest point of a slope over
the region is nearly that of an ellipsoid cut off by the faces of the simplex. Rays to it stay in the face that it lies
on: a ray through the inside would leave the region before the edge where face and ellipsoid meet, and there the
extremes of small cells lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

import numpy as np

from rrpolicy.counts import Array
from rrpolicy.estimate.association.measures import AssociationMeasure
from rrpolicy.estimate.weights.base import Mask

_SINGULAR = 1e-10
_DISTANCE_RIDGE = 1e-12
_BOUNDARY_STEPS = 9
_NEAREST_STEPS = 6
_SMOOTH = 0.02
_CLOSE = 1e-9


@dataclass(frozen=True)
class ScoreRegion:
    """The tables around a corrected table, by their distance Q; one more unknown counts records in no cell."""

    shape: tuple[int, int]
    cells: tuple[int, ...]  # shape (K,): the cell of each of the first unknowns
    estimate: Array = field(repr=False)  # shape (K or K + 1,): corrected counts
    parts: Array = field(repr=False)  # shape (K or K + 1, ...): C_v of each unknown
    fixed: bool  # whether the total is fixed without being part of the error, as a population's is

    @property
    def records(self) -> float:
        """Return the total of all unknowns."""
        return float(self.estimate.sum())

    @cached_property
    def _reduced(self) -> tuple[Array, Array]:
        """Return (K, b) a basis of the contrasts with errors, and (K, b, b) C_v in it; others are known exactly."""
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
        """Return (P, b) the errors of points in the basis, and the product of their inverse covariance with them."""
        basis, parts = self._reduced
        spread = np.tensordot(points, parts, axes=1)
        ridge = _DISTANCE_RIDGE * np.maximum(np.trace(spread, axis1=1, axis2=2), _DISTANCE_RIDGE)
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
        return root(self.covariance(at[None])[0], _SINGULAR)

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
        """Return (P, K) the points where rays leave the region Q - min Q <= cut; rays without length do not move.

        Newton's steps on a convex function come back from outside without crossing the root. `origin` is (K,) or (P, K)
        tables inside.
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
        """Return the points where rays that end outside the region leave it."""
        value, gradient = self.sloping(origin)
        slope = (gradient * rays).sum(axis=1)
        # the square term of a quadratic with this value and slope that reaches the length of each ray in its metric
        basis, parts = self._reduced
        spread = np.tensordot(origin[:1], parts, axes=1)[0]
        steps = rays @ basis
        spread = spread + _DISTANCE_RIDGE * np.trace(spread) * np.eye(len(spread))
        square = np.maximum((steps * np.linalg.solve(spread, steps.T).T).sum(axis=1), _DISTANCE_RIDGE)
        root = np.sqrt(np.maximum(slope**2 - 4 * square * (value - limit), 0.0))
        t = np.minimum((-slope + root) / (2 * square), (1 - _SMOOTH) * end)
        for _ in range(_BOUNDARY_STEPS):
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
        """Return (P, rows, columns) the tables of (P, K) points."""
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
    """Return the region around a corrected two-way table (rows, columns), with cells that are `known` to be empty.

    `products` are those of `TwoWayTable`; `cross` has (cells, cells) sums over released records of the products of
    their weights. Unless `everybody` is in one of the cells, the rest is a separate unknown, with the error that is
    left of `cross`. The table may be a random sample of the `population` that is estimated.
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

    `mean` is (K,) E[w] for the same original cell: 1 in that cell.
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


def root(covariance: Array, least: float) -> Array:
    """Return R with R R' a covariance, without directions of at most a share `least` of the largest variance."""
    values, vectors = np.linalg.eigh(covariance)
    positive = values > least * max(values[-1], 0.0)
    return np.asarray(vectors[:, positive] * np.sqrt(values[positive]))


_RIDGE = 1e-10
_FIRST = 0.5
_LENGTHS = (0.4, 1.0)


def ascend(region: ScoreRegion, points: Array, at: Array, slopes: Array, cut: float) -> Array:
    """Return points where the region ends, higher up the (n, K) slopes if all goes well.

    `points` are (P, K) of the region, `at` (n, K) some of them, and `cut` the distance to which it reaches.
    """
    goals, held = _goals(region, at, slopes, cut)
    goals = np.vstack([at + length * (goals - at) for length in _LENGTHS])
    held = np.tile(held, (len(_LENGTHS), 1)) & (np.abs(goals) <= _EMPTY * region.records)
    faces, which = np.unique(held, axis=0, return_inverse=True)
    empty = points <= _EMPTY * region.records
    on = [points[empty[:, face].all(axis=1)] for face in faces]
    # where no point of a face is known, the ray comes from the inside and ends there if the region reaches it
    held &= np.array([len(p) > 0 for p in on])[which.reshape(-1), None]
    inside = np.stack([(p if len(p) else points).mean(axis=0) for p in on])[which.reshape(-1)]
    inside = np.where(held, 0.0, inside)
    return region.boundary(inside, np.where(held, 0.0, goals - inside), cut)


def _goals(region: ScoreRegion, at: Array, slopes: Array, cut: float) -> tuple[Array, Mask]:
    """Return (n, K) the points with the highest slopes on the ellipsoids around points, and the faces they lie on.

    The cells that would be negative by most standard errors are fixed at 0 first, and then others, if some are still
    negative.
    """
    covariance = region.covariance(at)
    value, down = region.sloping(at)
    inward = _matrix_vector_product(covariance, down) / 2
    centre = at - inward
    radius2 = region.nearest[1] + cut - value + (inward * down).sum(axis=1) / 2
    errors = np.sqrt(np.maximum(np.einsum("nii->ni", covariance), _EMPTY))
    goals, held = np.zeros_like(at), np.zeros(at.shape, dtype=bool)
    rows = np.arange(len(at))
    while len(rows):
        goals[rows] = _section_maxima(covariance[rows], centre[rows], radius2[rows], slopes[rows], held[rows])
        beyond = np.where(held[rows] | (goals[rows] >= -_EMPTY * region.records), 0.0, goals[rows] / errors[rows])
        worst = beyond.min(axis=1)
        held[rows] |= beyond < _FIRST * worst[:, None]
        rows = rows[worst < 0]
    return goals, held


def _section_maxima(covariance: Array, centre: Array, radius2: Array, slopes: Array, held: Mask) -> Array:
    """Return (n, K) the highest points of the sections of ellipsoids with faces, whose `held` cells are empty.

    Such a section is an ellipsoid with the covariance given that the face's cells are empty. If the section is empty,
    it is the point of the face that is nearest to the centre. Radii are in standard errors.
    """
    pair = held[:, :, None] & held[:, None]
    free = np.where(held, _RIDGE * np.einsum("nii->ni", covariance) + _RIDGE, 1.0)
    section = np.where(pair, covariance, 0.0) + np.eye(held.shape[1]) * free[:, None]
    inverse = np.asarray(np.linalg.inv(section), dtype=np.float64)
    push = _matrix_vector_product(covariance, slopes)
    pulled, pushed = (
        np.where(held, _matrix_vector_product(inverse, np.where(held, x, 0.0)), 0.0) for x in (centre, push)
    )
    out = push - _matrix_vector_product(covariance, pushed)
    height = (out * slopes).sum(axis=1)
    rest = np.maximum(radius2 - (centre * pulled).sum(axis=1), 0.0)
    scale = np.sqrt(np.divide(rest, height, out=np.zeros_like(rest), where=height > 0))
    return np.asarray(centre - _matrix_vector_product(covariance, pulled) + scale[:, None] * out)


def _matrix_vector_product(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


_STEPS = 25
_DONE = 1e-4
_LEAST_MARGIN = 1e-4
_EXACTLY = 1e3


def distance_to_independence(region: ScoreRegion) -> tuple[float, int]:
    """Return the distance of the nearest independent table less that of the nearest table, and the degrees of freedom.

    The first is infinite where no table of the region's form is independent; the second is (rows - 1)(columns - 1) of
    the rows and columns that are not known to be empty. Gauss and Newton's steps over the logarithms of the margins, in
    the metric at the nearest table.
    """
    start, least = region.nearest
    place = np.array(region.cells)
    possible = np.zeros(region.shape, dtype=bool)
    possible.reshape(-1)[place] = True
    rows, columns = possible.any(axis=1), possible.any(axis=0)
    freedom = int((rows.sum() - 1) * (columns.sum() - 1))
    if not possible[np.ix_(rows, columns)].all():
        return math.inf, freedom
    at = (place // region.shape[1], place % region.shape[1])
    design = np.concatenate([np.eye(n)[cells] for n, cells in zip(region.shape, at, strict=True)], axis=1)
    moves = region.moves(start)
    whiten = np.linalg.pinv(moves)
    metric = np.vstack([whiten, _EXACTLY * (np.eye(len(start)) - moves @ whiten)])
    table, best = region.tables(start[None])[0], math.inf
    # the logarithms of the margins, those of the columns as shares; empty ones a little above
    r, c = (np.maximum(table.sum(axis=axis), _LEAST_MARGIN * table.sum()) for axis in (1, 0))
    theta = np.concatenate([np.log(r), np.log(c / table.sum())])
    for _ in range(_STEPS):
        x, slope = _independent_table(region, design, theta)
        if x.min() >= 0:
            best = min(best, float(region.distance(x[None])[0]))
        step = np.linalg.lstsq(metric @ slope, metric @ (region.estimate - x), rcond=None)[0]
        size = float(np.abs(step).max())
        theta = theta + step / max(size, 1.0)
        if size < _DONE:
            break
    return best - least, freedom


def _independent_table(region: ScoreRegion, design: Array, theta: Array) -> tuple[Array, Array]:
    """Return the unknowns of an independent table, and their derivatives by the logarithms of its margins."""
    x = np.exp(design @ theta)
    slope = x[:, None] * design
    if len(region.estimate) > len(x):
        return np.append(x, region.records - x.sum()), np.vstack([slope, -slope.sum(axis=0)])
    share = x / x.sum()
    return region.records * share, region.records / x.sum() * (slope - np.outer(share, slope.sum(axis=0)))


_SPHERE = 240
_RANDOM = 15
_MOST_RANDOM = 200
_CORNERS = (1e-12, 0.02, 0.2, 0.5)
_CORNERED = 6
_UNBOUNDED = 1e11
_EMPTY = 1e-9
_ROUNDS = 40
_GAIN = 1e-3
"""Of an interval's length: a round that moves an end by less is the last one."""
_SPACE = 3


def range_over_region(region: ScoreRegion, measures: Sequence[AssociationMeasure], level: float) -> Array:
    """Return (measures, 2) the least and the largest value of each measure over a region; infinite if not bounded."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    if region.moves(region.nearest[0]).shape[1] == 0:
        values = _values(region, measures, region.nearest[0][None])
        return np.concatenate([values, values], axis=1)
    found = _ends(region, measures, z**2)
    dependent = [i for i, m in enumerate(measures) if m.kind.dependence]
    if dependent:
        below = _lower_end_distance(region, z)
        if below is None:
            found[dependent, 0] = 0.0
        elif below > z**2:
            found[dependent, 0] = _ends(region, [measures[i] for i in dependent], below)[:, 0]
    return found


def _lower_end_distance(region: ScoreRegion, z: float) -> float | None:
    """Return the radius of the region for the lower end of a measure; None if it reaches independence.

    The estimate of a distance is drawn upwards: the square of the distance of the nearest table from independence is
    noncentral chi-square with (rows - 1)(columns - 1) degrees of freedom, and the lower end is that of this law.
    """
    apart, freedom = distance_to_independence(region)
    if freedom <= 1:
        return None if apart <= z**2 else z**2
    from scipy.special import chndtr, chndtrinc

    upper = (1 + math.erf(z / math.sqrt(2))) / 2
    if chndtr(apart, freedom, 0.0) <= upper:
        return None
    return max((math.sqrt(apart) - math.sqrt(float(chndtrinc(apart, freedom, upper)))) ** 2, z**2)


def _ends(region: ScoreRegion, measures: Sequence[AssociationMeasure], cut: float) -> Array:
    start = region.nearest[0]
    cells = np.eye(len(start))
    # the largest possible value of each cell: the mean lies inside, away from the faces of the nearest table
    around = ascend(region, start[None], np.tile(start, (len(cells), 1)), cells, cut)
    origin = around.mean(axis=0)
    moves = region.moves(origin)
    space = moves.shape[1]
    # rays are spread as wide as the region is: faces may cut off most of what the errors alone would fill
    shape = root(np.cov(around.T), _EMPTY) if space <= _SPACE else moves
    slopes = _gradients(region, measures, np.broadcast_to(origin, (len(measures), 1, len(origin)))) @ moves
    steepest = np.vstack([_unit(slopes), -_unit(slopes)])
    rays = [_directions(shape.shape[1]) @ shape.T, steepest @ moves.T, _to_corners(origin, space)]
    points = np.vstack([start[None], region.boundary(origin, np.vstack(rays), cut)])
    values = _values(region, measures, points)
    ends, rising = _ends_of(values), np.arange(len(measures))
    for _ in range(_ROUNDS):
        lowest, highest = _sides(values[rising])
        best = np.stack([lowest.argmin(axis=1), highest.argmax(axis=1)], axis=1)
        slopes = _gradients(region, [measures[i] for i in rising.tolist()], points[best])
        slopes[::2] *= -1
        more = ascend(region, points, points[best.reshape(-1)], slopes, cut)
        points, values = np.vstack([points, more]), np.hstack([values, _values(region, measures, more)])
        before, ends = ends, _ends_of(values)
        with np.errstate(invalid="ignore"):
            length, steps = ends[:, 1] - ends[:, 0], np.abs(ends - before).max(axis=1)
            rising = np.flatnonzero(~(np.isfinite(length) & (steps <= _GAIN * length)))
        if not len(rising):
            break
    ends = np.where(np.abs(ends) >= _UNBOUNDED, np.copysign(np.inf, ends), ends)
    return np.where(ends[:, :1] > ends[:, 1:], np.nan, ends)


def _sides(values: Array) -> tuple[Array, Array]:
    """Return values with NaN as infinity, so that their minimum, and their maximum, disregards it."""
    return np.where(np.isnan(values), np.inf, values), np.where(np.isnan(values), -np.inf, values)


def _ends_of(values: Array) -> Array:
    lowest, highest = _sides(values)
    return np.stack([lowest.min(axis=1), highest.max(axis=1)], axis=1)


def _values(region: ScoreRegion, measures: Sequence[AssociationMeasure], points: Array) -> Array:
    """Return (measures, P); NaN where a measure is not defined."""
    tables = region.tables(points)
    with np.errstate(all="ignore"):
        return np.stack([np.broadcast_to(m.of(tables)[0], len(points)) for m in measures])


def _gradients(region: ScoreRegion, measures: Sequence[AssociationMeasure], points: Array) -> Array:
    """Return (measures n, K) gradients of each measure at its own (measures, n, K) points; 0 where it has none."""
    found = []
    with np.errstate(all="ignore"):
        for measure, own in zip(measures, points, strict=True):
            found.append(region.gradient(measure.of(region.tables(own))[1]))
    return np.nan_to_num(np.concatenate(found), nan=0.0, posinf=0.0, neginf=0.0)


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0))


def _directions(space: int) -> Array:
    """Return (P, space) directions that fill the sphere, the same at every call."""
    if space == 1:
        return np.array([[1.0], [-1.0]])
    if space == 2:  # noqa: PLR2004 - a circle
        angles = np.arange(_SPHERE // 4) * 8 * np.pi / _SPHERE
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    if space == _SPACE:
        # a spiral of equal areas (Fibonacci lattice)
        turn = np.arange(_SPHERE) + 0.5
        height, angle = 1 - 2 * turn / _SPHERE, np.pi * (1 + math.sqrt(5)) * turn
        radius = np.sqrt(1 - height**2)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
    count = min(_RANDOM * space, _MOST_RANDOM)
    return _unit(np.random.default_rng(0).standard_normal((count, space)))


def _to_corners(origin: Array, space: int) -> Array:
    """Return rays to the corners of the simplex and points close by, where ratios of small numbers are extreme."""
    cells = len(origin)
    if space < cells - 1 or cells > _CORNERED:
        return np.zeros((0, cells))
    corners = np.eye(cells) * origin.sum()
    pairs = [(i, j) for i in range(cells) for j in range(cells) if i != j]
    return np.array([(1 - s) * corners[i] + s * corners[j] - origin for i, j in pairs for s in _CORNERS])
