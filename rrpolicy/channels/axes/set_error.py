"""The error of shares that are estimated from released sets, in closed form."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal


def addition_mean_squared_error(
    values: int, set_size: int, records: int, target: Literal["table", "population"]
) -> Fraction | float:
    """Return the mean over the values of the expected squared error of an estimated share (Sei, Ohsuga, eq. 19).

    Infinite if every set holds every value.

    Args:
        values: S.
        set_size: l.
        records: n.
        target: this table, or a uniform population.
    """
    if set_size == values:
        return math.inf
    if target == "table":
        return Fraction((values - 1) * (set_size - 1), records * values * (values - set_size))
    return Fraction(set_size * (values - 1) ** 2, records * (values - set_size) * values**2)
