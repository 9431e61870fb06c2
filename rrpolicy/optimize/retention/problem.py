"""An allocation problem, its objective and its solution: the division of noise between attributes.

The objective is the expected squared error of moment estimates, as a function of the retentions. With P = rho I +
(1 - rho)/d J, every column of P^-1 has the squared norm f_d(rho) = 1/d + (1 - 1/d)/rho^2, so ||P^-1||_F^2 = d f_d(rho).
The expected squared error of a whole table is

    E||pi^ - pi||^2 = (sum_v pi[v] prod_a h_a(v_a) - 1)/N,    h_a(v) = sum_u P_a[u, v] ||P_a^-1[., u]||^2,

and h_a(v) = f of the size of v's block for retention (blocks never mix), a constant for a matrix that is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.errors import Problem, RequirementError
from rrpolicy.optimize.retention.common_retention import MIN_DIGITS
from rrpolicy.privacy.model import Smooth

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.errors import Place


_LARGE = 600.0
"""Of a product's natural logarithm; doubles end at e^709."""


class RetentionVariable(Struct, frozen=True):
    """One unknown retention probability, with the sizes of the blocks that share it: one without blocks."""

    attribute: str
    blocks: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the size of the largest block; the keep probability that constraints see is that block's."""
        return max(self.blocks)


class MarginalErrorTerm(Struct, frozen=True):
    """The expected squared error of one marginal, without its factor 1/N.

    `variables` are (m,) positions of its variables, `sizes` (cells, m) the size of the block of each cell, `mass`
    (cells,) the share of the records, times the constants h_a of matrices that are given.
    """

    weight: float
    variables: Ints
    sizes: Array
    mass: Array


def column_norms(sizes: Array, retention: Array) -> Array:
    """Return f_d(rho) = 1/d + (1 - 1/d)/rho^2, the squared norm of any column of the inverse retention matrix."""
    return 1 / sizes + (1 - 1 / sizes) / retention**2


class ExpectedError(Struct, frozen=True):
    """The logarithm of the weighted mean over the terms of sum_v pi[v] prod_a h_a; 0 if nothing is randomised.

    `offset` is added to every value, so that the objective has the field's usual form.
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


class Allocation(Struct, frozen=True):
    """Minimise an expected error over retention probabilities in (0, 1], subject to every requirement.

    Attributes:
        variables: the unknown retention probabilities; attributes of one category are left out.
        objective: the expected error to minimise.
        constraints: every requirement, a function of the keep probabilities of the variables, in their order.
        feasible: whether the assessors accept exact keep probabilities; they alone decide.
        digits: decimals of the released keep probabilities.
        floor: for RR102: the requirements' values as all retentions go to 0, remedies, and the place of the first
            that fails.
        place: the place of the requirements in the policy, for RR102 if no requirement fails by itself.
    """

    variables: tuple[RetentionVariable, ...]
    objective: ExpectedError
    constraints: tuple[Smooth, ...]
    feasible: Callable[[tuple[Fraction, ...]], bool]
    digits: int = MIN_DIGITS
    floor: Callable[[], tuple[str, str, Place | None]] = lambda: ("", "", None)
    place: Place | None = None

    @property
    def bounded(self) -> bool:
        """Return whether the search uses an upper bound in place of a requirement's number."""
        return any(constraint.bound for constraint in self.constraints)

    @property
    def monotone(self) -> bool:
        """Return whether feasible retention probabilities remain feasible when all are scaled down."""
        return all(constraint.monotone for constraint in self.constraints)


class EvaluationCount(Struct, frozen=True):
    """The number of evaluations of the constraints from one start."""

    value: int
    jacobian: int


class AllocationSolution(Struct, frozen=True):
    """Keep probabilities that satisfy every requirement, as decided by the assessors.

    Attributes:
        keep: (variables,) exact, rounded down; of the largest block if there are blocks.
        unrounded: (variables,) keep probabilities before rounding.
        retention: (variables,) retention probabilities before rounding.
        objective: the objective at the unrounded solution.
        starts: number of starts of the search.
        agreed: number of starts that ended at this objective.
        evaluations: number of evaluations of each start.
        active: names of the requirements that limit the solution.
        pulled_back: the factor for all retentions before rounding so that every requirement is met; mostly 1.
        raised: the factor for the logarithms of the retentions of a search on an upper bound, towards the exact limit;
            1 if there was none.
        common: (variables,) keep probabilities of the best common retention, rounded down; None if unknown.
    """

    keep: tuple[Fraction, ...]
    unrounded: tuple[float, ...]
    retention: tuple[float, ...]
    objective: float
    starts: int
    agreed: int
    evaluations: tuple[EvaluationCount, ...]
    active: tuple[str, ...]
    pulled_back: float
    raised: float = 1.0
    common: tuple[Fraction, ...] | None = None


def infeasible_error(problem: Allocation, names: tuple[str, ...]) -> RequirementError:
    """Return the error of a problem that no retention probability solves, with the requirements that always fail."""
    floor, hint, place = problem.floor()
    return RequirementError(
        Problem(
            "RR102",
            f"no keep probabilities satisfy: {', '.join(dict.fromkeys(names)) or 'the requirements together'}"
            + (f"; {floor}" if floor else ""),
            place or problem.place,
            hint=hint or None,
        )
    )
