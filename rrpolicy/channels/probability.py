"""Keep and retention probabilities, and logarithms of exact ratios: each conversion once.

*Keep probability* is the diagonal of a retention matrix, Pr(released = original). *Retention probability* is rho of
retention-replacement: kept, else redrawn uniformly from the whole domain, the original value included.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import chain
from typing import overload

DIGITS = 50
"""Significant digits of logarithms, beyond those that the ratio's closeness to 1 takes away."""


@overload
def keep_probability(retention: Fraction, size: int) -> Fraction: ...
@overload
def keep_probability(retention: float, size: int) -> float: ...
def keep_probability(retention: Fraction | float, size: int) -> Fraction | float:
    """Return rho + (1 - rho)/d; 1 for a single category, for which the formula is not used.

    Args:
        retention: rho, in [0, 1]; a Fraction gives a Fraction.
        size: d, the number of categories (of the block).
    """
    if size == 1:
        return Fraction(1) if isinstance(retention, Fraction) else 1.0
    return retention + (1 - retention) / size


@overload
def retention_probability(keep: Fraction, size: int) -> Fraction: ...
@overload
def retention_probability(keep: float, size: int) -> float: ...
def retention_probability(keep: Fraction | float, size: int) -> Fraction | float:
    """Return (d p - 1)/(d - 1); 1 for a single category. Negative if the keep probability lies below 1/d.

    Args:
        keep: p, the diagonal, in [0, 1]; a Fraction gives a Fraction.
        size: d, the number of categories (of the block).
    """
    if size == 1:
        return Fraction(1) if isinstance(keep, Fraction) else 1.0
    return (size * keep - 1) / (size - 1)


def log_decimal(ratio: Fraction, digits: int = DIGITS) -> Decimal:
    """Return the natural logarithm of a positive rational to about `digits` significant digits."""
    excess = abs(ratio.numerator - ratio.denominator)
    extra = max(0, ratio.denominator.bit_length() - excess.bit_length()) // 3
    with localcontext(_context(digits + 5 + extra)):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def log_rounded_up(ratio: Fraction | None) -> float:
    """Return the smallest double that is not below the logarithm of a ratio >= 1; None means infinity."""
    if ratio is None:
        return math.inf
    if ratio == 1:
        return 0.0
    logarithm = log_decimal(ratio)
    rounded = float(logarithm)
    # A rational's logarithm is irrational, so a double never equals it: only the side has to be found.
    return rounded if Decimal(rounded) > logarithm else math.nextafter(rounded, math.inf)


def log_at_most(ratio: Fraction | None, limit: Fraction) -> bool:
    """Return whether log(ratio) <= limit, decided exactly.

    The exponential of a rational other than 0 is transcendental (Lindemann 1882), so enough digits show the difference.
    """
    if ratio is None:
        return False
    if ratio == 1 or limit <= 0:
        return limit >= 0 and ratio <= 1
    digits = DIGITS
    while True:
        logarithm = log_decimal(ratio, digits)
        with localcontext(_context(digits + 5)):
            difference = logarithm - Decimal(limit.numerator) / Decimal(limit.denominator)
            if abs(difference) > abs(logarithm) * Decimal(10) ** -digits:
                return difference < 0
        digits *= 2


def round_down(value: Fraction) -> float:
    """Return the largest double that is not above a rational."""
    rounded = float(value)
    return rounded if Fraction(rounded) <= value else math.nextafter(rounded, -math.inf)


def round_up(value: Fraction) -> float:
    """Return the smallest double that is not below a rational; of 0, the one without a sign."""
    return 0.0 - round_down(-value)


def largest_ratio(rows: tuple[tuple[Fraction, ...], ...]) -> Fraction | None:
    """Return max_u max_v P[u,v] / min_v P[u,v] over rows that are not all zero; None if a zero makes it infinite."""
    ratio = Fraction(1)
    for row in rows:
        most, least = max(row), min(row)
        if most and not least:
            return None
        if most:
            ratio = max(ratio, most / least)
    return ratio


def smallest_cross_ratio(rows: tuple[tuple[Fraction, ...], ...]) -> Fraction:
    """Return min P[u',v] P[v',u] / (P[u',u] P[v',v]) exactly (Ikarashi et al. 2014); 0 if a zero excludes anything.

    With x = P[.,v]/P[.,u], the minimum over u', v' is min x / max x, the exponential of minus Hilbert's distance of two
    columns. O(d^2) bounds of all pairs exclude pairs that cannot be the smallest; only the others are compared, O(d)
    each.

    Args:
        rows: (released, original) column-stochastic; all-zero rows are dropped.
    """
    kept = [row for row in rows if any(row)]
    if not all(chain.from_iterable(kept)):
        return Fraction(0)
    ratio = largest_ratio(rows)
    floor = Fraction(1) if ratio is None else 1 / ratio**2  # no pair can reach below the square of one row's ratio
    best = Fraction(1)
    columns = list(zip(*kept, strict=True))
    logs = [[math.log(p.numerator) - math.log(p.denominator) for p in column] for column in columns]
    for bound, u, v in _column_pairs(logs):
        achieved = -math.log(best.denominator) + math.log(best.numerator)
        if best == floor or bound < -achieved - _MARGIN:
            break
        x = [b - a for a, b in zip(logs[u], logs[v], strict=True)]
        if min(x) - max(x) < achieved + _MARGIN:
            exact = [b / a for a, b in zip(columns[u], columns[v], strict=True)]
            best = min(best, min(exact) / max(exact))
    return best


_MARGIN = 1e-9
"""Far above the error of the floating logarithms, which only choose the pairs that exact rationals decide."""


def _column_pairs(logs: list[list[float]]) -> list[tuple[float, int, int]]:
    """Return (bound of Hilbert's distance, u, v) of all pairs of columns, the largest bounds first."""
    rows = list(zip(*logs, strict=True))
    least, most = [min(r) for r in rows], [max(r) for r in rows]
    above = [max(x - low for x, low in zip(column, least, strict=True)) for column in logs]
    below = [max(high - x for x, high in zip(column, most, strict=True)) for column in logs]
    pairs = [(min(above[u], below[v]) + min(above[v], below[u]), u, v) for u in range(len(logs)) for v in range(u)]
    pairs.sort(reverse=True)
    return pairs


def _context(digits: int) -> Context:
    return Context(prec=digits, Emax=999_999_999, Emin=-999_999_999)
