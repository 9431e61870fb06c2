"""Content of a dot-and-interval plot, independent of the renderer."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plotting.scale import Scale

Ends: TypeAlias = Literal["interval", "certain", "none"]


@frozen
class IntervalMark:
    """An estimate with its interval.

    Attributes:
        name: of its line.
        heading: heading above the line and those after it; "" without one.
        series: name among several marks on the line; "" if there is one.
        estimate: NaN if it cannot be estimated.
        low: the lower end; NaN without an interval, infinite if unbounded.
        high: the upper end.
        told: the subject, the estimate and its interval, in words.
        flags: symbols for doubts about it.
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


@frozen
class ChartReferenceLine:
    """A number that marks are compared with: its position and its label."""

    at: float
    name: str


@frozen
class Panel:
    """Marks on one axis.

    Attributes:
        title: "" if the chart's title suffices.
        scale: the axis.
        line: the reference line of the marks; None without one.
        marks: from the top.
    """

    title: str
    scale: Scale
    line: ChartReferenceLine | None
    marks: tuple[IntervalMark, ...]


@frozen
class Chart:
    """A plot.

    Attributes:
        title: the estimated quantity.
        subtitle: meaning of dots and bars.
        found: the finding, in one sentence.
        panels: from the top.
        ends: meaning of bars.
        series: the names of the marks that share lines, in order; () if each line has one.
        notes: information needed to read it.
    """

    title: str
    subtitle: str
    found: str
    panels: tuple[Panel, ...]
    ends: Ends
    series: tuple[str, ...]
    notes: tuple[str, ...]
