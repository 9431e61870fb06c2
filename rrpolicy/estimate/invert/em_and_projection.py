"""Other point estimates for a count: maximum likelihood by EM, and projection on the simplex."""

from __future__ import annotations

import math

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.invert.estimator import Inversion
from rrpolicy.estimate.invert.simplex import maximum_likelihood, project_to_simplex
from rrpolicy.source.counts import Array

LIKELIHOOD_CELLS = 1_000_000
"""The largest table that EM runs on."""


class MaximumLikelihoodEstimator:
    """Maximum likelihood among tables without negative cells, over the grouping axes and those of the condition."""

    name = "em"
    told = "maximum likelihood (EM)"

    def counts(self, asked: Inversion) -> tuple[Array, str]:
        """Run EM.

        Raises:
            PolicyError: RR278 if it is not defined for a column; RR268 for more cells than it can be run on.
        """
        cells = max(math.prod(sizes) for sizes in zip(*asked.sizes, strict=True)) if asked.sizes else 1
        if cells > LIKELIHOOD_CELLS:
            raise PolicyError(
                Problem(
                    "RR268",
                    f"EM would run on {cells:,} cells, more than {LIKELIHOOD_CELLS:,}",
                    hint='group by fewer columns, or use estimator="moment"',
                )
            )
        matrices = asked.matrices
        found = maximum_likelihood(asked.released, matrices)
        short = "" if found.converged else f"stopped {found.gap:.2g} below the largest log-likelihood"
        return asked.answer(found.counts), short


class Projection:
    """The nearest table without negative cells."""

    name = "projection"
    told = "projection on the simplex"

    def counts(self, asked: Inversion) -> tuple[Array, str]:
        """Project the moment estimates."""
        total = min(max(float(asked.moment.sum()), 0.0), float(asked.records))
        return project_to_simplex(asked.moment, total), ""
