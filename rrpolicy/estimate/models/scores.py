"""Corrected scores: regression on randomised outcomes and covariates without bias, and its errors.

With W_i(cell) the weight of a released record i for the original cell of outcome and covariates,

    sum_cell T(cell) score(cell; beta) = 0,   T = sum_i W_i,

has at the true beta the expectation that the score of the original records has, for any randomisation (Nakamura 1990;
Stefanski 1989). The sandwich H^-1 (sum_i psi_i psi_i') H^-1, psi_i = sum_cell W_i(cell) score(cell; beta), includes the
error of the draw and that of the sample. For this table's own coefficients sum_cell T score score' is subtracted, the
expectation of the squares without randomisation. The cost is proportional to cells, not to records.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.estimate.models.family import information_of, is_positive_definite
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.estimate.models.family import RegressionFamily
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.source.counts import Array

_STEPS = 60
_HALVINGS = 25
_CLOSE = 1e-10
FARTHEST = 30.0
"""A linear predictor beyond it, in units of the link, is taken to grow without end."""


@frozen(slots=False)
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
    """Return the root of the score of a table, by Newton's method; None where it has none at hand.

    It begins at `start`, by default 0. All of the (parameters,) move, or those that are `free`; their scores vanish.
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


@frozen(slots=False)
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
        return self.table.moment.reshape(-1)

    def errors(self, by_beta: Array, by_cells: Array | None = None) -> tuple[Mapping[Target, Array], Mask]:
        """Return (functions,) standard errors of functions of the coefficients and of the cells' numbers of records.

        Derivatives are (functions, parameters) and (functions, cells), the latter equal for all cells with the same
        covariates. Also returns where the population's replace this table's, whose variance came out negative.
        """
        functions = by_beta @ self.solved.influence
        return self.table.errors_of(functions if by_cells is None else functions + by_cells)
