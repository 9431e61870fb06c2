"""Inference over releases: rows of several releases that can be linked to one person, combined.

A person with unique unmodified values has a row in each release that any attacker finds. With c the shares of the
sensitive values in the table, and P_t the matrix of release t, the attacker names, for a person whose rows show v_1, …,
v_T,

    argmax_u c_u prod_t P_t[v_t, u]

and no guess from those rows and these shares is better (Bayes). For a person of value u the guess is right with the
chance

    p_u = sum of prod_t P_t[v_t, u] over all v for which u is named

independent of all others: the successes are a sum of Bernoulli variables. For equal retention matrices and even shares
the majority is named. Releases that share their draws reveal no more than one, and fall short of the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import ScoreDistribution, compare_with_prediction
from rrpolicy.attacks.target import (
    MAX_ATTACK_CELLS,
    TOO_LARGE,
    AttackTarget,
    apply_channel,
    attribute_names,
    can_list_axes,
    count_attack_cells,
    joint_table_size,
)
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.released_counts import is_deterministic
from rrpolicy.declarations import Role
from rrpolicy.escaping.printable import quoted_list as in_words
from rrpolicy.frozen import replace
from rrpolicy.privacy.evidence import split_axes

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.classes.histograms import Mask

JOINT_INFERENCE = "inference over releases"
NOBODY = "no person is unique in the unchanged columns"
OTHERWISE = "the releases put the records of the table into different categories"
COUNTS = "people whom every release shows alone and whose value the attacker infers from all their rows"


def infer_together(targets: Sequence[AttackTarget]) -> Iterator[AttackResult]:
    """Run the attack on all releases of each table, for each sensitive attribute that they release by themselves.

    Releases of one series show the same draw, and count as one.
    """
    for table in sorted({target.table for target in targets}):
        of_table = {i: target for i, target in enumerate(targets, 1) if target.table == table and not target.unfit}
        first_of = {target.series or f"release {i}": i for i, target in reversed([*of_table.items()])}
        yield from _infer_from_releases(targets, sorted(first_of.values()))


def _infer_from_releases(targets: Sequence[AttackTarget], numbers: Sequence[int]) -> Iterator[AttackResult]:
    """Run the attack on some releases of one table, by their numbers from 1."""
    channels = [targets[i - 1].channel for i in numbers]
    products = [channel for channel in channels if isinstance(channel, Product)]
    if len(numbers) <= 1 or len(products) < len(numbers):
        return
    chosen, of = [targets[i - 1] for i in numbers], f"releases {in_words(map(str, numbers))}"
    for name in (a.name for a in chosen[0].policy.with_role(Role.SENSITIVE)):
        axes = [axis for product in products for axis in product.axes if axis.attributes == (name,)]
        if len(axes) < len(products) or all(map(is_deterministic, axes)):
            continue
        shared = linking_axes(chosen[0], products, axes[0])
        if shared:
            yield _infer_attribute(chosen, products, [(*shared, axis) for axis in axes], f"{of}: {name}")


def _infer_attribute(
    chosen: Sequence[AttackTarget], products: Sequence[Product], axes: Sequence[tuple[Axis, ...]], of: str
) -> AttackResult:
    """Return the attack by the known and shared axes of each release, and the one that is attacked."""
    *shared, _ = axes[0]
    knows = f"{attribute_names(shared)} of everybody, the shares of the values in the table, and the channels"
    words = AttackResult(JOINT_INFERENCE, of, knows, COUNTS, AttackOutcome.UNDECIDED)
    domains = {each.policy.attributes[axes[0][-1].attributes[0]].domain for each in chosen}
    if len(domains) > 1 or not all(can_list_axes(each[-1]) for each in axes):
        return words.undecided("it is not released with the same categories, or there are too many sets")
    if max(map(joint_table_size, axes)) > MAX_ATTACK_CELLS:
        return words.undecided(TOO_LARGE)
    counted = [count_attack_cells(t, p, each) for t, p, each in zip(chosen, products, axes, strict=True)]
    if math.prod(each.released.shape[-1] for each in counted) * counted[0].original.shape[-1] > MAX_ATTACK_CELLS:
        return words.undecided("what several rows may show has more than 1,048,576 combinations")
    if not equal_original_counts(counted):
        return words.undecided(OTHERWISE)
    who = unique_combinations(counted[0])
    people = int(who.sum())
    if not people:
        return words.undecided(NOBODY)
    original = counted[0].original
    shares = original.reshape(-1, original.shape[-1]).sum(axis=0)
    named, right = best_guesses(shares, [each.axes[-1].forward(np.eye(len(shares)), 0) for each in counted])
    own = np.argmax(apply_channel(counted[0].axes[:-1], original)[who], axis=-1)
    shown = tuple(np.argmax(each.released[who], axis=-1) for each in counted)
    p = right[own]
    law = ScoreDistribution(float(p.sum()), float((p * (1 - p)).sum()), 1.0, float(people))
    blind = float((own == int(np.argmax(shares))).sum())
    return compare_with_prediction(
        replace(words, trials=people, without=blind),
        float((named[shown] == own).sum()),
        law,
        impossible=any(each.impossible for each in counted),
    )


def linking_axes(target: AttackTarget, products: Sequence[Product], sensitive: Axis) -> list[Axis]:
    """Return the axes that link rows of several releases to one person: known, and unmodified in all.

    `target` is the first release, `sensitive` the axis of it that is attacked.
    """
    known = split_axes(products[0], target.policy, sensitive.attributes[0]).known
    return [
        axis
        for axis in known
        if is_deterministic(axis) and can_list_axes(axis) and all(axis in p.axes for p in products)
    ]


def equal_original_counts(counted: Sequence[AttackCells]) -> bool:
    """Return whether several releases sort the same records of the table into the same categories."""
    return all(np.array_equal(each.original, counted[0].original) for each in counted)


def unique_combinations(counted: AttackCells) -> Mask:
    """Return (released sizes but the last) the cells of one record, found by any attacker who knows the person."""
    alone: Mask = apply_channel(counted.axes[:-1], counted.original.sum(axis=-1)) == 1
    return alone


def best_guesses(shares: Array, matrices: Sequence[Array]) -> tuple[Ints, Array]:
    """Return the value named for each combination of shown ones, and its chance to be right, by value.

    `shares` are (values,), the matrices (released, values) and column-stochastic.
    """
    chances = np.ones((len(shares),))
    for matrix in matrices:
        chances = chances[..., None, :] * matrix
    named = np.argmax(shares * chances, axis=-1)
    right = np.array([chances[..., u][named == u].sum() for u in range(len(shares))])
    return named, right
