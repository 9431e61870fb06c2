"""The success of an attack as a sum over released records, with its exact law over all draws.

Given the original, the released records are independent, each drawn from its own column of P. The success of an
attacker who takes one released record after the other is T = sum over released records of f(record), where f is the
chance of success with a record of these values, over the attacker's choices. With o the released counts and c the
original ones

    T = sum f . o,    E T = sum f . (P c),    V = sum_v c_v ((P^T f^2)_v - (P^T f)_v^2)

exact up to rounding, and Bennett's inequality bounds each tail at every sample size. The attacker's choices are not
drawn: T is the mean over all of them.

References:
    Bennett 1962, eq. 8b; Boucheron, Lugosi, Massart 2013, theorem 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.attacks.result import FALSE_ALARM, AttackOutcome, AttackResult
from rrpolicy.attacks.target import AttackCells, apply_channel
from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.goodness_of_fit import bennett_surprise
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Array

BASIS = "exact mean and variance given the original counts; Bennett's inequality, both tails"
_ENOUGH = 60  # halvings of an interval, down to the last digits of a double


class ScoreDistribution(Struct, frozen=True):
    """The distribution of a sum over released records: mean, variance, range of a record's f, rounding scale."""

    mean: float
    variance: float
    width: float
    scale: float

    def tail(self, total: float) -> float:
        """Return an upper bound of the chance that the sum is as far from its mean as this, in both directions."""
        deviation, variance = np.array([total - self.mean]), np.array([self.variance])
        surprise = bennett_surprise(deviation, variance, self.width or 1.0, np.array([self.scale]))
        return min(1.0, 2 * math.exp(-float(surprise[0])))

    def reach(self, chance: float) -> float:
        """Return the largest distance of the sum from its mean for which `tail` is at least a chance."""
        low, high = 0.0, self.scale * 2 + 1
        for _ in range(_ENOUGH):
            middle = (low + high) / 2
            low, high = (middle, high) if self.tail(self.mean + middle) >= chance else (low, middle)
        return low


def apply_transpose(axes: Sequence[Transition], x: Array) -> Array:
    """Return P^T x, axis by axis; further axes of x are unchanged."""
    for place, axis in enumerate(axes):
        x = axis.back(x, place)
    return x


def score_distribution(axes: Sequence[Transition], c: Array, f: Array) -> ScoreDistribution:
    """Return the law of the sum of (released sizes) f over the released records, of (original sizes) counts c."""
    expected = np.maximum(apply_channel(axes, c), 0.0)
    variance = float((c * (apply_transpose(axes, f * f) - apply_transpose(axes, f) ** 2)).sum())
    reached = f[expected > 0]
    width = float(reached.max() - reached.min()) if reached.size else 0.0
    scale = float(np.abs(f * expected).sum() + c.sum())
    return ScoreDistribution(float((f * expected).sum()), max(variance, 0.0), width, scale)


def compare_with_prediction(
    attack: AttackResult,
    successes: float,
    expected: ScoreDistribution,
    *,
    impossible: bool,
    unit: float = 1.0,
    times: int = 1,
) -> AttackResult:
    """Return an attack with its result, compared with its law.

    `unit` is the sum of one success, `times` the number of attacks of this name that are combined (Bonferroni).
    `impossible`: the release contains values that are impossible for every original.
    """
    tail = 0.0 if impossible else min(1.0, times * expected.tail(successes))
    reach = expected.reach(float(FALSE_ALARM) / times)
    return replace(
        attack,
        outcome=AttackOutcome.AS_PREDICTED if tail >= FALSE_ALARM else AttackOutcome.NOT_AS_PREDICTED,
        successes=successes / unit,
        predicted=expected.mean / unit,
        lowest=(expected.mean - reach) / unit,
        highest=(expected.mean + reach) / unit,
        tail=tail,
        basis=BASIS,
    )


def score_records(attack: AttackResult, counted: AttackCells, f: Array, unit: float = 1.0) -> AttackResult:
    """Return an attack whose success is the sum of (released sizes) f over the released records.

    `unit`: the sum of one success, in which a record contributes about one, for rounding.
    """
    scores = f * unit
    expected = score_distribution(counted.axes, counted.original, scores)
    successes = float((scores * counted.released).sum())
    return compare_with_prediction(attack, successes, expected, impossible=counted.impossible, unit=unit)
