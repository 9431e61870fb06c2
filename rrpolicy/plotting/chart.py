"""What stands in a dot-and-interval plot, before it is drawn as SVG or handed to another library."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plotting.scale import Scale

Ends: TypeAlias = Literal["interval", "certain", "none"]


@frozen
class IntervalMark:
    """An estimate, with its interval.

    Attributes:
        name: of the line that it stands on.
        heading: what stands above the line and those after it; "" for nothing.
        series: which of several marks on the line it is; "" where there is one.
        estimate: NaN where it cannot be estimated.
        low: the lower end; NaN where there is none, infinite where it is not bounded.
        high: the upper end.
        told: what it is of, the estimate and its interval, in words.
        flags: the signs of what may be doubted of it.
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
        """Return whether the estimate lies outside of its own interval, as an impossible one does."""
        return self.has_ends and not math.isnan(self.estimate) and not self.low <= self.estimate <= self.high


@frozen
class ChartReferenceLine:
    """A number that marks are compared with: where it stands, and what it is."""

    at: float
    name: str


@frozen
class Panel:
    """Marks on one axis.

    Attributes:
        title: "" where the chart's says it.
        scale: the axis.
        line: what marks are compared with; None for nothing.
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
        title: what is estimated.
        subtitle: what dots and bars are.
        found: the finding, in one sentence.
        panels: from the top.
        ends: what bars are.
        series: the names of the marks that share lines, in order; () where lines have one each.
        notes: what must be known to read it.
    """

    title: str
    subtitle: str
    found: str
    panels: tuple[Panel, ...]
    ends: Ends
    series: tuple[str, ...]
    notes: tuple[str, ...]
