"""Families of regression models: the expectation of the outcome, and its derivatives by the linear predictors.

All have their canonical link, so that a record's score is the residual times its covariates (McCullagh, Nelder 1989,
section 2.5). Coefficients of several equations are one vector, equation by equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array

_MOST = 700.0
"""Beyond it an exponential is not finite."""


@frozen(slots=False)
class RegressionFamily:
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
