"""Membership: the one of two people to whom a released record belongs.

A released record is shown to an attacker who knows all originals, with two people of the table: the record's own and
another, drawn at random, in random order. The attacker names the one for whom this release is likelier. As the number
of records is public, a person who is not in the table is replaced by another: membership means that a record belongs to
this person and not to that one.

With x the original of one person and y that of the other, a record b is released of x with the chance P[b, x]; so that
over all people whose record b may be, and all others paired with each,

    f(b) = (A(b) / lambda(b) - 1) / (2 (N - 1)),    A(b) = sum_x,y n_x n_y max(P[b, x], P[b, y]),    lambda = P n

are right in expectation. Predicted are sum over b of lambda(b) f(b): for each record, over all pairs of people, the
mean of (1 + TV(P[., x], P[., y])) / 2. The advantage is the total variation distance of the two people's releases: no
guess from the record has a larger one, and of epsilon none is larger than tanh(epsilon / 2).

A(b) needs no enumeration of pairs. On each axis the originals of a row b take a few different probabilities, two where
an axis keeps a value or exchanges it evenly: A(b) is a sum over their combinations, in the order of their products.

References:
    Neyman, Pearson 1933, for the likelier of two as the best choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult, undecided_attack
from rrpolicy.attacks.score_distribution import compare_with_prediction, score_distribution
from rrpolicy.attacks.target import (
    MAX_ATTACK_CELLS,
    TOO_LARGE,
    AttackTarget,
    can_list_axes,
    count_attack_cells,
    joint_table_size,
    list_axis,
)
from rrpolicy.channels.product.channel import Product
from rrpolicy.escaping.printable import quoted_list as in_words
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells, ListedAxis
    from rrpolicy.counts import Array

MEMBERSHIP = "membership"
COUNTS = "released records of which the attacker tells, of two people, whose it is, as is to be expected of this file"
MAX_COMBINATIONS = 1 << 24
"""The most combinations of a released record and of probabilities that are enumerated."""


def infer_membership(target: AttackTarget) -> Iterator[AttackResult]:
    """Run the attack on a product channel."""
    product = target.channel
    assert isinstance(product, Product)
    known = split_axes(product, target.policy, None, known_sensitive=True).known
    names = [name for axis in known for name in axis.attributes]
    knows = f"{in_words(names) or 'nothing'} of everybody, and the channel"
    records = target.original.records
    if not all(map(can_list_axes, known)):
        yield undecided_attack(MEMBERSHIP, "", knows, "there are too many sets, or values that are not listed")
        return
    if not known or records < 2:  # noqa: PLR2004 two people
        yield undecided_attack(MEMBERSHIP, "", knows, "there are no two people who could be told apart")
        return
    levels = [_ProbabilityLevels(each) for axis in known if (each := list_axis(axis)) is not None]
    if (
        joint_table_size(known) > MAX_ATTACK_CELLS
        or math.prod(len(level.probabilities) for level in levels) * joint_table_size(known) > MAX_COMBINATIONS
    ):
        yield undecided_attack(MEMBERSHIP, "", knows, TOO_LARGE)
        return
    counted = count_attack_cells(target, product, known)
    f = membership_accuracy(counted, levels)
    words = AttackResult(MEMBERSHIP, "", knows, COUNTS, AttackOutcome.UNDECIDED, trials=records, without=records / 2)
    expected = score_distribution(counted.axes, counted.original, f)
    yield compare_with_prediction(words, float((f * counted.released).sum()), expected, impossible=counted.impossible)


class _ProbabilityLevels:
    """The different probabilities of each row of a matrix, and the originals that have them.

    Attributes:
        probabilities: (levels, released) the rank-th probability of each row; 0 where it has fewer.
        have: (levels, released, original) whether an original has it.
    """

    def __init__(self, axis: ListedAxis) -> None:
        matrix = axis.forward(np.eye(axis.original_size), 0)
        rows = [np.unique(row, return_inverse=True) for row in matrix]
        levels = max(len(values) for values, _ in rows)
        self.probabilities = np.zeros((levels, len(matrix)))
        self.have = np.zeros((levels, *matrix.shape))
        for b, (values, which) in enumerate(rows):
            self.probabilities[: len(values), b] = values
            self.have[which, b, np.arange(matrix.shape[1])] = 1


def membership_accuracy(counted: AttackCells, levels: Sequence[_ProbabilityLevels]) -> Array:
    """Return (released sizes) the chance that a released record's person is distinguished from another."""
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
