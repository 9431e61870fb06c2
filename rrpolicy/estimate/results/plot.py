"""Dot-and-interval plots as SVG text, drawn by hand: no plotting library, readable in print and in the dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from rrpolicy.untrusted.printable import visible

Dot = tuple[float, float, float]
"""An estimate, and the ends of its interval; NaN where there is none, infinite where an end is not bounded."""

_ROW, _TOP, _WIDTH, _CHARACTER, _WIDEST = 22, 46, 420, 7, 44
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.t{font-weight:600}.g{stroke:#ddd}.i{stroke:#2a6f97;stroke-width:2}"
    ".p{fill:#2a6f97}@media(prefers-color-scheme:dark){text{fill:#eee}.g{stroke:#444}.i{stroke:#8ecae6}.p{fill:#8ecae6}}"
)


class Figure(str):
    """SVG text; a notebook shows it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> Path:
        """Write the figure to a file and return its path."""
        target = Path(path)
        target.write_text(self, encoding="utf-8")
        return target


def forest(names: Sequence[str], dots: Sequence[Dot], title: str) -> Figure:
    """Draw one line a name: a dot at the estimate, a bar over its interval.

    Args:
        names: of the lines, from the top.
        dots: of the lines; those without a finite estimate say "not estimable".
        title: stands above.
    """
    title = visible(title)
    finite = [v for dot in dots for v in dot if math.isfinite(v)] or [0.0]
    low, high = min(0.0, *finite), max(0.0, *finite)
    step = _step((high - low) or 1.0)
    first, last = math.floor(low / step + 1e-9), max(math.ceil(high / step - 1e-9), 1)
    labels = [_short(name) for name in names]
    left = 12 + _CHARACTER * max(map(len, labels), default=0)
    bottom = _TOP + _ROW * len(names)

    def at(value: float) -> str:
        # an end that is not bounded is drawn to the frame
        return f"{left + _WIDTH * (min(max(value / step, first), last) - first) / (last - first):.1f}"

    parts = [f'<text class="t" x="0" y="16">{escape(title)}</text>']
    for i in range(first, last + 1):
        x = at(i * step)
        parts.append(f'<line class="g" x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{bottom}"/>')
        parts.append(f'<text x="{x}" y="{_TOP - 12}" text-anchor="middle">{i * step:.6g}</text>')
    for row, (label, dot) in enumerate(zip(labels, dots, strict=True)):
        y = _TOP + _ROW * row + _ROW // 2
        parts.append(f'<text x="0" y="{y + 4}">{escape(label)}</text>')
        parts += _drawn(dot, y, at)
    width, height = left + _WIDTH + 24, bottom + 8
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return Figure(f'{head} role="img"><title>{escape(title)}</title><style>{_STYLE}</style>{"".join(parts)}</svg>')


def _drawn(dot: Dot, y: int, place: Callable[[float], str]) -> list[str]:
    estimate, low, high = dot
    if not math.isfinite(estimate):
        return [f'<text x="{place(0.0)}" y="{y + 4}">not estimable</text>']
    circle = f'<circle class="p" cx="{place(estimate)}" cy="{y}" r="4"/>'
    if math.isnan(low) or math.isnan(high):
        return [circle]
    return [f'<line class="i" x1="{place(low)}" x2="{place(high)}" y1="{y}" y2="{y}"/>', circle]


def _short(name: str) -> str:
    plain = visible(name)
    return plain if len(plain) <= _WIDEST else plain[: _WIDEST - 1] + "…"


def _step(span: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(span / 5))
    return next(s * magnitude for s in _STEPS if s * magnitude >= span / 5 * (1 - 1e-9))
