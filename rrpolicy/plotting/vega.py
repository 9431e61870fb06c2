"""Charts as Vega-Lite, by Altair: the same marks, limits and names as in the SVG."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Any

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.numbers import tick_label
from rrpolicy.plotting.chart import Chart, IntervalMark, Panel
from rrpolicy.plotting.svg import COLOURS
from rrpolicy.plugin_errors.distributions import install

if TYPE_CHECKING:
    import altair as alt

_SHAPES = ("circle", "square", "diamond", "triangle-up")
_STEP, _LEGEND_WIDTH, _WIDTH = 22, 13, 360


def vega_lite(chart: Chart) -> alt.VConcatChart:
    """Return a chart of Altair with the numbers of the plot.

    Raises:
        PolicyError: RR580 if Altair is not installed.
    """
    try:
        import altair as alt
    except ImportError as error:
        hint = f"{install('altair')}; or use plot(), which needs nothing"
        raise PolicyError(Problem("RR580", "Altair is not installed", hint=hint)) from error
    title = alt.TitleParams(text=chart.title, subtitle=[chart.subtitle, *chart.notes], anchor="start")
    panels = [_panel(alt, chart, panel) for panel in chart.panels]
    return alt.vconcat(*panels, title=title, description=chart.found)


def _panel(alt: Any, chart: Chart, panel: Panel) -> Any:
    names, rows = _rows(panel)
    scale = alt.Scale(domain=[panel.scale.low, panel.scale.high], nice=False, zero=False, clamp=True)
    if panel.scale.factors:
        scale.type = "log"
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=400, ticks=False, grid=False)),
        color=_colour(alt, chart),
        tooltip=[alt.Tooltip("told:N", title="estimate")],
    )
    if chart.series:
        base = base.encode(yOffset=alt.YOffset("series:N", sort=list(chart.series)))
    x = alt.X("from:Q", scale=scale, title=None)
    bars = base.transform_filter("isValid(datum.from)").mark_rule(strokeWidth=2).encode(x=x, x2="to:Q")
    layers = [bars]
    if chart.ends == "certain":
        caps = base.transform_filter("isValid(datum.from)").mark_tick(thickness=2, size=8)
        layers += [caps.encode(x=x), caps.encode(x=alt.X("to:Q", scale=scale, title=None))]
    for end, at, turned in (("open_low", "from", 270), ("open_high", "to", 90)):
        arrows = base.transform_filter(f"datum.{end}").mark_point(
            shape="triangle", angle=turned, filled=True, size=40, opacity=1
        )
        layers.append(arrows.encode(x=alt.X(f"{at}:Q", scale=scale, title=None)))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=[*chart.series], range=[*_SHAPES[: len(chart.series)]]))
    dots = base.transform_filter("isValid(datum.estimate)").mark_point(size=60, opacity=1)
    dots = dots.encode(
        x=alt.X("estimate:Q", scale=scale, title=None),
        fill=_colour(alt, chart),
        fillOpacity=alt.FillOpacity("filled:Q", scale=None),
        shape=shape if chart.series else alt.value("circle"),
    )
    nothing = base.transform_filter("datum.nothing").mark_text(align="left", text="not estimable")
    layers += [dots, nothing.encode(x=alt.value(2), color=alt.value("#666666"))]
    if panel.line is not None:
        line = alt.Chart(alt.Data(values=[{"at": panel.line.at, "line": panel.line.name}]))
        rule = line.mark_rule(color="#666666", strokeDash=[3, 3])
        layers.insert(0, rule.encode(x=alt.X("at:Q", scale=scale, title=None), tooltip=alt.Tooltip("line:N")))
    named = f"line at {tick_label(panel.line.at)}: {panel.line.name}" if panel.line else ""
    title = alt.TitleParams(text="; ".join(filter(None, (panel.title, named))), anchor="start", fontSize=12)
    return alt.layer(*layers, title=title, height=alt.Step(_LEGEND_WIDTH if chart.series else _STEP), width=_WIDTH)


def _colour(alt: Any, chart: Chart) -> Any:
    light = [pair[0] for pair in COLOURS]
    if not chart.series:
        return alt.value(light[0])
    domain = [*chart.series]
    return alt.Color("series:N", title=None, scale=alt.Scale(domain=domain, range=light[: len(domain)]))


def _rows(panel: Panel) -> tuple[list[str], list[dict[str, object]]]:
    """Return the unique names of the lines, and the numbers of the marks; lines with equal names are numbered."""
    names: list[str] = []
    rows = []
    known: dict[str, list[str]] = {}
    for mark in panel.marks:
        plain = f"{mark.heading}, {mark.name}" if mark.heading else mark.name
        taken = known.setdefault(plain, [])
        if mark.series in taken:
            plain = next(p for i in count(2) if (p := f"{plain} ({i})") not in names)
        taken.append(mark.series)
        names += [] if plain in names else [plain]
        rows.append({"name": plain, **_numbers(mark, panel)})
    return names, rows


def _numbers(mark: IntervalMark, panel: Panel) -> dict[str, object]:
    def known(value: float) -> float | None:
        return value if math.isfinite(value) else None

    scale = panel.scale
    low, high = mark.low, mark.high
    drawn = mark.has_ends and low < high
    return {
        "series": mark.series,
        "estimate": known(mark.estimate),
        "low": known(low),
        "high": known(high),
        "told": mark.told,
        "from": max(low, scale.low) if drawn else None,
        "to": min(high, scale.high) if drawn else None,
        "open_low": drawn and not scale.holds(low),
        "open_high": drawn and not scale.holds(high),
        "filled": int(not mark.outside and scale.holds(mark.estimate)),
        "nothing": math.isnan(mark.estimate) and not mark.has_ends,
    }
