"""Measures of association as functions of a table of counts, with analytic gradients for the delta method.

A measure of two categories by two is a function of a = pi_11 (both present), r = pi_1+ (row present) and c = pi_+1
(column present). The other cells follow: pi_10 = r - a, pi_01 = c - a, pi_00 = 1 - r - c + a. It returns the value and
its derivatives by a, r and c (Guo 2010, table 3.6, with certainty and phi by their definitions). A cell of 0 gives the
limit where there is one, with numpy's warnings.

For r x c tables: chi-square, G2, mutual information I, M = I/H(row), U = I/H(column), Goodman and Kruskal's tau,
Cramer's V (Guo 2010, chapter 3; Agresti 2002; Cramer 1946, section 21.9). All but chi-square, G2 and Laplace are
functions of the shares alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from rrpolicy.counts import Array
from rrpolicy.estimate.weights.base import Mask

_INF = math.inf
_TIP = 1e-9
_SMALLEST = 2  # categories: a single one is associated with nothing

ValueAndGradient: TypeAlias = tuple[Array, Array]
"""The value of each table (...,), and its gradient by each cell (..., rows, columns)."""
ValueAndDerivatives: TypeAlias = tuple[Array, Array, Array, Array]
"""The value, and its derivatives by a, r, c; of many tables at once, arrays."""


class MeasureKind(Struct, frozen=True):
    """Measures whose values can be drawn on one axis.

    `independent` is their value where rows and columns are independent, None where that depends on the margins. With
    `dependence` they are positive wherever rows and columns are not. With `factors` values are compared by quotients,
    so that 2 and 1/2 are equally far from 1.
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


class AssociationMeasure(Struct, frozen=True):
    """A measure of a table of counts; after a colon its `title` has its direction, if it has one."""

    name: str
    title: str
    kind: MeasureKind
    shape: Literal["2x2", "rxc"]
    needs: Literal["margins", "cells"]  # each must be positive for it to exist
    low: float
    high: float
    of: Callable[[Array], ValueAndGradient]  # shape (..., rows, columns) of counts, many tables at once

    def defined_at(self, x: Array, exact_zero: Mask) -> bool:
        """Return whether it is defined at a table, some of whose cells may be known to be empty."""
        if min(x.shape) < _SMALLEST or min(x.sum(axis=0).min(), x.sum(axis=1).min()) <= 0:
            return False
        return self.needs == "margins" or bool(((x > 0) | (exact_zero & (x == 0))).all())

    def value_at(self, table: Array) -> float:
        """Return its value, for r x c tables without empty categories; NaN where it is not defined."""
        if self.shape == "rxc":
            table = drop_empty_categories(table)
            possible = min(table.shape, default=0) >= _SMALLEST
        else:
            possible = self.defined_at(table, np.zeros(table.shape, dtype=bool))
        with np.errstate(all="ignore"):
            return float(self.of(table)[0]) if possible else math.nan


MEASURES: dict[str, AssociationMeasure] = {}
"""Every measure by name."""

_Point: TypeAlias = Callable[[Array, Array, Array], ValueAndDerivatives]
_Of = TypeVar("_Of", bound=Callable[[Array], ValueAndGradient])


def _two_by_two(
    title: str, kind: MeasureKind, low: float, high: float, *, cells: bool = False
) -> Callable[[_Point], _Point]:
    def register(point: _Point) -> _Point:
        def of(x: Array) -> ValueAndGradient:
            N = _total(x)
            p = x / N
            value, by_a, by_r, by_c = point(p[..., 1, 1], p[..., 1, :].sum(axis=-1), p[..., :, 1].sum(axis=-1))
            return value, _of_counts(_as_table(np.zeros_like(by_a), by_c, by_r, by_a + by_r + by_c), p, N)

        _measure(title, kind, low, high, shape="2x2", cells=cells, name=point.__name__)(of)
        return point

    return register


def _measure(
    title: str,
    kind: MeasureKind,
    low: float,
    high: float,
    *,
    shape: Literal["2x2", "rxc"] = "rxc",
    cells: bool = True,
    name: str = "",
) -> Callable[[_Of], _Of]:
    def register(of: _Of) -> _Of:
        own = name or of.__name__
        MEASURES[own] = AssociationMeasure(own, title, kind, shape, "cells" if cells else "margins", low, high, of)
        return of

    return register


@_two_by_two("phi coefficient", COEFFICIENT, -1, 1)
def phi(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (pi_11 pi_00 - pi_01 pi_10) / sqrt(pi_1+ pi_+1 pi_0+ pi_+0); the numerator is a - r c."""
    s = np.sqrt(r * (1 - r) * c * (1 - c))
    v = (a - r * c) / s
    by_r = -c / s - v * (1 - 2 * r) / (2 * r * (1 - r))
    return v, 1 / s, by_r, -r / s - v * (1 - 2 * c) / (2 * c * (1 - c))


@_two_by_two("odds ratio", RATIO, 0, _INF, cells=True)
def odds_ratio(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 pi_00 / (pi_10 pi_01)."""
    log, by_a, by_r, by_c = log_odds_ratio(a, r, c)
    v = np.exp(log)
    return v, v * by_a, v * by_r, v * by_c


@_two_by_two("logarithm of the odds ratio", LOGARITHM, -_INF, _INF, cells=True)
def log_odds_ratio(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return the natural logarithm of the odds ratio."""
    p10, p01, p00 = r - a, c - a, 1 - r - c + a
    v = np.log(a * p00 / (p10 * p01))
    return v, 1 / a + 1 / p00 + 1 / p10 + 1 / p01, -1 / p00 - 1 / p10, -1 / p00 - 1 / p01


@_two_by_two("risk difference: the row's share given the column, less that without it", COEFFICIENT, -1, 1)
def risk_difference(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_00 / pi_+0 - pi_01 / pi_+1, how much likelier the row is where the column is present."""
    p10 = r - a
    return a / c - p10 / (1 - c), 1 / c + 1 / (1 - c), -1 / (1 - c), -a / c**2 - p10 / (1 - c) ** 2


@_two_by_two("support", SHARE, 0, 1)
def support(a: Array, r: Array, c: Array) -> ValueAndDerivatives:  # noqa: ARG001 - all measures have one signature
    """Return pi_11."""
    none = np.zeros_like(a)
    return a, none + 1, none, none


@_two_by_two("confidence: the column's share given the row", SHARE, 0, 1)
def confidence(a: Array, r: Array, c: Array) -> ValueAndDerivatives:  # noqa: ARG001 - all measures have one signature
    """Return pi_11 / pi_1+, the share of the column among those with the row."""
    return a / r, 1 / r, -a / r**2, np.zeros_like(a)


@_two_by_two("Jaccard", SHARE, 0, 1)
def jaccard(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / (pi_1+ + pi_+1 - pi_11)."""
    u = r + c - a
    return a / u, 1 / u + a / u**2, -a / u**2, -a / u**2


@_two_by_two("Cohen's kappa", COEFFICIENT, -1, 1)
def kappa(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (observed - chance agreement) / (1 - chance agreement) = 2 (a - r c) / (r + c - 2 r c)."""
    u = r + c - 2 * r * c
    v = 2 * (a - r * c) / u
    return v, 2 / u, -(2 * c + v * (1 - 2 * c)) / u, -(2 * r + v * (1 - 2 * r)) / u


@_two_by_two("cosine", SHARE, 0, 1)
def cosine(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / sqrt(pi_1+ pi_+1)."""
    s = np.sqrt(r * c)
    return a / s, 1 / s, -a / (2 * s * r), -a / (2 * s * c)


@_two_by_two("interest (lift)", RATIO, 0, _INF)
def interest(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / (pi_1+ pi_+1), also called lift."""
    v = a / (r * c)
    return v, 1 / (r * c), -v / r, -v / c


@_two_by_two("Piatetsky-Shapiro", COEFFICIENT, -0.25, 0.25)
def ps(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return Piatetsky-Shapiro's pi_11 - pi_1+ pi_+1."""
    return a - r * c, np.ones_like(a), -c, -r


@_two_by_two("conviction: from the row to the column", RATIO, 0, _INF, cells=True)
def conviction(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_1+ pi_+0 / pi_10."""
    p10 = r - a
    v = r * (1 - c) / p10
    return v, v / p10, (1 - c - v) / p10, -r / p10


@_two_by_two("certainty factor: from the row to the column", COEFFICIENT, -_INF, 1)
def certainty(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (pi_11 / pi_1+ - pi_+1) / (1 - pi_+1)."""
    v = (a / r - c) / (1 - c)
    return v, 1 / (r * (1 - c)), -a / (r**2 * (1 - c)), (v - 1) / (1 - c)


@_two_by_two("added value: the column's share given the row, less that of all", COEFFICIENT, -1, 1)
def added_value(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 / pi_1+ - pi_+1."""
    return a / r - c, 1 / r, -a / r**2, -np.ones_like(a)


@_measure("Laplace's confidence: the column's share given the row", SHARE, 0, 1, shape="2x2", cells=False)
def laplace(x: Array) -> ValueAndGradient:
    """Return (n_11 + 1) / (n_1+ + 2)."""
    size = x[..., 1, :].sum(axis=-1) + 2
    value = (x[..., 1, 1] + 1) / size
    none = np.zeros_like(value)
    return value, _as_table(none, none, -value / size, (1 - value) / size)


@_two_by_two("J-measure: from the row to the column", INFORMATION, 0, _INF, cells=True)
def j_measure(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return pi_11 log(pi_11 / (pi_1+ pi_+1)) + pi_10 log(pi_10 / (pi_1+ pi_+0)), natural logarithms."""
    p10 = r - a
    present, absent = np.log(a / (r * c)), np.log(p10 / (r * (1 - c)))
    value = np.where(a > 0, a * present, 0.0) + np.where(p10 > 0, p10 * absent, 0.0)
    return value, present - absent, absent, -a / c + p10 / (1 - c)


@_two_by_two("collective strength", RATIO, 0, _INF, cells=True)
def collective_strength(a: Array, r: Array, c: Array) -> ValueAndDerivatives:
    """Return (o / e) ((1 - e) / (1 - o)), o = pi_11 + pi_00 and e = pi_1+ pi_+1 + pi_0+ pi_+0."""
    o, e = 1 - r - c + 2 * a, 1 - r - c + 2 * r * c
    v = o * (1 - e) / (e * (1 - o))
    by_o, by_e = v / (o * (1 - o)), -v / (e * (1 - e))
    return v, 2 * by_o, -by_o + by_e * (2 * c - 1), -by_o + by_e * (2 * r - 1)


@_measure("chi-square statistic", STATISTIC, 0, _INF)
def chi2(x: Array) -> ValueAndGradient:
    """Return N phi^2."""
    N = _total(x)
    value, gradient = phi_squared(x)
    return N[..., 0, 0] * value, value[..., None, None] + N * gradient


@_measure("likelihood ratio statistic G2", STATISTIC, 0, _INF)
def g2(x: Array) -> ValueAndGradient:
    """Return the likelihood ratio statistic 2 N I."""
    N = _total(x)
    value, gradient = mutual_information(x)
    return 2 * N[..., 0, 0] * value, 2 * (value[..., None, None] + N * gradient)


@_measure("mutual information", INFORMATION, 0, _INF)
def mutual_information(x: Array) -> ValueAndGradient:
    """Return I = sum pi_ij log(pi_ij / (pi_i+ pi_+j)), natural logarithm; 0 log 0 is 0."""
    N, r, c = _margins(x)
    quotient = x * N / (r * c)
    log = np.log(quotient, out=np.zeros_like(quotient), where=quotient > 0)
    value = _total(x * log) / N
    return value[..., 0, 0], (log - value) / N


def _per_entropy(x: Array, axis: int) -> ValueAndGradient:
    """Return mutual information I divided by the entropy of the rows (axis 0) or columns (axis 1)."""
    information, by_cell = mutual_information(x)
    H, gradient = entropy(x, axis)
    value = information / H
    return value, (by_cell - value[..., None, None] * gradient) / H[..., None, None]


for _axis, _name, _title in (
    (0, "m", "M = I/H(row): the share of the row's uncertainty that the column takes away"),
    (1, "u", "uncertainty coefficient U = I/H(column): the share of the column's uncertainty that the row takes away"),
):
    _measure(_title, DEGREE, 0, 1, name=_name)(partial(_per_entropy, axis=_axis))


@_measure("Goodman and Kruskal's tau: the column guessed by the row", DEGREE, 0, 1, cells=False)
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
    return value[..., 0, 0], _of_counts(gradient, p, N)


@_measure("Cramer's V", DEGREE, 0, 1)
def cramers_v(x: Array) -> ValueAndGradient:
    """Return V = sqrt(phi^2 / (min(rows, columns) - 1)) (Cramer 1946, section 21.9).

    At independence it has a tip, as |phi| has in tables of 2 x 2: the gradient there is given as 0.
    """
    square, gradient = phi_squared(x)
    most = min(x.shape[-2:]) - 1
    value = np.sqrt(square / most)
    steep = 2 * most * value[..., None, None]
    return value, np.divide(gradient, steep, out=np.zeros_like(gradient), where=steep > _TIP)


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
    return _total((x - r * c / N) ** 2 / (r * c))[..., 0, 0], gradient


def entropy(x: Array, axis: int) -> ValueAndGradient:
    """Return the entropy of the rows (axis 0) or columns (axis 1), natural logarithm, with its gradient by cell."""
    N, rows, columns = _margins(x)
    share = (columns if axis else rows) / N
    log = np.log(share, out=np.zeros_like(share), where=share > 0)
    value = -_total(share * log)
    return value[..., 0, 0], -(log + value) / N * np.ones_like(x)


def _of_counts(gradient: Array, p: Array, N: Array) -> Array:
    """Turn a gradient by shares into one by counts."""
    return (gradient - _total(gradient * p)) / N


def _total(x: Array) -> Array:
    """Return the sum of each table, (..., 1, 1)."""
    return np.asarray(x.sum(axis=(-2, -1), keepdims=True))


def _margins(x: Array) -> tuple[Array, Array, Array]:
    """Return the sum of each table, of its rows and of its columns, with the dimensions of the table."""
    return _total(x), x.sum(axis=-1, keepdims=True), x.sum(axis=-2, keepdims=True)


def _as_table(n00: Array, n01: Array, n10: Array, n11: Array) -> Array:
    return np.stack([np.stack([n00, n01], axis=-1), np.stack([n10, n11], axis=-1)], axis=-2)
