"""Intervals of coefficients: the values that the score does not reject, as Fieller's set is for ratios.

For a coefficient fixed at b, and the others solved for it, the score of the fixed one is linear in the counts except
for the others' errors. So it is near to normal where the coefficient itself is not (Rao 1948; Boos 1992 for
sandwiches). The part of the set around the estimate is shown. Where no b is far enough to be rejected, the end is
infinite: the release does not bound the coefficient.

The second order of a score in the counts is the part that its first order omits, where other coefficients are
estimated.

With u of coefficient k, and the others' coefficients solved for beta_k fixed, the score of beta_k is P(T) =
S_k(beta_k, rest(T); T). With e the error of corrected counts T, differentiating twice gives

    P(T + e) - P(T) = u S e + e' Q e + ...,    Q = sym(G B) + B' C B / 2,    u = (1, -I_fk' I_ff^-1),

S the scores by cell, B = I_ff^-1 S_f the moves of the others, G and C the derivatives of u S by cell, and of its sum
over T, by the others, once and twice (McCullagh 1987, section 7.3, expands likelihoods so). For normal e of covariance
V the second term varies by 2 tr(QVQV). It is small where records are many; but where the first order nearly vanishes,
as for the slope of one covariate where another one was randomised, it is most there is. G B and B' C B have the rank of
the coefficients, so that no matrix of all cells is made.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from msgspec import Struct

from rrpolicy.estimate.models.scores import Scores, information_of, solve_score
from rrpolicy.estimate.results.intervals import reach_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rrpolicy.counts import Array
    from rrpolicy.estimate.models.likelihood import Likelihood
    from rrpolicy.estimate.models.scores import ScoreRoot
    from rrpolicy.estimate.results.intervals import Ends
    from rrpolicy.estimate.results.target import Sample, Target
    from rrpolicy.estimate.weights.base import Mask


def second_order_variance(solved: ScoreRoot, u: Array, free: Mask, covariance: Callable[[Array], Array]) -> float:
    """Return the variance of the part that is quadratic in the error of the counts, with one coefficient fixed.

    `u` and `free`, the coefficients that are not fixed, are (parameters,); `covariance` is the draw's, for
    (functions, cells).
    """
    if not free.any():
        return 0.0
    X, family = solved.X, solved.family
    mean = family.mean(X @ solved.beta.T)
    along = X @ u.reshape(solved.beta.shape).T
    by_eta = np.einsum("ca,cab->cb", along, family.slope(mean))
    G = -(by_eta[:, :, None] * X[:, None, :]).reshape(len(X), -1)[:, free]
    both = np.ix_(free, free)
    C = -information_of(solved.counts, X, np.einsum("ca,cabd->cbd", along, family.bend(mean)))[both]
    B = np.linalg.solve(solved.information[both], solved.scores[free])
    half = np.eye(len(C)) / 2
    form = np.block([[np.zeros_like(C), half], [half, C / 2]]) @ covariance(np.vstack([G.T, B]))
    return max(2 * float((form * form.T).sum()), 0.0)


_DOUBLINGS = 30
_HALVINGS = 8
MOST_WORK = 2_000_000_000
"""Cells times cubed coefficients up to which these intervals are computed; larger models have normal ones."""
_SLIGHT = 1e-3
"""Of the first order's variance, a second order that is left out when other values are tried."""
_CLOSE = 1e-5
"""Standard errors that an end may be off by."""


def is_testable(fit: Scores | Likelihood) -> TypeGuard[Scores]:
    """Return whether a fit has scores, and is small enough for these intervals."""
    return isinstance(fit, Scores) and len(fit.solved.X) * fit.beta.size**3 <= MOST_WORK


def score_sets(fit: Scores, errors: Mapping[Target, Array], sample: Sample | None) -> Ends:
    """Return the sets of coefficients that are not rejected, by level and target; each is computed once.

    `errors` has (parameters,) standard errors by target.
    """

    @cache
    def ends(level: float, target: Target) -> Array:
        return ScoreTest(fit, target, errors[target]).ends(reach_of(level, target, sample))

    return ends


class _FixedCoefficient(Struct, frozen=True):
    distance: float  # of the score from 0 in standard errors; positive where larger coefficients fit better
    rest: Array  # all coefficients
    share: float  # the part of the variance that is of second order


class ScoreTest(Struct, frozen=True, dict=True):
    """Tests of the coefficients of a fit; values are tried by (parameters,) standard `errors` of the coefficients."""

    fit: Scores
    target: Target
    errors: Array

    def distances(self) -> Array:
        """Return (parameters,) the distance of each score from 0, in standard errors, where its coefficient is 0.

        Positive where it is estimated above 0; NaN where nothing is random, or the others have no solution.
        """
        found = [self._held(k, 0.0, self._estimate, curved=self._curved[k]) for k in range(len(self._estimate))]
        return np.array([np.nan if held is None else held.distance for held in found])

    def ends(self, reach: float) -> Array:
        """Return (parameters, 2) the ends of the sets that are not rejected at `reach` standard errors."""
        return np.array([[self._end(k, side, reach) for side in (-1, 1)] for k in range(len(self._estimate))])

    @property
    def _estimate(self) -> Array:
        return self.fit.beta.reshape(-1)

    def _end(self, k: int, side: int, reach: float) -> float:
        estimate, unit = float(self._estimate[k]), float(self.errors[k])
        if not unit > 0:
            return estimate
        inner, rest, step, halved = estimate, self._estimate, reach * unit, 0
        curved = self._curved[k]
        for _ in range(_DOUBLINGS):
            held = self._held(k, inner + side * step, rest, curved=curved)
            if held is None:
                step, halved = step / 2, halved + 1
                if halved > _HALVINGS:
                    break
            elif abs(held.distance) >= reach:
                return self._crossing(k, inner, inner + side * step, reach, rest)
            else:
                inner, rest = inner + side * step, held.rest
                step = step if halved else 2 * step
        return side * math.inf

    def _crossing(self, k: int, inner: float, outer: float, reach: float, start: Array) -> float:
        """Return the value between two where rejection begins; a value without a test is not rejected."""
        from scipy.optimize import brentq

        def beyond(b: float) -> float:
            held = self._held(k, b, start, curved=self._curved[k])
            return -reach if held is None else abs(held.distance) - reach

        return float(brentq(beyond, inner, outer, xtol=_CLOSE * float(self.errors[k])))

    @cached_property
    def _curved(self) -> tuple[bool, ...]:
        """Return (parameters,) whether the second order counts at the estimates."""
        at = [self._held(k, float(self._estimate[k]), self._estimate) for k in range(len(self._estimate))]
        return tuple(held is None or held.share > _SLIGHT for held in at)

    def _held(self, k: int, value: float, start: Array, *, curved: bool = True) -> _FixedCoefficient | None:
        """Return the score with coefficient k fixed at a value, by default with the second order; None if unsolved.

        The other coefficients are solved from `start` (parameters,).
        """
        of: ScoreRoot = self.fit.solved
        free = np.arange(start.size) != k
        begun = np.where(free, start, value).reshape(of.beta.shape)
        found = solve_score(of.counts, of.X, of.Y, of.family, begun, free)
        if found is None:
            return None
        u, information = np.ones(start.size), found.information
        u[free] = -np.linalg.solve(information[np.ix_(free, free)], information[free, k])
        errors, _ = self.fit.table.se_of_sums((u @ found.scores)[None])
        more = second_order_variance(found, u, free, self.fit.table.randomisation_covariance) if curved else 0.0
        variance = float(errors[self.target][0]) ** 2 + more
        score = float(found.scores[k] @ found.counts)
        if not variance > 0:
            return None
        return _FixedCoefficient(score / math.sqrt(variance), found.beta.reshape(-1), more / variance)
