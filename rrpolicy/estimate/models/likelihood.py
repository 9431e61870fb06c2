"""Maximum likelihood of a regression on randomised data, for models whose corrected scores have no solution.

A released cell u has the probability

    lambda_u = sum_x pi_x sum_g P(u | x, g) f_g(x; beta),

with P the channel, f the model's probabilities of the outcome's groups g, and pi any distribution of the covariates x,
which is estimated with beta (Carroll, Ruppert, Stefanski, Crainiceanu 2006, section 15.4). No cell is negative.

Errors are those of the expected information of beta and pi; shares that are 0 stay 0. A fit to this very table would
have those of the complete data, and the draw adds the difference of both variances, since both estimates are
efficient (Rao 1973, section 5a.2). Both are right if the model is right and records are many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.estimate.invert.simplex import kronecker_product, matrix_of, maximise_quadratic
from rrpolicy.estimate.models.scores import information_of, is_positive_definite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.models.scores import RegressionFamily
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.weights.base import Mask

_STEPS = 200
_GAIN = 1e-12
_UPHILL = 1e-4
_SHORTEST = 1e-9
_RIDGE = 1e-10
_NONE = 1e-9
_FARTHEST = 12.0
"""Odds beyond exp(12) are taken to grow without end."""
_MOST_COVARIATES = 400
_MOST_ENTRIES = 4_000_000


@dataclass(frozen=True)
class Likelihood:
    """The coefficients under which the released counts are likeliest."""

    beta: Array  # shape (equations, terms)
    counts: Array = field(repr=False)  # shape (cells,): expected records of each original cell
    combination: Ints = field(repr=False)  # shape (cells,): its combination of covariates
    _observed: Array = field(repr=False)
    _complete: Array = field(repr=False)

    def errors(self, by_beta: Array, by_cells: Array | None = None) -> tuple[Mapping[Target, Array], Mask]:
        """Return standard errors; see `Scores.errors`."""
        first = np.unique(self.combination, return_index=True)[1]
        by_pi = np.zeros((len(by_beta), len(first))) if by_cells is None else by_cells[:, first] * self.counts.sum()
        gradients = np.concatenate([by_beta, by_pi], axis=1)
        population, complete = (((gradients @ V) * gradients).sum(axis=1) for V in (self._observed, self._complete))
        table = np.maximum(population - complete, 0.0)
        return {"table": np.sqrt(table), "population": np.sqrt(population)}, np.zeros(len(gradients), dtype=bool)


def fit_likelihood(  # noqa: PLR0917 what a model is of
    table: Crosstab, outcome: str, combination: Ints, X: Array, Y: Array, family: RegressionFamily
) -> Likelihood | None:
    """Fit by maximum likelihood; None where it has no solution at hand either, or is not defined.

    It is defined for an outcome in categories, if the channel treats all that one equation counts equally. The table
    has no condition on a randomised column; combinations of covariates are numbered from 0.
    """
    if not family.shares or any(targets is not None for _, targets in table.axes):
        return None
    known = [matrix_of(axis) for axis, _ in table.axes]
    matrices = [P for P in known if P is not None]
    if len(matrices) < len(known):  # dealt values have no matrix
        return None
    group = np.where(Y.any(axis=1), Y.argmax(axis=1) + 1, 0)
    n, kept = table.released, np.arange(len(X)).reshape([P.shape[1] for P in matrices])
    if not n.sum():  # of no records any table is as likely
        return None
    for place, (axis, _) in enumerate(table.axes):
        if axis.columns == (outcome,) and axis.released == axis.original:
            of = np.moveaxis(group[kept], place, 0).reshape(len(axis.original), -1)[:, 0]
            merged = np.eye(of.max() + 1)[of].T
            first = np.unique(of, return_index=True)[1]
            P = merged @ matrices[place]
            if np.allclose(P, P[:, first][:, of], rtol=0, atol=1e-12):
                matrices[place], kept = P[:, first], kept.take(first, axis=place)
                n = np.moveaxis(np.tensordot(merged, n, axes=(1, place)), 0, place)
    cells, combinations, groups = kept.reshape(-1), int(combination.max()) + 1, Y.shape[1] + 1
    place = combination[cells] * groups + group[cells]
    large = combinations > _MOST_COVARIATES or math.prod(P.size for P in matrices) > _MOST_ENTRIES
    if large or sorted(place) != list(range(combinations * groups)):
        return None
    P = kronecker_product(matrices)[:, np.argsort(place)]
    first = np.unique(combination, return_index=True)[1]
    model = _Model(P.reshape(-1, combinations, groups), n.reshape(-1) / n.sum(), X[first], family)
    found = model.fit()
    return None if found is None else model.with_errors(*found, float(n.sum()), combination, group)


class _Model(Struct, frozen=True):
    P: Array  # shape (released, combinations, groups): the channel
    n: Array  # shape (released,): shares
    X: Array  # shape (combinations, terms)
    family: RegressionFamily

    def fit(self) -> tuple[Array, Array] | None:
        """Return (equations, terms) beta and (combinations,) pi at the maximum; None if there is none at hand."""
        beta = np.zeros((self.P.shape[2] - 1, self.X.shape[1]))
        pi = np.full(len(self.X), 1 / len(self.X))
        for _ in range(_STEPS):
            A, by_beta = self._chances(beta, pi)
            step = _step(by_beta, A, self.n, pi)
            if step is None:
                return None
            towards, gain = step[0].reshape(beta.shape), step[2]
            if gain <= _GAIN:
                return beta, pi / pi.sum()
            before, length = self._likelihood(beta, pi), 1.0
            while self._likelihood(beta + length * towards, pi + length * step[1]) < before + _UPHILL * length * gain:
                length /= 2
                if length < _SHORTEST:
                    return None
            beta, pi = beta + length * towards, pi + length * step[1]
            if np.abs(self.X @ beta.T).max() > _FARTHEST:
                return None
        return None

    def with_errors(self, beta: Array, pi: Array, records: float, combination: Ints, group: Ints) -> Likelihood | None:
        """Return the fit with its errors; None if the release does not determine all coefficients."""
        A, by_beta = self._chances(beta, pi)
        parameters = beta.size
        free = np.concatenate([np.ones(parameters, dtype=bool), pi > _NONE])
        J = np.concatenate([by_beta, A], axis=1)[:, free]
        expected = A @ pi
        seen = expected > 0
        information = J[seen].T @ (J[seen] / expected[seen, None])
        shares = self._shares(beta)
        of_beta = information_of(pi, self.X, self.family.slope(shares[:, 1:]))
        if not is_positive_definite(information) or not is_positive_definite(of_beta):
            return None
        observed, complete = np.zeros((len(free), len(free))), np.zeros((len(free), len(free)))
        observed[np.ix_(free, free)] = np.linalg.inv(information)
        complete[:parameters, :parameters] = np.linalg.inv(of_beta)
        complete[np.arange(parameters, len(free)), np.arange(parameters, len(free))] = pi
        place = combination * shares.shape[1] + group
        equal = np.bincount(place)  # cells that the channel treats equally: their sum
        counts = (records * pi[:, None] * shares)[combination, group] / equal[place]
        return Likelihood(beta, counts, combination, observed / records, complete / records)

    def _shares(self, beta: Array) -> Array:
        """Return (combinations, groups) shares of the outcome's groups, that of the first included."""
        mean = self.family.mean(self.X @ beta.T)
        return np.concatenate([1 - mean.sum(axis=1, keepdims=True), mean], axis=1)

    def _chances(self, beta: Array, pi: Array) -> tuple[Array, Array]:
        """Return (released, combinations) chances of each released cell, and (released, parameters) slopes of all."""
        f = self._shares(beta)
        slope = self.family.slope(f[:, 1:])
        by_eta = np.concatenate([-slope.sum(axis=1, keepdims=True), slope], axis=1) * pi[:, None, None]
        A = np.einsum("ukg,kg->uk", self.P, f)
        by_beta = np.einsum("uke,kt->uet", np.einsum("ukg,kge->uke", self.P, by_eta), self.X)
        return A, by_beta.reshape(len(A), -1)

    def _likelihood(self, beta: Array, pi: Array) -> float:
        """Return sum n log lambda - sum pi, which is largest where sum pi = 1."""
        known = self.n > 0
        expected = np.einsum("ukg,kg->u", self.P[known], self._shares(beta) * pi[:, None])
        return float(self.n[known] @ np.log(expected) - pi.sum()) if expected.min() > 0 else -np.inf


def _step(by_beta: Array, A: Array, n: Array, pi: Array) -> tuple[Array, Array, float] | None:
    """Return the scoring step of beta and pi, and its slope; None if beta has no information.

    The quadratic model is reduced to pi, and is highest where pi >= 0 (as in `simplex`); beta follows. The (released,
    parameters) `by_beta` are slopes of the chances A (released, combinations).
    """
    known = n > 0
    scale = np.sqrt(n[known]) / (A[known] @ pi)
    B, C, target = by_beta[known] * scale[:, None], A[known] * scale[:, None], np.sqrt(n[known])
    score, rise = B.T @ target, C.T @ target - 1
    H = B.T @ B
    if not is_positive_definite(H):
        return None
    follow = np.linalg.solve(H, np.concatenate([score[:, None], B.T @ C], axis=1))
    alone, with_pi = follow[:, 0], follow[:, 1:]
    reduced = C.T @ C - (C.T @ B) @ with_pi
    reduced[np.diag_indices_from(reduced)] += _RIDGE * (np.trace(C.T @ C) + 1)
    try:
        aim = maximise_quadratic(reduced, reduced @ pi + rise - (C.T @ B) @ alone, pi)
    except np.linalg.LinAlgError:  # singular but for rounding, or too many steps
        return None
    of_pi = aim - pi
    of_beta = alone - with_pi @ of_pi
    return of_beta, of_pi, float(score @ of_beta + rise @ of_pi)
