"""A certified upper bound of R_QI from occupied cells alone, for domains too wide for an optimiser.

By Jensen's inequality, for any weights w on the occupied groups that sum to 1,

    1 / sum_gamma pi[gamma] P[beta, gamma]  <=  sum_gamma w[gamma]^2 / (pi[gamma] P[beta, gamma]);

summed against P[beta, alpha]^2 and minimised over w this gives

    R_QI(alpha) <= pi[alpha] / sum_gamma pi[gamma] prod_a 1/K_a(alpha_a, gamma_a),
    K_a(x, y) = sum_u P_a[u, x]^2 / P_a[u, y]     (1 if x = y).

For retention K is one number off the diagonal, so that the sum over gamma is a polynomial in marginal counts: 2^m
roll-ups of the occupied cells, whatever the size of the domain. It is exact where nothing or everything is randomised.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.counts import Array


class SparseBound:
    """The bound of one table under plain retention, as a function of the keep probabilities.

    The roll-ups are made once; an evaluation costs 2^m multiply-adds an occupied group.
    """

    def __init__(self, evidence: Evidence) -> None:
        """Roll the groups up to every subset of the randomised axes.

        Args:
            evidence: the groups; every axis a plain retention (one block).
        """
        self.sizes = np.array([axis.original_size for axis in evidence.axes], dtype=np.float64)
        self.pi = evidence.n / evidence.records
        self._sums = {subset: _agreeing(evidence, subset) for subset in _subsets(len(self.sizes))}

    def value(self, keep: Array) -> Array:
        """Return the bound of every group, (groups,), at keep probabilities (axes,) in [1/d, 1]."""
        kernel = cross_kernel(keep, self.sizes)
        return self.pi / self._denominator(kernel)

    def jacobian(self, keep: Array) -> Array:
        """Return (groups, axes) the derivatives by the keep probabilities."""
        kernel = cross_kernel(keep, self.sizes)
        slope = _kernel_slope(keep, self.sizes)
        bound = self.pi / self._denominator(kernel)
        columns = [
            -(bound**2) / self.pi * self._denominator(kernel, derivative=a) * slope[a] for a in range(len(self.sizes))
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.pi), 0))

    def _denominator(self, kernel: Array, derivative: int | None = None) -> Array:
        """Return sum_gamma pi[gamma] prod_a (kernel_a + (1 - kernel_a)[gamma_a = alpha_a]), or a derivative of it."""
        total = np.zeros(len(self.pi))
        for subset, agreeing in self._sums.items():
            factor = 1.0
            for a, x in enumerate(kernel):
                if a == derivative:
                    factor *= -1.0 if a in subset else 1.0
                else:
                    factor *= float(1 - x) if a in subset else float(x)
            if factor:
                total += factor * agreeing
        return total


def cross_kernel(keep: Array, sizes: Array) -> Array:
    """Return 1/K off the diagonal under retention, K = p^2/q + q^2/p + (d-2) q; 0 if nothing is randomised."""
    q = (1 - keep) / (sizes - 1)
    return keep * q / (keep**3 + q**3 + (sizes - 2) * keep * q**2)


def _kernel_slope(keep: Array, sizes: Array) -> Array:
    """Return the derivative of `cross_kernel` by the keep probability."""
    q, slope = (1 - keep) / (sizes - 1), -1 / (sizes - 1)
    below = keep**3 + q**3 + (sizes - 2) * keep * q**2
    above_slope = q + keep * slope
    below_slope = 3 * keep**2 + 3 * q**2 * slope + (sizes - 2) * (q**2 + 2 * keep * q * slope)
    return (above_slope * below - keep * q * below_slope) / below**2


def _subsets(m: int) -> list[tuple[int, ...]]:
    return [subset for size in range(m + 1) for subset in combinations(range(m), size)]


def _agreeing(evidence: Evidence, subset: tuple[int, ...]) -> Array:
    """Return, for every group, the share of people of its context who agree with it on a subset of the axes."""
    rows = np.column_stack([evidence.context, evidence.codes[:, list(subset)]])
    _, inverse = np.unique(rows, axis=0, return_inverse=True)
    sums = np.bincount(inverse.ravel(), weights=evidence.n)
    return sums[inverse.ravel()] / evidence.records
