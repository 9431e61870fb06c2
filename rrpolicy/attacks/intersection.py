"""Intersection: two releases of sets of one table, combined for rows that can be linked to one person.

A person with unique, unmodified quasi-identifiers has a row in each release that any attacker finds. The value of
that person is in both sets, and is revealed if the sets have no other value in common. Let the first set have l
values out of S, and the second m. Given the first set, the second contains none of its l - 1 other values with the
probability

    C(S - l, m - 1) / C(S - 1, m - 1)

for each such person, independent of all others: the number of revealed values is binomial. Releases that share their
draws have whole sets in common, and reveal no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.multi_release_inference import (
    NOBODY,
    OTHERWISE,
    equal_original_counts,
    linking_axes,
    unique_combinations,
)
from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import ScoreDistribution, compare_with_prediction
from rrpolicy.attacks.target import (
    UNLISTED,
    AttackTarget,
    ListedSets,
    are_comparable,
    attacked_product,
    attribute_names,
    count_attack_cells,
    counting_obstacle,
)
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.escaping.printable import quoted_list as in_words
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells
    from rrpolicy.counts import Array
    from rrpolicy.privacy.classes.histograms import Mask

INTERSECTION = "intersection of sets"
COUNTS = "people whom both releases show alone and whose value follows from their two sets"


def intersect(targets: Sequence[AttackTarget]) -> Iterator[AttackResult]:
    """Run the attack on every two of some releases of one table, for each attribute that both release as sets."""
    pairs = list(combinations(range(len(targets)), 2))
    for one, other in pairs:
        alike = targets[one].series is not None and targets[one].series == targets[other].series
        if not alike and are_comparable(targets[one], targets[other]):
            yield from _pair_attacks(targets[one], targets[other], f"releases {one + 1} and {other + 1}", len(pairs))


def _pair_attacks(one: AttackTarget, other: AttackTarget, of: str, times: int) -> Iterator[AttackResult]:
    if not isinstance(one.channel, Product) or not isinstance(other.channel, Product):
        return
    for first in one.channel.axes:
        for second in other.channel.axes:
            if isinstance(first, Sets) and isinstance(second, Sets) and first.original == second.original:
                name = f"{of}: {in_words(first.attributes)}"
                yield _intersect_attribute((one, first), (other, second), name, times)


def _intersect_attribute(
    one: tuple[AttackTarget, Sets], other: tuple[AttackTarget, Sets], of: str, times: int
) -> AttackResult:
    (target, first), (again, second) = one, other
    products = [attacked_product(target), attacked_product(again)]
    shared = linking_axes(target, products, first)
    knows = f"{attribute_names(shared) or 'nothing'} of everybody"
    words = AttackResult(INTERSECTION, of, knows, COUNTS, AttackOutcome.UNDECIDED, without=0.0)
    # the linking axes can be listed
    obstacles = {counting_obstacle([*shared, first]), counting_obstacle([*shared, second])}
    if obstacles != {""}:
        return words.undecided("there are too many sets" if UNLISTED in obstacles else max(obstacles))
    counted = (
        count_attack_cells(target, products[0], [*shared, first]),
        count_attack_cells(again, products[1], [*shared, second]),
    )
    if not equal_original_counts(counted):
        return words.undecided(OTHERWISE)
    alone = unique_combinations(counted[0])
    people = int(alone.sum())
    if not people:
        return words.undecided(NOBODY)
    sets = [_set_memberships(each, alone) for each in counted]
    common = (sets[0] * sets[1]).sum(axis=-1)
    chance = comb(first.original_size - first.set_size, second.set_size - 1)
    p = chance / comb(first.original_size - 1, second.set_size - 1)
    law = ScoreDistribution(people * p, people * p * (1 - p), 1.0, float(people))
    impossible = bool((common < 1).any()) or any(each.impossible for each in counted)
    revealed = float((common == 1).sum())
    return compare_with_prediction(replace(words, trials=people), revealed, law, impossible=impossible, times=times)


def _set_memberships(counted: AttackCells, alone: Mask) -> Array:
    """Return (people, values) whether the released set of each unique person contains a value."""
    axis = counted.axes[-1]
    assert isinstance(axis, ListedSets)
    found: Array = axis.holds[np.argmax(counted.released[alone], axis=-1)]
    return found
