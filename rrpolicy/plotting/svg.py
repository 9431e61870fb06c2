"""Charts as SVG text without a plotting library, readable in print, in dark mode and without colours."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise
from pathlib import Path

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.numbers import tick_label
from rrpolicy.plotting.chart import (
    NOT_ESTIMABLE,
    SERIES_STYLES,
    Chart,
    ChartReferenceLine,
    IntervalMark,
    Panel,
    Scale,
)

WIDTH = 480
NARROWEST = 240
_INK, _PAPER, _FAINT, _GREY = (
    ("#1c1c1c", "#f0f0f0"),
    ("#ffffff", "#14181c"),
    ("#dddddd", "#3a4046"),
    ("#666666", "#a8a8a8"),
)
_CHARACTER, _BOLD, _LEADING, _ROW, _LEGEND_GAP, _EDGE = 6.6, 7.6, 16, 22, 11, 10
_LABELS = 0.42
_MOST_LINES = 4
_PARTS, _MORE_PARTS = 5, 9


class Figure(str):
    """SVG text; a notebook shows it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file and return its path.

        Raises:
            PolicyError: RR250 if the file's name has another suffix.
        """
        target = svg_file(Path(path))
        target.write_text(self, encoding="utf-8")
        return target


def svg_file(path: Path) -> Path:
    """Return a path that a figure may be written to.

    Raises:
        PolicyError: RR250 if its name has another suffix.
    """
    if path.suffix.lower() != ".svg":
        hint = (
            "browsers and word processors show SVG directly; Altair, by `to_altair()` in Python, writes other formats"
        )
        raise PolicyError(
            Problem("RR250", f"plots are drawn as SVG alone, not into '{path.name}'", None, "FILE.svg", hint)
        )
    return path


def svg(chart: Chart, width: int = WIDTH) -> Figure:
    """Draw a chart.

    The width is in pixels; text keeps its size.
    """
    width = max(width, NARROWEST)
    sheet = _Sheet(width - 2 * _EDGE)
    sheet.text(chart.title, "t", _BOLD)
    sheet.text(chart.subtitle, "s")
    if chart.series:
        sheet.legend(chart.series)
    marks = [m for panel in chart.panels for m in panel.marks]
    longest = max((max(_CHARACTER * _text_width(m.name), _BOLD * _text_width(m.heading)) for m in marks), default=0.0)
    left = math.ceil(min(longest + 8, _LABELS * sheet.width))
    for panel in chart.panels:
        _draw_panel(sheet, chart, panel, left)
    for note in chart.notes:
        sheet.text(note, "s")
    height = math.ceil(sheet.y) + _EDGE
    return Figure(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rrpolicy" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" style="max-width:100%;height:auto"><title>{escape(chart.title)}</title>'
        f"<desc>{escape(chart.found)}</desc><style>{_style()}</style>"
        f'<rect class="b" width="{width}" height="{height}"/>'
        f'<g transform="translate({_EDGE} {_EDGE})">{"".join(sheet.parts)}</g></svg>'
    )


def inline_interval(mark: IntervalMark, scale: Scale, line: ChartReferenceLine | None, ends: str) -> str:
    """Return one interval in a line of text, in the colour of the text, without its numbers."""
    wide, y = 140, 8
    place = _AxisPosition(scale, 6, wide - 12)
    parts = [
        f'<svg width="{wide}" height="16" viewBox="0 0 {wide} 16" aria-hidden="true" style="vertical-align:middle">'
    ]
    compared = line.at if line else 0.0
    if scale.holds(compared):
        x = place.at(compared)
        parts.append(f'<path d="M{x} 0v16" stroke="currentColor" stroke-opacity=".35" fill="none"/>')
    paint = 'stroke="currentColor" stroke-width="2" fill="none"'
    parts += [f'<path d="{bar}" {paint}/>' for bar in _interval_paths(mark, place, y, ends)]
    if math.isfinite(mark.estimate):
        fill = "none" if mark.hollow(scale) else "currentColor"
        parts.append(f'<circle cx="{place.at(mark.estimate)}" cy="{y}" r="3.5" stroke="currentColor" fill="{fill}"/>')
    return "".join([*parts, "</svg>"])


class _Sheet:
    """A drawing that grows downwards."""

    def __init__(self, width: float) -> None:
        self.width, self.y = width, 0.0
        self.parts: list[str] = []

    def text(self, said: str, kind: str, character: float = _CHARACTER) -> None:
        """Write text on as many lines as it needs."""
        for line in _wrap_text(said, self.width / character) if said else ():
            self.y += _LEADING
            self.parts.append(f'<text class="{kind}" x="0" y="{self.y - 4}">{escape(line)}</text>')

    def legend(self, series: Sequence[str]) -> None:
        """Show the shapes of marks with their names."""
        x, self.y = 6.0, self.y + 18
        for i, name in enumerate(series):
            long = 28 + _CHARACTER * _text_width(name)
            if x > 6 and x + long > self.width:  # noqa: PLR2004 - where a line begins
                x, self.y = 6.0, self.y + 18
            self.parts.append(SERIES_STYLES[i].svg.format(c=f"p c{i}", x=x, y=self.y - 8))
            self.parts.append(f'<text x="{x + 10}" y="{self.y - 4}">{escape(name)}</text>')
            x += long


class _AxisPosition(Struct, frozen=True):
    scale: Scale
    left: float
    wide: float

    def at(self, value: float) -> str:
        return f"{self.left + self.wide * self.scale.at(value):.1f}"


def _draw_panel(sheet: _Sheet, chart: Chart, panel: Panel, left: int) -> None:
    sheet.y += 8
    sheet.text(panel.title, "h", _BOLD)
    ticks = _ticks(panel.scale, sheet.width - left)
    overhang = _CHARACTER * _text_width(tick_label(ticks[-1])) / 2 if ticks else 0.0
    place = _AxisPosition(panel.scale, left + 4, sheet.width - left - 4 - max(overhang, 6))
    sheet.y += _LEADING
    grid, top = len(sheet.parts), sheet.y + 2
    for tick in ticks:
        text = escape(tick_label(tick))
        sheet.parts.append(f'<text class="s" x="{place.at(tick)}" y="{sheet.y - 4}" text-anchor="middle">{text}</text>')
    for heading, under in groupby(panel.marks, key=lambda m: m.heading):
        sheet.y += 4 if heading else 0
        sheet.text(heading, "h", _BOLD)
        for name, marks in groupby(under, key=lambda m: m.name):
            _draw_row(sheet, chart, place, name, list(marks))
    lines = [f'<path class="g" d="M{place.at(tick)} {top}V{sheet.y}"/>' for tick in ticks]
    compared = panel.line.at if panel.line else 0.0 if panel.scale.low < 0 < panel.scale.high else None
    if compared is not None and panel.scale.holds(compared):
        x = place.at(compared)
        lines.append(f'<path class="n" d="M{x} {top}V{sheet.y + 2}"/>')
        if panel.line:
            _draw_line_label(sheet, str(panel.line), float(x))
    sheet.parts[grid:grid] = lines


def _draw_line_label(sheet: _Sheet, said: str, x: float) -> None:
    """Write the label of a line at its foot, inside the drawing."""
    half = _CHARACTER * _text_width(said) / 2
    if 4 * half > sheet.width:
        sheet.text(said, "s")
        return
    sheet.y += _LEADING
    side = "end" if x + half > sheet.width else "start" if x < half else "middle"
    sheet.parts.append(f'<text class="s" x="{x}" y="{sheet.y - 3}" text-anchor="{side}">{escape(said)}</text>')


def _ticks(scale: Scale, room: float) -> tuple[float, ...]:
    """Return the largest number of grid lines whose labels do not overlap."""
    for most in range(_MORE_PARTS if scale.factors else _PARTS, 1, -1):
        ticks = scale.ticks(most)
        widest = max((_text_width(tick_label(t)) for t in ticks), default=0.0) * _CHARACTER + 8
        places = [(room - widest / 2) * scale.at(t) for t in ticks]
        if all(b - a >= widest for a, b in pairwise(places)):
            return ticks
    return scale.ticks(1)[:1]


def _draw_row(sheet: _Sheet, chart: Chart, place: _AxisPosition, name: str, marks: Sequence[IntervalMark]) -> None:
    label = _wrap_text(name, (place.left - 8) / _CHARACTER)
    height = max(_ROW + _LEGEND_GAP * (len(marks) - 1), _LEADING * len(label) + 4)
    middle = sheet.y + height / 2
    first = middle - _LEADING * (len(label) - 1) / 2 + 4
    sheet.parts += [f'<text x="0" y="{first + _LEADING * i:g}">{escape(line)}</text>' for i, line in enumerate(label)]
    for i, mark in enumerate(marks):
        y = middle + _LEGEND_GAP * (i - (len(marks) - 1) / 2)
        shape = chart.series.index(mark.series) if mark.series in chart.series else 0
        sheet.parts.append(f"<g><title>{escape(mark.told)}</title>{_mark_svg(mark, place, y, shape, chart.ends)}</g>")
    sheet.y += height


def _mark_svg(mark: IntervalMark, place: _AxisPosition, y: float, shape: int, ends: str) -> str:
    if math.isnan(mark.estimate):
        text = f'<text class="s" x="{place.left}" y="{y + 4:g}">{NOT_ESTIMABLE}</text>' if not mark.has_ends else ""
    else:
        kind = "o" if mark.hollow(place.scale) else "p"
        text = SERIES_STYLES[shape].svg.format(c=f"{kind} c{shape}", x=place.at(mark.estimate), y=f"{y:g}")
    return "".join(f'<path class="i c{shape}" d="{bar}"/>' for bar in _interval_paths(mark, place, y, ends)) + text


def _interval_paths(mark: IntervalMark, place: _AxisPosition, y: float, ends: str) -> list[str]:
    """Return the lines of an interval: certain bounds end in caps, bounds beyond the axis in an arrow."""
    bar = mark.bar(place.scale)
    if bar is None:
        return []
    low, high = place.at(bar.low), place.at(bar.high)
    paths = [f"M{low} {y:g}H{high}"]
    for x, beyond, way in ((low, bar.open_low, 5), (high, bar.open_high, -5)):
        if beyond:
            paths.append(f"M{x} {y:g}l{way} -4m{-way} 4l{way} 4")
        elif ends == "certain":
            paths.append(f"M{x} {y - 4:g}v8")
    return paths


def _text_width(text: str) -> float:
    """Return the width of a text in average characters."""
    return sum(2.0 if unicodedata.east_asian_width(c) in "WF" else 1.6 if c in "mwMW@%" else 1.0 for c in text)


def _wrap_text(text: str, most: float) -> list[str]:
    """Return text on lines of at most so many characters, broken between words where possible."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if _text_width(joined) <= most:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if _text_width(lines[-1] + character) > most:
                lines.append("")
            lines[-1] += character
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][:-1]}…"]


def _style() -> str:
    def paints(dark: int) -> str:
        colours = enumerate(style.dark if dark else style.light for style in SERIES_STYLES)
        own = "".join(f".rrpolicy .p.c{i}{{fill:{c}}}.rrpolicy .c{i}{{stroke:{c}}}" for i, c in colours)
        return (
            f".rrpolicy text{{fill:{_INK[dark]}}}.rrpolicy .s{{fill:{_GREY[dark]}}}.rrpolicy .b{{fill:{_PAPER[dark]}}}"
            f".rrpolicy .g{{stroke:{_FAINT[dark]}}}.rrpolicy .n{{stroke:{_GREY[dark]}}}{own}"
        )

    fixed = (
        ".rrpolicy text{font:12px system-ui,sans-serif}.rrpolicy .t{font-size:13px;font-weight:600}.rrpolicy .h"
        "{font-weight:600}.rrpolicy path,.rrpolicy .o{fill:none}.rrpolicy .i{stroke-width:2}"
    )
    return f"{fixed}{paints(0)}@media(prefers-color-scheme:dark){{{paints(1)}}}"
