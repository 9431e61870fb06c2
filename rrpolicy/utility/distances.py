"""Distances and divergences of estimated shares from the original's, of a joint table or of marginals.

With p the original's shares and q the estimated ones, over all cells of the table:

    total-variation   (1/2) sum |p - q|
    l1                sum |p - q|
    l2                (sum (p - q)^2)^(1/2)
    hellinger         ((1/2) sum (p^(1/2) - q'^(1/2))^2)^(1/2)
    kl-divergence     sum p ln(p / q''), natural logarithm
    chi-square        sum over p > 0 of (p - q)^2 / p
    pmse              (1/8) sum (p - q')^2 / (p + q')

q' is q with negative cells set to 0, q'' with cells below 10^-12 set to 10^-12, both divided by their sum then:
unbiased estimates may be negative, where these three are not defined. The other four use unmodified q.

`pmse` is the propensity score mean squared error of the saturated model on two tables of one size: (1/2N) times the sum
over cells of (n + m)(m/(n + m) - 1/2)^2, of n original and m estimated records.

References:
    Gibbs, Su 2002, "On Choosing and Bounding Probability Metrics"; Woo, Reiter, Oganian, Karr 2009 and Snoke et al.
    2018 (pMSE).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rrpolicy.finding import Companion, Measure
from rrpolicy.utility.table_metric import SharesMetric, TableMetricOptions, count_measure, table_attributes

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import Original

MIN_SHARE = 1e-12
"""The least share in logarithms; smaller ones are set to it."""


class TotalVariation(SharesMetric):
    """Half the summed absolute differences."""

    name = "total-variation"
    meaning = "the largest difference, over all sets of cells, between the estimated and the true share of a set"

    def of(self, p: Array, q: Array) -> float:
        """Return half the summed absolute differences."""
        return float(abs(p - q).sum() / 2)


class L1(SharesMetric):
    """The summed absolute differences."""

    name = "l1"
    meaning = "the summed absolute differences between the estimated and the true shares of all cells"

    def of(self, p: Array, q: Array) -> float:
        """Return the summed absolute differences."""
        return float(abs(p - q).sum())


class L2(SharesMetric):
    """The root of the summed squared differences."""

    name = "l2"
    meaning = "the root of the summed squared differences between the estimated and the true shares of all cells"

    def of(self, p: Array, q: Array) -> float:
        """Return the root of the summed squared differences."""
        return math.sqrt(((p - q) ** 2).sum())


class Hellinger(SharesMetric):
    """The Hellinger distance."""

    name = "hellinger"
    within = (0.0, 1.0)
    meaning = (
        "the Hellinger distance, from 0 to 1, between the estimated and the true shares of all cells; negative"
        " estimates count as 0, and the others are scaled to sum to 1"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return the root of half the summed squared differences of roots."""
        import numpy as np

        return float(np.sqrt(((np.sqrt(p) - np.sqrt(clip_shares(q, 0.0))) ** 2).sum() / 2))


class KLDivergence(SharesMetric):
    """The Kullback-Leibler divergence of the original from the estimate."""

    name = "kl-divergence"
    meaning = (
        "the Kullback-Leibler divergence of the true from the estimated shares, in nats; estimates below 1e-12 count as"
        " 1e-12, and all are scaled to sum to 1"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return the sum of p ln(p/q) over the cells that occur."""
        import numpy as np

        held = p > 0
        found = float((p[held] * np.log(p[held] / clip_shares(q, MIN_SHARE)[held])).sum())
        return max(found, 0.0)

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the number of non-empty cells, and of those whose estimate is below the least share."""
        from rrpolicy.utility.simulation import original_shares

        held = original_shares(original, table_attributes(options.attributes, original.policy)) > 0
        clipping = self.simulated(
            options, channel, original, lambda found: float((found.shares[held] < MIN_SHARE).sum())
        )
        return (
            count_measure("cells counted as 1e-12", clipping, "non-empty cells whose estimate is less"),
            count_measure("cells that occur", held.sum(), "non-empty cells"),
        )


class ChiSquare(SharesMetric):
    """The chi-square divergence, relative to the original."""

    name = "chi-square"
    meaning = (
        "the squared differences between the estimated and the true shares, each over the true one, summed over the"
        " cells that occur in the table"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return the sum of (p - q)^2 / p over the cells with p > 0."""
        held = p > 0
        return float(((p[held] - q[held]) ** 2 / p[held]).sum())

    def exact(self, channel: Channel, original: Original, attributes: tuple[str, ...]) -> float | None:
        """Return the sum of the estimates' variances over the true shares, if all of them are unbiased."""
        from rrpolicy.utility.simulation import original_shares, share_variances

        variance = share_variances(channel, original, attributes)
        if variance is None:
            return None
        p = original_shares(original, attributes)
        held = p > 0
        return float((variance[held] / p[held]).sum())

    def beside(self, options: TableMetricOptions, channel: Channel, original: Original) -> tuple[Companion, ...]:
        """Return the part left out of the sum: empty cells of the table, and their estimates."""
        from rrpolicy.utility.simulation import original_shares, share_variances

        names = table_attributes(options.attributes, original.policy)
        empty = original_shares(original, names) == 0
        variance = share_variances(channel, original, names)
        if variance is not None:
            elsewhere = Measure(float(variance[empty].sum()))
        else:
            elsewhere = self.simulated(
                options, channel, original, lambda found: float((found.shares[empty] ** 2).sum())
            )
        return (
            count_measure("cells left out", empty.sum(), "cells that nobody of the table is in"),
            count_measure(
                "squared estimates there", elsewhere, "the summed squares of the shares estimated in these cells"
            ),
        )


class PMSE(SharesMetric):
    """The propensity score mean squared error of the saturated model."""

    name = "pmse"
    within = (0.0, 0.25)
    meaning = (
        "the mean squared error of guessing whether a record is from the original or the estimated table, from 0 "
        "(equal) to 1/4 (distinguished with certainty)"
        "; negative estimates count as 0, and the others are scaled to"
        " sum to 1"
    )

    def of(self, p: Array, q: Array) -> float:
        """Return an eighth of the summed squared differences, each over the sum."""
        proper = clip_shares(q, 0.0)
        whole = p + proper
        held = whole > 0
        return float(((p - proper)[held] ** 2 / whole[held]).sum() / 8)


def clip_shares(q: Array, least: float) -> Array:
    """Return shares of at least so much, in sum 1."""
    proper: Array = q.clip(least)
    shares: Array = proper / proper.sum()
    return shares
