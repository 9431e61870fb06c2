"""The second order of a score in the counts: what its first order leaves out, where other coefficients are estimated.

With u of coefficient k, and the others' coefficients solved for beta_k held, the score of beta_k is
P(T) = S_k(beta_k, rest(T); T). With e the error of corrected counts T, differentiating twice gives

    P(T + e) - P(T) = u S e + e' Q e + ...,    Q = sym(G B) + B' C B / 2,    u = (1, -I_fk' I_ff^-1),

S the scores by cell, B = I_ff^-1 S_f how the others move, G and C the derivatives of u S by cell, and of its sum over
T, by the others, once and twice (McCullagh 1987, section 7.3, expands likelihoods so). For normal e of covariance V the
second term varies by 2 tr(QVQV). It is small where records are many; but where the first order nearly vanishes, as for
the slope of one covariate where another one was randomised, it is most there is. G B and B' C B have the rank of the
coefficients, so that no matrix of all cells is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.estimate.models.information import information_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rrpolicy.estimate.models.scores import ScoreRoot
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.source.counts import Array


def second_order_variance(solved: ScoreRoot, u: Array, free: Mask, covariance: Callable[[Array], Array]) -> float:
    """Return the variance of what is quadratic in the error of the counts.

    Args:
        solved: the coefficients, one of them held.
        u: (parameters,).
        free: (parameters,) which are not held.
        covariance: of functions of the cells (functions, cells), (functions, functions), of the draw.
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
