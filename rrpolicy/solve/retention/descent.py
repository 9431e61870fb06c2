"""Sequential quadratic programming for some dozens of variables, dense: Kraft's SLSQP on numpy alone.

Importing scipy.optimize takes longer than a search for retention probabilities does, and every plan and release would
wait for it. The tests hold what is found here against scipy.

References:
    Kraft 1988, A software package for sequential quadratic programming (the method, and its merit function).
    Powell 1978 (the damped update). Lawson, Hanson 1974, chapter 23 (least distance by nonnegative least squares).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array

SHARES = (1.0, 0.5, 0.1, 0.0)
"""How much of what is exceeded a step is asked to mend, where no step mends all of it."""
FARTHEST = 2.0
"""How far a step goes in any variable: what curves is not followed blindly to a bound."""
INCONSISTENT, INDEFINITE = 1e-12, 1e-14
EASED = 0.2
"""Powell's damping: the least curvature of an update, as a share of what the model has."""
SUFFICIENT, SHORTEST, HALVINGS = 0.1, 0.1, 10
"""Of a line search: the share of the fall that is promised, and the least part of a step tried next, so many times."""
SELDOM = 6
"""How many steps towards a crossing there are to each bisection."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is minimised over low <= x <= high with every constraint at most 0.

    Attributes:
        objective: x -> its value and gradient (n,).
        constraints: x -> (m,) values.
        slopes: x -> (m, n) their derivatives; asked only where `constraints` was.
        low: (n,).
        high: (n,).
    """

    objective: Callable[[Array], tuple[float, Array]]
    constraints: Callable[[Array], Array]
    slopes: Callable[[Array], Array]
    low: Array
    high: Array

    def descend(self, start: Array, curvature: Array, accuracy: float, most: int) -> tuple[Array, Array]:
        """Return a local minimum near a start, or where the last of so many steps led, and the curvature there.

        Args:
            start: need not satisfy the constraints.
            curvature: (n, n) of the Lagrangian, as far as known: positive definite. Of it another search begins better.
            accuracy: of the objective, and of the constraints.
            most: steps.
        """
        x = np.clip(start, self.low, self.high)
        (value, gradient), exceeded, slopes = self.objective(x), self.constraints(x), self.slopes(x)
        price = np.zeros(len(exceeded))
        for _ in range(most):
            if not np.isfinite(slopes).all() or not np.isfinite(gradient).all():
                break
            low, high = np.maximum(self.low - x, -FARTHEST), np.minimum(self.high - x, FARTHEST)
            step, own, share = _towards(curvature, gradient, slopes, exceeded, (low, high))
            over = np.maximum(exceeded, 0)
            gain = abs(float(gradient @ step)) + float(own @ np.abs(exceeded))
            if over.sum() < accuracy and (gain < accuracy or math.sqrt(step @ step) < accuracy):
                break
            price = np.maximum(own, (price + own) / 2)
            falls = float(gradient @ step) - share * float(price @ over)
            if falls >= 0:
                if np.array_equal(curvature, np.eye(len(x))):
                    break
                curvature = np.eye(len(x))
                continue
            moved, reached, after = self._along(x, step, value + float(price @ over), falls, price)
            before = gradient + own @ slopes
            last, value = value, reached[0]
            gradient, exceeded, slopes = reached[1], after, self.slopes(moved)
            curvature = _updated(curvature, moved - x, gradient + own @ slopes - before)
            near = abs(value - last) < accuracy or float(np.abs(moved - x).max()) < accuracy
            x = moved
            if near and np.maximum(exceeded, 0).sum() < accuracy:
                break
        return x, curvature

    def _along(
        self, x: Array, step: Array, merit: float, falls: float, price: Array
    ) -> tuple[Array, tuple[float, Array], Array]:
        """Return the first point along a step where the objective and the priced excess fall enough."""
        length = 1.0
        for _ in range(HALVINGS):
            moved = np.clip(x + length * step, self.low, self.high)
            reached, after = self.objective(moved), self.constraints(moved)
            change = reached[0] + float(price @ np.maximum(after, 0)) - merit
            if change <= SUFFICIENT * length * falls:
                break
            length *= max(SHORTEST, length * falls / (2 * (length * falls - change)))
        return moved, reached, after


def _towards(
    curvature: Array, gradient: Array, slopes: Array, exceeded: Array, within: tuple[Array, Array]
) -> tuple[Array, Array, float]:
    """Return the best step of the quadratic model, what each constraint costs there, and the share of excess mended."""
    sides = np.eye(len(gradient))
    rows, room = np.concatenate([slopes, sides, -sides]), np.concatenate([-exceeded, within[1], -within[0]])
    for share in SHARES:
        found = quadratic(curvature, gradient, rows, np.where(room < 0, room * share, room))
        if found is not None:
            return found[0], found[1][: len(exceeded)], share
    return np.zeros_like(gradient), np.zeros(len(exceeded)), 0.0


def quadratic(curvature: Array, gradient: Array, rows: Array, room: Array) -> tuple[Array, Array] | None:
    """Return the minimum of d'Bd/2 + g'd subject to A d <= b, and the multipliers; None if nothing satisfies them.

    With B = L L' and z = L'd + L^-1 g it is the point of least |z| in a polyhedron.

    Args:
        curvature: (n, n) B, positive definite.
        gradient: (n,) g.
        rows: (m, n) A.
        room: (m,) b.
    """
    root = np.linalg.cholesky(curvature)
    turned, shift = np.linalg.solve(root, rows.T), np.linalg.solve(root, gradient)
    normals = np.concatenate([-turned, -(room + shift @ turned)[None, :]])
    target = np.zeros(len(normals))
    target[-1] = 1.0
    lengths = np.maximum(np.sqrt(np.add.reduce(normals * normals, axis=0)), np.finfo(float).tiny)
    weights = nonnegative(normals / lengths, target) / lengths
    rest = normals @ weights - target
    if -rest[-1] < INCONSISTENT:
        return None
    return np.linalg.solve(root.T, -rest[:-1] / rest[-1] - shift), weights / -rest[-1]


def nonnegative(columns: Array, target: Array) -> Array:
    """Return u >= 0 of least |E u - f|; Lawson and Hanson's active set.

    Args:
        columns: (k, m) E, of columns of length 1.
        target: (k,) f.
    """
    count = columns.shape[1]
    found, free = np.zeros(count), np.zeros(count, dtype=bool)
    useless = np.zeros(count, dtype=bool)
    for _ in range(3 * count):
        pull = columns.T @ (target - columns @ found)
        pull[free | useless] = 0
        next_ = int(np.argmax(pull))
        if pull[next_] <= np.finfo(float).eps:
            break
        free[next_] = True
        solved = _solved(columns, target, free)
        if solved[next_] <= 0:
            free[next_], useless[next_] = False, True
            continue
        useless[:] = False
        while (leaving := free & (solved <= 0)).any():
            ratio = np.divide(found, found - solved, out=np.zeros(count), where=leaving & (found > 0))[leaving]
            found += ratio.min() * (solved - found)
            free[np.flatnonzero(leaving)[ratio == ratio.min()]] = False
            found[~free] = 0
            solved = _solved(columns, target, free)
        found = solved
    return found


def _solved(columns: Array, target: Array, free: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Array:
    solved = np.zeros(columns.shape[1])
    solved[free] = np.linalg.lstsq(columns[:, free], target, rcond=None)[0]
    return solved


def _updated(curvature: Array, moved: Array, bent: Array) -> Array:
    """Return the model's curvature after a move along which the Lagrangian's gradient changed.

    It stays definite; where rounding would end that, the model begins anew.
    """
    pushed = curvature @ moved
    expected, seen = float(moved @ pushed), float(moved @ bent)
    if expected <= 0 or not math.isfinite(seen):
        return curvature
    if seen < EASED * expected:
        part = (1 - EASED) * expected / (expected - seen)
        bent = part * bent + (1 - part) * pushed
        seen = EASED * expected
    updated: Array = curvature + np.outer(bent, bent) / seen - np.outer(pushed, pushed) / expected
    sizes = np.linalg.eigvalsh(updated)
    return updated if sizes[0] > INDEFINITE * sizes[-1] else np.eye(len(moved))


def crossing(rises: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """Return the last point, to an accuracy, at which a rising function is at most 0.

    Regula falsi with Anderson and Björck's weights (1973), and bisection at every sixth step.

    Args:
        rises: at most 0 at `low`, above 0 at `high`.
        low: the lower end.
        high: the upper end.
        accuracy: how far below the crossing the point may lie.
    """
    under, over = rises(low), rises(high)
    turn = side = 0
    while high - low > accuracy:
        middle = (low + high) / 2
        turn += 1
        if turn % SELDOM and math.isfinite(over - under):
            middle = min(max(high - over * (high - low) / (over - under), low + accuracy / 2), high - accuracy / 2)
        if not low < middle < high:
            break
        value = rises(middle)
        if value <= 0:
            low, under, over, side = middle, value, over * _eased(value, under, again=side < 0), -1
        else:
            high, over, under, side = middle, value, under * _eased(value, over, again=side > 0), 1
    return low


def _eased(value: float, last: float, *, again: bool) -> float:
    """Return what the value at the end that stays is weighed by: less where the other end moved twice in turn."""
    if not again:
        return 1.0
    return 1 - value / last if last and value / last < 1 else 0.5
