"""Results as HTML for notebooks: plain tables in the notebook's colours, intervals drawn next to their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

from rrpolicy.estimate.results.chart_layout import PlottedQuantity, plot_axis
from rrpolicy.estimate.results.text import is_spread, layout_result
from rrpolicy.numbers import plain_number, tick_label
from rrpolicy.plotting.svg import inline_interval

if TYPE_CHECKING:
    from rrpolicy.estimate.results.result import Result

_ROOM, _LONG, _HIGH = "overflow:auto", 40, ";max-height:60em"
_TEXT, _CELL, _WHOLE = "max-width:48em", "padding:.1em .5em;vertical-align:top", ";white-space:nowrap"


def html(found: Result) -> str:
    """Return a result as a table, with a column in which its intervals are drawn."""
    made = layout_result(found)
    names, *lines = made.rows
    pictures = {} if found.exact else {part.name: _intervals(found, part.name) for part in found.quantities}

    sides = ["left" if left else "right" for left in made.left]

    def row(place: int, cells: Sequence[str], kind: Callable[[str, str], str]) -> str:
        told = []
        for cell, side, quantity in zip(cells, sides, made.after, strict=True):
            told.append(kind(cell, side))
            if quantity in pictures:
                told.append(pictures[quantity][place])
        return f"<tr>{''.join(told)}</tr>"

    body = "".join(row(i, cells, _td) for i, cells in enumerate(lines, 1))
    return fragment(made.head, f"<thead>{row(0, names, _th)}</thead><tbody>{body}</tbody>", made.foot)


def fragment(head: Sequence[str], table: str, foot: Sequence[str]) -> str:
    """Return lines of text, a table that scrolls by itself, and more lines."""
    named, *more = map(escape, head)
    style = _ROOM + (_HIGH if table.count("<tr>") > _LONG else "")
    scrolls = f'<div style="{style}" tabindex="0" role="group" aria-label="{named}"><table>{table}</table></div>'
    above = "<br>".join((f"<strong>{named}</strong>", *more))
    below = f'<p style="{_TEXT}">{"<br>".join(map(escape, foot))}</p>' if foot else ""
    return f'<div><p style="{_TEXT}">{above}</p>{scrolls if table else ""}{below}</div>'


def rows(names: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Return a table of text, for `fragment`."""
    body = "".join(f"<tr>{''.join(_td(cell, 'left', '') for cell in row)}</tr>" for row in cells)
    return f"<thead><tr>{''.join(_th(name, 'left') for name in names)}</tr></thead><tbody>{body}</tbody>"


def _th(name: str, side: str) -> str:
    return f'<th scope="col" style="text-align:{side};{_CELL}{_WHOLE}">{escape(name)}</th>' if name else "<td></td>"


def _td(text: str, side: str, kept: str = _WHOLE) -> str:
    return f'<td style="text-align:{side};{_CELL}{kept}">{escape(text)}</td>'


def _intervals(found: Result, quantity: str) -> list[str]:
    """Return the head of a column of intervals, and its cells."""
    own = [d for d in found.plotted_quantities() if d.quantity.name == quantity]
    drawn = own or [PlottedQuantity(part) for part in found.quantities if part.name == quantity]
    made = [plot_axis(found, one) for one in drawn]
    ends = "certain" if is_spread(found) else "interval"
    cells = {row.place: inline_interval(row.mark, one.scale, one.line, ends) for one in made for row in one.rows}
    name = "each kind on its own axis"
    if len(made) == 1:
        name = " to ".join(tick_label(float(plain_number(end, 2))) for end in (made[0].scale.low, made[0].scale.high))
    return [_th(name, "center"), *(f'<td style="{_CELL}">{cells[place]}</td>' for place in sorted(cells))]
