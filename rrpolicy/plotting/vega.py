"""Charts as Vega-Lite, by Altair: the same marks, limits and names as in the SVG."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Any

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.plotting.chart import NOT_ESTIMABLE, SERIES_STYLES, Chart, IntervalMark, Panel
from rrpolicy.plugin_errors.distributions import install

if TYPE_CHECKING:
    import altair as alt

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
    shapes = [style.vega for style in SERIES_STYLES[: len(chart.series)]]
    shape = alt.Shape("series:N", scale=alt.Scale(domain=[*chart.series], range=shapes))
    dots = base.transform_filter("isValid(datum.estimate)").mark_point(size=60, opacity=1)
    dots = dots.encode(
        x=alt.X("estimate:Q", scale=scale, title=None),
        fill=_colour(alt, chart),
        fillOpacity=alt.FillOpacity("filled:Q", scale=None),
        shape=shape if chart.series else alt.value("circle"),
    )
    nothing = base.transform_filter("datum.nothing").mark_text(align="left", text=NOT_ESTIMABLE)
    layers += [dots, nothing.encode(x=alt.value(2), color=alt.value("#666666"))]
    if panel.line is not None:
        line = alt.Chart(alt.Data(values=[{"at": panel.line.at, "line": panel.line.name}]))
        rule = line.mark_rule(color="#666666", strokeDash=[3, 3])
        layers.insert(0, rule.encode(x=alt.X("at:Q", scale=scale, title=None), tooltip=alt.Tooltip("line:N")))
    named = f"line at {panel.line}" if panel.line else ""
    title = alt.TitleParams(text="; ".join(filter(None, (panel.title, named))), anchor="start", fontSize=12)
    return alt.layer(*layers, title=title, height=alt.Step(_LEGEND_WIDTH if chart.series else _STEP), width=_WIDTH)


def _colour(alt: Any, chart: Chart) -> Any:
    light = [style.light for style in SERIES_STYLES]
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

    bar = mark.bar(panel.scale)
    return {
        "series": mark.series,
        "estimate": known(mark.estimate),
        "low": known(mark.low),
        "high": known(mark.high),
        "told": mark.told,
        "from": bar and bar.low,
        "to": bar and bar.high,
        "open_low": bar is not None and bar.open_low,
        "open_high": bar is not None and bar.open_high,
        "filled": int(not mark.hollow(panel.scale)),
        "nothing": math.isnan(mark.estimate) and not mark.has_ends,
    }
