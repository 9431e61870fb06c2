"""Plots and notebook tables in a browser: nothing overlaps or is cut off, at any width, light and dark; axe-core passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rrpolicy

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OVERLAPS = """() => [...document.querySelectorAll('svg.rrpolicy')].flatMap(svg => {
  const all = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  const frame = svg.getBoundingClientRect(), wrong = [];
  for (const [text, box] of all)
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
      wrong.push('cut off: ' + text);
  all.forEach(([text, a], i) => all.slice(i + 1).forEach(([other, b]) => {
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
      wrong.push(text + ' | ' + other);
  }));
  return wrong;
})"""

KINDS: dict[str, Callable[[Any], Any]] = {
    "counts": lambda r: r.crosstab(["sex", "disease"], target="population"),
    "cube": lambda r: r.cube(["sex", "region"]),
    "small counts": lambda r: r.crosstab(["age_group", "disease"], "region = 'Islands'"),
    "means": lambda r: r.mean("hours", ["sex", "region"]),
    "measures": lambda r: r.association("disease", "sex", present=(["depression"], ["female"])),
    "large table": lambda r: r.association("region", "disease", deflate=True),
    "rules": lambda r: r.rules(0.05, 0.5, ["sex", "region", "disease"]),
    "loglinear": lambda r: r.loglinear("sex + disease"),
    "changes": lambda r: r.change_since(r, ["sex", "region"]),
    "query": lambda r: r.query("SELECT sex, count(*) AS n, avg(hours) AS h FROM release GROUP BY ROLLUP (sex)"),
    "independence": lambda r: r.independence("sex", "disease"),
    "what holds": lambda r: r.what_holds(),
}


@pytest.fixture(scope="module")
def results(released: Callable[[str], Path]) -> dict[str, Any]:
    release = rrpolicy.open_release(released("pram"))
    sets = rrpolicy.open_release(released("sensitive-addition"))
    dealt = rrpolicy.open_release(released("anatomy"))
    return {
        **{name: make(release) for name, make in KINDS.items()},
        "sets": sets.crosstab("disease"),
        "bounds": dealt.crosstab(["sex", "income_band"], spread=True),
        "exact": dealt.crosstab("region"),
    }


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens pictures and tables in a page as wide as a notebook's cell."""
    contexts = []

    def show(parts: list[str], width: int, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        dark = "body{background:#14181c;color:#eee}" if scheme == "dark" else ""
        file = tmp_path / f"{len(contexts)}.html"
        head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Notebook</title><style>{dark}</style>'
        body = "".join(f"<div>{part}</div>" for part in parts)
        file.write_text(f"{head}<body><main><h1>Notebook</h1>{body}</main></body></html>", encoding="utf-8")
        page.goto(file.as_uri())
        return page

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [240, 480, 960])
def test_no_text_of_a_plot_is_cut_off_or_runs_into_another(results: Any, shown: Any, width: int) -> None:
    drawn = [result.plot(width=width) for result in results.values() if hasattr(result, "plot")]
    drawn.append(results["counts"].plot(group="sex", width=width))
    drawn.append(results["means"].plot(facet="sex", width=width))
    page = shown(drawn, width + 40)

    assert page.locator("svg.rrpolicy text").count() > 200
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width + 40


def test_long_and_wide_names_wrap(shown: Any) -> None:
    from rrpolicy.plotting.chart import (
        Chart,
        ChartReferenceLine,
        IntervalMark,
        Panel,
        Scale,
    )
    from rrpolicy.plotting.svg import svg

    names = ["日本語のとても長い分類の名前です" * 3, "w" * 90, "several words of a name that goes on and on " * 8, "x"]
    marks = tuple(IntervalMark(n, f"about {n}", "", v, v - 1, v + 1e9, n) for v, n in enumerate(names))
    line = ChartReferenceLine(0.0, "a line with a name that is longer than most")
    chart = Chart(
        "t " * 90, "s " * 120, "", (Panel("p " * 80, Scale.over([0.0, 1e9]), line, marks),), "interval", (), ()
    )
    page = shown([svg(chart, width) for width in (240, 480)], 520)

    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1000, "light")])
def test_axe_finds_nothing_in_plots_and_tables(
    results: Any, shown: Any, contrast: str, width: int, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    pictures = [result.plot() for result in results.values() if hasattr(result, "plot")]
    page = shown([*pictures, *(result._repr_html_() for result in results.values())], width, scheme)

    found = Axe().run(page)
    assert found.response["passes"]
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ratios = page.evaluate(contrast)
    assert {key: ratio for key, ratio in ratios.items() if ratio < 4.5 and key != "style."} == {}


def test_pictures_are_readable_on_any_page_and_name_themselves(results: Any, shown: Any) -> None:
    """A notebook with a light theme, on a machine that prefers the dark: the picture brings its own background."""
    page = shown([results["counts"].plot()], 600, "dark")
    page.add_style_tag(content="body{background:#fff!important}")
    fill = "e => getComputedStyle(e).fill"

    assert page.locator("svg rect.b").evaluate(fill) == "rgb(20, 24, 28)"
    assert page.locator("svg text.t").first.evaluate(fill) == "rgb(240, 240, 240)"
    assert page.get_by_role("img", name="Estimated counts by sex, disease").count() == 1
