"""Plots of lines as SVG text: readable in print, in the dark, and without colours (each line has a mark and a dash)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from benchmarks.papers.result import Plot

LEFT, RIGHT, TOP, BOTTOM, WIDTH = 64, 420, 36, 276, 640
_COLOURS = (
    ("#2a6f97", "#8ecae6"),
    ("#b5502a", "#f4a261"),
    ("#3a7d44", "#95d5b2"),
    ("#7b3f9d", "#cdb4db"),
    ("#8a6d00", "#ffd166"),
    ("#555555", "#cccccc"),
    ("#a4133c", "#ff8fa3"),
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 2", "12 4")
_MARKS = (
    '<circle cx="{x}" cy="{y}" r="3.5"/>',
    '<path d="M{x} {y}m-4 3.5h8l-4 -7z"/>',
    '<path d="M{x} {y}m-3.5 -3.5h7v7h-7z"/>',
    '<path d="M{x} {y}m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>',
)


def svg(plot: Plot) -> str:
    """Draw a plot; the vertical axis begins at 0."""
    xs = sorted({x for _, points in plot.lines for x, _ in points})
    highest = max(y for _, points in plot.lines for _, y in points)
    step = _step(highest or 1.0)
    top = step * math.ceil((highest or 1.0) / step - 1e-9)
    spaced = _across(xs)

    def up(y: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * y / top

    parts = [f'<text class="t" x="8" y="18">{escape(plot.title)}</text>']
    for i in range(round(top / step) + 1):
        y = up(i * step)
        parts.append(f'<line class="g" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{i * step:.4g}</text>')
    parts += [
        f'<text x="{spaced(x):.1f}" y="{BOTTOM + 18}" text-anchor="middle">{x:.4g}</text>' for x in _few(xs, spaced)
    ]
    parts.append(
        f'<text x="{(LEFT + RIGHT) / 2:.0f}" y="{BOTTOM + 38}" text-anchor="middle">{escape(plot.across)}</text>'
    )
    middle = (TOP + BOTTOM) // 2
    parts.append(f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(plot.up)}</text>')
    for number, (name, points) in enumerate(plot.lines):
        parts += _line(number, name, [(spaced(x), up(y)) for x, y in points])
    told = f"{plot.up} by {plot.across}. The table beside it has the numbers. Lines: {', '.join(n for n, _ in plot.lines)}."
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {BOTTOM + 50}" width="{WIDTH}" height="{BOTTOM + 50}"'
    return (
        f'{head} role="img" aria-labelledby="title desc"><title id="title">{escape(plot.title)}</title>'
        f'<desc id="desc">{escape(told)}</desc><style>{_style()}</style>{"".join(parts)}</svg>\n'
    )


def _line(number: int, name: str, points: Sequence[tuple[float, float]]) -> list[str]:
    mark = _MARKS[number % len(_MARKS)]
    dash = _DASHES[number % len(_DASHES)]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    y = TOP + 10 + 22 * number
    parts = [f'<g class="c{number % len(_COLOURS)}">']
    parts.append(f'<polyline points="{drawn}" stroke-dasharray="{dash}"/>')
    parts += [mark.format(x=f"{x:.1f}", y=f"{y:.1f}") for x, y in points]
    parts.append(f'<polyline points="{RIGHT + 12},{y} {RIGHT + 38},{y}" stroke-dasharray="{dash}"/>')
    parts.append(mark.format(x=RIGHT + 25, y=y))
    parts.append(f'</g><text x="{RIGHT + 44}" y="{y + 4}">{escape(name)}</text>')
    return parts


def _across(xs: Sequence[float]) -> Callable[[float], float]:
    """Return where a number stands: by its logarithm where numbers spread over more than a factor of 20."""
    spread = xs[0] > 0 and xs[-1] / xs[0] > 20
    scale: Callable[[float], float] = math.log if spread else float
    low, high = scale(xs[0]), scale(xs[-1])
    return lambda x: LEFT + 14 + (RIGHT - LEFT - 28) * ((scale(x) - low) / (high - low) if high > low else 0.5)


def _few(xs: Sequence[float], place: Callable[[float], float]) -> list[float]:
    """Return numbers whose labels do not run into one another."""
    found: list[float] = []
    for x in xs:
        if not found or place(x) - place(found[-1]) >= 30:
            found.append(x)
    return found


def _step(span: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(span / 5))
    return next(s * magnitude for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * magnitude >= span / 5 * (1 - 1e-9))


def _style() -> str:
    def lines(dark: int) -> str:
        return "".join(f".c{i}{{stroke:{c[dark]};fill:{c[dark]}}}" for i, c in enumerate(_COLOURS))

    light = f"text{{font:12px system-ui,sans-serif;fill:#222}}.t{{font-weight:600}}.g{{stroke:#ddd}}polyline{{fill:none;stroke-width:1.8}}{lines(0)}"
    return f"{light}@media(prefers-color-scheme:dark){{text{{fill:#eee}}.g{{stroke:#444}}{lines(1)}}}"
