"""Steps that lead a measure up to where a region of tables ends.

Around a point Q is nearly a quadratic, whose square term is the covariance there, so that the highest point of a slope
over the region is nearly that of an ellipsoid cut off by the faces of the simplex. Rays to it stay in the face that it
lies on: a ray through the inside would leave the region before the edge where face and ellipsoid meet, and there the
extremes of small cells lie.
"""

from __future__ import annotations

import numpy as np

from rrpolicy.estimate.association.region import ScoreRegion
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.source.counts import Array

_EMPTY = 1e-9
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
