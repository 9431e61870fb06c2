"""How far a corrected table is from independence of its rows and columns, in the distance of its score region."""

from __future__ import annotations

import math

import numpy as np

from rrpolicy.estimate.association.region import ScoreRegion
from rrpolicy.source.counts import Array

_STEPS = 25
_DONE = 1e-4
_EMPTY = 1e-4
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
    r, c = (np.maximum(table.sum(axis=axis), _EMPTY * total) for axis in (1, 0))
    return np.concatenate([np.log(r), np.log(c / total)])


def _independent_table(region: ScoreRegion, design: Array, theta: Array) -> tuple[Array, Array]:
    """Return the unknowns of an independent table, and their derivatives by the logarithms of its margins."""
    x = np.exp(design @ theta)
    slope = x[:, None] * design
    if len(region.estimate) > len(x):
        return np.append(x, region.records - x.sum()), np.vstack([slope, -slope.sum(axis=0)])
    share = x / x.sum()
    return region.records * share, region.records / x.sum() * (slope - np.outer(share, slope.sum(axis=0)))
