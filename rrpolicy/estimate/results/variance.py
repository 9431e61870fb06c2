"""The one formula of variance: of sums of record weights, and of what is linear in them.

With w what a record adds to a sum, S1 = sum w and S2 = sum w^2. This table (a census, only the randomisation is
random): S2 less what S2 is expected to be without randomisation. Population (the table is a random sample of N):
N/(N-1) (S2 - S1^2/N), N times the sample variance of w (Chaudhuri and Mukerjee 1988, ch. 3; Guo 2010, ch. 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.source.counts import Array

_ROUNDING = 1e-9


def bessel(records: int) -> float:
    """Return N/(N-1), which makes a sample's variance unbiased."""
    return records / max(records - 1, 1)


def population_variance(square: Array, total: Array, records: int) -> Array:
    """Return N/(N-1) (S2 - S1^2/N), never negative.

    Args:
        square: S2.
        total: S1.
        records: N.
    """
    return np.asarray(bessel(records) * np.maximum(square - total**2 / records, 0.0))


def table_variance(
    square: Array, own: Array, population: Array, *, at: tuple[Array, Array] | None = None, rounding: float = _ROUNDING
) -> tuple[Array, Mask]:
    """Return S2 - own, and where it is negative, so that the population's variance stands in its place.

    Args:
        square: S2.
        own: what is expected of the same squares given the originals, which is no error of this table.
        population: the variance for the population.
        at: of quadratics in a ratio: their value, and the size of its terms, at the estimate, which decide.
        rounding: a value that is this share of its terms or less is 0.
    """
    table = square - own
    value, size = (table, np.abs(square)) if at is None else at
    none = np.abs(value) <= rounding * size
    stand_in = ~none & (value < 0)
    return np.where(none, 0.0, np.where(stand_in, population, table)), stand_in
