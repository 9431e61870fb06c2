"""Other point estimates for a count: maximum likelihood by EM, and projection on the simplex."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.invert.estimator import Inversion
from rrpolicy.estimate.invert.simplex import maximum_likelihood, projected
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.source.counts import Array, Ints

LIKELIHOOD_CELLS = 1_000_000
"""The largest table that EM runs on."""


class Likeliest:
    """Maximum likelihood among tables without negative cells, over the grouping axes and those of the condition."""

    name = "em"
    told = "maximum likelihood (EM)"

    def counts(self, asked: Inversion) -> tuple[Array, str]:
        """Run EM.

        Raises:
            PolicyError: RR278 if it is not defined for a column; RR268 for more cells than it can be run on.
        """
        axes = [axis for axis, _ in asked.parts]
        cells = max(math.prod(len(a.released) for a in axes), math.prod(len(a.original) for a in axes))
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
        return projected(asked.moment, total), ""


def dense(parts: Sequence[tuple[AxisWeights, Mask | None]], codes: list[Ints], n: Ints) -> Array:
    """Return released counts as an array, one dimension an axis."""
    shape = tuple(len(axis.released) for axis, _ in parts)
    flat = np.zeros(len(n), dtype=np.int64)
    for size, code in zip(shape, codes, strict=True):
        flat = flat * size + code
    return np.bincount(flat, weights=n, minlength=math.prod(shape)).astype(float).reshape(shape)
