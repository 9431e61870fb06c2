"""Linking in tiny tables by who knows all originals, but not their places: exact, by all tables that can be released.

The formulas of Teng, Du 2006 and Guo, Ying, Wu 2011 speak of an attacker who weighs released records by *expected*
shares lambda. Who knows everybody's quasi-identifiers also knows that each person has one record, and compares the
released counts m with all ways in which they can come about. Let F(m) be the chance of the counts m, F_i(m) that of the
counts of all others than person i, and q(beta) = P[beta, alpha] F_i(m - e_beta) / F(m) the chance that i, of group
alpha, was released as beta. He draws a record by its weight for i, which is q(beta)/m_beta for each of m_beta records,
so that he hits the person's with the chance

    link(alpha) = sum over m of F(m) sum over beta of q(beta)^2 / m_beta.

Of three people 0, 1, 1 kept with .8 the person with 0 is linked with 7/11; by expected shares with 5/9. 1/k bounds
both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import comb, prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.base import Transition
from rrpolicy.finding import Basis, Companion, Measure
from rrpolicy.privacy.disclosure.exact_risks import Integers, integer_matrix

if TYPE_CHECKING:
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.counts import Codes, Ints

MOST_PRODUCTS = 200_000
"""Products beyond which a table is not tiny any more, and nothing is enumerated."""
NAME = "largest link, all originals known"
MEANING = (
    "the same of who knows everybody's original values, but not whose record is which, and counts all tables that can "
    "be released; shown of tables so small that these can be listed"
)

Law: TypeAlias = dict[int, int]
"""Released cell -> its chance times a common denominator."""
Chances: TypeAlias = dict[tuple[int, ...], int]
"""Released counts of every cell -> their chance, likewise."""


def finite_linkage_measure(evidence: Evidence, group: Ints) -> tuple[Companion, ...]:
    """Return the largest chance of some groups, to stand beside the one by expected shares; nothing of larger tables.

    Args:
        evidence: all groups.
        group: (k,) those that are spoken of.
    """
    axes = [axis for axis in evidence.axes if isinstance(axis, Transition)]
    if evidence.revealed or not len(group) or len(axes) < len(evidence.axes):
        return ()
    alone = evidence.n[group[group >= evidence.mixed]]  # told apart from all others: any of its people is as likely
    largest = Fraction(1, int(alone.min())) if len(alone) else Fraction(0)
    left, cells = MOST_PRODUCTS, prod(axis.released_size for axis in axes)
    for context in np.unique(evidence.context[group[group < evidence.mixed]]):
        first, last = (int(at) for at in np.searchsorted(evidence.context, [context, context + 1]))
        people = [int(n) for n in evidence.n[first:last]]
        left -= _product_count(sum(people), len(people), cells)
        if left < 0:
            return ()
        matrices = [integer_matrix(axis)[0] for axis in evidence.axes]
        laws = [_released_distribution(matrices, codes) for codes in evidence.codes[first:last]]
        asked = group[(group >= first) & (group < last)] - first
        largest = max(largest, *exact_linkage_chances(laws, people, asked.tolist()))
    return (Companion(NAME, Measure(float(largest)), Basis.ORIGINAL, MEANING),)


def _product_count(people: int, groups: int, cells: int) -> int:
    """Return how many products it takes, at most; what is beyond `MOST_PRODUCTS` anyway is not counted."""
    steps = people * cells * (1 + groups)
    return steps if steps > MOST_PRODUCTS else steps * comb(people + cells - 1, people)


def exact_linkage_chances(laws: list[Law], people: list[int], groups: list[int]) -> Iterator[Fraction]:
    """Yield the chance of each of some groups that one of its people is linked.

    Args:
        laws: of each group, over one common denominator.
        people: in each.
        groups: those that are asked for.
    """
    cells = 1 + max(cell for law in laws for cell in law)
    scale = sum(laws[0].values()) ** sum(people)
    whole = _released_table_probabilities(laws, people, cells)
    for group in groups:
        others = _released_table_probabilities(laws, [n - (at == group) for at, n in enumerate(people)], cells)
        total = Fraction(0)
        for counts, chance in whole.items():
            for cell, own in laws[group].items():
                if counts[cell]:
                    rest = others.get((*counts[:cell], counts[cell] - 1, *counts[cell + 1 :]), 0)
                    total += Fraction((own * rest) ** 2, chance * counts[cell])
        yield total / scale


def _released_table_probabilities(laws: list[Law], people: list[int], cells: int) -> Chances:
    """Return how likely each table of released counts is."""
    found: Chances = {(0,) * cells: 1}
    for law, n in zip(laws, people, strict=True):
        for _ in range(n):
            grown: Chances = {}
            for counts, chance in found.items():
                for cell, own in law.items():
                    one_more = (*counts[:cell], counts[cell] + 1, *counts[cell + 1 :])
                    grown[one_more] = grown.get(one_more, 0) + chance * own
            found = grown
    return found


def _released_distribution(matrices: Sequence[Integers], codes: Codes) -> Law:
    """Return what the people of one group may be released as, of every axis together."""
    columns = [matrix[:, code] for matrix, code in zip(matrices, codes, strict=True)]
    chance = np.ravel(reduce(np.multiply.outer, columns, np.array(1, dtype=object)))
    return {cell: int(own) for cell, own in enumerate(chance) if own}
