"""How much a table tells of coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array

_SINGULAR = 1e-9


def information_of(counts: Array, X: Array, slope: Array) -> Array:
    """Return (parameters, parameters) minus the derivative of a score.

    Args:
        counts: (cells,).
        X: (cells, terms).
        slope: (cells, equations, equations) of the expectation by the predictors.
    """
    equations, covariates = slope.shape[1], X.shape[1]
    found = np.zeros((equations, covariates, equations, covariates))
    for a in range(equations):
        for b in range(a, equations):
            found[a, :, b] = X.T @ ((counts * slope[:, a, b])[:, None] * X)
            found[b, :, a] = found[a, :, b].T
    return found.reshape(equations * covariates, -1)


def is_positive_definite(matrix: Array) -> bool:
    """Return whether a symmetric matrix is positive definite, by more than rounding, whatever the units of its rows."""
    if not len(matrix):
        return True
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not np.isfinite(matrix).all() or scale.min() <= 0:
        return False
    values = np.linalg.eigvalsh(matrix / scale[:, None] / scale)
    return bool(values[0] > _SINGULAR)
