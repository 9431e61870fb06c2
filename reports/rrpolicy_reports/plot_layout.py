"""Positions of marks. Plots stretch with the page: percentages across, pixels down; text keeps its size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from rrpolicy.plugin import nice_step
from rrpolicy.plugin.text import edge_label, percent_cell, percent_tick

SHADES = 20
HEIGHT = 160
WIDE = 4  # times the width of the first bin
SIGN = 8  # pixels of a digit at the size of the plots' text, rounded up
LEFT, RIGHT = 12.0, 86.0  # of a map: percentages of the width before it, and of the map
FOOT, HIGH = 300.0, 290.0  # of a map: pixels to its foot, and its height
MARGIN = 0.15  # of a plot's interval, left free on either side
NARROW = 0.002  # an interval that one decimal of a percentage cannot show


@dataclass(frozen=True, slots=True)
class PlotTick:
    """A grid line: its position, 0 to 1, and its label."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of a heat map: its text, and the step of its shading."""

    text: str
    shade: int


@dataclass(frozen=True, slots=True)
class IntervalPositions:
    """Positions of the marks of one category, 0 to 1 from left."""

    released: float | None
    estimate: float
    low: float
    high: float
    original: float | None


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """A dot-and-interval plot: grid lines, positions in the order of the rows, decimals of the percentage labels."""

    ticks: tuple[PlotTick, ...]
    places: tuple[IntervalPositions, ...]
    digits: int


@dataclass(frozen=True, slots=True)
class AttackPositions:
    """An attack's success within the predicted interval: positions, 0 to 1 from left."""

    attained: float
    predicted: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """A bin: left edge and width, 0 to 1; heights in pixels; its range in words."""

    left: float
    width: float
    height: float
    before: float | None
    text: str
    people: int
    people_before: int | None


@dataclass(frozen=True, slots=True)
class HistogramPlot:
    """A histogram: bins, ticks across, grid lines up (`at` in pixels from the bottom), room for numbers, limits.

    `broken`: the last bin is far wider than the others, and is not drawn to scale.
    """

    bars: tuple[HistogramBar, ...]
    across: tuple[PlotTick, ...]
    up: tuple[PlotTick, ...]
    height: int
    gutter: int
    broken: bool
    limits: tuple[PlotTick, ...]


def shade_step(probability: float) -> int:
    """Return the step of shading of a matrix cell; only a zero has none."""
    return 0 if probability <= 0 else max(1, min(SHADES, round(probability * SHADES)))


def percent_across(place: float) -> str:
    """Return a position, 0 to 1, as a percentage across, kept on the track."""
    return f"{100 * min(1.0, max(0.0, place)):.2f}%"


def map_left(place: float) -> str:
    """Return a position, 0 to 1, across a map, right of the axis labels."""
    return f"{LEFT + RIGHT * place:.2f}%"


def map_bottom(place: float) -> str:
    """Return a position, 0 to 1, above the foot of a map, in pixels."""
    return f"{FOOT - HIGH * place:.1f}"


def text_anchor(place: float) -> str:
    """Return the alignment of text at a position so that it stays inside the plot."""
    if place < 0.25:  # noqa: PLR2004 - a quarter of the width
        return "start"
    return "end" if place > 0.75 else "middle"  # noqa: PLR2004 - a quarter of the width


def forest_plot(marginal: Any) -> ForestPlot:
    """Return the plot of a `Marginal`: one scale for all categories, between round numbers around every mark."""
    values = [
        v for row in marginal.rows for v in (row.released or 0.0, row.estimate, row.low, row.high, row.original or 0.0)
    ]
    low, high = min(0.0, *values, 0.0), max(*values, 1e-6)
    step = nice_step(high - low, 4)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    start, end = first * step, last * step

    def at(value: float) -> float:
        return (value - start) / (end - start)

    def maybe(value: float | None) -> float | None:
        return None if value is None else at(value)

    ticks = tuple(PlotTick(at(i * step), percent_tick(i * step)) for i in range(first, last + 1))
    return ForestPlot(
        ticks,
        tuple(
            IntervalPositions(maybe(r.released), at(r.estimate), at(r.low), at(r.high), maybe(r.original))
            for r in marginal.rows
        ),
        2 if any(0 < r.high - r.low < NARROW for r in marginal.rows) else 1,
    )


def spread_plot(found: Any) -> AttackPositions:
    """Return the plot of a `Spread`: the interval in the middle, with room for a dot outside it on either side."""
    low, high = min(found.low, found.attained), max(found.high, found.attained)
    margin = (high - low) * MARGIN
    start, span = low - margin, high - low + 2 * margin

    def at(value: float) -> float:
        return (value - start) / span if span > 0 else 1 / 2

    return AttackPositions(at(found.attained), at(found.predicted), at(found.low), at(found.high))


def interval_kind(marginal: Any) -> Literal["exact", "certain", "drawn"]:
    """Return the kind of a `Marginal`'s intervals: unnecessary, certain limits, or statistical intervals."""
    if all(row.low == row.high for row in marginal.rows):
        return "exact"
    return "certain" if marginal.level >= 1 else "drawn"


def histogram_plot(histogram: Any) -> HistogramPlot:
    """Return the plot of a `Histogram`; bins without a finite range get equal widths, a wide last one that of two."""
    edges = [float(edge) for edge in histogram.edges]
    count = len(histogram.people)
    span = edges[-1] - edges[0]
    linear = math.isfinite(span) and span > 0
    broken = linear and count > 1 and edges[-1] - edges[-2] > WIDE * (edges[1] - edges[0])
    if broken:
        places = [i / (count + 1) for i in range(count)] + [1.0]
    else:
        places = [(e - edges[0]) / span if linear else i / count for i, e in enumerate(edges)]
    most = max(1, *histogram.people, *(histogram.before or (0,)))
    step = max(1.0, nice_step(float(most), 3))
    top = math.ceil(most / step) * step

    def height(people: int) -> float:
        return 0.0 if not people else max(2.0, HEIGHT * people / top)

    before = histogram.before
    made = tuple(
        HistogramBar(
            places[i],
            places[i + 1] - places[i],
            height(histogram.people[i]),
            None if before is None else height(before[i]),
            f"{edge_label(edges[i])} to {edge_label(edges[i + 1])}",
            histogram.people[i],
            None if before is None else before[i],
        )
        for i in range(count)
    )
    regular = count - 1 if broken else count
    every = max(1, math.ceil(regular / 5))
    shown = [i for i in range(0, regular + 1, every) if i in {0, regular} or regular - i >= every / 2]
    shown += [regular] if broken else []
    across = tuple(PlotTick(places[i], edge_label(edges[i])) for i in dict.fromkeys([*shown, count]))
    up = tuple(PlotTick(HEIGHT * i * step / top, f"{int(i * step):,}") for i in range(1, round(top / step) + 1))
    gutter = 14 + SIGN * max(len("people"), *(len(tick.text) for tick in up))
    limits = tuple(_limit_position(line, edges, places) for line in getattr(histogram, "limits", ()))
    return HistogramPlot(made, across, up, HEIGHT, gutter, broken, tuple(tick for tick in limits if tick is not None))


def _limit_position(line: Any, edges: list[float], places: list[float]) -> PlotTick | None:
    """Return the position of a limit among the bins; None if it is beyond them."""
    text = f"limit {line.of + ' ' if line.of else ''}{edge_label(line.at)}"
    for low, high, left, right in zip(edges, edges[1:], places, places[1:], strict=False):
        if low <= line.at <= high < math.inf:
            return PlotTick(left + (right - left) * ((line.at - low) / (high - low) if high > low else 0.0), text)
    return None


def is_constant(matrix: Any) -> bool:
    """Return whether a matrix has one value on its diagonal and one value elsewhere."""
    if matrix.released != matrix.original:
        return False
    beside = {row[j] for i, row in enumerate(matrix.rows) for j in range(len(row)) if i != j}
    return len({row[i] for i, row in enumerate(matrix.rows)}) == 1 and len(beside) <= 1


def shaded_cells(pairs: Any) -> tuple[tuple[HeatCell, ...], ...]:
    """Return the cells of a `PairPanel`, in percentage points, the largest error darkest."""
    most = max((error for row in pairs.errors for error in row if error is not None), default=0.0) or 1.0
    return tuple(
        tuple(
            HeatCell("–", 0) if e is None else HeatCell(percent_cell(e), max(1, round(SHADES * e / most))) for e in row
        )
        for row in pairs.errors
    )
