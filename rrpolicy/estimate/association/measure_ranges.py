"""How far measures of association reach over a region of tables: the ends of their intervals.

The least and the largest value lie where the region ends, except that a measure of dependence is 0 at independence.
Rays in all directions find where; a few steps of `rrpolicy.estimate.association.ascent` from the best points sharpen
it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from rrpolicy.estimate.association.ascent import ascend
from rrpolicy.estimate.association.independence_distance import distance_to_independence
from rrpolicy.estimate.association.measures import AssociationMeasure
from rrpolicy.estimate.association.region import ScoreRegion
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.source.counts import Array

_SPHERE = 240
_RANDOM = 15
_MOST_RANDOM = 200
_CORNERS = (1e-12, 0.02, 0.2, 0.5)
_CORNERED = 6
_UNBOUNDED = 1e11
_EMPTY = 1e-9
_ROUNDS = 3
_GAIN = 1e-3
_MORE_ROUNDS = 5
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
    for _ in range(_ROUNDS if space <= _SPACE else _MORE_ROUNDS):
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
