"""Measures of association as functions of a table of counts, with analytic gradients for the delta method.

For r x c tables: chi-square, G2, mutual information I, M = I/H(row), U = I/H(column), Goodman and Kruskal's tau,
Cramer's V (Guo 2010, chapter 3; Agresti 2002; Cramer 1946, section 21.9). All but chi-square, G2 and Laplace are
functions of the shares alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import numpy as np

from rrpolicy.counts import Array
from rrpolicy.estimate.association import two_by_two
from rrpolicy.frozen_dataclass import frozen

_INF = math.inf
_TIP = 1e-9

ValueAndGradient: TypeAlias = tuple[Array, Array]
"""The value of each table (...,), and its gradient by each cell (..., rows, columns)."""


@frozen
class MeasureKind:
    """What measures have in common whose values can stand on one axis.

    Attributes:
        title: in words.
        independent: their value where rows and columns are independent; None where that depends on the margins.
        dependence: whether they are positive wherever rows and columns are not.
        factors: whether values compare by quotients, so that 2 and 1/2 are as far from 1.
    """

    title: str
    independent: float | None = 0.0
    dependence: bool = False
    factors: bool = False


SHARE = MeasureKind("shares", None)
COEFFICIENT = MeasureKind("coefficients and differences")
LOGARITHM = MeasureKind("logarithms")
RATIO = MeasureKind("ratios", 1.0, factors=True)
DEGREE = MeasureKind("degrees of association", dependence=True)
INFORMATION = MeasureKind("information, in nats", dependence=True)
STATISTIC = MeasureKind("test statistics", dependence=True)


@frozen
class AssociationMeasure:
    """A measure of a table of counts.

    Attributes:
        name: as asked for.
        title: in words; after a colon, its direction, if it has one.
        kind: what it is of.
        shape: for tables of two categories by two, or of any.
        needs: what must be positive for it to exist: each margin, or each cell too.
        low: its least value.
        high: its largest value.
        of: counts (..., rows, columns) -> values and gradients, of many tables at once.
    """

    name: str
    title: str
    kind: MeasureKind
    shape: Literal["2x2", "rxc"]
    needs: Literal["margins", "cells"]
    low: float
    high: float
    of: Callable[[Array], ValueAndGradient]

    @property
    def dependence(self) -> bool:
        """Return whether it is 0 where rows and columns are independent, and positive elsewhere."""
        return self.kind.dependence


def drop_empty_categories(x: Array) -> Array:
    """Return a table without the categories that are estimated to occur at most 0 times among the others."""
    size = -1
    while x.size != size:
        size = x.size
        x = x[x.sum(axis=1) > 0]
        x = x[:, x.sum(axis=0) > 0]
    return x


def phi_squared(x: Array) -> ValueAndGradient:
    """Return sum (pi_ij - pi_i+ pi_+j)^2 / (pi_i+ pi_+j), which is sum n_ij^2 / (n_i+ n_+j) - 1 of counts."""
    N, r, c = _margins(x)
    each = x**2 / (r * c)
    gradient = 2 * x / (r * c) - each.sum(axis=-1, keepdims=True) / r - each.sum(axis=-2, keepdims=True) / c
    return _squeeze(_total((x - r * c / N) ** 2 / (r * c))), gradient


def chi2(x: Array) -> ValueAndGradient:
    """Return N phi^2."""
    N = _total(x)
    value, gradient = phi_squared(x)
    return _squeeze(N) * value, value[..., None, None] + N * gradient


def cramers_v(x: Array) -> ValueAndGradient:
    """Return V = sqrt(phi^2 / (min(rows, columns) - 1)) (Cramer 1946, section 21.9).

    At independence it has a tip, as |phi| has in tables of 2 x 2: the gradient there is given as 0.
    """
    square, gradient = phi_squared(x)
    most = min(x.shape[-2:]) - 1
    value = np.sqrt(square / most)
    steep = 2 * most * value[..., None, None]
    return value, np.divide(gradient, steep, out=np.zeros_like(gradient), where=steep > _TIP)


def mutual_information(x: Array) -> ValueAndGradient:
    """Return I = sum pi_ij log(pi_ij / (pi_i+ pi_+j)), natural logarithm; 0 log 0 is 0."""
    N, r, c = _margins(x)
    quotient = x * N / (r * c)
    log = np.log(quotient, out=np.zeros_like(quotient), where=quotient > 0)
    value = _total(x * log) / N
    return _squeeze(value), (log - value) / N


def g2(x: Array) -> ValueAndGradient:
    """Return the likelihood ratio statistic 2 N I."""
    N = _total(x)
    value, gradient = mutual_information(x)
    return 2 * _squeeze(N) * value, 2 * (value[..., None, None] + N * gradient)


def tau(x: Array) -> ValueAndGradient:
    """Return Goodman and Kruskal's tau: how much better the column is guessed in proportion, knowing the row.

    tau = (A - B) / (1 - B), A = sum pi_ij^2 / pi_i+, B = sum pi_+j^2.
    """
    N, r, c = _margins(x)
    p, r, c = x / N, r / N, c / N
    row = (p**2).sum(axis=-1, keepdims=True) / r
    A, B = row.sum(axis=-2, keepdims=True), (c**2).sum(axis=-1, keepdims=True)
    value = (A - B) / (1 - B)
    gradient = (2 * p / r - row / r - 2 * c * np.ones_like(p)) / (1 - B) + value * 2 * c / (1 - B)
    return _squeeze(value), _of_counts(gradient, p, N)


def laplace(x: Array) -> ValueAndGradient:
    """Return (n_11 + 1) / (n_1+ + 2)."""
    size = x[..., 1, :].sum(axis=-1) + 2
    value = (x[..., 1, 1] + 1) / size
    none = np.zeros_like(value)
    return value, _two_by_two(none, none, -value / size, (1 - value) / size)


def entropy(x: Array, axis: int) -> ValueAndGradient:
    """Return the entropy of the rows (axis 0) or columns (axis 1), natural logarithm, with its gradient by cell."""
    N, rows, columns = _margins(x)
    share = (columns if axis else rows) / N
    log = np.log(share, out=np.zeros_like(share), where=share > 0)
    value = -_total(share * log)
    return _squeeze(value), -(log + value) / N * np.ones_like(x)


def _coefficient(axis: int) -> Callable[[Array], ValueAndGradient]:
    def of(x: Array) -> ValueAndGradient:
        information, by_cell = mutual_information(x)
        H, gradient = entropy(x, axis)
        value = information / H
        return value, (by_cell - value[..., None, None] * gradient) / H[..., None, None]

    return of


def _of_cells(
    point: Callable[[Array, Array, Array], two_by_two.ValueAndDerivatives],
) -> Callable[[Array], ValueAndGradient]:
    """Return a measure in (a, r, c) as one of counts."""

    def of(x: Array) -> ValueAndGradient:
        N = _total(x)
        p = x / N
        value, by_a, by_r, by_c = point(p[..., 1, 1], p[..., 1, :].sum(axis=-1), p[..., :, 1].sum(axis=-1))
        return value, _of_counts(_two_by_two(np.zeros_like(by_a), by_c, by_r, by_a + by_r + by_c), p, N)

    return of


def _of_counts(gradient: Array, p: Array, N: Array) -> Array:
    """Turn a gradient by shares into one by counts."""
    return (gradient - _total(gradient * p)) / N


def _total(x: Array) -> Array:
    """Return the sum of each table, (..., 1, 1)."""
    return np.asarray(x.sum(axis=(-2, -1), keepdims=True))


def _margins(x: Array) -> tuple[Array, Array, Array]:
    """Return the sum of each table, of its rows and of its columns, with the dimensions of the table."""
    return _total(x), x.sum(axis=-1, keepdims=True), x.sum(axis=-2, keepdims=True)


def _squeeze(value: Array) -> Array:
    """Return (...,) what is (..., 1, 1)."""
    return value[..., 0, 0]


def _two_by_two(n00: Array, n01: Array, n10: Array, n11: Array) -> Array:
    return np.stack([np.stack([n00, n01], axis=-1), np.stack([n10, n11], axis=-1)], axis=-2)


def _two_by_two_measure(
    function: Callable[[Array, Array, Array], two_by_two.ValueAndDerivatives],
    title: str,
    kind: MeasureKind,
    low: float,
    high: float,
    *,
    cells: bool = False,
) -> AssociationMeasure:
    needs: Literal["margins", "cells"] = "cells" if cells else "margins"
    return AssociationMeasure(function.__name__, title, kind, "2x2", needs, low, high, _of_cells(function))


MEASURES: Mapping[str, AssociationMeasure] = {
    m.name: m
    for m in (
        _two_by_two_measure(two_by_two.phi, "phi coefficient", COEFFICIENT, -1, 1),
        _two_by_two_measure(two_by_two.odds_ratio, "odds ratio", RATIO, 0, _INF, cells=True),
        _two_by_two_measure(
            two_by_two.log_odds_ratio, "logarithm of the odds ratio", LOGARITHM, -_INF, _INF, cells=True
        ),
        _two_by_two_measure(
            two_by_two.risk_difference,
            "risk difference: the row's share given the column, less that without it",
            COEFFICIENT,
            -1,
            1,
        ),
        _two_by_two_measure(two_by_two.support, "support", SHARE, 0, 1),
        _two_by_two_measure(two_by_two.confidence, "confidence: the column's share given the row", SHARE, 0, 1),
        _two_by_two_measure(two_by_two.jaccard, "Jaccard", SHARE, 0, 1),
        _two_by_two_measure(two_by_two.kappa, "Cohen's kappa", COEFFICIENT, -1, 1),
        _two_by_two_measure(two_by_two.cosine, "cosine", SHARE, 0, 1),
        _two_by_two_measure(two_by_two.interest, "interest (lift)", RATIO, 0, _INF),
        _two_by_two_measure(two_by_two.ps, "Piatetsky-Shapiro", COEFFICIENT, -0.25, 0.25),
        _two_by_two_measure(
            two_by_two.conviction, "conviction: from the row to the column", RATIO, 0, _INF, cells=True
        ),
        _two_by_two_measure(
            two_by_two.certainty, "certainty factor: from the row to the column", COEFFICIENT, -_INF, 1
        ),
        _two_by_two_measure(
            two_by_two.added_value,
            "added value: the column's share given the row, less that of all",
            COEFFICIENT,
            -1,
            1,
        ),
        AssociationMeasure(
            "laplace", "Laplace's confidence: the column's share given the row", SHARE, "2x2", "margins", 0, 1, laplace
        ),
        _two_by_two_measure(
            two_by_two.j_measure, "J-measure: from the row to the column", INFORMATION, 0, _INF, cells=True
        ),
        _two_by_two_measure(two_by_two.collective_strength, "collective strength", RATIO, 0, _INF, cells=True),
        AssociationMeasure("chi2", "chi-square statistic", STATISTIC, "rxc", "cells", 0, _INF, chi2),
        AssociationMeasure("g2", "likelihood ratio statistic G2", STATISTIC, "rxc", "cells", 0, _INF, g2),
        AssociationMeasure(
            "mutual_information", "mutual information", INFORMATION, "rxc", "cells", 0, _INF, mutual_information
        ),
        AssociationMeasure(
            "m",
            "M = I/H(row): the share of the row's uncertainty that the column takes away",
            DEGREE,
            "rxc",
            "cells",
            0,
            1,
            _coefficient(0),
        ),
        AssociationMeasure(
            "u",
            "uncertainty coefficient U = I/H(column): the share of the column's uncertainty that the row takes away",
            DEGREE,
            "rxc",
            "cells",
            0,
            1,
            _coefficient(1),
        ),
        AssociationMeasure(
            "tau", "Goodman and Kruskal's tau: the column guessed by the row", DEGREE, "rxc", "margins", 0, 1, tau
        ),
        AssociationMeasure("cramers_v", "Cramer's V", DEGREE, "rxc", "cells", 0, 1, cramers_v),
    )
}
"""Every measure by name."""
