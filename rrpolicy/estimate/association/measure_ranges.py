"""How far measures of association reach over a region of tables: the ends of their intervals.

The least and the largest value lie where the region ends, except that a measure of dependence is 0 at independence.
Rays in all directions find where; a few steps of `rrpolicy.estimate.association.measure_ranges` from the best points
sharpen it.

Steps that lead a measure up to where a region of tables ends.

Around a point Q is nearly a quadratic, whose square term is the covariance there, so that the highest point of a slope
over the region is nearly that of an ellipsoid cut off by the faces of the simplex. Rays to it stay in the face that it
lies on: a ray through the inside would leave the region before the edge where face and ellipsoid meet, and there the
extremes of small cells lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from rrpolicy.counts import Array
from rrpolicy.estimate.association.measures import AssociationMeasure
from rrpolicy.estimate.association.region import ScoreRegion
from rrpolicy.estimate.weights.base import Mask

_RIDGE = 1e-10
_FIRST = 0.5
_LENGTHS = (0.4, 1.0)


def ascend(region: ScoreRegion, points: Array, at: Array, slopes: Array, cut: float) -> Array:
    """Return points where the region ends, higher up the slopes if all goes well.

    Args:
        region: the tables.
        points: (P, K) of the region.
        at: (n, K) some of them.
        slopes: (n, K) to go up from them.
        cut: how far above the least distance the region reaches.
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
    """Return (n, K) where slopes are highest on the ellipsoids around points, and the faces that hold them there.

    Cells that would be negative by most standard errors are held empty first, and then others, if there still are any.
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
    """Return (n, K) the highest points of the sections of ellipsoids with faces.

    Such a section is an ellipsoid with the covariance given that the face's cells are empty; where there is none, the
    point of the face that is nearest to the centre.

    Args:
        covariance: (n, K, K) of the ellipsoids.
        centre: (n, K) of them.
        radius2: (n,) squares of their radii, in standard errors.
        slopes: (n, K) what is high.
        held: (n, K) the cells that are empty in a face.
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
    """Return how much farther than the nearest table the nearest one is whose rows and columns are independent.

    Gauss and Newton's steps over the logarithms of the margins, in the metric at the nearest table.

    Returns:
        The difference of the distances, infinite where no table of the region's form is independent; and
        (rows - 1)(columns - 1), of those that are not known to be empty.
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
    theta, best = _margins(region.tables(start[None])[0]), math.inf
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


def _margins(table: Array) -> Array:
    """Return the logarithms of the margins, those of the columns as shares; empty ones a little above."""
    total = float(table.sum())
    r, c = (np.maximum(table.sum(axis=axis), _LEAST_MARGIN * total) for axis in (1, 0))
    return np.concatenate([np.log(r), np.log(c / total)])


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
    """Return (measures, 2) the least and the largest value of each measure over a region; infinite if not bounded.

    Args:
        region: around the corrected table.
        measures: that are defined for its shape.
        level: of the intervals.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    if region.moves(region.nearest[0]).shape[1] == 0:
        values = _values(region, measures, region.nearest[0][None])
        return np.concatenate([values, values], axis=1)
    found = _ends(region, measures, z**2)
    dependent = [i for i, m in enumerate(measures) if m.dependence]
    if dependent:
        below = _lower_end_distance(region, z)
        if below is None:
            found[dependent, 0] = 0.0
        elif below > z**2:
            found[dependent, 0] = _ends(region, [measures[i] for i in dependent], below)[:, 0]
    return found


def _lower_end_distance(region: ScoreRegion, z: float) -> float | None:
    """Return how far the region reaches for the lower end of a measure of dependence; None if to independence.

    The estimate of a distance is drawn upwards: the square of how far the nearest table is from independence is
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
    # the most that each cell can hold: the mean lies inside, away from the faces that the nearest table may lie on
    around = ascend(region, start[None], np.tile(start, (len(cells), 1)), cells, cut)
    origin = around.mean(axis=0)
    moves = region.moves(origin)
    space = moves.shape[1]
    # rays are spread as wide as the region is: faces may cut off most of what the errors alone would fill
    shape = _root(np.cov(around.T)) if space <= _SPACE else moves
    slopes = _gradients(region, measures, np.broadcast_to(origin, (len(measures), 1, len(origin)))) @ moves
    steepest = np.vstack([_unit(slopes), -_unit(slopes)])
    rays = [_directions(shape.shape[1]) @ shape.T, steepest @ moves.T, _to_corners(origin, space)]
    points = np.vstack([start[None], region.boundary(origin, np.vstack(rays), cut)])
    values = _values(region, measures, points)
    ends, rising = _range(values), np.arange(len(measures))
    for _ in range(_ROUNDS):
        own = values[rising]
        best = np.stack([_replace_nan(own, np.inf).argmin(axis=1), _replace_nan(own, -np.inf).argmax(axis=1)], axis=1)
        slopes = _gradients(region, [measures[i] for i in rising.tolist()], points[best])
        slopes[::2] *= -1
        more = ascend(region, points, points[best.reshape(-1)], slopes, cut)
        points, values = np.vstack([points, more]), np.hstack([values, _values(region, measures, more)])
        before, ends = ends, _range(values)
        rising = np.flatnonzero(_still_moving(before, ends))
        if not len(rising):
            break
    ends = np.where(np.abs(ends) >= _UNBOUNDED, np.copysign(np.inf, ends), ends)
    return np.where(ends[:, :1] > ends[:, 1:], np.nan, ends)


def _range(values: Array) -> Array:
    return np.stack([_replace_nan(values, np.inf).min(axis=1), _replace_nan(values, -np.inf).max(axis=1)], axis=1)


def _still_moving(before: Array, ends: Array) -> Mask:
    """Return whose ends a round moved by a part of the interval's length that is worth another round."""
    with np.errstate(invalid="ignore"):
        length, steps = ends[:, 1] - ends[:, 0], np.abs(ends - before).max(axis=1)
        return np.asarray(~(np.isfinite(length) & (steps <= _GAIN * length)))


def _values(region: ScoreRegion, measures: Sequence[AssociationMeasure], points: Array) -> Array:
    """Return (measures, P); NaN where a measure is not defined."""
    tables = region.tables(points)
    with np.errstate(all="ignore"):
        return np.stack([np.broadcast_to(m.of(tables)[0], len(points)) for m in measures])


def _gradients(region: ScoreRegion, measures: Sequence[AssociationMeasure], points: Array) -> Array:
    """Return (measures n, K) gradients of each measure at its own (measures, n, K) points; 0 where there is none."""
    found = []
    with np.errstate(all="ignore"):
        for measure, own in zip(measures, points, strict=True):
            found.append(region.gradient(measure.of(region.tables(own))[1]))
    return np.nan_to_num(np.concatenate(found), nan=0.0, posinf=0.0, neginf=0.0)


def _root(covariance: Array) -> Array:
    """Return R with R R' a covariance, without directions of none."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _EMPTY * max(values[-1], 0.0)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def _replace_nan(values: Array, instead: float) -> Array:
    return np.asarray(np.where(np.isnan(values), instead, values))


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
