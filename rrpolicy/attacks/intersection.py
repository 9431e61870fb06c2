"""Intersection: two releases of sets of one table, read together where rows can be told to be one person's.

Whose quasi-identifiers nobody shares, and are released as they are, has a row in each release that anybody finds. The
value of that person is in both sets, and is told where they have no other in common. Given the first set, of l values
out of S, the second, of m, holds none of its l - 1 others with the chance

    C(S - l, m - 1) / C(S - 1, m - 1)

for each such person, independent of all others: what is told is binomial. Releases that share their draws have whole
sets in common, and tell nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.linked import NOBODY, OTHERWISE, counted_alike, released_alike, shown_alone
from rrpolicy.attacks.result import Attack, Outcome, undecided
from rrpolicy.attacks.score import Law, held
from rrpolicy.attacks.sets import ListedSets
from rrpolicy.attacks.target import MOST_CELLS, TOO_LARGE, Target, cells, comparable, listed, size
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.escaping.printable import listed as in_words

if TYPE_CHECKING:
    from rrpolicy.attacks.linked import Mask
    from rrpolicy.attacks.target import Cells
    from rrpolicy.source.counts import Array

NAME = "intersection of sets"
COUNTS = "people whom both releases show alone, and of whom their two sets tell the value"


def intersect(targets: Sequence[Target]) -> Iterator[Attack]:
    """Run the attack on every two of some releases of one table, for each attribute that both release as sets."""
    pairs = list(combinations(range(len(targets)), 2))
    for one, other in pairs:
        alike = targets[one].series is not None and targets[one].series == targets[other].series
        if not alike and comparable(targets[one], targets[other]):
            yield from _pair(targets[one], targets[other], f"releases {one + 1} and {other + 1}", len(pairs))


def _pair(one: Target, other: Target, of: str, times: int) -> Iterator[Attack]:
    if not isinstance(one.channel, Product) or not isinstance(other.channel, Product):
        return
    for first in one.channel.axes:
        for second in other.channel.axes:
            if isinstance(first, Sets) and isinstance(second, Sets) and first.original == second.original:
                name = f"{of}: {in_words(first.attributes)}"
                yield _intersected((one, first), (other, second), name, times)


def _intersected(one: tuple[Target, Sets], other: tuple[Target, Sets], of: str, times: int) -> Attack:
    (target, first), (again, second) = one, other
    assert isinstance(target.channel, Product)
    assert isinstance(again.channel, Product)
    shared = released_alike(target, [target.channel, again.channel], first)
    knows = f"{in_words([name for axis in shared for name in axis.attributes]) or 'nothing'} of everybody"
    if not (listed(first) and listed(second)):
        return undecided(NAME, of, knows, "there are too many sets")
    if max(size([*shared, first]), size([*shared, second])) > MOST_CELLS:
        return undecided(NAME, of, knows, TOO_LARGE)
    counted = cells(target, target.channel, [*shared, first]), cells(again, again.channel, [*shared, second])
    if not counted_alike(counted):
        return undecided(NAME, of, knows, OTHERWISE)
    alone = shown_alone(counted[0])
    people = int(alone.sum())
    if not people:
        return undecided(NAME, of, knows, NOBODY)
    sets = [_sets(each, alone) for each in counted]
    common = (sets[0] * sets[1]).sum(axis=-1)
    chance = comb(first.original_size - first.set_size, second.set_size - 1)
    p = chance / comb(first.original_size - 1, second.set_size - 1)
    words = Attack(NAME, of, knows, COUNTS, Outcome.UNDECIDED, trials=people, without=0.0)
    law = Law(people * p, people * p * (1 - p), 1.0, float(people))
    impossible = bool((common < 1).any()) or any(each.impossible for each in counted)
    return held(words, float((common == 1).sum()), law, impossible=impossible, times=times)


def _sets(counted: Cells, alone: Mask) -> Array:
    """Return (people, values) whether the set that each of those who stand alone released holds a value."""
    axis = counted.axes[-1]
    assert isinstance(axis, ListedSets)
    found: Array = axis.holds[np.argmax(counted.released[alone], axis=-1)]
    return found
