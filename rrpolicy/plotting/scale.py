"""Axes: positions of numbers, and round numbers for grid lines."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rrpolicy.frozen_dataclass import frozen

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROOM = 0.04
_FAR = 0.5
_FEW, _SOME = 0.6, 1.7


def nice_step(span: float, most: int) -> float:
    """Return a round step that divides a span into at most so many parts."""
    rough = span / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(step * magnitude for step in _ROUND if step * magnitude >= rough * (1 - 1e-9))


@frozen
class Scale:
    """An axis from low to high.

    Attributes:
        low: its left end.
        high: its right end, larger.
        factors: whether equal distances are equal quotients (a logarithmic axis); low is then positive.
    """

    low: float
    high: float
    factors: bool = False

    @classmethod
    def over(cls, values: Iterable[float], through: float | None = None, *, factors: bool = False) -> Scale:
        """Return an axis that includes numbers.

        Without `through`, the axis includes 0 unless all numbers are far from 0 and near one another.

        Args:
            values: infinite ones are omitted, and for a logarithmic axis those that are not positive.
            through: a number to include.
            factors: whether it is logarithmic.
        """
        known = [v for v in values if math.isfinite(v) and (v > 0 or not factors)]
        if through is not None:
            known.append(through)
        if factors:
            low, high = min(known, default=1.0), max(known, default=1.0)
            room = max((high / low) ** _ROOM, 1.05)
            return cls(low / room, high * room, factors=True)
        low, high = min(known, default=0.0), max(known, default=0.0)
        near_each_other = 0 < high - low < _FAR * min(abs(low), abs(high)) and low * high > 0
        if through is None and not near_each_other:
            low, high = min(low, 0.0), max(high, 0.0)
        span = (high - low) or 1.0
        return cls(low - (_ROOM * span if low else 0.0), high + (_ROOM * span if high or not low else 0.0))

    def at(self, value: float) -> float:
        """Return the position of a number, 0 to 1 from left; one beyond the axis is at its end."""
        if self.factors:
            value = math.log(value) if value > 0 else -math.inf
        low, high = self._ends
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def holds(self, value: float) -> bool:
        """Return whether a number is on the axis."""
        return self.low <= value <= self.high

    def ticks(self, most: int) -> tuple[float, ...]:
        """Return round numbers on the axis, about so many and at least one."""
        if self.factors:
            decades = math.log10(self.high / self.low)
            if decades > _FEW:
                first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
                digits = (1, 2, 5) if decades <= _SOME and most > last - first + 1 else (1,)
                every = math.ceil((last - first) / most)
                found = [d * 10.0**k for k in range(first, last + 1) if k % every == 0 for d in digits]
                return tuple(v for v in found if self.holds(v))
        step = nice_step(self.high - self.low, most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(i * step for i in range(first, last + 1))

    @property
    def _ends(self) -> tuple[float, float]:
        return (math.log(self.low), math.log(self.high)) if self.factors else (self.low, self.high)
