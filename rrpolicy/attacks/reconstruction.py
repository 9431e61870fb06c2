"""Reconstruction: the share of the original's joint table recovered from the release by inverting the channel.

The moment estimate of the original counts, P^-1 o, is unbiased. Its recovery is measured along the one direction that
matters, the deviations of the original from an even table: with n the original counts and m their mean,

    share = (n - m) . P^-1 o / |n - m|^2

is 1 in expectation, whatever the table: a share above 1 is more structure than the channel permits, one below 1 is more
noise than in the channel. It is a sum of weights f = P^-T (n - m) / |n - m|^2 over the released records, with an exact
mean and variance.

Deterministic axes are not inverted: of recoded attributes n counts the groups. P of a matrix with more released than
original categories, or of sets, is inverted by the shortest weights f that solve P^T f = w.

References:
    Guo, Ying, Wu 2011, section 2, for the moment estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

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
from rrpolicy.channels.product.released_counts import is_deterministic
from rrpolicy.escaping.printable import quoted_list as in_words
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells, ListedAxis
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array

RECONSTRUCTION = "reconstruction"
COUNTS = "the share of how the joint table differs from an even one that reconstructed counts show"
LARGEST = 1 << 11
"""The most categories of a matrix that is solved."""


def reconstruct(target: AttackTarget) -> Iterator[AttackResult]:
    """Run the attack on a product channel."""
    product = target.channel
    assert isinstance(product, Product)
    known = split_axes(product, target.policy, None, known_sensitive=True).known
    names = [name for axis in known for name in axis.attributes]
    of, knows = in_words(names), "the channel"
    drawn = [axis for axis in known if not is_deterministic(axis)]
    if not drawn:
        yield undecided_attack(RECONSTRUCTION, of, knows, "nothing is randomised: there is nothing to undo")
    elif not all(map(can_list_axes, known)):
        yield undecided_attack(RECONSTRUCTION, of, knows, "there are too many sets, or values that are not listed")
    elif joint_table_size(known) > MAX_ATTACK_CELLS or any(axis.original_size > LARGEST for axis in drawn):
        yield undecided_attack(RECONSTRUCTION, of, knows, TOO_LARGE)
    elif not all(_is_solvable(each) for axis in drawn if (each := list_axis(axis)) is not None):
        yield undecided_attack(
            RECONSTRUCTION, of, knows, "a matrix cannot be undone: different originals are released alike"
        )
    else:
        counted = count_attack_cells(target, product, known)
        f = record_weights(counted)
        if f is None:
            yield undecided_attack(RECONSTRUCTION, of, knows, "all cells of the original hold as many records")
            return
        words = AttackResult(RECONSTRUCTION, of, knows, COUNTS, AttackOutcome.UNDECIDED, trials=1, without=0.0)
        people = float(target.original.records)  # a record then adds about one, as rounding is looked at
        expected = score_distribution(counted.axes, counted.original, f * people)
        share = float((f * people * counted.released).sum())
        yield compare_with_prediction(words, share, expected, impossible=counted.impossible, unit=people)


def record_weights(counted: AttackCells) -> Array | None:
    """Return (released sizes) each record's contribution to the share; None if the original is even."""
    f = counted.original
    for place, axis in enumerate(counted.axes):
        if is_deterministic(cast("Axis", axis)):
            f = axis.forward(f, place)
    f = f - f.mean()
    length = float((f**2).sum())
    if not length:
        return None
    for place, axis in enumerate(counted.axes):
        if not is_deterministic(cast("Axis", axis)):
            undone = np.linalg.pinv(_axis_matrix(axis)).T
            f = np.moveaxis(np.tensordot(undone, f, axes=(1, place)), 0, place)
    return f / length


def _is_solvable(axis: ListedAxis) -> bool:
    return int(np.linalg.matrix_rank(_axis_matrix(axis))) == axis.original_size


def _axis_matrix(axis: ListedAxis) -> Array:
    return axis.forward(np.eye(axis.original_size), 0)
