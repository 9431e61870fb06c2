"""Membership: choose which of two people a released record belongs to.

An attacker who knows all originals sees a released record and two people of the table in random order: the person of
the record and another person, drawn at random. The attacker names the one for whom this release is likelier. As the
number of records is public, a person who is not in the table is replaced by another. Membership means that a record
belongs to this person and not to that one.

With x the original of one person and y that of the other, a record with original x is released as b with probability
P[b, x]. Over all people who may have released b, each paired with every other person,

    f(b) = (A(b) / lambda(b) - 1) / (2 (N - 1)),    A(b) = sum_x,y n_x n_y max(P[b, x], P[b, y]),    lambda = P n

are right in expectation. The prediction is the sum over b of lambda(b) f(b): for each record, over all pairs of
people, the mean of (1 + TV(P[., x], P[., y])) / 2. The advantage is the total variation distance of the two people's
releases: no guess from the record has a larger one, and for a given epsilon none is larger than tanh(epsilon / 2).

A(b) needs no enumeration of pairs. On each axis the originals of a row b take a few different probabilities, two where
an axis keeps a value or exchanges it evenly. A(b) is a sum over their combinations, in the order of their products.

References:
    Neyman, Pearson 1933, for the likelier of two as the best choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import score_records
from rrpolicy.attacks.target import (
    TOO_LARGE,
    UNLISTED,
    AttackTarget,
    attacked_product,
    attribute_names,
    count_attack_cells,
    counting_obstacle,
    joint_table_size,
    listed_axes,
)
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells, ListedAxis
    from rrpolicy.counts import Array

MEMBERSHIP = "membership"
COUNTS = "released records that the attacker assigns to the right one of two people, expected for this file"
MAX_COMBINATIONS = 1 << 24
"""The most combinations of a released record and of probabilities that are enumerated."""


def infer_membership(target: AttackTarget) -> Iterator[AttackResult]:
    """Run the attack on a product channel."""
    product = attacked_product(target)
    known = split_axes(product, target.policy, None, known_sensitive=True).known
    knows = f"{attribute_names(known) or 'nothing'} of everybody, and the channel"
    records = target.original.records
    words = AttackResult(MEMBERSHIP, "", knows, COUNTS, AttackOutcome.UNDECIDED, trials=records, without=records / 2)
    why = counting_obstacle(known)
    if why != UNLISTED and (not known or records < 2):  # noqa: PLR2004 two people
        why = "there are no two people who could be distinguished"
    levels = [] if why else [_ProbabilityLevels(axis) for axis in listed_axes(known)]
    if math.prod(len(level.probabilities) for level in levels) * joint_table_size(known) > MAX_COMBINATIONS:
        why = why or TOO_LARGE
    if why:
        yield words.undecided(why)
    else:
        counted = count_attack_cells(target, product, known)
        yield score_records(words, counted, membership_accuracy(counted, levels))


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
