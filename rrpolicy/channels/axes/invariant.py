"""Invariant post-randomisation: a transition matrix that keeps a given marginal, exactly.

References:
    Gouweleeuw, Kooiman, Willenborg, de Wolf 1998, section 4 (two-stage invariant PRAM).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def invariant_matrix(
    marginal: Sequence[Fraction], start: Sequence[Sequence[Fraction]], digits: int | None = None
) -> tuple[tuple[Fraction, ...], ...]:
    """Return R = Q P with R pi = pi, Q the Bayes inversion of P: Q[v,u] = P[u,v] pi[v] / (P pi)[u].

    The flows R[v,w] pi[w] are symmetric, so they can be rounded in pairs without losing the marginal: with `digits`,
    off-diagonal flows become multiples of 10^-digits / (the common denominator of pi), at least one where they are not
    0, and the diagonal takes the rest. Unrounded entries have denominators of hundreds of digits.

    An empty category (share 0) is never released: its row is 0. Its own column stays stochastic.

    Args:
        marginal: pi, exact; sums to 1.
        start: P, square and column-stochastic, rows of exact entries.
        digits: decimals of the flows; None for none.

    Returns:
        the rows of R.

    Raises:
        ValueError: if the marginal or the start is none, or `digits` leave no room on the diagonal.
    """
    size = len(marginal)
    if sum(marginal) != 1 or min(marginal) < 0:
        raise ValueError("a marginal must hold the proportion of each category, in sum 1")
    if (
        len(start) != size
        or any(len(row) != size for row in start)
        or any(sum(c) != 1 for c in zip(*start, strict=True))
    ):
        raise ValueError("the start must be a square column-stochastic matrix over the categories of the marginal")
    back = _bayes_inversion(marginal, start)
    entries = [
        [sum((b * row[w] for b, row in zip(back[v], start, strict=True) if b), Fraction(0)) for w in range(size)]
        for v in range(size)
    ]
    return tuple(tuple(row) for row in (entries if digits is None else _round_columns(entries, marginal, digits)))


def _bayes_inversion(marginal: Sequence[Fraction], start: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Return Q; what no record becomes under P and pi stays as it is."""
    size = len(marginal)
    inversion = [[Fraction(0)] * size for _ in range(size)]
    for u, row in enumerate(start):
        total = sum((p * share for p, share in zip(row, marginal, strict=True)), Fraction(0))
        for v in range(size):
            inversion[v][u] = row[v] * marginal[v] / total if total else Fraction(int(u == v))
    return inversion


def _round_columns(entries: list[list[Fraction]], marginal: Sequence[Fraction], digits: int) -> list[list[Fraction]]:
    size, scale = len(marginal), 10**digits
    whole = math.lcm(*(share.denominator for share in marginal))
    mass = [int(share * whole) * scale for share in marginal]
    flows = [[0] * size for _ in range(size)]
    for v in range(size):
        for w in range(v):
            flow = entries[v][w] * mass[w]
            flows[v][w] = flows[w][v] = max(math.floor(flow), 1 if flow else 0)
    rounded = [[Fraction(0)] * size for _ in range(size)]
    for w in range(size):
        if not mass[w]:
            column = _round_empty_column([entries[v][w] for v in range(size)], scale)
        else:
            flows[w][w] = mass[w] - sum(flows[v][w] for v in range(size))
            if flows[w][w] < 0 or (flows[w][w] == 0 and entries[w][w]):
                raise ValueError(f"{digits} digits are too few for this marginal")
            column = [Fraction(flows[v][w], mass[w]) for v in range(size)]
        for v in range(size):
            rounded[v][w] = column[v]
    return rounded


def _round_empty_column(column: Sequence[Fraction], scale: int) -> list[Fraction]:
    """Round the column of an empty category, which no marginal constrains: the largest entry takes the rest."""
    rounded = [Fraction(max(math.floor(p * scale), 1 if p else 0), scale) for p in column]
    largest = max(range(len(column)), key=column.__getitem__)
    rounded[largest] += 1 - sum(rounded)
    return rounded
