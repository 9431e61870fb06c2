"""All deals of a small table with their chances, and what an attacker concludes from each: in fractions, from the paper.

Nothing here is shared with the package: the loop of Xiao and Tao's figure 3 as it stands, and sums over permutations.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

Rows = tuple[tuple[int, ...], ...]
"""People of each combination of quasi-identifiers, by sensitive value."""


def compositions(counts: Sequence[int], size: int) -> dict[tuple[tuple[int, ...], ...], Fraction]:
    """Return the values of the groups, in the order they are made, residues in them, with the chance of each outcome."""
    found: dict[tuple[tuple[int, ...], ...], Fraction] = defaultdict(Fraction)
    todo: list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...], Fraction]] = [(tuple(counts), (), Fraction(1))]
    while todo:
        left, made, chance = todo.pop()
        occupied = sorted((v for v, n in enumerate(left) if n), key=lambda v: -left[v])
        if len(occupied) < size:
            for outcome, share in _joined([v for v in occupied for _ in range(left[v])], made).items():
                found[outcome] += chance * share
            continue
        border = left[occupied[size - 1]]
        above = [v for v in occupied if left[v] > border]
        tied = [v for v in occupied if left[v] == border]
        ways = list(itertools.combinations(tied, size - len(above)))
        for turns in ways:
            group = tuple(sorted((*above, *turns)))
            rest = tuple(n - (v in group) for v, n in enumerate(left))
            todo.append((rest, (*made, group), chance / len(ways)))
    return dict(found)


def _joined(residues: Sequence[int], made: tuple[tuple[int, ...], ...]) -> dict[tuple[tuple[int, ...], ...], Fraction]:
    outcomes = {made: Fraction(1)}
    for value in residues:
        further: dict[tuple[tuple[int, ...], ...], Fraction] = defaultdict(Fraction)
        for groups, chance in outcomes.items():
            lacking = [i for i, held in enumerate(groups) if value not in held]
            for i in lacking:
                joined = tuple(tuple(sorted((*g, value))) if i == j else g for j, g in enumerate(groups))
                further[joined] += chance / len(lacking)
        outcomes = dict(further)
    return outcomes


def posteriors(rows: Rows, members: Sequence[int], values: Sequence[int]) -> list[dict[int, Fraction]]:
    """Return Pr(member has value | the group) of each member, summed over all ways of giving the values to them."""
    return [dict(p) for p in _posteriors(rows, tuple(members), tuple(values))]


@lru_cache(maxsize=1 << 16)
def _posteriors(
    rows: Rows, members: tuple[int, ...], values: tuple[int, ...]
) -> tuple[tuple[tuple[int, Fraction], ...], ...]:
    total, chance = Fraction(0), [defaultdict(Fraction) for _ in members]
    for order in itertools.permutations(values):
        weight = math.prod(Fraction(rows[g][v], sum(rows[g])) for g, v in zip(members, order, strict=True))
        total += weight
        for i, v in enumerate(order):
            chance[i][v] += weight
    return tuple(tuple((v, p / total) for v, p in each.items()) for each in chance)


def everybody(rows: Rows, size: int) -> Iterator[tuple[Fraction, list[tuple[tuple[int, ...], tuple[int, ...]]]]]:
    """Yield (chance, [(values, who stands for each)]) of every deal of the people themselves."""
    counts = [sum(column) for column in zip(*rows, strict=True)]
    people = [[g for g, row in enumerate(rows) for _ in range(row[v])] for v in range(len(counts))]
    orders = [Counter(itertools.permutations(of)) for of in people]
    for groups, chance in compositions(counts, size).items():
        for picked in itertools.product(*(o.items() for o in orders)):
            weight = math.prod(Fraction(n, math.factorial(len(o))) for o, n in picked)
            queues = [list(o) for o, _ in picked]
            yield chance * weight, [(held, tuple(queues[v].pop() for v in held)) for held in groups]


def expected(rows: Rows, size: int) -> tuple[dict[tuple[int, int], Fraction], dict[tuple[int, int], Fraction]]:
    """Return the expected posterior of the own value of each (combination, value), and the largest one."""
    counts = [sum(column) for column in zip(*rows, strict=True)]
    mean: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    most: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for groups, chance in compositions(counts, size).items():
        for held in groups:
            others = [[(g, row[v]) for g, row in enumerate(rows) if row[v]] for v in held]
            for picked in itertools.product(*others):
                weight = chance * math.prod(Fraction(n, counts[v]) for (_, n), v in zip(picked, held, strict=True))
                members = [g for g, _ in picked]
                for i, (g, v) in enumerate(zip(members, held, strict=True)):
                    posterior = posteriors(rows, members, held)[i][v]
                    mean[g, v] += weight * posterior / Fraction(rows[g][v], 1)
                    most[g, v] = max(most[g, v], posterior)
    return dict(mean), dict(most)
