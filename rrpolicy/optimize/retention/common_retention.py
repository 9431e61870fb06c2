"""The common retention probability: Algorithms 1-3 by bisection, and rounding down. Standard library alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

MIN_DIGITS = 5


def largest_common_retention(holds: Callable[[float], bool]) -> float:
    """Return the largest retention probability for which `holds` is true, to the last bit; 0 if it never is.

    It is true up to some rho, false above it.
    """
    if holds(1.0):
        return 1.0
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in {low, high}:
            return low
        if holds(middle):
            low = middle
        else:
            high = middle


def round_keep_down(keep: Fraction | float, size: int, digits: int = MIN_DIGITS) -> Fraction:
    """Return the largest decimal of at least `digits` digits, 5 or more, that is at most `keep` and still above 1/d.

    Rounding a keep probability down never raises risk, linking, epsilon or 1/k, provided that it is above 1/d (data
    processing). If `digits` decimals leave no room above 1/d, more are taken. A float means its exact binary value; for
    one category the result is 1. Raises ValueError if `keep` is not in (1/d, 1].
    """
    if size == 1:
        return Fraction(1)
    exact = Fraction(keep)
    least = Fraction(1, size)
    if not least < exact <= 1:
        raise ValueError(f"a keep probability must lie in (1/{size}, 1], got {float(keep)!r}")
    scale = 10 ** max(digits, MIN_DIGITS)
    while True:
        rounded = Fraction(math.floor(exact * scale), scale)
        if rounded > least:
            return rounded
        scale *= 10
