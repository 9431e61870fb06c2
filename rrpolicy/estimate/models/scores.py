"""Corrected scores: regression on randomised outcomes and covariates without bias, and its errors.

With W_i(cell) the weight of a released record i for the original cell of outcome and covariates,

    sum_cell T(cell) score(cell; beta) = 0,   T = sum_i W_i,

has at the true beta the expectation that the score of the original records has, whatever was randomised (Nakamura 1990;
Stefanski 1989). The sandwich H^-1 (sum_i psi_i psi_i') H^-1, psi_i = sum_cell W_i(cell) score(cell; beta), holds the
error of the draw and that of the sample; for this table's own coefficients sum_cell T score score' is taken off, which
is what the squares are expected to be without randomisation. The cost goes with cells, not with records.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rrpolicy.estimate.models.family import information_of, is_positive_definite
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.counts import Array
    from rrpolicy.estimate.models.family import RegressionFamily
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.weights.base import Mask

_STEPS = 60
_HALVINGS = 25
_CLOSE = 1e-10
FARTHEST = 30.0
"""A linear predictor beyond it, in units of the link, is taken to grow without end."""


@frozen(slots=False)
class ScoreRoot:
    """Coefficients at which a score vanishes.

    Attributes:
        beta: (equations, terms).
        information: (parameters, parameters) minus the derivative of the score.
        scores: (parameters, cells) of each cell.
        counts: (cells,) of the table.
        X: (cells, terms).
        Y: (cells, equations) outcomes.
        family: of the outcome.
    """

    beta: Array
    information: Array = field(repr=False)
    scores: Array = field(repr=False)
    counts: Array = field(repr=False)
    X: Array = field(repr=False)
    Y: Array = field(repr=False)
    family: RegressionFamily = field(repr=False)

    @property
    def influence(self) -> Array:
        """Return (parameters, cells) how far a record of each cell moves each coefficient."""
        return np.asarray(np.linalg.solve(self.information, self.scores))


def solve_score(  # noqa: PLR0917 what a model is of
    counts: Array, X: Array, Y: Array, family: RegressionFamily, start: Array | None = None, free: Mask | None = None
) -> ScoreRoot | None:
    """Return where the score of a table vanishes, by Newton's method; None where it has no such place at hand.

    Args:
        counts: (cells,) some may be negative.
        X: (cells, terms).
        Y: (cells, equations) outcomes.
        family: of the outcome.
        start: (equations, terms) to begin at; zeros by default.
        free: (parameters,) which may move, and whose scores vanish; all by default.
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


class RegressionFit(Protocol):
    """A fitted model.

    Attributes:
        beta: (equations, terms).
        counts: (cells,) how many records each original cell is estimated to have.
    """

    @property
    def beta(self) -> Array:  # noqa: D102 said above
        ...

    @property
    def counts(self) -> Array:  # noqa: D102 said above
        ...

    def errors(self, by_beta: Array, by_cells: Array | None = None) -> tuple[Mapping[Target, Array], Mask]:
        """Return standard errors of what depends on the coefficients, and on how many records each cell has.

        Args:
            by_beta: (functions, parameters) derivatives by the coefficients.
            by_cells: (functions, cells) derivatives by the counts; the same for all cells with the same covariates.

        Returns:
            each (functions,); and where the population's stand in for this table's, whose variance came out negative.
        """
        ...


@frozen(slots=False)
class Scores:
    """Coefficients at which the corrected score vanishes, with the sandwich; a `Fit`.

    Attributes:
        solved: the coefficients.
        table: the corrected counts by outcome and covariates.
    """

    solved: ScoreRoot = field(repr=False)
    table: Crosstab = field(repr=False)

    @property
    def beta(self) -> Array:
        """Return (equations, terms)."""
        return self.solved.beta

    @property
    def counts(self) -> Array:
        """Return (cells,) the corrected counts."""
        return self.table.moment_estimate.reshape(-1)

    def errors(self, by_beta: Array, by_cells: Array | None = None) -> tuple[Mapping[Target, Array], Mask]:
        """Return standard errors; see `Fit.errors`."""
        functions = by_beta @ self.solved.influence
        if by_cells is not None:
            functions = functions + by_cells
        return self.table.se_of_sums(functions)
