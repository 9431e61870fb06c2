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

from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import score_records
from rrpolicy.attacks.target import (
    TOO_LARGE,
    AttackTarget,
    attacked_product,
    attribute_names,
    count_attack_cells,
    counting_obstacle,
    listed_axes,
)
from rrpolicy.channels.product.released_counts import is_deterministic
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
    product = attacked_product(target)
    known = split_axes(product, target.policy, None, known_sensitive=True).known
    of, drawn = attribute_names(known), [axis for axis in known if not is_deterministic(axis)]
    words = AttackResult(RECONSTRUCTION, of, "the channel", COUNTS, AttackOutcome.UNDECIDED, trials=1, without=0.0)
    why = counting_obstacle(known) if drawn else "nothing is randomised: there is nothing to undo"
    if not why and any(axis.original_size > LARGEST for axis in drawn):
        why = TOO_LARGE
    if not why and any(np.linalg.matrix_rank(_axis_matrix(axis)) < axis.original_size for axis in listed_axes(drawn)):
        why = "a matrix cannot be inverted: different originals have the same released distribution"
    counted = None if why else count_attack_cells(target, product, known)
    f = None if counted is None else record_weights(counted)
    if counted is None or f is None:
        yield words.undecided(why or "all cells of the original have the same number of records")
    else:
        yield score_records(words, counted, f, float(target.original.records))


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


def _axis_matrix(axis: ListedAxis) -> Array:
    return axis.forward(np.eye(axis.original_size), 0)
