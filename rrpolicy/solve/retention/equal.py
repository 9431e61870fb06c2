"""The common retention probability: Algorithms 1-3 by bisection, and rounding down. Standard library alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

LEAST_DIGITS = 5


def common_retention(holds: Callable[[float], bool]) -> float:
    """Return the largest retention probability that satisfies a requirement, to the last bit.

    Args:
        holds: whether a retention probability rho in (0, 1] satisfies it; true up to some rho, false above it.

    Returns:
        1.0 if everything holds, 0.0 if nothing does.
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


def retention_epsilon(sizes: Sequence[int], retention: float) -> float:
    """Return epsilon of retention-replacement with one rho on attributes of the given numbers of categories.

    sum_a log(p_a/q_a) = sum_a log(1 + d_a rho/(1 - rho)); Ikarashi et al. 2014. An attribute of one category adds 0.
    """
    varied = [d for d in sizes if d > 1]
    if retention >= 1:
        return math.inf if varied else 0.0
    odds = retention / (1 - retention)
    return math.fsum(math.log1p(d * odds) for d in varied)


def epsilon_for_k(records: int, k: Fraction | float) -> float:
    """Return the epsilon that Pk-anonymity allows: log((N-1)/(k-1))/2 (Ikarashi et al. 2014).

    Args:
        records: N.
        k: required; 1 < k < N.

    Raises:
        ValueError: if k does not lie between 1 and N.
    """
    if not 1 < k < records:
        raise ValueError(f"k must lie between 1 and the number of records, got k = {k} for {records} records")
    return math.log((records - 1) / float(k - 1)) / 2


def common_retention_for_epsilon(sizes: Sequence[int], epsilon: float) -> float:
    """Return the largest common retention probability with sum_a log(p_a/q_a) <= epsilon.

    Args:
        sizes: numbers of categories of the randomised attributes.
        epsilon: > 0.

    Raises:
        ValueError: if epsilon is not positive.

    References:
        Ikarashi, Kikuchi, Chida, Takahashi 2014, Algorithms 1 and 2.
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    return common_retention(lambda rho: retention_epsilon(sizes, rho) <= epsilon)


def common_retention_for_k(sizes: Sequence[int], records: int, k: Fraction | float) -> float:
    """Return the largest common retention probability that is Pk-anonymous.

    Args:
        sizes: numbers of categories of the randomised attributes.
        records: N.
        k: required; 1 < k < N.

    Raises:
        ValueError: if k does not lie between 1 and N.

    References:
        Ikarashi, Kikuchi, Chida, Takahashi 2014, Algorithm 3.
    """
    return common_retention_for_epsilon(sizes, epsilon_for_k(records, k))


def round_down(keep: Fraction | float, size: int, digits: int = LEAST_DIGITS) -> Fraction:
    """Return the largest decimal of so many digits that is at most `keep` and still above 1/d.

    Rounding a keep probability down never raises risk, linking, epsilon or 1/k, as long as it stays above 1/d (data
    processing). Where `digits` decimals leave no room above 1/d, more are taken.

    Args:
        keep: unrounded keep probability, in (1/d, 1]; a float stands for its exact binary value.
        size: d, the number of categories; with one, the answer is 1.
        digits: at least this many decimals, and never fewer than 5.

    Raises:
        ValueError: if `keep` does not lie in (1/d, 1].
    """
    if size == 1:
        return Fraction(1)
    exact = Fraction(keep)
    least = Fraction(1, size)
    if not least < exact <= 1:
        raise ValueError(f"a keep probability must lie in (1/{size}, 1], got {float(keep)!r}")
    scale = 10 ** max(digits, LEAST_DIGITS)
    while True:
        rounded = Fraction(math.floor(exact * scale), scale)
        if rounded > least:
            return rounded
        scale *= 10
