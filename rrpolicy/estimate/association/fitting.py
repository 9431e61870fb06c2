"""Fitting a hierarchical loglinear model, and the statistics of its fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array

_ROUNDS = 10_000
_CLOSE = 1e-12


@frozen(slots=False)
class LoglinearFit:
    """A fitted table.

    Attributes:
        fitted: expected counts under the model, of the table's shape.
        chi2: Pearson's statistic.
        g2: the likelihood ratio statistic.
        df: degrees of freedom.
        converged: whether the margins agree to 1e-12 of the total.
    """

    fitted: Array
    chi2: float
    g2: float
    df: int
    converged: bool


def fit(table: Array, terms: Sequence[Sequence[int]]) -> LoglinearFit:
    """Fit by iterative proportional fitting (Deming and Stephan 1940): the maximum likelihood table of the model.

    Args:
        table: counts, none negative.
        terms: dimensions of each highest-order term; the fitted table has the table's margins over each.
    """
    total = float(table.sum())
    fitted = np.full(table.shape, total / table.size)
    others = [tuple(i for i in range(table.ndim) if i not in term) for term in terms]
    margins = [table.sum(axis=rest, keepdims=True) for rest in others]
    worst = np.inf
    for _ in range(_ROUNDS):
        for rest, margin in zip(others, margins, strict=True):
            now = fitted.sum(axis=rest, keepdims=True)
            fitted = fitted * np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
        gaps = [np.abs(fitted.sum(axis=rest, keepdims=True) - m).max() for rest, m in zip(others, margins, strict=True)]
        worst = max(gaps)
        if worst <= _CLOSE * total:
            break
    some = fitted > 0
    chi2 = float(((table - fitted)[some] ** 2 / fitted[some]).sum())
    both = (table > 0) & some
    g2 = 2 * float((table[both] * np.log(table[both] / fitted[both])).sum())
    design = design_matrix(table.shape, terms)
    return LoglinearFit(fitted, chi2, g2, table.size - design.shape[1], bool(worst <= _CLOSE * total))


def design_matrix(shape: Sequence[int], terms: Sequence[Sequence[int]]) -> Array:
    """Return (cells, parameters), of full rank: effects coded by the first category, for every term within a term."""
    within = {frozenset[int]()}
    for term in terms:
        for bits in range(1 << len(term)):
            within.add(frozenset(d for i, d in enumerate(term) if bits >> i & 1))
    blocks = []
    for chosen in sorted(within, key=lambda s: (len(s), sorted(s))):
        block: Array = np.ones((1, 1))
        for dimension, size in enumerate(shape):
            effect = np.eye(size)[:, 1:] if dimension in chosen else np.ones((size, 1))
            block = np.asarray(np.kron(block, effect), dtype=np.float64)
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def contrasts(shape: Sequence[int], terms: Sequence[Sequence[int]]) -> Array:
    """Return (df, cells) orthonormal contrasts of log counts that vanish exactly under the model."""
    X = design_matrix(shape, terms)
    Q, _ = np.linalg.qr(X, mode="complete")
    return np.asarray(Q[:, X.shape[1] :].T)
