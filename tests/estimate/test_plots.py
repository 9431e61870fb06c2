"""Plots show the numbers of their results: positions are read back from the grid lines, and so from Altair's chart."""

from __future__ import annotations

import json
import math
import re
import sys
from importlib import resources
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.results.chart_layout import chart
from rrpolicy.estimate.results.result import Result
from rrpolicy.frozen import replace
from rrpolicy.plotting.chart import Scale
from rrpolicy.plotting.svg import svg
from rrpolicy.plotting.vega import vega_lite

SEX, AGE, REGION = ("F", "M"), ("young", "middle", "old"), ("North", "South")
KINDS = {
    "counts": lambda r: r.crosstab("age"),
    "counts of the population": lambda r: r.crosstab(
        ["sex", "age"], "region = 'North'", target="population", level=0.9
    ),
    "negative counts": lambda r: r.crosstab(["sex", "age", "rare"]),
    "exact counts": lambda r: r.crosstab("region"),
    "maximum likelihood": lambda r: r.crosstab(["sex", "rare"], estimator="em"),
    "cube": lambda r: r.cube(["sex", "age"]),
    "changes": lambda r: r.change_since(r, ["sex", "age"]),
    "bounds": lambda r: r.crosstab(["region", "town"], spread=True),
    "no bounds": lambda r: r.crosstab("town", target="population", spread=True),
    "means": lambda r: r.mean("hours", ["sex"], target="population"),
    "association": lambda r: r.association("sex", "rare"),
    "not bounded": lambda r: r.association("sex", "rare", ["odds_ratio", "V"], "age = 'old'", level=0.9999),
    "rules": lambda r: r.rules(0.05, 0.3, ["sex", "age", "region"]),
    "no rules": lambda r: r.rules(1, 1, ["sex", "age"]),
    "loglinear": lambda r: r.loglinear("sex*age + region"),
    "query": lambda r: r.query("SELECT sex, age, count(*) AS n, avg(hours) AS h FROM release GROUP BY CUBE (sex, age)"),
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def release(publish: Any, made: Any) -> Any:
    rng = np.random.default_rng(21)
    n = 2500
    sex = rng.choice(2, n)
    rows: dict[str, list[Any]] = {
        "sex": [SEX[i] for i in sex],
        "age": rng.choice(AGE, n, p=[0.6, 0.3, 0.1]).tolist(),
        "rare": [("no", "yes")[int(v)] for v in rng.random(n) < np.where(sex == 0, 0.42, 0.32)],
        "region": rng.choice(REGION, n).tolist(),
        "town": rng.choice(["North", "South"], n).tolist(),
        "hours": rng.normal(38, 5, n).round(1).tolist(),
    }
    axes = [
        made.retention("sex", SEX, [((0, 1), "4/5")]),
        made.retention("age", AGE, [((0, 1, 2), "3/5")]),
        made.retention("rare", ("no", "yes"), [((0, 1), "3/4")]),
        made.identity("region", REGION),
        made.recoded("town", {"North": ["Aby"], "South": ["Bro", "Cove"]}),
    ]
    return open_release(publish(axes, rows, carried=[made.column("hours", (), "carried", "DOUBLE")]))


@pytest.fixture(params=list(KINDS))
def found(request: pytest.FixtureRequest, release: Any) -> Result:
    return KINDS[request.param](release)


def numbers(text: str) -> float:
    return float(text.replace(",", "").replace("\u2212", "-"))


def centre(element: ET.Element) -> tuple[float, float] | None:
    """Return where a mark stands: a circle, or a path that begins at its centre."""
    if element.tag == f"{SVG}circle":
        return float(element.attrib["cx"]), float(element.attrib["cy"])
    moved = re.match(r"M([\d.-]+) ([\d.-]+)m", element.attrib.get("d", ""))
    return (float(moved[1]), float(moved[2])) if moved and element.attrib["class"][0] in "po" else None


class Picture:
    """What can be read in an SVG: for each panel what its grid lines are called, and its marks with their bars."""

    def __init__(self, text: str) -> None:
        self.root = ET.fromstring(text)
        drawn = list(self.root.find(f"{SVG}g") or ())
        self.panels: list[tuple[list[tuple[float, float]], list[ET.Element]]] = []
        for element in drawn:
            middle = element.attrib.get("text-anchor") == "middle" and ":" not in (element.text or "")
            if middle and element.attrib.get("class") == "s":
                if not self.panels or self.panels[-1][1]:
                    self.panels.append(([], []))
                self.panels[-1][0].append((float(element.attrib["x"]), numbers(element.text or "")))
            elif element.tag == f"{SVG}g":
                self.panels[-1][1].append(element)


def test_marks_and_bars_stand_at_their_numbers(found: Result) -> None:
    shown = chart(found)
    picture = Picture(found.plot())

    assert len(picture.panels) == len(shown.panels)
    marks = [mark for panel in shown.panels for mark in panel.marks]
    assert sorted(str(m.estimate) for m in marks) == sorted(
        str(float(v))
        for d in found.plotted_quantities()
        for i, v in enumerate(d.quantity.estimate)
        if d.rows is None or i in d.rows
    )
    for (ticks, groups), panel in zip(picture.panels, shown.panels, strict=True):
        of = math.log if panel.scale.factors else float
        assert len(ticks) >= 2
        (x0, v0), (x1, v1) = ticks[0], ticks[-1]
        slope = (of(v1) - of(v0)) / (x1 - x0)
        precision = 0.15 * abs(slope)  # pixels are written with one decimal

        def at(x: float, x0: float = x0, v0: float = v0, slope: float = slope, of: Any = of) -> float:
            return of(v0) + (x - x0) * slope

        for x, value in ticks:
            assert at(x) == pytest.approx(of(value), abs=precision)
        assert len(groups) == len(panel.marks)
        for group, mark in zip(groups, panel.marks, strict=True):
            title, *parts = group
            assert title.text == mark.told
            dots = [c for c in map(centre, parts) if c]
            if math.isnan(mark.estimate):
                assert dots == []
                assert mark.has_ends or "not estimable" in "".join(group.itertext())
            elif panel.scale.holds(mark.estimate):
                assert at(dots[0][0]) == pytest.approx(of(mark.estimate), abs=precision)
            bar = next((m for p in parts if (m := re.match(r"M([\d.]+) [\d.]+H([\d.]+)", p.attrib.get("d", "")))), None)
            assert (bar is not None) == (mark.has_ends and mark.low < mark.high)
            for end, drawn in ((mark.low, bar and bar[1]), (mark.high, bar and bar[2])):
                if bar and panel.scale.holds(end):
                    assert at(float(drawn)) == pytest.approx(of(end), abs=precision)


def test_hollow_marks_arrows_and_caps_say_what_they_stand_for(release: Any) -> None:
    negative = KINDS["negative counts"](release)
    estimates, ends = negative.estimate.reshape(-1), negative.conf_int()
    outside = int(((estimates < ends[:, 0]) | (estimates > ends[:, 1])).sum())
    assert outside > 0
    assert len(re.findall('class="o c0"', negative.plot())) == outside
    assert "A hollow mark lies outside of its interval" in negative.plot(width=900)

    open_ended = KINDS["not bounded"](release)
    assert math.isinf(open_ended.conf_int()[0, 1])
    assert "An arrow: the interval goes on beyond the axis." in open_ended.plot()
    assert "An arrow" not in KINDS["counts"](release).plot()

    bounds = KINDS["bounds"](release)
    assert "certain bounds, not intervals" in bounds.plot(width=900)
    assert "95 %" not in bounds.plot()
    assert len(re.findall('class="i c0" d="M[0-9.]+ [0-9.]+v8"', bounds.plot())) == 2 * sum(
        low != high for low, high in bounds.conf_int()
    )
    exact = KINDS["exact counts"](release).plot()
    assert "Exact, of this table" in exact
    assert 'class="i' not in exact


def test_titles_have_names_and_the_description_states_the_finding(release: Any) -> None:
    def said(result: Result) -> tuple[str, str]:
        root = ET.fromstring(result.plot())
        return root.find(f"{SVG}title").text, root.find(f"{SVG}desc").text  # type: ignore[union-attr,return-value]

    title, desc = said(release.crosstab(["sex", "region"], "age = 'young'"))
    assert title == "Estimated counts by sex, region where age = 'young'"
    assert re.fullmatch(r"Of 4 the largest is \w, \w+: [\d.]+ \(.*\), the smallest .*; their intervals overlap\.", desc)
    *_, desc = said(release.crosstab("age"))
    assert re.fullmatch(r"Of 3 the largest is young: .*, the smallest old: .*; their intervals do not overlap\.", desc)

    title, desc = said(release.association("sex", "rare", "odds_ratio"))
    assert title == "Association of sex (row, present: M) and rare (column, present: yes)"
    assert re.fullmatch(r"odds_ratio: 0\.\d+ \(.* to .*\), which excludes independence \(1\)\.", desc)
    *_, desc = said(release.association("sex", "region", "odds_ratio"))
    assert "which includes independence (1)" in desc
    *_, desc = said(release.association("sex", "rare"))
    assert re.match(r"\d+ of 19 intervals exclude independence: phi, ", desc)

    *_, desc = said(release.change_since(release, "sex"))
    assert desc == "0 of 2 intervals exclude no change."
    *_, desc = said(release.crosstab("region"))
    assert re.fullmatch(r"Of 2 the largest is \w+: [\d,]+, the smallest \w+: [\d,]+\.", desc)
    *_, desc = said(release.rules(1, 1, ["sex", "age"]))
    assert desc == "There are no rows."
    *_, desc = said(release.crosstab(["town"], spread=True))
    assert "their bounds" in desc


def test_ratios_have_a_logarithmic_axis_with_a_line_at_1(release: Any) -> None:
    found = release.association("sex", "rare", ["odds_ratio", "interest"])
    (panel,) = chart(found).panels
    assert panel.scale.factors
    assert (panel.line.at, panel.line.name) == (1.0, "independence")
    assert panel.scale.at(2.0) - panel.scale.at(1.0) == pytest.approx(
        panel.scale.at(1.0) - panel.scale.at(0.5), abs=1e-9
    ) or (not panel.scale.holds(0.5) or not panel.scale.holds(2.0))
    assert ">1: independence</text>" in found.plot()
    kinds = chart(release.association("sex", "rare")).panels
    assert [p.line.at if p.line else None for p in kinds] == [0.0, 1.0, 0.0, None, 0.0, 0.0, 0.0]
    confidences = release.rules(0.05, 0.3, ["sex", "age"])
    assert ">0.3: the minimum confidence</text>" in confidences.plot(width=900)


def test_facets_share_an_axis_and_groups_share_lines(release: Any) -> None:
    table = release.crosstab(["sex", "age", "region"])
    faceted = chart(table, facet="region", group="sex")

    assert [p.title for p in faceted.panels] == ["region: North", "region: South"]
    assert faceted.panels[0].scale == faceted.panels[1].scale
    assert faceted.series == SEX
    for i, panel in enumerate(faceted.panels):
        assert [(m.name.rstrip(" *"), m.series) for m in panel.marks] == [(a, s) for a in AGE for s in SEX]
        expected = table.estimate[:, :, i].T.reshape(-1)
        assert [m.estimate for m in panel.marks] == expected.tolist()
    picture = table.plot(facet="region", group="sex")
    assert len(re.findall('<circle class="[po] c0"', picture)) == 3 * 2 + 1
    assert len(re.findall('<path class="[po] c1" d="M[0-9. ]+m-4 -4h8v8h-8z"', picture)) == 3 * 2 + 1

    plain = chart(table)
    assert [m.heading for m in plain.panels[0].marks][::2] == [f"sex: {s}, age: {a}" for s in SEX for a in AGE]
    totals = chart(release.cube(["sex", "age"])).panels
    assert [p.title.partition(";")[0] for p in totals] == ["all records", "by sex", "by age", "by sex, age"]
    together = chart(release.query("SELECT sex, age, count(*) AS n FROM release GROUP BY sex, age ORDER BY n DESC"))
    assert {m.heading for m in together.panels[0].marks} == {""}
    assert {m.name.rstrip(" *") for m in together.panels[0].marks} == {f"{s}, {a}" for s in SEX for a in AGE}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"facet": "town"}, "RR581", "'town'"),
        ({"group": "measure"}, "RR581", "'sex', 'age'"),
        ({"facet": "sex", "group": "sex"}, "RR581", "both"),
    ],
)
@pytest.mark.parametrize("method", ["plot", "to_altair"])
def test_columns_that_rows_are_not_of_are_refused(
    release: Any, arguments: Any, code: str, said: str, method: str
) -> None:
    with pytest.raises(PolicyError, match=code) as refused:
        getattr(release.crosstab(["sex", "age"]), method)(**arguments)
    assert said in f"{refused.value.problems[0].message} {refused.value.problems[0].expected}"


def test_more_categories_than_can_be_told_apart_are_refused(publish: Any, made: Any) -> None:
    axis = made.retention("a", tuple("abcde"), [((0, 1, 2, 3, 4), "3/5")])
    found = open_release(publish([axis], {"a": list("abcde") * 20})).crosstab("a")
    with pytest.raises(PolicyError, match="RR582"):
        found.plot(group="a")
    assert len(chart(found, facet="a").panels) == 5


def test_altair_draws_groups_on_one_line_and_numbers_equal_names(release: Any) -> None:
    table = release.crosstab(["sex", "age"])
    (spec,) = table.to_altair(group="sex").to_dict()["vconcat"]
    marks = [
        layer["encoding"] for layer in spec["layer"] if layer["mark"]["type"] == "point" and "fill" in layer["encoding"]
    ]
    assert marks[0]["yOffset"]["sort"] == [*SEX]
    assert marks[0]["color"]["scale"]["domain"] == marks[0]["shape"]["scale"]["domain"] == [*SEX]
    shown = chart(table)
    (panel,) = shown.panels
    twice = replace(shown, panels=(replace(panel, marks=(panel.marks[0], *panel.marks[:2], panel.marks[0])),))
    document = vega_lite(twice).to_dict()
    (drawn,) = document["vconcat"]
    every = [drawn.get("data", document.get("data", {})), *(layer.get("data", {}) for layer in drawn["layer"])]
    rows = next(data["values"] for data in every if "estimate" in data.get("values", [{}])[0])
    one, other = (f"{mark.heading}, {mark.name}" for mark in panel.marks[:2])
    assert [row["name"] for row in rows] == [one, f"{one} (2)", other, f"{one} (3)"]


def test_a_legend_goes_on_in_another_line_and_an_axis_has_a_number(release: Any) -> None:
    table = release.crosstab(["sex", "age"])
    shown = chart(table, group="sex")
    names = ("a name that is long " * 2, "another name that is long " * 2)
    panels = [
        replace(p, marks=tuple(replace(m, series=names[SEX.index(m.series)]) for m in p.marks)) for p in shown.panels
    ]
    long = replace(shown, series=names, panels=tuple(panels))
    places = [re.findall(rf'<text x="16.0" y="([0-9.]+)">{re.escape(name)}</text>', svg(long, 360)) for name in names]
    assert [len(found) for found in places] == [1, 1]
    assert float(places[1][0]) == float(places[0][0]) + 18


@pytest.mark.slow
def test_altair_holds_the_same_marks_limits_and_names(found: Result) -> None:
    document = found.to_altair().to_dict()
    shown = chart(found)
    schema = json.loads(
        resources.files("altair").joinpath("vegalite/v6/schema/vega-lite-schema.json").read_text("utf-8")
    )

    Draft7Validator(schema).validate(document)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["description"] == shown.found
    assert document["title"]["text"] == shown.title
    assert document["title"]["subtitle"] == [shown.subtitle, *shown.notes]
    assert len(document["vconcat"]) == len(shown.panels)
    for spec, panel in zip(document["vconcat"], shown.panels, strict=True):
        assert spec["title"]["text"].startswith(panel.title)
        assert panel.line is None or spec["title"]["text"].endswith(f": {panel.line.name}")
        above = spec.get("data", document.get("data", {}))
        values = [v for layer in spec["layer"] for v in layer.get("data", above).get("values", [])]
        rows = [v for v in values if "estimate" in v][: len(panel.marks)]
        assert len(rows) == len(panel.marks)
        for row, mark in zip(rows, panel.marks, strict=True):
            assert row["name"].endswith(mark.name) or row["name"].endswith(")")
            for key in ("estimate", "low", "high"):
                value = getattr(mark, key)
                assert row[key] == (value if math.isfinite(value) else None)
        scales = [
            layer["encoding"]["x"]["scale"] for layer in spec["layer"] if "scale" in layer["encoding"].get("x", {})
        ]
        assert scales
        for scale in scales:
            assert scale["domain"] == [panel.scale.low, panel.scale.high]
            assert scale.get("type") == ("log" if panel.scale.factors else None)
        lines = [v["at"] for v in values if "line" in v]
        assert lines == ([] if panel.line is None else [panel.line.at])


def test_without_altair_the_error_says_how_to_get_it(release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    found = release.crosstab("sex")
    with pytest.raises(PolicyError, match="RR580") as refused:
        found.to_altair()
    assert "pip install 'altair>=" in refused.value.problems[0].hint
    assert found.plot().startswith("<svg")


def test_notebooks_show_every_interval_beside_its_numbers(found: Result) -> None:
    page = found._repr_html_()
    cells = 0 if found.exact else sum(len(m.estimate) for m in found.quantities)
    assert page.count("<svg") == cells
    bars = sum(
        int((np.diff(np.nan_to_num(m.ends(found.level, found.target), posinf=9e99, neginf=-9e99)) > 0).sum())
        for m in found.quantities
        if not found.exact
    )
    assert len(re.findall(r'<path d="M[\d.]+ 8H', page)) == bars
    assert "<style" not in page
    assert " id=" not in page


def test_an_interval_without_an_estimate_has_the_decimals_that_it_needs(publish: Any, made: Any) -> None:
    axes = [made.retention(c, ("0", "1"), [((0, 1), "3/4")]) for c in "ab"]
    rows = {"a": ["0"] * 700 + ["1"] * 300, "b": ["0"] * 380 + ["1"] * 320 + ["0"] * 280 + ["1"] * 20}
    found = open_release(publish(axes, rows)).association("a", "b", "odds_ratio")
    high = found.conf_int()[0, 1]

    assert math.isnan(found.estimate[0])
    assert 0 < high < 1
    assert f"{high:.4f}"[:-1] in found.summary()
    assert f"not estimable (0.0000 to {high:.4f}" in found.plot()


def test_other_answers_are_tables_in_notebooks(release: Any) -> None:
    test = release.independence("sex", "rare")
    assert f">{test.statistic:.4g}</td>" in test._repr_html_()
    assert "in the population, which the table is a sample of</strong>" in test._repr_html_()
    held = release.what_holds()
    assert held._repr_html_().count("<tr>") == len(held.statements) + 1
    assert all(s.analysis in held._repr_html_().replace("&lt;", "<") for s in held.statements if "'" not in s.analysis)


@given(
    values=st.lists(st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-9), min_size=1, max_size=6),
    most=st.integers(2, 9),
)
def test_linear_axes_hold_their_numbers_and_have_round_ticks(values: list[float], most: int) -> None:
    scale = Scale.over(values)
    assert all(scale.holds(v) for v in values)
    assert all(0 <= scale.at(v) <= 1 for v in values)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= most + 1
    assert all(scale.low - 1e-9 * abs(scale.low) <= t <= scale.high + 1e-9 * abs(scale.high) for t in ticks)
    ranked = sorted(values)
    assert [scale.at(v) for v in ranked] == sorted(scale.at(v) for v in ranked)


@given(values=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6), most=st.integers(2, 9))
def test_logarithmic_axes_hold_their_numbers_and_1(values: list[float], most: int) -> None:
    scale = Scale.over(values, 1.0, factors=True)
    assert all(scale.holds(v) for v in [*values, 1.0])
    ticks = scale.ticks(most)
    assert ticks
    assert all(scale.holds(t * (1 + 1e-12)) or scale.holds(t * (1 - 1e-12)) for t in ticks)
    assert scale.at(0.0) == 0.0
    if scale.holds(4.0):
        assert scale.at(4.0) - scale.at(2.0) == pytest.approx(scale.at(2.0) - scale.at(1.0))
