"""Membership: of two people, the one whose record a released record is.

A released record is shown to who knows all originals, with two people of the table: the record's own and another, drawn
at random, in random order. He names the one that is the likelier released so. Somebody's place in the table is always
taken by somebody, as the number of records is public: that a record is of this person and not of that one is what
membership is.

With x the original of one person and y that of the other, a record b is released of x with the chance P[b, x]; so that
of all people whose record b may be, and of all others beside each,

    f(b) = (A(b) / lambda(b) - 1) / (2 (N - 1)),    A(b) = sum_x,y n_x n_y max(P[b, x], P[b, y]),    lambda = P n

are right in expectation. Predicted are sum over b of lambda(b) f(b): for each record, over all pairs of people, the
mean of (1 + TV(P[., x], P[., y])) / 2. The advantage is the total variation distance of what the two release: no guess
from the record has a larger one, and of epsilon none is larger than tanh(epsilon / 2).

A(b) needs no pair to be looked at. On each axis the originals of a row b take a few different probabilities, two where
an axis keeps a value or exchanges it evenly: A(b) is a sum over their combinations, in the order of their products.

References:
    Neyman, Pearson 1933, for the likelier of two as the best choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import Attack, Outcome, undecided
from rrpolicy.attacks.score import held, law
from rrpolicy.attacks.target import MOST_CELLS, TOO_LARGE, Target, cells, listed, listing, size
from rrpolicy.channels.product.channel import Product
from rrpolicy.escaping.printable import listed as in_words
from rrpolicy.privacy.evidence import sides

if TYPE_CHECKING:
    from rrpolicy.attacks.target import Cells, Listed
    from rrpolicy.source.counts import Array

NAME = "membership"
COUNTS = "released records of which the attacker tells, of two people, whose it is, as is to be expected of this file"
MOST = 1 << 24
"""Combinations of a released record and of probabilities that are looked at."""


def member(target: Target) -> Iterator[Attack]:
    """Run the attack on a product channel."""
    product = target.channel
    assert isinstance(product, Product)
    known = sides(product, target.policy, None, known_sensitive=True).known
    names = [name for axis in known for name in axis.attributes]
    knows = f"{in_words(names) or 'nothing'} of everybody, and the channel"
    records = target.original.records
    if not all(map(listed, known)):
        yield undecided(NAME, "", knows, "there are too many sets, or values that are not listed")
        return
    if not known or records < 2:  # noqa: PLR2004 two people
        yield undecided(NAME, "", knows, "there are no two people who could be told apart")
        return
    levels = [_Levels(each) for axis in known if (each := listing(axis)) is not None]
    if size(known) > MOST_CELLS or math.prod(len(level.probabilities) for level in levels) * size(known) > MOST:
        yield undecided(NAME, "", knows, TOO_LARGE)
        return
    counted = cells(target, product, known)
    f = told_apart(counted, levels)
    words = Attack(NAME, "", knows, COUNTS, Outcome.UNDECIDED, trials=records, without=records / 2)
    expected = law(counted.axes, counted.original, f)
    yield held(words, float((f * counted.released).sum()), expected, impossible=counted.impossible)


class _Levels:
    """The different probabilities of each row of a matrix, and the originals that have them.

    Attributes:
        probabilities: (levels, released) the rank-th probability of each row; 0 where it has fewer.
        have: (levels, released, original) whether an original has it.
    """

    def __init__(self, axis: Listed) -> None:
        matrix = axis.forward(np.eye(axis.original_size), 0)
        rows = [np.unique(row, return_inverse=True) for row in matrix]
        levels = max(len(values) for values, _ in rows)
        self.probabilities = np.zeros((levels, len(matrix)))
        self.have = np.zeros((levels, *matrix.shape))
        for b, (values, which) in enumerate(rows):
            self.probabilities[: len(values), b] = values
            self.have[which, b, np.arange(matrix.shape[1])] = 1


def told_apart(counted: Cells, levels: Sequence[_Levels]) -> Array:
    """Return (released sizes) the chance that a released record's own person is told from another."""
    people = counted.original.sum()
    masses: Array = counted.original
    chances: Array = np.ones(())
    for level in levels:  # each original axis makes place for its levels and its released values, at the end
        masses = np.tensordot(masses, level.have, axes=(0, 2))
        chances = np.multiply.outer(chances, level.probabilities)
    axes = len(levels)
    order = [*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)]
    released = counted.released.shape
    masses, chances = (x.transpose(order).reshape(-1, math.prod(released)) for x in (masses, chances))
    rising = np.argsort(chances, axis=0)
    masses, chances = (np.take_along_axis(x, rising, axis=0) for x in (masses, chances))
    pairs = (masses * chances * (2 * np.cumsum(masses, axis=0) - masses)).sum(axis=0)
    expected = (masses * chances).sum(axis=0)
    f = np.divide(pairs, expected, out=np.ones_like(pairs), where=expected > 0) - 1
    return (f / (2 * (people - 1))).reshape(released)  # type: ignore[no-any-return]
