"""Overlap of analysts' confidence intervals with those of the original.

With [a, b] the normal interval of a share of the population from the original, and [c, d] the one from the release,

    interval-overlap   mean of (1/2) (o/(b - a) + o/(d - c)), o = max(0, min(b, d) - max(a, c))

over the non-empty cells of the table (Karr et al. 2006, section 3). An interval without width counts as overlapped
whole if it lies in the other one, else not at all.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from rrpolicy.policy.rational import Rational
from rrpolicy.utility.metric import Better
from rrpolicy.utility.table_metric import TableMetric, TableMetricOptions

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.source.protocol import Original
    from rrpolicy.utility.release_estimates import ShareTable
    from rrpolicy.utility.simulation import Figure, Range


def _open_unit_interval(value: Fraction) -> Fraction:
    if not 0 < value < 1:
        raise ValueError("expected a confidence level between 0 and 1")
    return value


class OverlapOptions(TableMetricOptions):
    """Which intervals."""

    level: Annotated[Rational, AfterValidator(_open_unit_interval)] = Field(
        default=Fraction(19, 20), description="The confidence level of the intervals."
    )


class IntervalOverlap(TableMetric):
    """The mean overlap of confidence intervals of shares."""

    name = "interval-overlap"
    options = OverlapOptions
    better: ClassVar[Better] = "larger"
    within: ClassVar[Range | None] = (0.0, 1.0)
    absolute: ClassVar[bool] = True
    meaning = (
        "how much the confidence intervals of the population's shares that the release gives overlap with the"
        " original's, from 0 (not at all) to 1 (they are the same), on average over the non-empty cells"
    )

    def figure(self, options: TableMetricOptions, original: Original, attributes: tuple[str, ...]) -> Figure:
        """Return the mean overlap as a function of the estimated table."""
        from rrpolicy.estimate.results.intervals import quantile
        from rrpolicy.utility.release_estimates import ShareTable
        from rrpolicy.utility.simulation import original_shares

        assert isinstance(options, OverlapOptions)
        p = original_shares(original, attributes)
        held = p > 0
        z = quantile(float(options.level))
        true = _interval_ends(ShareTable(p, original.records, lambda: p), z, held)
        return lambda found: float(overlap_shares(true, _interval_ends(found, z, held)).mean())


def _interval_ends(table: ShareTable, z: float, held: Mask) -> tuple[Array, Array]:
    import numpy as np

    half = z * np.sqrt(table.variance()[held])
    return table.shares[held] - half, table.shares[held] + half


def overlap_shares(first: tuple[Array, Array], second: tuple[Array, Array]) -> Array:
    """Return the overlap of pairs of intervals, each in [0, 1]; the arguments are (lower ends, upper ends)."""
    import numpy as np

    (a, b), (c, d) = first, second
    both = np.minimum(b, d) - np.maximum(a, c)
    shares = [np.where(w > 0, np.maximum(both, 0) / np.where(w > 0, w, 1), both >= 0) for w in (b - a, d - c)]
    return np.asarray(sum(shares) / 2)
