"""From a point of the search to keep probabilities that the assessors accept: rounded down, pulled back, or raised."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.channels.probability import keep_probability
from rrpolicy.optimize.retention.common_retention import round_keep_down
from rrpolicy.optimize.retention.problem import Allocation, infeasible_error

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array

UNTOUCHED = 1 - 2e-9
"""A retention from here on is what the search leaves at its upper end: it is tried without any randomisation first."""
TOWARDS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0)
"""How far towards a point that holds, on a logarithmic scale, rounding is tried again."""
RAISES = 8
"""Exact assessments spent on going from an upper bound's solution towards the exact limit."""


def pull_back(problem: Allocation, rho: Array) -> tuple[tuple[Fraction, ...], float]:
    """Round down; scale all retentions by one factor, found by bisection, until the assessors accept.

    Returns:
        the keep probabilities and the factor, 1 if rounding down was enough.

    Raises:
        RequirementError: RR102 if they accept none.
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
    """Round down; go towards a point that holds, on a logarithmic scale, until the assessors accept.

    Where scaling all retentions down may itself exceed a limit.

    Args:
        problem: what is solved.
        rho: where the search ended.
        safe: where every requirement holds, as the search sees them.

    Returns:
        retentions, and the keep probabilities that they are rounded to.

    Raises:
        RequirementError: RR102 if they accept none.
    """
    for back in TOWARDS:
        moved = rho ** (1 - back) * safe**back
        keep = _rounded_or_none(problem, moved)
        if keep is not None:
            return moved, keep
    raise infeasible_error(problem, tuple(c.name for c in problem.constraints))


def _rounded_or_none(problem: Allocation, rho: Array) -> tuple[Fraction, ...] | None:
    """Return what a point is rounded down to, without any randomisation where it is nearly none; None if refused."""
    tried = dict.fromkeys(_round_keeps(problem, rho, most=most) for most in (UNTOUCHED, 1.0))
    return next((keep for keep in tried if problem.feasible(keep)), None)


def raise_to_limit(
    problem: Allocation, rho: Array, keep: tuple[Fraction, ...]
) -> tuple[Array, tuple[Fraction, ...], float]:
    """Go from what an upper bound allows towards the exact limit: scale all log retentions by one factor, by bisection.

    Each step asks the assessors once, and they are slow where a bound was needed.

    Args:
        problem: whose requirements hold at `keep`.
        rho: retentions.
        keep: what they were rounded to.

    Returns:
        retentions, keep probabilities and the factor in (0, 1].
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
    """Return keep probabilities rounded down, all retentions scaled; what reaches `most` is not randomised."""
    return tuple(
        Fraction(1)
        if r >= most and scale == 1
        else round_keep_down(keep_probability(Fraction(float(r)) * scale, v.size), v.size, problem.digits)
        for r, v in zip(rho, problem.variables, strict=True)
    )
