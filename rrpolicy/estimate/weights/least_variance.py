"""Exact linear algebra on small rational matrices: weights must have the same bytes on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rrpolicy.counts import Array

Rows: TypeAlias = Sequence[Sequence[Fraction]]
EXACT_LIMIT = 64
"""Sizes up to this are solved in rationals; larger ones in floating point, refined by exact residuals."""

_SOLVED = 1e-9


def solve(matrix: Rows, right: Rows) -> tuple[list[list[Fraction]], list[bool]]:
    """Solve `matrix @ x = right` exactly by fraction-free elimination (Bareiss 1968).

    Args:
        matrix: (n, m) rationals of any rank.
        right: (n, k) rationals.

    Returns:
        x: (m, k); free unknowns are 0.
        solved: (k,) whether the column of `right` has a solution at all; x is meaningless where it has none.
    """
    unknowns = len(matrix[0])
    work = np.array([_integers([*a, *b]) for a, b in zip(matrix, right, strict=True)], dtype=object)
    pivots, last = _eliminate(work, unknowns)
    columns = work.shape[1] - unknowns
    x = [[Fraction(0)] * columns for _ in range(unknowns)]
    for row, column in enumerate(pivots):
        x[column] = [Fraction(int(v), int(last)) for v in work[row, unknowns:]]
    rest = work[len(pivots) :, unknowns:]
    return x, [not any(rest[:, j]) for j in range(columns)]


def minimum_variance(matrix: Rows, targets: Rows) -> tuple[list[list[Fraction]], list[bool]]:
    """Find the weights of least variance with `matrix^T w = target`, exactly.

    Among all solutions the one that minimises sum_u lambda_u w_u^2, lambda the released proportions under a uniform
    original: w = D^-1 P y with (P^T D^-1 P) y = c, D = diag(lambda) (Gauss-Markov). For a square invertible matrix
    it is P^-T c; splitting a released value in proportion changes nothing.

    Args:
        matrix: (released, original) column-stochastic.
        targets: (original, k).

    Returns:
        w: (released, k), and (k,) whether each target can be estimated at all.
    """
    transposed = [list(column) for column in zip(*matrix, strict=True)]
    if len(transposed) == len(matrix):
        w, solved = solve(transposed, targets)
        if all(solved) and _nonsingular(transposed):
            return w, solved
    mass = [sum(row, Fraction(0)) for row in matrix]
    scaled = [[v / m if m else Fraction(0) for v in row] for row, m in zip(matrix, mass, strict=True)]
    gram = [
        [sum((a * b[j] for a, b in zip(column, scaled, strict=True) if a), Fraction(0)) for j in range(len(transposed))]
        for column in transposed
    ]
    y, solved = solve(gram, targets)
    k = len(targets[0])
    w = [[sum((s * y[v][j] for v, s in enumerate(row) if s), Fraction(0)) for j in range(k)] for row in scaled]
    return w, solved


def minimum_variance_float(matrix: Rows, targets: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Do what `minimum_variance` does for matrices too large for rationals.

    Returns:
        w: (released, k) and (k,) whether `matrix^T w = target` holds to 1e-9.
    """
    P = np.array([[float(v) for v in row] for row in matrix])
    mass = P.sum(axis=1)
    root = np.sqrt(np.where(mass > 0, mass, 1.0))
    A = (P / root[:, None]).T
    inverse = np.linalg.pinv(A, rcond=1e-12)
    w = inverse @ targets
    for _ in range(2):
        w += inverse @ (targets - A @ w)
    residual = np.abs(targets - A @ w).max(axis=0)
    return w / root[:, None], residual <= _SOLVED * np.maximum(1.0, np.abs(w).max(axis=0))


def _integers(row: Sequence[Fraction]) -> list[int]:
    scale = math.lcm(*(v.denominator for v in row))
    return [v.numerator * (scale // v.denominator) for v in row]


def _eliminate(work: npt.NDArray[np.object_], unknowns: int) -> tuple[list[int], int]:
    """Bring integers to reduced echelon form without fractions; return the pivot columns and the common pivot."""
    pivots: list[int] = []
    last = 1
    for column in range(unknowns):
        row = len(pivots)
        found = next((i for i in range(row, len(work)) if work[i, column]), None)
        if found is None:
            continue
        work[[row, found]] = work[[found, row]]
        pivot = work[row, column]
        factors = work[:, column].copy()
        top = work[row].copy()
        work[:] = (pivot * work - np.outer(factors, top)) // last
        work[row] = top
        last = pivot
        pivots.append(column)
        if len(pivots) == len(work):
            break
    return pivots, last


def _nonsingular(matrix: Rows) -> bool:
    work = np.array([_integers(row) for row in matrix], dtype=object)
    return len(_eliminate(work, len(matrix))[0]) == len(matrix)
