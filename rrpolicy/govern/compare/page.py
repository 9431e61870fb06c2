"""A comparison as one HTML page for a meeting: it refers to nothing outside itself and needs no script."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from rrpolicy.errors import unwritable
from rrpolicy.govern.compare.comparison import Comparison, Quantity
from rrpolicy.leaving import token, unfinished
from rrpolicy.releasing.appearing import appear, refuse_existing
from rrpolicy.untrusted.printable import visible
from rrpolicy.untrusted.templates import template_environment

LEFT, RIGHT, TOP, BOTTOM = 76.0, 620.0, 20.0, 330.0
"""Of the plot inside its drawing, in its units."""
STEPS = 4


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line: where it stands, and what is written at it."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A candidate on the map.

    Attributes:
        candidate: its place among the candidates.
        x: its error.
        y: its risk.
        low: the lower end of its error, three standard errors off; the same as `x` where it is no estimate.
        high: the upper end.
        passes: whether it passes.
        text: what it is, in words.
    """

    candidate: int
    x: float
    y: float
    low: float
    high: float
    passes: bool
    text: str


@dataclass(frozen=True, slots=True)
class Map:
    """The map of risk and error, the better ends at the left and at the bottom.

    Attributes:
        across: grid lines of the error.
        up: grid lines of the risk.
        marks: the candidates that have both numbers.
        front: the steps of the Pareto front, as an SVG path; "" where it has less than two candidates.
        left: candidates that are not on it, as they lack a number.
    """

    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    front: str
    left: tuple[int, ...]


def write(found: Comparison, path: Path) -> None:
    """Write the page, which is confidential, for its owner alone to read.

    Raises:
        RefusedError: RR402 if the file is there, RR407 or RR408 if it cannot be written.
    """
    refuse_existing(path)
    content = as_html(found)
    made = path.with_name(f".{path.name}.{token()}")
    try:
        with unfinished(made):
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content)
            appear(made, path)
    except OSError as error:
        raise unwritable(str(path), error) from error


def as_html(found: Comparison) -> bytes:
    """Return the page."""
    page = _environment().get_template("compare.html")
    return page.render(found=found, drawn=drawn(found), told=found.recommended).encode("utf-8", "replace")


def drawn(found: Comparison) -> Map | None:
    """Return the map; None if no candidate has both numbers."""
    if found.risk is None or found.error is None:
        return None
    points = {i: point for i, row in enumerate(found.rows, 1) if (point := found.point(row))}
    points = {i: point for i, point in points.items() if all(map(math.isfinite, point))}
    left = tuple(i for i in range(1, len(found.rows) + 1) if i not in points)
    if not points:
        return None
    up = _Scale([risk for risk, _ in points.values()], BOTTOM, TOP)
    spread = {i: _margin(found, i) for i in points}
    ends = [error + sign * spread[i] for i, (_, error) in points.items() for sign in (-1, 1)]
    across = _Scale(ends, LEFT, RIGHT)
    marks = []
    for i, (risk, error) in points.items():
        row = found.rows[i - 1]
        numbers = f"error {row.shown(found.error)}, risk {row.shown(found.risk)}"
        low, high = (across.at(error + sign * spread[i]) for sign in (-1, 1))
        text = f"{i}: {row.label}, {row.outcome}, {numbers}"
        marks.append(Mark(i, across.at(error), up.at(risk), low, high, row.passes, text))
    steps = sorted((mark.x, mark.y) for mark in marks if mark.candidate in found.front)
    path = f"M{steps[0][0]:.1f} {steps[0][1]:.1f}" if len(steps) > 1 else ""
    path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in steps[1:])
    return Map(across.ticks(found.error), up.ticks(found.risk), tuple(marks), path, left)


def _margin(found: Comparison, place: int) -> float:
    error = found.rows[place - 1].error(found.error)
    if error is None or found.error is None:
        return 0.0
    return abs(error.end(found.error.bound) - error.value)


class _Scale:
    """Costs, the greater the worse, on a line of the drawing."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        room = (high - low or abs(high) or 1.0) * 0.08
        least = low - room
        self._low = 0.0 if least < 0 <= low else least  # no tick below what a share or a distance can be
        self._high, self._start, self._end = high + room, start, end

    def at(self, cost: float) -> float:
        return self._start + (self._end - self._start) * (cost - self._low) / (self._high - self._low)

    def ticks(self, quantity: Quantity) -> tuple[Tick, ...]:
        sign = 1 if quantity.better == "smaller" else -1
        costs = [self._low + (self._high - self._low) * i / STEPS for i in range(STEPS + 1)]
        return tuple(Tick(self.at(cost), f"{sign * cost:.3g}") for cost in costs)


@cache
def _environment() -> Environment:
    """Return the templates' environment: everything is escaped, nothing may be undefined."""
    made = template_environment(__package__, lambda value: value, keep_trailing_newline=True)
    made.filters |= {"visible": lambda text: visible(str(text)), "spot": lambda at: f"{at:.1f}"}
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    made.globals |= {"style": Markup(style), "style_source": f"sha256-{digest}"}  # noqa: S704 - the package's own file
    return made


@cache
def _style() -> str:
    return "\n" + importlib.resources.files(__package__).joinpath("templates", "compare.css").read_text("utf-8")
