"""Where marks stand. Plots stretch with the page: places are percentages across, pixels down; text keeps its size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

SHADES = 20
HEIGHT = 160
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line: where it stands, 0 to 1, and what is written at it."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the marks of one category stand, 0 to 1 from left."""

    released: float | None
    estimate: float
    low: float
    high: float
    original: float | None


@dataclass(frozen=True, slots=True)
class Forest:
    """A dot-and-interval plot: grid lines, and places in the order of the rows."""

    ticks: tuple[Tick, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bin: left edge and width, 0 to 1; heights in pixels; its range in words."""

    left: float
    width: float
    height: float
    before: float | None
    text: str
    people: int
    people_before: int | None


@dataclass(frozen=True, slots=True)
class Bars:
    """A histogram: bins, ticks across, grid lines up (`at` in pixels from the bottom)."""

    bars: tuple[Bar, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    height: int


def shade(probability: float) -> int:
    """Return the step of shading of a matrix cell; only a zero has none."""
    return 0 if probability <= 0 else max(1, min(SHADES, round(probability * SHADES)))


def spot(place: float) -> str:
    """Return a place, 0 to 1, as a percentage across, kept on the track."""
    return f"{100 * min(1.0, max(0.0, place)):.2f}%"


def anchor(place: float) -> str:
    """Return how text at a place is set so that it stays inside the plot."""
    if place < 0.25:  # noqa: PLR2004 - a quarter of the width
        return "start"
    return "end" if place > 0.75 else "middle"  # noqa: PLR2004 - a quarter of the width


def nice_step(span: float, most: int) -> float:
    """Return a round step that cuts a span into at most so many parts."""
    rough = span / most
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(step * magnitude for step in STEPS if step * magnitude >= rough * (1 - 1e-9))


def _plain(value: float) -> str:
    return f"{value:.10g}".replace("-", "−")


def forest(marginal: Any) -> Forest:
    """Return the plot of a `Marginal`: one scale for all its categories, starting at zero or below."""
    values = [
        v for row in marginal.rows for v in (row.released or 0.0, row.estimate, row.low, row.high, row.original or 0.0)
    ]
    low, high = min(0.0, *values, 0.0), max(*values, 1e-6)
    step = nice_step(high - low, 3)
    start, end = low, math.ceil(high / step - 1e-9) * step
    first, last = math.ceil(start / step - 1e-9), round(end / step)

    def at(value: float) -> float:
        return (value - start) / (end - start)

    def maybe(value: float | None) -> float | None:
        return None if value is None else at(value)

    ticks = tuple(Tick(at(i * step), f"{_plain(round(100 * i * step, 8))} %") for i in range(first, last + 1))
    return Forest(
        ticks,
        tuple(
            Place(maybe(r.released), at(r.estimate), at(r.low), at(r.high), maybe(r.original)) for r in marginal.rows
        ),
    )


def bars(histogram: Any) -> Bars:
    """Return the plot of a `Histogram`; bins without a finite range get equal widths."""
    edges = [float(edge) for edge in histogram.edges]
    count = len(histogram.people)
    span = edges[-1] - edges[0]
    linear = math.isfinite(span) and span > 0
    places = [(e - edges[0]) / span if linear else i / count for i, e in enumerate(edges)]
    most = max(1, *histogram.people, *(histogram.before or (0,)))
    step = max(1.0, nice_step(float(most), 3))
    top = math.ceil(most / step) * step

    def height(people: int) -> float:
        return 0.0 if not people else max(2.0, HEIGHT * people / top)

    before = histogram.before
    made = tuple(
        Bar(
            places[i],
            places[i + 1] - places[i],
            height(histogram.people[i]),
            None if before is None else height(before[i]),
            f"{_plain(round(edges[i], 6))} to {_plain(round(edges[i + 1], 6))}",
            histogram.people[i],
            None if before is None else before[i],
        )
        for i in range(count)
    )
    every = max(1, math.ceil(count / 5))
    shown = [i for i in range(0, count + 1, every) if i == 0 or count - i >= every / 2 or i == count]
    across = tuple(Tick(places[i], _plain(round(edges[i], 6))) for i in dict.fromkeys([*shown, count]))
    up = tuple(Tick(HEIGHT * i * step / top, f"{int(i * step):,}") for i in range(1, round(top / step) + 1))
    return Bars(made, across, up, HEIGHT)
