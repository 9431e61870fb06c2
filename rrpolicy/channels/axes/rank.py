"""Whether a rational matrix has full column rank, decided without floating point."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

_PRIMES = (2**61 - 1, 2**89 - 1, 2**107 - 1)


def full_column_rank(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether the columns of a matrix are linearly independent.

    The rank modulo a prime never exceeds the rational one, so full rank modulo any prime is proof. It is lower only if
    the prime divides every maximal minor: lower ranks for three primes of 61 bits and more count as a deficiency.
    """
    width = len(rows[0])
    return len(rows) >= width and any(_rank(rows, prime) == width for prime in _PRIMES)


def _rank(rows: Sequence[Sequence[Fraction]], prime: int) -> int:
    if any(entry.denominator % prime == 0 for row in rows for entry in row):
        return 0
    work = [[entry.numerator * pow(entry.denominator, -1, prime) % prime for entry in row] for row in rows]
    rank = 0
    for column in range(len(work[0])):
        found = next((i for i in range(rank, len(work)) if work[i][column]), None)
        if found is None:
            return rank  # the caller needs full column rank only
        work[rank], work[found] = work[found], work[rank]
        pivot = work[rank]
        inverse = pow(pivot[column], -1, prime)
        for row in work[rank + 1 :]:
            if row[column]:
                factor = row[column] * inverse % prime
                row[column:] = [(a - factor * b) % prime for a, b in zip(row[column:], pivot[column:], strict=True)]
        rank += 1
    return rank
