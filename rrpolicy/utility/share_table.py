"""A table of shares as a release gives it: the estimates, and the errors that it states of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rrpolicy.estimate.results.variance import population_variance
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array


@frozen(slots=False)
class ShareTable:
    """Shares with the errors that are stated of them.

    Attributes:
        shares: one dimension an attribute; they sum to 1, and single ones may be negative.
        records: N.
        squares: returns the mean square of the weights of each cell, of the same shape; None where counts are spread
            inside groups, which has no weights that are independent.
    """

    shares: Array
    records: int
    squares: Callable[[], Array] | None

    def variance(self) -> Array:
        """Return the variance of each share as an estimate of the population's.

        Of shares that are spread inside groups: that of a table which has just these, as no release states one.
        """
        n = self.records
        squares = self.shares.clip(0, 1) if self.squares is None else self.squares()
        return population_variance(n * squares, n * self.shares, n) / n**2
