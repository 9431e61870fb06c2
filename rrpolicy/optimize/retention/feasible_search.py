"""Feasible points of requirements that may fail as more is retained and as less is: by search, not by bisection.

The probability of reading a value correctly is such a number: randomising quasi-identifiers lowers it, randomising the
value itself does not. A point that is found is feasible; finding none is no proof that there is none.
"""

from __future__ import annotations

import math
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.optimize.retention.constraints import MAX_RETENTION, MIN_RETENTION, CachedConstraints
from rrpolicy.optimize.retention.problem import infeasible_error

if TYPE_CHECKING:
    from rrpolicy.counts import Array

LEVELS = (0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, MIN_RETENTION)
"""Retention probabilities tried for all variables, and for all but one or two that are not randomised."""
KEPT = 2
"""The most variables that are left unrandomised."""
BEST = 3
"""The number of points from which the largest violation is descended."""
ACTIVE = 100
"""Constraints that are descended together, those with the largest values at the start."""
STEPS = 60
HALVINGS = 40


def largest_feasible_common(counted: CachedConstraints) -> float:
    """Return the largest feasible common retention, among levels and, between two of them, by bisection.

    Raises:
        RequirementError: RR102 if none of the levels holds.
    """
    size = len(counted.sizes)
    if not counted.over(np.ones(size)):
        return 1.0
    above = 1.0
    for level in np.unique([*LEVELS, *np.linspace(0.01, 0.99, 99)])[::-1].tolist():
        if not counted.over(np.full(size, level)):
            return _bisect_common(counted, level, above)
        above = level
    raise infeasible_error(counted.problem, counted.names(np.full(size, MIN_RETENTION), 0.0))


def _bisect_common(counted: CachedConstraints, holds: float, fails: float) -> float:
    for _ in range(HALVINGS):
        middle = (holds + fails) / 2
        holds, fails = (holds, middle) if counted.over(np.full(len(counted.sizes), middle)) else (middle, fails)
    return holds


def feasible_point(counted: CachedConstraints) -> Array:
    """Return feasible retention probabilities: of those tried, with the least objective.

    Raises:
        RequirementError: RR102 if the search finds none.
    """
    size = len(counted.sizes)
    if not counted.over(np.ones(size)):
        return np.ones(size)
    several = chain.from_iterable(combinations(range(size), kept) for kept in range(min(KEPT, size - 1) + 1))
    tried = [np.where(np.isin(np.arange(size), kept), 1.0, level) for kept in several for level in LEVELS]
    violation = [float(counted.compressed(rho).max()) for rho in tried]
    held = [rho for rho, over in zip(tried, violation, strict=True) if over <= 0]
    if not held:
        order = np.argsort(violation, kind="stable")[:BEST]
        found = [_reduce_violation(counted, tried[i]) for i in order.tolist()]
        held = [rho for rho in found if not counted.over(rho)]
    if not held:
        raise infeasible_error(counted.problem, counted.names(tried[int(np.argmin(violation))], 0.0))
    return min(held, key=counted.problem.objective.value)


def _reduce_violation(counted: CachedConstraints, rho: Array) -> Array:
    """Return a local minimum, from a point, of the largest of the constraints, over x = log rho."""
    from scipy.optimize import Bounds, minimize

    search: Any = minimize
    size = len(rho)
    low = np.log(np.full(size, MIN_RETENTION))
    largest = np.argsort(-counted.compressed(rho), kind="stable")[:ACTIVE]

    def slack(z: Array) -> Array:
        left: Array = z[-1] - counted.compressed(np.exp(z[:-1]))[largest]
        return left

    def slope(z: Array) -> Array:
        rho = np.exp(z[:-1])
        return np.hstack((-counted.slope(rho, largest) * rho, np.ones((len(largest), 1))))

    found = search(
        lambda z: z[-1],
        np.append(np.log(np.clip(rho, MIN_RETENTION, MAX_RETENTION)), float(counted.compressed(rho).max())),
        jac=lambda _: np.append(np.zeros(size), 1.0),
        bounds=Bounds(np.append(low, -math.inf), np.append(np.full(size, math.log(MAX_RETENTION)), math.inf)),
        constraints=[{"type": "ineq", "fun": slack, "jac": slope}],
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": STEPS},
    )
    moved = np.exp(np.asarray(found.x[:-1], dtype=np.float64))
    return np.clip(moved, MIN_RETENTION, MAX_RETENTION) if np.all(np.isfinite(moved)) else rho
