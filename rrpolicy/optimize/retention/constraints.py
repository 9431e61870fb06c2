"""Constraints as functions of retention probabilities, and feasible points of those that are not monotone.

The probability of reading a value correctly may fail as more is retained and as less is: randomising
quasi-identifiers lowers it, randomising the value itself does not. Feasible points are then found by search, not by
bisection. A point that is found is feasible; if none is found, one may still exist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.optimize.retention.problem import infeasible_error

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.optimize.retention.problem import Allocation


MIN_RETENTION = 2.0**-40
"""Below this retention an attribute has no information: a problem infeasible here is infeasible."""
MAX_RETENTION = 1 - 1e-9
"""Above this a solution means no randomisation; the search stays below, where every constraint is finite."""
KNEE = -0.9
HUGE = 1e12
PLACES = 8
"""Points whose values are cached, to which a search returns; of derivatives only the last."""


@dataclass
class CachedConstraints:
    """Constraints for the search: by retention, compressed, cached, counted.

    A value g <= 0 becomes log(1 + g), its tangent below -0.9: the sign stays, a ratio such as risk/tau - 1 becomes
    nearly linear, and values far over the limit do not swamp the others.
    """

    problem: Allocation
    sizes: Array
    values: int = 0
    jacobians: int = 0
    lengths: tuple[int, ...] = ()
    _values: dict[bytes, Array] = field(default_factory=dict)
    _slope: tuple[bytes, Array] | None = None

    def keep(self, rho: Array) -> Array:
        """Return keep probabilities rho + (1 - rho)/d."""
        return rho + (1 - rho) / self.sizes

    def raw(self, rho: Array) -> Array:
        """Return the uncompressed values; NaN counts as infinite."""
        key = rho.tobytes()
        if key not in self._values:
            self.values += 1
            p = self.keep(rho)
            parts = [np.atleast_1d(c.value(p)) for c in self.problem.constraints]
            self.lengths = tuple(len(part) for part in parts)
            self._values[key] = np.where(np.isnan(joined := np.concatenate(parts)), np.inf, joined)
            if len(self._values) > PLACES:
                del self._values[next(iter(self._values))]
        return self._values[key]

    def compressed(self, rho: Array) -> Array:
        """Return values with the same signs, fit for a line search."""
        g = np.minimum(self.raw(rho), HUGE)
        return np.where(g > KNEE, np.log1p(np.maximum(g, KNEE)), math.log1p(KNEE) + (g - KNEE) / (1 + KNEE))

    def slope(self, rho: Array, working: Ints) -> Array:
        """Return (len(working), variables) derivatives of the compressed values by the retentions."""
        if self._slope is None or self._slope[0] != rho.tobytes():
            self.jacobians += 1
            p = self.keep(rho)
            self._slope = None  # as large as all constraints: release the memory of the previous one first
            parts = [np.atleast_2d(c.jacobian(p)) for c in self.problem.constraints]
            self._slope = rho.tobytes(), parts[0] if len(parts) == 1 else np.concatenate(parts)
        g = np.clip(self.raw(rho)[working], KNEE, HUGE)
        return self._slope[1][working] * ((1 - 1 / self.sizes) / (1 + g)[:, None])

    def over(self, rho: Array, slack: float = 0.0) -> bool:
        """Return whether a constraint is exceeded."""
        return bool(np.any(self.compressed(rho) > slack))

    def names(self, rho: Array, least: float) -> tuple[str, ...]:
        """Return the names of the constraints with a compressed value above `least`, the largest first."""
        value = self.compressed(rho)
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        order = [i for i in np.argsort(-value, kind="stable") if value[i] > least]
        return tuple(dict.fromkeys(self.problem.constraints[owner[i]].name for i in order))


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

    Raises `RequirementError` (RR102) if none of the levels is feasible.
    """
    size = len(counted.sizes)
    if not counted.over(np.ones(size)):
        return 1.0
    above = 1.0
    for level in np.unique([*LEVELS, *np.linspace(0.01, 0.99, 99)])[::-1].tolist():
        if not counted.over(np.full(size, level)):
            holds: float = level
            for _ in range(HALVINGS):
                middle = (holds + above) / 2
                holds, above = (holds, middle) if counted.over(np.full(size, middle)) else (middle, above)
            return holds
        above = level
    raise infeasible_error(counted.problem, counted.names(np.full(size, MIN_RETENTION), 0.0))


def feasible_point(counted: CachedConstraints) -> Array:
    """Return feasible retention probabilities: of those tried, with the least objective.

    Raises `RequirementError` (RR102) if the search finds none.
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
