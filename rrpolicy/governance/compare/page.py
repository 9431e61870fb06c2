"""A comparison as one HTML page for a meeting: self-contained, without scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment

from rrpolicy.escaping.printable import visible, visible_lines
from rrpolicy.escaping.templates import inline_style, template_environment
from rrpolicy.governance.compare.comparison import CandidateComparison
from rrpolicy.report import RiskMap
from rrpolicy.reports.alternatives import RiskMapPoint, risk_map
from rrpolicy.reports.protection_panel import guess_sentences
from rrpolicy.safe_io.atomic_write import refuse_existing, write_new_file

LEFT, RIGHT, TOP, BOTTOM = 76.0, 620.0, 20.0, 330.0
"""Edges of the plot inside its drawing, in its units."""


def write(found: CandidateComparison, path: Path) -> None:
    """Write the page, which is confidential, readable only by its owner."""
    refuse_existing(path)
    write_new_file(path, as_html(found), private=True)


def as_html(found: CandidateComparison) -> bytes:
    """Return the page."""
    page, made = _environment().get_template("compare.html"), draw_risk_map(found)
    told = page.render(
        found=found, heading=_heading(found), drawn=made, left=_unmapped_candidates(found, made), told=found.recommended
    )
    return told.encode("utf-8", "replace")


def _heading(found: CandidateComparison) -> str:
    """Return the page's heading: for a single candidate its name and outcome."""
    if len(found.rows) > 1:
        return f"Comparison of {len(found.rows)} candidates"
    (row,) = found.rows
    return f"{row.label}: {row.outcome}"


def draw_risk_map(found: CandidateComparison) -> RiskMap | None:
    """Return the map; None if no candidate has both numbers."""
    risk, error = found.risk, found.error
    if risk is None or error is None:
        return None
    points = {}
    for place, row in enumerate(found.rows, 1):
        point, measure = found.point(row), row.error(error)
        if point is not None and measure is not None:
            points[place] = RiskMapPoint(*point, abs(measure.end(error.bound) - measure.value), row.passes)
    return risk_map(points, found.front, risk_up=risk.better == "larger", error_up=error.better == "larger")


def _unmapped_candidates(found: CandidateComparison, made: RiskMap | None) -> list[int]:
    marked = {mark.candidate for mark in made.marks} if made is not None else set()
    return [place for place in range(1, len(found.rows) + 1) if place not in marked]


def _scale(low: float, high: float) -> Callable[..., str]:
    """Return the filter of a template that writes a share as a position between two edges, and an offset from it."""
    return lambda share, offset=0.0: f"{low + (high - low) * share + offset:.1f}"


_X, _Y = _scale(LEFT, RIGHT), _scale(BOTTOM, TOP)


def _pareto_path(front: Sequence[tuple[float, float]]) -> str:
    """Return the steps of the Pareto front, as an SVG path; "" for less than two candidates."""
    steps = [(_X(error), _Y(risk)) for error, risk in front]
    path = f"M{steps[0][0]} {steps[0][1]}" if len(steps) > 1 else ""
    return path + "".join(f"H{x}V{y}" for x, y in steps[1:])


@cache
def _environment() -> Environment:
    """Return the templates' environment: everything is escaped, and undefined values are errors."""
    made = template_environment(__package__, lambda value: value, keep_trailing_newline=True)
    made.filters["guesses"] = guess_sentences
    made.filters |= {
        "visible": lambda text: visible(str(text)),
        "visible_lines": lambda text: visible_lines(str(text)),
        "x": _X,
        "y": _Y,
        "steps": _pareto_path,
    }
    made.globals["styles"] = {"compare": inline_style(__package__, "compare.css")}
    return made
