"""The optimiser's objective: the expected squared error of moment estimates, as a function of the retentions.

With P = rho I + (1 - rho)/d J, every column of P^-1 has the squared norm f_d(rho) = 1/d + (1 - 1/d)/rho^2, so
||P^-1||_F^2 = d f_d(rho). The expected squared error of a whole table is

    E||pi^ - pi||^2 = (sum_v pi[v] prod_a h_a(v_a) - 1)/N,    h_a(v) = sum_u P_a[u, v] ||P_a^-1[., u]||^2,

and h_a(v) = f of the size of v's block for retention (blocks never mix), a constant for a matrix that is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints


_LARGE = 600.0
"""Of a product's natural logarithm; doubles end at e^709."""


@frozen
class RetentionVariable:
    """One unknown retention probability.

    Attributes:
        attribute: its name; of attributes together, their names.
        blocks: sizes of the blocks that share it; one block, the whole domain, without blocks.
    """

    attribute: str
    blocks: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the size of the largest block; the keep probability that constraints see is that block's."""
        return max(self.blocks)


@frozen
class MarginalErrorTerm:
    """The expected squared error of one marginal, without its factor 1/N.

    Attributes:
        weight: > 0.
        variables: (m,) positions of the variables that the marginal involves.
        sizes: (cells, m) size of the block of each cell, for each of them.
        mass: (cells,) share of the records, times the constants h_a of matrices that are given.
    """

    weight: float
    variables: Ints
    sizes: Array
    mass: Array


def column_norms(sizes: Array, retention: Array) -> Array:
    """Return f_d(rho) = 1/d + (1 - 1/d)/rho^2, the squared norm of any column of the inverse retention matrix."""
    return 1 / sizes + (1 - 1 / sizes) / retention**2


@frozen(slots=False)
class ExpectedError:
    """The logarithm of the mean of sum_v pi[v] prod_a h_a over the terms by weight; 0 if nothing is randomised.

    Attributes:
        terms: the marginals.
        offset: added to every value, so that it has the field's usual form.
    """

    terms: tuple[MarginalErrorTerm, ...]
    offset: float = 0.0

    def value(self, retention: Array) -> float:
        """Return the objective at retentions in (0, 1], shape (variables,)."""
        return self.value_and_gradient(retention)[0]

    def value_and_gradient(self, retention: Array) -> tuple[float, Array]:
        """Return the objective and its gradient by the retentions."""
        total, slope = 0.0, np.zeros(len(retention))
        norms = [column_norms(term.sizes, retention[term.variables]) for term in self.terms]
        logarithms = [np.log(each).sum(axis=1) for each in norms]
        # Products over a hundred columns exceed the largest double: all are divided by e^shift.
        shift = max((float(each.max(initial=0.0)) for each in logarithms), default=0.0)
        shift = shift if shift > _LARGE else 0.0
        for term, each, logarithm in zip(self.terms, norms, logarithms, strict=True):
            rho = retention[term.variables]
            product = term.weight * term.mass * (np.exp(logarithm - shift) if shift else np.prod(each, axis=1))
            total += float(product.sum())
            np.add.at(slope, term.variables, product @ (-2 * (1 - 1 / term.sizes) / rho**3 / each))
        scale = sum(t.weight for t in self.terms)
        return math.log(total / scale) + shift + self.offset, slope / total


def marginal_error_term(weight: float, variables: Sequence[int], sizes: Sequence[int]) -> MarginalErrorTerm:
    """Return the term of a marginal under plain retention: free of the data.

    Args:
        weight: of the marginal.
        variables: positions of its variables.
        sizes: numbers of categories of those attributes.
    """
    return MarginalErrorTerm(
        weight,
        np.array(variables, dtype=np.int64),
        np.array(sizes, dtype=np.float64).reshape(1, len(sizes)),
        np.ones(1),
    )
