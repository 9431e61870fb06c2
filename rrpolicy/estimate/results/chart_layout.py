"""The drawn parts of a result, and their layout: the same for plots, for other libraries and for notebooks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.results import text
from rrpolicy.estimate.results.quantities import EstimatedQuantity
from rrpolicy.frozen import replace
from rrpolicy.numbers import tick_label
from rrpolicy.plotting.chart import SERIES_STYLES, Chart, ChartReferenceLine, Ends, IntervalMark, Panel, Scale

if TYPE_CHECKING:
    from rrpolicy.estimate.results.result import Result

OUTSIDE = "A hollow mark lies outside of its interval, as impossible estimates do: read the interval."
BEYOND = "An arrow: the interval goes on beyond the axis."
NO_MARK = "A bar without a mark: not estimable, but the interval is valid."
NOT_FROM_ZERO = "the axis does not begin at 0"
_NAMED = 3


class PlottedQuantity(Struct, frozen=True):
    """A quantity as it is drawn.

    Attributes:
        quantity: the quantity, for every row of the result.
        title: title in words; "" if the result's title is enough.
        rows: the drawn rows; None for all.
        line: the reference value of the estimates; None for none.
        factors: whether they compare by quotients.
    """

    quantity: EstimatedQuantity
    title: str = ""
    rows: tuple[int, ...] | None = None
    line: ChartReferenceLine | None = None
    factors: bool = False


class PlotRow(Struct, frozen=True):
    """A row as it is drawn: its position in the result, its group by column, and its mark."""

    place: int
    key: dict[str, str]
    mark: IntervalMark


class PlotAxis(Struct, frozen=True):
    """Rows that are compared with one another.

    Attributes:
        title: title in words; "" for no title.
        scale: the axis.
        line: the reference value of the estimates; None for none.
        rows: rows in order.
    """

    title: str
    scale: Scale
    line: ChartReferenceLine | None
    rows: tuple[PlotRow, ...]


def plot_axis(found: Result, drawn: PlottedQuantity) -> PlotAxis:
    """Return a quantity on one axis."""
    return _axis(visible(drawn.title), _rows(found, drawn), drawn)


def _axes(found: Result, drawn: PlottedQuantity) -> list[PlotAxis]:
    """Return the axes of a quantity: rows that sum over other columns have a separate axis."""
    levels: dict[tuple[str, ...], list[PlotRow]] = {}
    for row in _rows(found, drawn):
        levels.setdefault(tuple(row.key), []).append(row)
    made = []
    for names, own in levels.items():
        summed = f"by {', '.join(map(visible, names))}" if names else "all records"
        title = ": ".join(filter(None, (visible(drawn.title), summed if len(levels) > 1 else "")))
        made.append(_axis(title, own, drawn))
    return made


def _axis(title: str, rows: Sequence[PlotRow], drawn: PlottedQuantity) -> PlotAxis:
    numbers = [v for row in rows for v in (row.mark.estimate, row.mark.low, row.mark.high)]
    through = None if drawn.line is None else drawn.line.at
    return PlotAxis(title, Scale.over(numbers, through, factors=drawn.factors), drawn.line, tuple(rows))


def chart(found: Result, facet: str | None = None, group: str | None = None) -> Chart:
    """Return the plot of a result.

    `facet`: a column of its rows: each of its categories has a panel, all on the same axis. `group`: another one: its
    categories share a line, and are distinguished by shape and colour.

    Raises:
        PolicyError: RR581 if rows are not of such a column, RR582 if more categories would share a line than can be
            distinguished.
    """
    _refuse_unknown(found, facet, group)
    made = [one for drawn in found.plotted_quantities() for one in _axes(found, drawn)]
    series = tuple(dict.fromkeys(r.key[group] for one in made for r in one.rows if group in r.key)) if group else ()
    if len(series) > len(SERIES_STYLES):
        message = (
            f"{group!r} has {len(series)} categories, and at most {len(SERIES_STYLES)} can be distinguished on a line"
        )
        raise PolicyError(Problem("RR582", message, hint=f"facet={group!r} gives each of them a panel"))
    panels = tuple(panel for one in made for panel in _panels(one, facet, group))
    where = "" if found.where is None else f" where {visible(found.where)}"
    return Chart(
        title=visible(found.title) + where,
        subtitle=text.kind_of_ends(found),
        found=_describe_plot(found, made),
        panels=panels,
        ends=_ends(found),
        series=series,
        notes=(*_notes(panels), *(f"{sign} {flag}" for flag, sign in text.flag_signs(found).items())),
    )


def _refuse_unknown(found: Result, facet: str | None, group: str | None) -> None:
    names, _ = found.row_keys()
    for name in (facet, group):
        if name is not None and name not in names:
            message = f"the rows are not of a column {name!r}"
            raise PolicyError(Problem("RR581", message, expected=f"one of {', '.join(map(repr, names)) or 'none'}"))
    if facet is not None and facet == group:
        raise PolicyError(Problem("RR581", f"{facet!r} cannot be both `facet` and `group`", expected="two columns"))


def _rows(found: Result, drawn: PlottedQuantity) -> list[PlotRow]:
    names, keys = found.row_keys()
    quantity, signs = drawn.quantity, text.flag_signs(found)
    ends, told = quantity.ends(found.level, found.target), text.describe_estimates(found, quantity)
    rows = []
    for i in range(quantity.estimate.size) if drawn.rows is None else drawn.rows:
        key = {n: visible(str(v)) for n, v in zip(names, keys[i], strict=True) if v is not None}
        flags = " ".join(signs[f] for f in quantity.flags[i])
        said = f"{', '.join(key.values()) or 'all records'}: {told[i]}"
        low, high = map(float, ends[i])
        rows.append(PlotRow(i, key, IntervalMark("", "", "", float(quantity.estimate[i]), low, high, said, flags)))
    return rows


def _panels(own: PlotAxis, facet: str | None, group: str | None) -> list[Panel]:
    """Return an axis in panels, with the names of lines and the headings above them."""
    panels: dict[str, list[PlotRow]] = {}
    for row in own.rows:
        panels.setdefault(row.key.get(facet, "") if facet else "", []).append(row)
    made = []
    for category, rows in panels.items():
        named = f"{visible(facet)}: {category}" if facet and category else ""
        zero = "" if own.line or own.scale.holds(0.0) else NOT_FROM_ZERO
        title = "; ".join(filter(None, (", ".join(filter(None, (own.title, named))), zero)))
        marks = _lines(rows, [name for name in rows[0].key if name not in {facet, group}], group)
        made.append(Panel(title, own.scale, own.line, marks))
    return made


def _lines(rows: Sequence[PlotRow], names: Sequence[str], group: str | None) -> tuple[IntervalMark, ...]:
    """Return the marks of a panel, those of one line after the other, under headings where rows are in their order."""
    lines: dict[tuple[str, ...], list[PlotRow]] = {}
    for row in rows:
        lines.setdefault(tuple(row.key[name] for name in names), []).append(row)
    above = [line[:-1] for line in lines]
    runs = sum(a != b for a, b in itertools.pairwise(above)) + 1
    headed = runs == len(set(above)) < len(above)
    marks = []
    for line, own in lines.items():
        heading = ", ".join(f"{visible(n)}: {v}" for n, v in zip(names, line[:-1], strict=False)) if headed else ""
        name = (line[-1] if headed else ", ".join(line)) or "all records"
        flags = " ".join(dict.fromkeys(f for row in own for f in row.mark.flags.split()))
        series = [row.key.get(group, "") if group else "" for row in own]
        marks += [
            replace(row.mark, name=f"{name} {flags}".rstrip(), heading=heading, series=one)
            for row, one in zip(own, series, strict=True)
        ]
    return tuple(marks)


def _ends(found: Result) -> Ends:
    if text.is_spread(found):
        return "certain" if text.has_certain_bounds(found) else "none"
    if found.exact:
        return "certain" if text.is_labelled_count(found) else "none"
    return "interval"


def _notes(panels: Sequence[Panel]) -> list[str]:
    shown = [(panel, mark) for panel in panels for mark in panel.marks]
    told = {
        OUTSIDE: any(mark.outside for _, mark in shown),
        BEYOND: any(m.has_ends and not (p.scale.holds(m.low) and p.scale.holds(m.high)) for p, m in shown),
        NO_MARK: any(mark.has_ends and math.isnan(mark.estimate) for _, mark in shown),
    }
    return [note for note, holds in told.items() if holds]


def _describe_plot(found: Result, made: Sequence[PlotAxis]) -> str:
    """Return a description of the picture, in one sentence."""
    rows = [(one.line, row.mark) for one in made for row in one.rows]
    compared = [(line, mark) for line, mark in rows if line is not None and mark.has_ends]
    if compared and _ends(found) != "none":
        apart = [mark for line, mark in compared if not mark.low <= line.at <= mark.high]
        (line, first), kind = compared[0], "bounds" if _ends(found) == "certain" else "intervals"
        if len(compared) == 1:
            return f"{first.told}, which {'excludes' if apart else 'includes'} {line.name} ({tick_label(line.at)})."
        named = f": {', '.join(m.told.partition(': ')[0] for m in apart[:_NAMED])}" if apart else ""
        return (
            f"{len(apart)} of {len(compared)} {kind} exclude {line.name}{named}{', …' if len(apart) > _NAMED else ''}."
        )
    known = [row.mark for row in made[-1].rows if math.isfinite(row.mark.estimate)] if made else []
    if not known:
        return f"None of {len(rows)} rows can be estimated." if rows else "There are no rows."
    if len(known) == 1:
        return f"{known[0].told}."
    most, least = max(known, key=lambda m: m.estimate), min(known, key=lambda m: m.estimate)
    overlap = "overlap" if most.low <= least.high else "do not overlap"
    together = (
        f"; their {'bounds' if _ends(found) == 'certain' else 'intervals'} {overlap}" if _ends(found) != "none" else ""
    )
    return f"Of {len(known)} the largest is {most.told}, the smallest {least.told}{together}."
