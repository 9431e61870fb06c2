"""The optimiser that mechanisms share: least expected error subject to every requirement. Deterministic.

Sequential quadratic programming (SLSQP) in the logarithms of the retention probabilities, where the objective is
nearly linear, on the active set of the largest constraint values, from several starts; then rounding down, and pulling
back until the assessors accept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.channel.probability import retention_probability
from rrpolicy.solve.retention.equal import common_retention
from rrpolicy.solve.retention.problem import Allocation, Evaluations, Solution, infeasible
from rrpolicy.solve.retention.rounding import pulled_back, raised_to_limit

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array, Ints

LEAST = 2.0**-40
"""Below this retention an attribute says nothing: what is not feasible here is not feasible at all."""
MOST = 1 - 1e-9
"""Above this a solution means no randomisation; the search stays below, where every constraint is finite."""
ACTIVE = 40
"""Constraints added to the working set at a time, those with the largest values first."""
STARTS = 5
KNEE = -0.9
FINE = 1e-3
"""How far a point is scaled down at most beyond what it takes."""
HUGE = 1e12
TOLERANCE = 1e-7
FULL, ROUGH = 1e-10, 1e-7
"""Accuracy of the objective from the first start; and from the others, of which one that ends lower is followed on."""
GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass
class Counted:
    """Constraints as the search sees them: by retention, compressed, remembered, counted.

    A value g <= 0 becomes log(1 + g), its tangent below -0.9: the sign stays, a ratio such as risk/tau - 1 becomes
    nearly linear, and values far over the limit do not swamp the others.
    """

    problem: Allocation
    sizes: Array
    values: int = 0
    jacobians: int = 0
    lengths: tuple[int, ...] = ()
    _values: dict[bytes, Array] = field(default_factory=dict)
    _jacobians: dict[bytes, Array] = field(default_factory=dict)

    def keep(self, rho: Array) -> Array:
        """Return keep probabilities rho + (1 - rho)/d."""
        return rho + (1 - rho) / self.sizes

    def raw(self, rho: Array) -> Array:
        """Return the constraints' own values; what is not a number counts as infinite."""
        key = rho.tobytes()
        if key not in self._values:
            self.values += 1
            p = self.keep(rho)
            parts = [np.atleast_1d(c.value(p)) for c in self.problem.constraints]
            self.lengths = tuple(len(part) for part in parts)
            self._values[key] = np.where(np.isnan(joined := np.concatenate(parts)), np.inf, joined)
        return self._values[key]

    def compressed(self, rho: Array) -> Array:
        """Return values with the same signs, fit for a line search."""
        g = np.minimum(self.raw(rho), HUGE)
        return np.where(g > KNEE, np.log1p(np.maximum(g, KNEE)), math.log1p(KNEE) + (g - KNEE) / (1 + KNEE))

    def slope(self, rho: Array) -> Array:
        """Return the derivatives of the compressed values by the retentions, shape (constraints, variables)."""
        key = rho.tobytes()
        if key not in self._jacobians:
            self.jacobians += 1
            p = self.keep(rho)
            rows = np.concatenate([np.atleast_2d(c.jacobian(p)) for c in self.problem.constraints])
            g = np.clip(self.raw(rho), KNEE, HUGE)
            self._jacobians[key] = rows * ((1 - 1 / self.sizes) / (1 + g)[:, None])
        return self._jacobians[key]

    def over(self, rho: Array, slack: float = 0.0) -> bool:
        """Whether a constraint is exceeded."""
        return bool(np.any(self.compressed(rho) > slack))

    def names(self, rho: Array, least: float) -> tuple[str, ...]:
        """Return the names of the constraints with a compressed value above `least`, the largest first."""
        value = self.compressed(rho)
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        order = [i for i in np.argsort(-value, kind="stable") if value[i] > least]
        return tuple(dict.fromkeys(self.problem.constraints[owner[i]].name for i in order))


def equalise(problem: Allocation) -> Solution:
    """Return the largest common retention probability that satisfies every requirement.

    For caps on epsilon this is Ikarashi et al. 2014, Algorithms 1-3, with the smallest of the requirements' answers.

    Raises:
        RequirementError: RR102 if no retention probability satisfies them.
    """
    counted = _counted(problem)
    rho = np.full(len(problem.variables), _common(counted, cheap=True))
    ended = _End(rho, problem.objective.value(rho), Evaluations(counted.values, counted.jacobians))
    return _finish(counted, ended, 1, 1, (ended.evaluations,))


def minimise(problem: Allocation, starts: int = STARTS) -> Solution:
    """Return the retention probabilities of least expected error that satisfy every requirement.

    Local optimality is what a start gives; how many starts agreed is said. Never worse than the common retention
    probability, which is the first start.

    Args:
        problem: what to solve.
        starts: how many starts; the common retention probability is the first.

    Raises:
        RequirementError: RR102 if no retention probability satisfies the requirements.

    References:
        Guo, Ying, Wu 2011, Problem 1.
    """
    first = _counted(problem)
    common = _common(first)
    if common >= 1 or len(problem.variables) == 1:
        rho = np.full(len(problem.variables), common)
        ended = _End(rho, problem.objective.value(rho), Evaluations(first.values, first.jacobians))
        solution = _finish(first, ended, 1, 1, (ended.evaluations,))
        return replace(solution, common=solution.keep)
    points = [_start(common, len(problem.variables), index) for index in range(starts)]
    ends = [_descend(problem, first, points[0], common, FULL)]
    ends += [_descend(problem, _counted(problem), at, common, ROUGH) for at in points[1:]]
    best = min(ends, key=lambda end: end.objective)
    near = 1e-6 * max(1.0, abs(best.objective))
    agreed = sum(end.objective <= best.objective + near for end in ends)
    lower = ends[0].objective > best.objective + near
    best = _descend(problem, _counted(problem), best.rho, common, FULL) if lower else ends[0]
    solution = _finish(first, best, starts, agreed, tuple(end.evaluations for end in ends))
    if problem.bounded:
        return solution
    equal = _finish(first, replace(best, rho=np.full(len(best.rho), common)), 1, 1, ())
    if _rounded_objective(problem, equal) < _rounded_objective(problem, solution):
        value = problem.objective.value(np.array(equal.retention))
        solution = replace(equal, objective=value, starts=starts, agreed=1, evaluations=solution.evaluations)
    return replace(solution, common=equal.keep)


@dataclass(frozen=True)
class _End:
    """Where one start ended."""

    rho: Array
    objective: float
    evaluations: Evaluations


def _counted(problem: Allocation) -> Counted:
    return Counted(problem, np.array([v.size for v in problem.variables], dtype=np.float64))


def _common(counted: Counted, *, cheap: bool = False) -> float:
    """Return the largest feasible common retention to about 1e-12, by bracketing (Brent), from below.

    Args:
        counted: the constraints.
        cheap: where every requirement is one number, bisect: some evaluations more, and no optimiser to import.
    """
    size = len(counted.sizes)
    if not counted.problem.constraints or not size or not counted.over(np.ones(size)):
        return 1.0
    if counted.over(np.full(size, LEAST)):
        raise infeasible(counted.problem, counted.names(np.full(size, LEAST), 0.0))

    if cheap and max(counted.lengths) == 1:
        return common_retention(lambda rho: rho <= LEAST or not counted.over(np.full(size, rho)))

    def largest(rho: float) -> float:
        return float(np.max(counted.compressed(np.full(size, rho))))

    if largest(MOST) <= 0:
        return MOST
    from scipy.optimize import brentq

    root: float = brentq(largest, LEAST, MOST, xtol=1e-14, rtol=1e-13)
    step = 1e-13
    while largest(root) > 0:
        root = max(LEAST, root * (1 - step))
        step *= 4
    return root


def _start(common: float, size: int, index: int) -> Array:
    """Return a start: the common retention, then points about it on a logarithmic scale in a fixed, even pattern."""
    if index == 0:
        return np.full(size, common)
    spread = np.array([(GOLDEN * (1 + index * size + a)) % 1 for a in range(size)])
    return np.clip(common ** (0.3 + 1.7 * spread), common * 1e-2, 0.99)


def _descend(problem: Allocation, counted: Counted, rho: Array, common: float, accuracy: float) -> _End:
    """Minimise from one start; the working set grows until nothing outside it is exceeded."""
    least = min(common, 1.0) * 1e-3
    working: Ints = np.empty(0, dtype=np.int64)
    for _ in range(5):
        value = counted.compressed(rho)
        largest = np.argsort(-value, kind="stable")[:ACTIVE]
        if len(working) and value.max() <= TOLERANCE:
            break
        working = np.union1d(working, largest).astype(np.int64)
        rho = _slsqp(problem, counted, rho, working, (least, accuracy))
    inside = _inside(counted, rho, common)
    if np.abs(inside / rho - 1).max() > FINE:  # the search ended where nothing holds: once more, from where all does
        again = _inside(counted, _slsqp(problem, counted, inside, working, (least, accuracy)), common)
        inside = min(inside, again, key=problem.objective.value)
    return _End(inside, problem.objective.value(inside), Evaluations(counted.values, counted.jacobians))


def _slsqp(problem: Allocation, counted: Counted, rho: Array, working: Ints, to: tuple[float, float]) -> Array:
    """Run SLSQP on the constraints of the working set, over x = log rho; down to a least rho, to an accuracy."""
    from scipy.optimize import Bounds, minimize

    least, accuracy = to
    search: Any = minimize  # its stubs want array shapes that no caller has
    constraint = {
        "type": "ineq",
        "fun": lambda x: -counted.compressed(np.exp(x))[working],
        "jac": lambda x: -counted.slope(np.exp(x))[working] * np.exp(x),
    }
    found = search(
        lambda x: problem.objective.value(np.exp(x)),
        np.log(np.clip(rho, least, MOST)),
        jac=lambda x: problem.objective.value_and_gradient(np.exp(x))[1] * np.exp(x),
        bounds=Bounds(np.full(len(rho), math.log(least)), np.full(len(rho), math.log(MOST))),
        constraints=[constraint],
        method="SLSQP",
        options={"ftol": accuracy, "maxiter": 25},
    )
    moved = np.exp(np.asarray(found.x, dtype=np.float64))
    return np.clip(moved, least, MOST) if np.all(np.isfinite(moved)) else rho


def _inside(counted: Counted, rho: Array, common: float) -> Array:
    """Return the point itself if it holds within tolerance, else scaled down as it takes, or the common start."""
    outside = 1.0
    for scale in (1.0, 1 - 1e-6, 1 - 1e-4, 1 - 1e-2, 0.9, 0.75, 0.5):
        if counted.over(rho * scale, TOLERANCE):
            outside = scale
            continue
        while outside - scale > FINE:
            middle = (scale + outside) / 2
            scale, outside = (scale, middle) if counted.over(rho * middle, TOLERANCE) else (middle, outside)  # noqa: PLW2901 bisected
        return rho * scale
    return np.full(len(rho), common)


def _finish(counted: Counted, end: _End, starts: int, agreed: int, evaluations: tuple[Evaluations, ...]) -> Solution:
    problem, rho, raised = counted.problem, end.rho, 1.0
    keep, scale = pulled_back(problem, rho)
    if problem.bounded and scale == 1:
        rho, keep, raised = raised_to_limit(problem, rho, keep)
    return Solution(
        keep=keep,
        unrounded=tuple(float(p) for p in counted.keep(rho)),
        retention=tuple(float(r) for r in rho),
        objective=problem.objective.value(rho),
        starts=starts,
        agreed=agreed,
        evaluations=evaluations,
        active=counted.names(end.rho, -1e-3) if problem.constraints else (),
        pulled_back=scale,
        raised=raised,
    )


def _rounded_objective(problem: Allocation, solution: Solution) -> float:
    pairs = zip(solution.keep, problem.variables, strict=True)
    return problem.objective.value(np.array([float(retention_probability(p, v.size)) for p, v in pairs]))
