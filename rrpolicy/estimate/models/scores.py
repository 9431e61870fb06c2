"""Corrected scores: regression on randomised outcomes and covariates without bias, and its errors.

With W_i(cell) the weight of a released record i for the original cell of outcome and covariates,

    sum_cell T(cell) score(cell; beta) = 0,   T = sum_i W_i,

has at the true beta the expectation that the score of the original records has, for any randomisation (Nakamura 1990;
Stefanski 1989). The sandwich H^-1 (sum_i psi_i psi_i') H^-1, psi_i = sum_cell W_i(cell) score(cell; beta), includes the
error of the draw and that of the sample. For this table's own coefficients sum_cell T score score' is subtracted, the
expectation of the squares without randomisation. The cost is proportional to cells, not to records.

All families have their canonical link, so that a record's score is the residual times its covariates (McCullagh, Nelder
1989, section 2.5). Coefficients of several equations are one vector, equation by equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.counts import Array
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.weights.base import Mask


_MOST = 700.0
"""Exponents are clipped at this number, below which exponentials are finite."""


class RegressionFamily(Struct, frozen=True):
    """The law of an outcome given its linear predictors.

    Attributes:
        link: the function of the expectation that is linear in the covariates, in words.
        mean: (cells, equations) linear predictors -> (cells, equations) expectations.
        slope: expectations -> (cells, equations, equations) their derivative by the linear predictors.
        bend: expectations -> (cells, equations, equations, equations) the derivative of `slope`.
        likelihood: outcomes, predictors -> (cells,) log-likelihoods, without terms that no coefficient changes.
        shares: whether expectations are shares of the outcome's categories, which add up to 1.
        least: the smallest possible outcome.
    """

    link: str
    mean: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    bend: Callable[[Array], Array]
    likelihood: Callable[[Array, Array], Array]
    shares: bool = False
    least: float = -math.inf


def _shares(eta: Array) -> Array:
    """Return the shares of the categories but the first."""
    top = np.maximum(eta.max(axis=1, keepdims=True), 0)
    raised, first = np.exp(eta - top), np.exp(-top)
    return np.asarray(raised / (first + raised.sum(axis=1, keepdims=True)))


def _share_slope(mean: Array) -> Array:
    """Return diag(m) - m m'."""
    return mean[:, :, None] * np.eye(mean.shape[1]) - mean[:, :, None] * mean[:, None, :]


def _share_bend(mean: Array) -> Array:
    """Return d slope_ab / d eta_c = [a = b] slope_ac - slope_ac m_b - m_a slope_bc."""
    slope = _share_slope(mean)
    same = np.eye(mean.shape[1])[None, :, :, None] * slope[:, :, None, :]
    return np.asarray(same - slope[:, :, None, :] * mean[:, None, :, None] - mean[:, :, None, None] * slope[:, None])


def _share_likelihood(y: Array, eta: Array) -> Array:
    whole = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    top = whole.max(axis=1)
    return np.asarray((y * eta).sum(axis=1) - top - np.log(np.exp(whole - top[:, None]).sum(axis=1)))


FAMILIES: Mapping[str, RegressionFamily] = {
    "gaussian": RegressionFamily(
        "mean",
        mean=lambda eta: eta,
        slope=lambda mean: np.ones_like(mean)[:, :, None],
        bend=lambda mean: np.zeros_like(mean)[:, :, None, None],
        likelihood=lambda y, eta: np.asarray(-((y - eta) ** 2).sum(axis=1) / 2),
    ),
    "binomial": RegressionFamily(
        "logarithm of the odds",
        mean=lambda eta: np.asarray(1 / (1 + np.exp(-np.clip(eta, -_MOST, _MOST)))),
        slope=lambda mean: (mean * (1 - mean))[:, :, None],
        bend=lambda mean: (mean * (1 - mean) * (1 - 2 * mean))[:, :, None, None],
        likelihood=lambda y, eta: np.asarray((y * eta - np.logaddexp(0, eta)).sum(axis=1)),
        shares=True,
    ),
    "poisson": RegressionFamily(
        "logarithm of the mean",
        mean=lambda eta: np.asarray(np.exp(np.minimum(eta, _MOST))),
        slope=lambda mean: mean[:, :, None],
        bend=lambda mean: mean[:, :, None, None],
        likelihood=lambda y, eta: np.asarray((y * eta - np.exp(np.minimum(eta, _MOST))).sum(axis=1)),
        least=0.0,
    ),
    "multinomial": RegressionFamily(
        "logarithm of the odds against the first category",
        _shares, _share_slope, _share_bend, _share_likelihood, shares=True,
    ),
}  # fmt: skip


_SINGULAR = 1e-9


def information_of(counts: Array, X: Array, slope: Array) -> Array:
    """Return (parameters, parameters) minus the derivative of a score, from (cells,) counts and (cells, terms) X.

    `slope` is (cells, equations, equations), of the expectation by the predictors.
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


_STEPS = 60
_HALVINGS = 25
_CLOSE = 1e-10
FARTHEST = 30.0
"""A linear predictor beyond it, in units of the link, is taken to grow without end."""


@dataclass(frozen=True)
class ScoreRoot:
    """Coefficients at which a score vanishes."""

    beta: Array  # shape (equations, terms)
    information: Array = field(repr=False)  # shape (parameters, parameters): minus the derivative of the score
    scores: Array = field(repr=False)  # shape (parameters, cells)
    counts: Array = field(repr=False)  # shape (cells,); some may be negative
    X: Array = field(repr=False)  # shape (cells, terms)
    Y: Array = field(repr=False)  # shape (cells, equations): outcomes
    family: RegressionFamily = field(repr=False)

    @property
    def influence(self) -> Array:
        """Return (parameters, cells) the change of each coefficient by one record of each cell."""
        return np.asarray(np.linalg.solve(self.information, self.scores))


def solve_score(  # noqa: PLR0917 what a model is of
    counts: Array, X: Array, Y: Array, family: RegressionFamily, start: Array | None = None, free: Mask | None = None
) -> ScoreRoot | None:
    """Return the root of the score of a table, by Newton's method; None if the search finds no root.

    It begins at `start`, by default 0. All (parameters,) move, or only those that are `free`; the scores of the
    moving ones become 0.
    """
    beta = np.zeros((Y.shape[1], X.shape[1])) if start is None else start
    moving = np.arange(beta.size) if free is None else np.flatnonzero(free)
    value = _value(counts, X, Y, family, beta)
    for _ in range(_STEPS):
        mean = family.mean(X @ beta.T)
        information = information_of(counts, X, family.slope(mean))
        if not is_positive_definite(information[np.ix_(moving, moving)]):
            return None
        scores = ((Y - mean)[:, :, None] * X[:, None, :]).reshape(len(X), -1).T
        step = np.zeros(beta.shape)
        step.flat[moving] = np.linalg.solve(information[np.ix_(moving, moving)], (scores @ counts)[moving])
        if np.abs(step).max() <= _CLOSE * (1 + np.abs(beta).max()):
            return ScoreRoot(beta, information, scores, counts, X, Y, family)
        for _ in range(_HALVINGS):
            moved = _value(counts, X, Y, family, beta + step)
            if moved >= value - _CLOSE * abs(value):
                break
            step = step / 2
        else:
            return None
        beta, value = beta + step, moved
        if family.shares and np.abs(X @ beta.T).max() > FARTHEST:
            return None
    return None


def _value(counts: Array, X: Array, Y: Array, family: RegressionFamily, beta: Array) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(counts @ family.likelihood(Y, X @ beta.T))
    return found if np.isfinite(found) else -np.inf


@dataclass(frozen=True)
class Scores:
    """Coefficients at which the corrected score vanishes, with the sandwich."""

    solved: ScoreRoot = field(repr=False)
    table: Crosstab = field(repr=False)

    @property
    def beta(self) -> Array:
        """Return (equations, terms) coefficients."""
        return self.solved.beta

    @property
    def counts(self) -> Array:
        """Return (cells,) the corrected counts by outcome and covariates."""
        return self.table.moment_estimate.reshape(-1)

    def errors(self, by_beta: Array, by_cells: Array | None = None) -> tuple[Mapping[Target, Array], Mask]:
        """Return (functions,) standard errors of functions of the coefficients and of the cells' numbers of records.

        Derivatives are (functions, parameters) and (functions, cells), the latter equal for all cells with the same
        covariates. Also returns where the population's replace this table's, whose variance came out negative.
        """
        functions = by_beta @ self.solved.influence
        return self.table.se_of_sums(functions if by_cells is None else functions + by_cells)
