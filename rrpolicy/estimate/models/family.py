"""Families of regression models: what is expected of the outcome, and how much a coefficient moves it.

All have their canonical link, so that a record's score is the residual times its covariates (McCullagh, Nelder 1989,
section 2.5), and coefficients of several equations stand in one vector, equation by equation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.counts import Array


_MOST = 700.0
"""Beyond it an exponential is no number."""


class RegressionFamily(ABC):
    """An outcome's law given what is predicted of it.

    Attributes:
        link: what is linear in the covariates, in words.
        shares: whether what is expected are shares of the outcome's categories, which add up to 1.
        least: the smallest number that an outcome can be.
    """

    link: ClassVar[str]
    shares: ClassVar[bool] = False
    least: ClassVar[float] = -math.inf

    @abstractmethod
    def mean(self, eta: Array) -> Array:
        """Return (cells, equations) what is expected, of as many linear predictors."""

    @abstractmethod
    def slope(self, mean: Array) -> Array:
        """Return (cells, equations, equations) the derivative of the mean by the linear predictors."""

    @abstractmethod
    def bend(self, mean: Array) -> Array:
        """Return (cells, equations, equations, equations) the derivative of `slope` by the linear predictors."""

    @abstractmethod
    def likelihood(self, y: Array, eta: Array) -> Array:
        """Return (cells,) log-likelihoods of outcomes, but for what no coefficient changes."""


class _SingleEquation(RegressionFamily):
    """One equation."""

    @abstractmethod
    def _variance(self, mean: Array) -> Array: ...

    def slope(self, mean: Array) -> Array:
        """Return the variance function, which the canonical link makes the derivative."""
        return self._variance(mean)[:, :, None]

    @abstractmethod
    def _bend(self, mean: Array) -> Array: ...

    def bend(self, mean: Array) -> Array:
        """Return the derivative of the variance function, times the slope."""
        return self._bend(mean)[:, :, None, None]


class Gaussian(_SingleEquation):
    """A number, of constant variance: least squares."""

    link = "mean"

    def mean(self, eta: Array) -> Array:
        """Return the linear predictor."""
        return eta

    def _variance(self, mean: Array) -> Array:
        return np.ones_like(mean)

    def _bend(self, mean: Array) -> Array:
        return np.zeros_like(mean)

    def likelihood(self, y: Array, eta: Array) -> Array:
        """Return half the negative squares."""
        return np.asarray(-((y - eta) ** 2).sum(axis=1) / 2)


class Binomial(_SingleEquation):
    """Yes or no."""

    link = "logarithm of the odds"
    shares = True

    def mean(self, eta: Array) -> Array:
        """Return the share of yes."""
        return np.asarray(1 / (1 + np.exp(-np.clip(eta, -_MOST, _MOST))))

    def _variance(self, mean: Array) -> Array:
        return mean * (1 - mean)

    def _bend(self, mean: Array) -> Array:
        return mean * (1 - mean) * (1 - 2 * mean)

    def likelihood(self, y: Array, eta: Array) -> Array:
        """Return Bernoulli's."""
        return np.asarray((y * eta - np.logaddexp(0, eta)).sum(axis=1))


class Poisson(_SingleEquation):
    """A number of events."""

    link = "logarithm of the mean"
    least = 0.0

    def mean(self, eta: Array) -> Array:
        """Return the mean."""
        return np.asarray(np.exp(np.minimum(eta, _MOST)))

    def _variance(self, mean: Array) -> Array:
        return mean

    def _bend(self, mean: Array) -> Array:
        return mean

    def likelihood(self, y: Array, eta: Array) -> Array:
        """Return Poisson's."""
        return np.asarray((y * eta - np.exp(np.minimum(eta, _MOST))).sum(axis=1))


class Multinomial(RegressionFamily):
    """One of several categories; an equation for each but the first."""

    link = "logarithm of the odds against the first category"
    shares = True

    def mean(self, eta: Array) -> Array:
        """Return the shares of the categories but the first."""
        raised = np.exp(eta - np.maximum(eta.max(axis=1, keepdims=True), 0))
        first = np.exp(-np.maximum(eta.max(axis=1, keepdims=True), 0))
        return np.asarray(raised / (first + raised.sum(axis=1, keepdims=True)))

    def slope(self, mean: Array) -> Array:
        """Return diag(m) - m m'."""
        return mean[:, :, None] * np.eye(mean.shape[1]) - mean[:, :, None] * mean[:, None, :]

    def bend(self, mean: Array) -> Array:
        """Return d slope_ab / d eta_c = [a = b] slope_ac - slope_ac m_b - m_a slope_bc."""
        slope = self.slope(mean)
        same = np.eye(mean.shape[1])[None, :, :, None] * slope[:, :, None, :]
        return np.asarray(
            same - slope[:, :, None, :] * mean[:, None, :, None] - mean[:, :, None, None] * slope[:, None]
        )

    def likelihood(self, y: Array, eta: Array) -> Array:
        """Return that of one draw."""
        whole = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
        top = whole.max(axis=1)
        return np.asarray((y * eta).sum(axis=1) - top - np.log(np.exp(whole - top[:, None]).sum(axis=1)))


FAMILIES: Mapping[str, RegressionFamily] = {
    "gaussian": Gaussian(),
    "binomial": Binomial(),
    "poisson": Poisson(),
    "multinomial": Multinomial(),
}


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
