"""The optimiser that mechanisms share: least expected error subject to every requirement. Deterministic.

Sequential quadratic programming (SLSQP) in the logarithms of the retention probabilities, where the objective is
nearly linear, on the active set of the largest constraint values, from several starts; then rounding down, and pulling
back until the assessors accept.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from rrpolicy.channels.probability import keep_probability, retention_probability
from rrpolicy.frozen import replace
from rrpolicy.optimize.retention.common_retention import largest_common_retention, round_keep_down
from rrpolicy.optimize.retention.constraints import (
    MAX_RETENTION,
    MIN_RETENTION,
    CachedConstraints,
    feasible_point,
    largest_feasible_common,
)
from rrpolicy.optimize.retention.problem import Allocation, AllocationSolution, EvaluationCount, infeasible_error

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints


UNTOUCHED = 1 - 2e-9
"""A retention of at least this is the upper end of the search: no randomisation is tried first."""
TOWARDS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0)
"""Steps towards a feasible point, on a logarithmic scale, at which rounding is tried again."""
RAISES = 8
"""The most exact assessments for raising an upper bound's solution towards the exact limit."""


def pull_back(problem: Allocation, rho: Array) -> tuple[tuple[Fraction, ...], float]:
    """Round down; scale all retentions by one factor, found by bisection, until the assessors accept.

    Returns keep probabilities and the factor, 1 if rounding down was enough. Raises RR102 if they accept none.
    """
    keep = _rounded_or_none(problem, rho)
    if keep is not None:
        return keep, 1.0
    low = high = Fraction(1)
    step = Fraction(1, 10**9)
    while low == 1 or not problem.feasible(_round_keeps(problem, rho, low)):
        high, low, step = low, max(1 - step, low / 2) if step < 1 else low / 2, step * 8
        if low < Fraction(1, 2**60):
            raise infeasible_error(problem, tuple(c.name for c in problem.constraints))
    for _ in range(8):
        middle = (low + high) / 2
        low, high = (middle, high) if problem.feasible(_round_keeps(problem, rho, middle)) else (low, middle)
    return _round_keeps(problem, rho, low), float(low)


def move_inside(problem: Allocation, rho: Array, safe: Array) -> tuple[Array, tuple[Fraction, ...]]:
    """Round down; move towards the feasible point `safe`, on a logarithmic scale, until the assessors accept.

    For requirements whose limit may be exceeded by scaling all retentions down. Returns retentions and their rounded
    keep probabilities. Raises RR102 if the assessors accept none.
    """
    for back in TOWARDS:
        moved = rho ** (1 - back) * safe**back
        keep = _rounded_or_none(problem, moved)
        if keep is not None:
            return moved, keep
    raise infeasible_error(problem, tuple(c.name for c in problem.constraints))


def _rounded_or_none(problem: Allocation, rho: Array) -> tuple[Fraction, ...] | None:
    """Return a point rounded down, without any randomisation if it is nearly none; None if refused."""
    tried = dict.fromkeys(_round_keeps(problem, rho, most=most) for most in (UNTOUCHED, 1.0))
    return next((keep for keep in tried if problem.feasible(keep)), None)


def raise_to_limit(
    problem: Allocation, rho: Array, keep: tuple[Fraction, ...]
) -> tuple[Array, tuple[Fraction, ...], float]:
    """Raise an upper bound's solution towards the exact limit: scale all log retentions by one factor, by bisection.

    The requirements are met at `keep`. Each step calls the assessors once, and they are slow if a bound was needed.
    Returns retentions, keep probabilities and the factor in (0, 1].
    """
    low, high, found = 0.0, 1.0, (rho, keep)
    most = UNTOUCHED if any(p == 1 and r < 1 for p, r in zip(keep, rho, strict=True)) else 1.0
    for _ in range(RAISES):
        middle = (low + high) / 2
        moved = rho**middle
        tried = _round_keeps(problem, moved, most=most)
        if problem.feasible(tried):
            high, found = middle, (moved, tried)
        else:
            low = middle
    return *found, high


def _round_keeps(
    problem: Allocation, rho: Array, scale: Fraction = Fraction(1), most: float = 1.0
) -> tuple[Fraction, ...]:
    """Return keep probabilities rounded down, all retentions scaled; those that reach `most` are not randomised."""
    return tuple(
        Fraction(1)
        if r >= most and scale == 1
        else round_keep_down(keep_probability(Fraction(float(r)) * scale, v.size), v.size, problem.digits)
        for r, v in zip(rho, problem.variables, strict=True)
    )


ACTIVE = 40
"""Constraints added to the working set at a time, those with the largest values first."""
DEFAULT_STARTS = 5
FINE = 1e-3
"""The most by which a point is scaled down beyond the necessary."""
TOLERANCE = 1e-7
FULL, ROUGH = 1e-10, 1e-7
"""Accuracy of the objective from the first start, and from the others; one of these that ends lower is refined."""
GOLDEN = (math.sqrt(5) - 1) / 2


def solve_common_retention(problem: Allocation) -> AllocationSolution:
    """Return the largest common retention probability that satisfies every requirement; RR102 if none does.

    For caps on epsilon this is Ikarashi et al. 2014, Algorithms 1-3, with the smallest result of the requirements.
    """
    counted = _cached_constraints(problem)
    common = _feasible_common(counted, cheap=True) if problem.monotone else largest_feasible_common(counted)
    rho = np.full(len(problem.variables), common)
    ended = _LocalSolution(rho, problem.objective.value(rho), EvaluationCount(counted.values, counted.jacobians))
    if not problem.monotone:
        moved, keep = move_inside(problem, rho, rho * (1 - FINE))
        return _build_solution(counted, replace(ended, rho=moved), keep, 1, 1, (ended.evaluations,))
    return _rounded_solution(counted, ended, 1, 1, (ended.evaluations,))


def minimise_error(problem: Allocation, starts: int = DEFAULT_STARTS) -> AllocationSolution:
    """Return the retention probabilities of least expected error that satisfy every requirement; RR102 if none do.

    A start yields a local optimum; the number of agreeing starts is returned. Never worse than the common retention
    probability, which is the first start (Guo, Ying, Wu 2011, Problem 1).
    """
    first = _cached_constraints(problem)
    if not problem.monotone:
        return _minimise_from_feasible(problem, first, starts)
    common = _feasible_common(first)
    if common >= 1 or len(problem.variables) == 1:
        rho = np.full(len(problem.variables), common)
        ended = _LocalSolution(rho, problem.objective.value(rho), EvaluationCount(first.values, first.jacobians))
        solution = _rounded_solution(first, ended, 1, 1, (ended.evaluations,))
        return replace(solution, common=solution.keep)
    points = [_starting_point(common, len(problem.variables), index) for index in range(starts)]
    ends = [_descend(problem, first, points[0], points[0], FULL)]
    ends += [_descend(problem, _cached_constraints(problem), at, points[0], ROUGH) for at in points[1:]]
    best = min(ends, key=lambda end: end.objective)
    near = 1e-6 * max(1.0, abs(best.objective))
    agreed = sum(end.objective <= best.objective + near for end in ends)
    lower = ends[0].objective > best.objective + near
    best = _descend(problem, _cached_constraints(problem), best.rho, points[0], FULL) if lower else ends[0]
    solution = _rounded_solution(first, best, starts, agreed, tuple(end.evaluations for end in ends))
    if problem.bounded:
        return solution
    equal = _rounded_solution(first, replace(best, rho=np.full(len(best.rho), common)), 1, 1, ())
    if _rounded_objective(problem, equal) < _rounded_objective(problem, solution):
        value = problem.objective.value(np.array(equal.retention))
        solution = replace(equal, objective=value, starts=starts, agreed=1, evaluations=solution.evaluations)
    return replace(solution, common=equal.keep)


def _minimise_from_feasible(problem: Allocation, first: CachedConstraints, starts: int) -> AllocationSolution:
    """Minimise if requirements may also fail as less is retained: from any feasible points.

    Raises:
        RequirementError: RR102 if the search finds none.
    """
    safe = feasible_point(first)
    common = float(np.exp(np.log(safe).mean()))
    spread = (_starting_point(min(common, MAX_RETENTION), len(safe), index) for index in range(1, starts))
    points = [safe, *(np.where(safe >= 1, 1.0, start) for start in spread)]
    ends = [_descend(problem, _cached_constraints(problem), at, safe, FULL) for at in points]
    best = min(ends, key=lambda end: end.objective)
    near = 1e-6 * max(1.0, abs(best.objective))
    agreed = sum(end.objective <= best.objective + near for end in ends)
    told = tuple(end.evaluations for end in ends)
    rho, keep = move_inside(problem, best.rho, safe)
    return _build_solution(first, replace(best, rho=rho), keep, starts, agreed, told)


class _LocalSolution(Struct, frozen=True):
    """The result of one start."""

    rho: Array
    objective: float
    evaluations: EvaluationCount


def _cached_constraints(problem: Allocation) -> CachedConstraints:
    return CachedConstraints(problem, np.array([v.size for v in problem.variables], dtype=np.float64))


def _feasible_common(counted: CachedConstraints, *, cheap: bool = False) -> float:
    """Return the largest feasible common retention to about 1e-12, by bracketing (Brent), from below.

    `cheap`: if every requirement is one number, bisect: some evaluations more, and no optimiser to import.
    """
    size = len(counted.sizes)
    if not counted.problem.constraints or not size or not counted.over(np.ones(size)):
        return 1.0
    if counted.over(np.full(size, MIN_RETENTION)):
        raise infeasible_error(counted.problem, counted.names(np.full(size, MIN_RETENTION), 0.0))

    if cheap and max(counted.lengths) == 1:
        return largest_common_retention(lambda rho: rho <= MIN_RETENTION or not counted.over(np.full(size, rho)))

    def largest(rho: float) -> float:
        return float(np.max(counted.compressed(np.full(size, rho))))

    if largest(MAX_RETENTION) <= 0:
        return MAX_RETENTION
    from scipy.optimize import brentq

    root: float = brentq(largest, MIN_RETENTION, MAX_RETENTION, xtol=1e-14, rtol=1e-13)
    step = 1e-13
    while largest(root) > 0:
        root = max(MIN_RETENTION, root * (1 - step))
        step *= 4
    return root


def _starting_point(common: float, size: int, index: int) -> Array:
    """Return a start: the common retention, then points about it on a logarithmic scale in a fixed, even pattern."""
    if index == 0:
        return np.full(size, common)
    spread = np.array([(GOLDEN * (1 + index * size + a)) % 1 for a in range(size)])
    return np.clip(common ** (0.3 + 1.7 * spread), common * 1e-2, 0.99)


def _descend(
    problem: Allocation, counted: CachedConstraints, rho: Array, safe: Array, accuracy: float
) -> _LocalSolution:
    """Minimise from one start; the working set grows until no constraint outside it is exceeded."""
    least = min(float(safe.min()), 1.0) * 1e-3
    working: Ints = np.empty(0, dtype=np.int64)
    for _ in range(5):
        value = counted.compressed(rho)
        largest = np.argsort(-value, kind="stable")[:ACTIVE]
        if len(working) and value.max() <= TOLERANCE:
            break
        working = np.union1d(working, largest).astype(np.int64)
        rho = _slsqp(problem, counted, rho, working, (least, accuracy))
    inside = _make_feasible(counted, rho, safe)
    if np.abs(inside / rho - 1).max() > FINE:  # the search ended at an infeasible point: once more, from a feasible one
        again = _make_feasible(counted, _slsqp(problem, counted, inside, working, (least, accuracy)), safe)
        inside = min(inside, again, key=problem.objective.value)
    return _LocalSolution(inside, problem.objective.value(inside), EvaluationCount(counted.values, counted.jacobians))


def _slsqp(
    problem: Allocation, counted: CachedConstraints, rho: Array, working: Ints, to: tuple[float, float]
) -> Array:
    """Run SLSQP on the constraints of the working set, over x = log rho; down to a least rho, to an accuracy."""
    from scipy.optimize import Bounds, minimize

    least, accuracy = to
    search: Any = minimize  # its stubs want array shapes that no caller has
    whole = rho >= 1  # unrandomised attributes stay so: randomising one may fail a requirement

    def at(x: Array) -> Array:
        return np.where(whole, 1.0, np.exp(x))

    constraint = {
        "type": "ineq",
        "fun": lambda x: -counted.compressed(at(x))[working],
        "jac": lambda x: -counted.slope(at(x), working) * (at(x) * ~whole),
    }
    found = search(
        lambda x: problem.objective.value(at(x)),
        np.log(np.clip(rho, least, MAX_RETENTION)),
        jac=lambda x: problem.objective.value_and_gradient(at(x))[1] * (at(x) * ~whole),
        bounds=Bounds(np.full(len(rho), math.log(least)), np.full(len(rho), math.log(MAX_RETENTION))),
        constraints=[constraint],
        method="SLSQP",
        options={"ftol": accuracy, "maxiter": 25},
    )
    moved = np.exp(np.asarray(found.x, dtype=np.float64))
    return np.where(whole, 1.0, np.clip(moved, least, MAX_RETENTION)) if np.all(np.isfinite(moved)) else rho


def _make_feasible(counted: CachedConstraints, rho: Array, safe: Array) -> Array:
    """Return the point itself if it is feasible within tolerance, else scaled down as needed, or the safe point."""
    outside = 1.0
    for scale in (1.0, 1 - 1e-6, 1 - 1e-4, 1 - 1e-2, 0.9, 0.75, 0.5):
        if counted.over(_scale_retentions(rho, scale), TOLERANCE):
            outside = scale
            continue
        while outside - scale > FINE:
            middle = (scale + outside) / 2
            over = counted.over(_scale_retentions(rho, middle), TOLERANCE)
            scale, outside = (scale, middle) if over else (middle, outside)  # noqa: PLW2901 bisected
        return _scale_retentions(rho, scale)
    return safe


def _scale_retentions(rho: Array, scale: float) -> Array:
    """Return retentions scaled down, except for attributes that are not randomised."""
    return np.where(rho >= 1, rho, rho * scale)


def _rounded_solution(
    counted: CachedConstraints, end: _LocalSolution, starts: int, agreed: int, evaluations: tuple[EvaluationCount, ...]
) -> AllocationSolution:
    problem, rho, raised = counted.problem, end.rho, 1.0
    keep, scale = pull_back(problem, rho)
    if problem.bounded and scale == 1:
        rho, keep, raised = raise_to_limit(problem, rho, keep)
    found = _build_solution(counted, replace(end, rho=rho), keep, starts, agreed, evaluations)
    active = counted.names(end.rho, -1e-3) if problem.constraints else ()
    return replace(found, active=active, pulled_back=scale, raised=raised)


def _build_solution(  # noqa: PLR0917 one argument for each field
    counted: CachedConstraints,
    end: _LocalSolution,
    keep: tuple[Fraction, ...],
    starts: int,
    agreed: int,
    evaluations: tuple[EvaluationCount, ...],
) -> AllocationSolution:
    rho, problem = end.rho, counted.problem
    return AllocationSolution(
        keep=keep,
        unrounded=tuple(float(p) for p in counted.keep(rho)),
        retention=tuple(float(r) for r in rho),
        objective=problem.objective.value(rho),
        starts=starts,
        agreed=agreed,
        evaluations=evaluations,
        active=counted.names(rho, -1e-3) if problem.constraints else (),
        pulled_back=1.0,
    )


def _rounded_objective(problem: Allocation, solution: AllocationSolution) -> float:
    pairs = zip(solution.keep, problem.variables, strict=True)
    return problem.objective.value(np.array([float(retention_probability(p, v.size)) for p, v in pairs]))
