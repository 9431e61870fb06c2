"""Exact comparison of entropies with logarithms: products of powers are compared without multiplication."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce

from rrpolicy.channels.probability import DIGITS


def entropy_reaches(counts: Sequence[int], l: Fraction) -> bool:
    """Return whether -sum (r/n) log(r/n) >= log l, exactly, for counts r > 0.

    Both sides times n: log(n^n / prod r^r) >= log l^n, so a product of powers of integers is compared with 1.
    """
    counts = _reduce_counts(counts)
    n = sum(counts)
    powers = [(n, n), *((r, -r) for r in counts), (l.numerator, -n), (l.denominator, n)]
    return sign_of_logarithm(powers) >= 0


def effective_number(counts: Sequence[int]) -> float:
    """Return e^entropy, the number of equally frequent values with the same entropy, rounded down."""
    counts = _reduce_counts(counts)
    n = sum(counts)
    if len(set(counts)) == 1:
        return float(len(counts))
    with localcontext(_context(DIGITS)):
        entropy = _sum_of_logarithms([(n, n), *((r, -r) for r in counts)]) / n
        number = entropy.exp()
    rounded = float(number)
    return rounded if Decimal(rounded) <= number else math.nextafter(rounded, 0.0)


def sign_of_logarithm(powers: Iterable[tuple[int, int]]) -> int:
    """Return the exact sign of sum e log b over integers (b, e), b > 0.

    Bases without common factors decide equality with 0, by unique factorisation; other sums differ from 0 with enough
    digits.
    """
    coprime = _coprime_powers(powers)
    if not coprime:
        return 0
    digits = DIGITS
    while True:
        with localcontext(_context(digits + 10)):
            scale = sum(abs(e) * Decimal(b).ln() for b, e in coprime.items())
            total = _sum_of_logarithms(coprime.items())
            if abs(total) > scale * Decimal(10) ** -digits:
                return 1 if total > 0 else -1
        digits *= 2


def _coprime_powers(powers: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the same product over pairwise coprime bases > 1 with exponents other than 0."""
    base: dict[int, int] = {}
    waiting = [(b, e) for b, e in powers if b > 1 and e]
    while waiting:
        b, e = waiting.pop()
        shared = next((known for known in base if math.gcd(known, b) > 1), None)
        if shared is None:
            base[b] = e
            continue
        f, g = base.pop(shared), math.gcd(shared, b)
        waiting += [(x, y) for x, y in ((shared // g, f), (b // g, e), (g, e + f)) if x > 1 and y]
    return base


def _sum_of_logarithms(powers: Iterable[tuple[int, int]]) -> Decimal:
    return sum((e * Decimal(b).ln() for b, e in powers), Decimal(0))


def _reduce_counts(counts: Sequence[int]) -> tuple[int, ...]:
    divisor = reduce(math.gcd, counts)
    return tuple(r // divisor for r in counts)


def _context(digits: int) -> Context:
    return Context(prec=digits, Emax=999_999_999, Emin=-999_999_999)
