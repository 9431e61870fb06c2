"""Content of a dot-and-interval plot, with its axes: one description, drawn as SVG and written as Vega-Lite."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from rrpolicy.numbers import tick_label

Ends: TypeAlias = Literal["interval", "certain", "none"]
NOT_ESTIMABLE = "not estimable"
"""Text in place of a mark without an estimate and an interval."""
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROOM = 0.04
_FAR = 0.5
_FEW, _SOME = 0.6, 1.7


def nice_step(span: float, most: int) -> float:
    """Return a round step that divides a span into at most so many parts."""
    rough = span / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(step * magnitude for step in _ROUND if step * magnitude >= rough * (1 - 1e-9))


class Scale(Struct, frozen=True):
    """An axis from low to high.

    Attributes:
        high: its right end, larger.
        factors: whether equal distances are equal quotients (a logarithmic axis); low is then positive.
    """

    low: float
    high: float
    factors: bool = False

    @classmethod
    def over(cls, values: Iterable[float], through: float | None = None, *, factors: bool = False) -> Scale:
        """Return an axis that includes numbers.

        It includes 0 unless all numbers are far from 0 and near one another, or `through` is given. Infinite numbers
        are omitted, and on a logarithmic axis (`factors`) those that are not positive.
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


class SeriesStyle(Struct, frozen=True):
    """Appearance of a series' marks: their shape as SVG, its name in Vega, their colour on light and on dark."""

    svg: str
    vega: str
    light: str
    dark: str


SERIES_STYLES = (
    SeriesStyle('<circle class="{c}" cx="{x}" cy="{y}" r="4"/>', "circle", "#1f618d", "#8ecae6"),
    SeriesStyle('<path class="{c}" d="M{x} {y}m-4 -4h8v8h-8z"/>', "square", "#a04000", "#f4a261"),
    SeriesStyle('<path class="{c}" d="M{x} {y}m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>', "diamond", "#1e6b3a", "#95d5b2"),
    SeriesStyle('<path class="{c}" d="M{x} {y}m-5 4h10l-5 -9z"/>', "triangle-up", "#6c3483", "#d7bde2"),
)
"""Styles that distinguish the marks of a line, in order: by shape, and by colour."""


class IntervalBar(Struct, frozen=True):
    """The part of an interval that is on an axis, and whether it goes on beyond either end."""

    low: float
    high: float
    open_low: bool
    open_high: bool


class IntervalMark(Struct, frozen=True):
    """An estimate with its interval.

    Attributes:
        heading: heading above the line and those after it; "" without one.
        series: name among several marks on the line; "" if there is one.
        estimate: NaN if it cannot be estimated.
        low: the lower end; NaN without an interval, infinite if unbounded.
        told: the subject, the estimate and its interval, in words.
    """

    name: str
    heading: str
    series: str
    estimate: float
    low: float
    high: float
    told: str
    flags: str = ""

    @property
    def has_ends(self) -> bool:
        """Return whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def outside(self) -> bool:
        """Return whether the estimate is outside its interval, like an impossible one."""
        return self.has_ends and not math.isnan(self.estimate) and not self.low <= self.estimate <= self.high

    def bar(self, scale: Scale) -> IntervalBar | None:
        """Return the drawn part of the interval on an axis; None without one, and for a single point."""
        if not (self.has_ends and self.low < self.high):
            return None
        ends = max(self.low, scale.low), min(self.high, scale.high)
        return IntervalBar(*ends, not scale.holds(self.low), not scale.holds(self.high))

    def hollow(self, scale: Scale) -> bool:
        """Return whether the mark is drawn hollow: outside its interval, or beyond the axis."""
        return self.outside or not scale.holds(self.estimate)


class ChartReferenceLine(Struct, frozen=True):
    """A number that marks are compared with: its position and its label."""

    at: float
    name: str

    def __str__(self) -> str:
        return f"{tick_label(self.at)}: {self.name}"


class Panel(Struct, frozen=True):
    """Marks on one axis.

    Attributes:
        title: "" if the chart's title suffices.
        line: the reference line of the marks; None without one.
    """

    title: str
    scale: Scale
    line: ChartReferenceLine | None
    marks: tuple[IntervalMark, ...]


class Chart(Struct, frozen=True):
    """A plot.

    Attributes:
        found: the finding, in one sentence.
        series: the names of the marks that share lines, in order; () if each line has one.
    """

    title: str
    subtitle: str
    found: str
    panels: tuple[Panel, ...]
    ends: Ends
    series: tuple[str, ...]
    notes: tuple[str, ...]
