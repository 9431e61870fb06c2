"""Averaging over releases: the share of the noise of one release that the other repeats.

Rows of two releases cannot be matched, because each file is sorted by its values. An attacker averages their counts,
and the remaining noise depends on whether both were drawn independently. With the deviations of the first release
from its expectation, E1 = P1 c, as weights

    f(beta) = (o1(beta) - E1(beta)) / (E1(beta) + 1),    share = sum f . (o2 - E2) / sum f . (o1 - E1)

is 0 in expectation for an independent second draw, whatever the first one is, and 1 where both were drawn with the same
streams. Given the first release f is fixed, and sum f . o2 a sum over independent records, with an exact mean and
variance. The more cells the releases have, the more certain is the distinction: the deviation of the same draw is about
as many standard deviations as the square root of their number.

Releases that agree in every cell are found with few cells, too. Given the released values of all other people, the n
people of one original cell alpha must release one certain combination of counts, so that for every alpha

    Pr(o2 = o1 | o1) <= max_x Multinomial(x; n, P[., alpha])
                     <= prod_beta max_k Poisson(k; n P[beta, alpha]) / Poisson(n; n)

and the least of these bounds applies. Both tests are combined: each tail counts twice (Bonferroni).

Two releases of one series have the same values for the same records: of one table the same file (share 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.attacks.result import FALSE_ALARM, AttackOutcome, AttackResult
from rrpolicy.attacks.score_distribution import compare_with_prediction, score_distribution
from rrpolicy.attacks.target import (
    MAX_ATTACK_CELLS,
    AttackTarget,
    apply_channel,
    are_comparable,
    can_list_axes,
    count_attack_cells,
    joint_table_size,
    list_axis,
)
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.released_counts import is_deterministic
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.attacks.target import AttackCells
    from rrpolicy.channels.base import Axis

AVERAGING = "averaging over releases"
KNOWS = "both releases, their channels, and the counts that both are drawn from"
COUNTS = "the share of the first release's noise that the second one repeats"
FAULT = (
    "the second release repeats the noise of the first: one key was used for both, or they are one release; draw "
    "one of them again with its own key"
)
SAME = "the counts of both agree in every cell; an upper bound of the chance that independent draws do"
SERIES = "a series draws equal records equally: equality, if both are of this table, not of another month"
_TESTS = 2
_LARGEST = 16  # original cells that the bound of a coincidence is looked for in


def average(targets: Sequence[AttackTarget]) -> Iterator[AttackResult]:
    """Run the attack on every two of some releases of one table."""
    pairs = list(combinations(range(len(targets)), 2))
    for first, second in pairs:
        of = f"releases {first + 1} and {second + 1}"
        yield _average_pair(targets[first], targets[second], of, len(pairs))


def _average_pair(one: AttackTarget, other: AttackTarget, of: str, times: int) -> AttackResult:
    words = AttackResult(AVERAGING, of, KNOWS, COUNTS, AttackOutcome.UNDECIDED, trials=1, fault=FAULT)
    if not are_comparable(one, other):
        return words.undecided("they are releases of different tables")
    if not isinstance(one.channel, Product) or not isinstance(other.channel, Product):
        return words.undecided("not both are drawn record by record")
    axes = _shared_axes(one.channel, other.channel)
    if not axes:
        return words.undecided("no randomised attribute is released in both with the same categories")
    there = [next(own for own in other.channel.axes if own.attributes == axis.attributes) for axis in axes]
    first, second = count_attack_cells(one, one.channel, axes), count_attack_cells(other, other.channel, there)
    if one.series is not None and one.series == other.series and one.channel == other.channel:
        share = float((first.released == second.released).all())
        outcome = AttackOutcome.AS_PREDICTED if share else AttackOutcome.NOT_AS_PREDICTED
        numbers = (1, share, 1.0, 1.0, 1.0, share)
        return AttackResult(AVERAGING, of, KNOWS, COUNTS, outcome, "", *numbers, SERIES)
    return _test_independence(words, first, second, times)


def _test_independence(words: AttackResult, first: AttackCells, second: AttackCells, times: int) -> AttackResult:
    """Return the attack on two releases that must have been drawn independently."""
    noise = first.released - first.expected
    f = noise / (first.expected + 1)
    whole = float((f * noise).sum())
    if whole <= 0:
        return words.undecided("the first release is its own expectation")
    independent = score_distribution(second.axes, second.original, f)
    repeated = float((f * second.released).sum()) - independent.mean
    found = compare_with_prediction(
        words, repeated, replace(independent, mean=0.0), impossible=second.impossible, unit=whole, times=_TESTS * times
    )
    if found.outcome is AttackOutcome.AS_PREDICTED and (first.released == second.released).all():
        tail = min(1.0, _TESTS * times * coincidence_bound(second))
        outcome = AttackOutcome.AS_PREDICTED if tail >= FALSE_ALARM else AttackOutcome.NOT_AS_PREDICTED
        return replace(found, outcome=outcome, tail=tail, basis=SAME)
    return found


def coincidence_bound(counted: AttackCells) -> float:
    """Return an upper bound of the chance that a draw has the counts of another in every cell; see the module."""
    least = 0.0
    for cell in np.argsort(-counted.original, axis=None)[:_LARGEST]:
        n = float(counted.original.flat[cell])
        if n:
            alone = np.zeros_like(counted.original)
            alone.flat[cell] = n
            means = apply_channel(counted.axes, alone).ravel()
            least = min(least, sum(_log_mode(mean) for mean in means[means > 0].tolist()) - _log_mode(n))
    return math.exp(least)


def _log_mode(mean: float) -> float:
    """Return the logarithm of the largest probability of a Poisson law."""
    k = math.floor(mean)
    return k * math.log(mean) - mean - math.lgamma(k + 1)


def _shared_axes(one: Product, other: Product) -> list[Axis]:
    """Return the axes of the first that the second has as well: the randomised ones, then others while they fit."""
    alike = [axis for axis in one.axes if can_list_axes(axis) and _has_equivalent_axis(other, axis)]
    chosen = [axis for axis in alike if not is_deterministic(axis)]
    while chosen and joint_table_size(chosen) > MAX_ATTACK_CELLS:
        chosen.pop()
    for axis in alike:
        if chosen and is_deterministic(axis) and joint_table_size([*chosen, axis]) <= MAX_ATTACK_CELLS:
            chosen.append(axis)
    return chosen


def _has_equivalent_axis(product: Product, axis: Axis) -> bool:
    """Return whether a product releases the same values of the same attributes; of sets, sets of the same size."""
    values, mine = [(column.kind, column.labels) for column in axis.columns()], list_axis(axis)
    for own in product.axes:
        there = list_axis(own)
        alike = own.attributes == axis.attributes and [(c.kind, c.labels) for c in own.columns()] == values
        if alike and mine is not None and there is not None and there.released_size == mine.released_size:
            return not isinstance(axis, Sets) or own == axis
    return False
