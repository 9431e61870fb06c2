"""Measures of association as functions of a table of counts, with analytic gradients for the delta method.

For r x c tables: chi-square, G2, mutual information I, M = I/H(row), U = I/H(column), Goodman and Kruskal's tau
(Guo 2010, chapter 3; Agresti 2002). All but chi-square, G2 and Laplace are functions of the shares alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rrpolicy.estimate import two_by_two
from rrpolicy.source.counts import Array

Valued: TypeAlias = tuple[float, Array]
"""A value, and its gradient by each cell of the table."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a table of counts.

    Attributes:
        name: as asked for.
        title: in words.
        shape: for tables of two categories by two, or of any.
        needs: what must be positive for it to exist: each margin, or each cell too.
        low: its least value.
        high: its largest value.
        of: counts (rows, columns) -> value and gradient.
        symmetric: whether the result is the same with rows and columns exchanged.
    """

    name: str
    title: str
    shape: Literal["2x2", "rxc"]
    needs: Literal["margins", "cells"]
    low: float
    high: float
    of: Callable[[Array], Valued]
    symmetric: bool = True


def chi2(x: Array) -> Valued:
    """Return N sum (pi_ij - pi_i+ pi_+j)^2 / (pi_i+ pi_+j); of counts it is N (sum n_ij^2 / (n_i+ n_+j) - 1)."""
    N, r, c = x.sum(), x.sum(axis=1, keepdims=True), x.sum(axis=0, keepdims=True)
    each = x**2 / (r * c)
    S = float(each.sum())
    gradient = 2 * x / (r * c) - each.sum(axis=1, keepdims=True) / r - each.sum(axis=0, keepdims=True) / c
    return float(N) * (S - 1), S - 1 + N * gradient


def mutual_information(x: Array) -> Valued:
    """Return I = sum pi_ij log(pi_ij / (pi_i+ pi_+j)), natural logarithm."""
    N, r, c = x.sum(), x.sum(axis=1, keepdims=True), x.sum(axis=0, keepdims=True)
    quotient = x * N / (r * c)
    log = np.log(quotient, out=np.zeros_like(quotient), where=quotient > 0)
    value = float((x * log).sum() / N)
    return value, (log - value) / N


def g2(x: Array) -> Valued:
    """Return the likelihood ratio statistic 2 N I."""
    N = float(x.sum())
    value, gradient = mutual_information(x)
    return 2 * N * value, 2 * (value + N * gradient)


def tau(x: Array) -> Valued:
    """Return Goodman and Kruskal's tau: how much better the column is guessed in proportion, knowing the row.

    tau = (A - B) / (1 - B), A = sum pi_ij^2 / pi_i+, B = sum pi_+j^2.
    """
    N = x.sum()
    p = x / N
    r, c = p.sum(axis=1, keepdims=True), p.sum(axis=0, keepdims=True)
    row = (p**2).sum(axis=1, keepdims=True) / r
    A, B = float(row.sum()), float((c**2).sum())
    value = (A - B) / (1 - B)
    gradient = (2 * p / r - row / r - 2 * c * np.ones_like(p)) / (1 - B) + value * 2 * c / (1 - B)
    return value, _of_counts(gradient, p, float(N))


def laplace(x: Array) -> Valued:
    """Return (n_11 + 1) / (n_1+ + 2)."""
    size = x[1].sum() + 2
    value = float((x[1, 1] + 1) / size)
    return value, np.array([[0.0, 0.0], [-value / size, (1 - value) / size]])


def entropy(x: Array, axis: int) -> Valued:
    """Return the entropy of the rows (axis 0) or columns (axis 1), natural logarithm, with its gradient by cell."""
    N, margin = x.sum(), x.sum(axis=1 - axis, keepdims=True)
    share = margin / N
    log = np.log(share, out=np.zeros_like(share), where=share > 0)
    value = -float((share * log).sum())
    return value, -(log + value) / N * np.ones_like(x)


def _coefficient(axis: int) -> Callable[[Array], Valued]:
    def of(x: Array) -> Valued:
        information, by_cell = mutual_information(x)
        H, gradient = entropy(x, axis)
        value = information / H
        return value, (by_cell - value * gradient) / H

    return of


def _of_cells(point: Callable[[float, float, float], two_by_two.Point]) -> Callable[[Array], Valued]:
    """Return a measure in (a, r, c) as one of counts."""

    def of(x: Array) -> Valued:
        N = float(x.sum())
        p = x / N
        a, r, c = float(p[1, 1]), float(p[1].sum()), float(p[:, 1].sum())
        value, by_a, by_r, by_c = point(a, r, c)
        return value, _of_counts(np.array([[0.0, by_c], [by_r, by_a + by_r + by_c]]), p, N)

    return of


def _of_counts(gradient: Array, p: Array, N: float) -> Array:
    """Turn a gradient by shares into one by counts."""
    return (gradient - float((gradient * p).sum())) / N


def _pair(
    function: Callable[[float, float, float], two_by_two.Point],
    title: str,
    low: float,
    high: float,
    *,
    cells: bool = False,
    symmetric: bool = True,
) -> Measure:
    needs: Literal["margins", "cells"] = "cells" if cells else "margins"
    return Measure(function.__name__, title, "2x2", needs, low, high, _of_cells(function), symmetric)


_INF = math.inf
MEASURES: Mapping[str, Measure] = {
    m.name: m
    for m in (
        _pair(two_by_two.phi, "phi coefficient", -1, 1),
        _pair(two_by_two.odds_ratio, "odds ratio", 0, _INF, cells=True),
        _pair(two_by_two.log_odds_ratio, "logarithm of the odds ratio", -_INF, _INF, cells=True),
        _pair(two_by_two.risk_difference, "risk difference (row where column present or not)", -1, 1, symmetric=False),
        _pair(two_by_two.support, "support", 0, 1),
        _pair(two_by_two.confidence, "confidence (column given row)", 0, 1, symmetric=False),
        _pair(two_by_two.jaccard, "Jaccard", 0, 1),
        _pair(two_by_two.kappa, "Cohen's kappa", -1, 1),
        _pair(two_by_two.cosine, "cosine", 0, 1),
        _pair(two_by_two.interest, "interest (lift)", 0, _INF),
        _pair(two_by_two.ps, "Piatetsky-Shapiro", -0.25, 0.25),
        _pair(two_by_two.conviction, "conviction", 0, _INF, cells=True, symmetric=False),
        _pair(two_by_two.certainty, "certainty factor", -_INF, 1, symmetric=False),
        _pair(two_by_two.added_value, "added value", -1, 1, symmetric=False),
        Measure("laplace", "Laplace", "2x2", "margins", 0, 1, laplace, symmetric=False),
        _pair(two_by_two.j_measure, "J-measure", 0, _INF, cells=True, symmetric=False),
        _pair(two_by_two.collective_strength, "collective strength", 0, _INF, cells=True),
        Measure("chi2", "chi-square statistic", "rxc", "margins", 0, _INF, chi2),
        Measure("g2", "likelihood ratio statistic G2", "rxc", "cells", 0, _INF, g2),
        Measure("mutual_information", "mutual information", "rxc", "cells", 0, _INF, mutual_information),
        Measure("m", "M = I/H(row)", "rxc", "cells", 0, 1, _coefficient(0), symmetric=False),
        Measure("u", "uncertainty coefficient U = I/H(column)", "rxc", "cells", 0, 1, _coefficient(1), symmetric=False),
        Measure("tau", "Goodman and Kruskal's tau", "rxc", "margins", 0, 1, tau, symmetric=False),
    )
}
"""Every measure by name."""
