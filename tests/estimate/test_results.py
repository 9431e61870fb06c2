"""Every kind of result has one shape: frame, plain data, CSV, text, HTML and picture show the same numbers."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.results.flags import MEANINGS
from rrpolicy.estimate.results.intervals import population_variance, table_variance
from rrpolicy.estimate.results.quantities import (
    SINGLE_QUANTITY_NAMES,
    EstimatedQuantity,
    ResultColumn,
    concatenate_quantities,
    key_columns,
)
from rrpolicy.estimate.results.result import Result
from rrpolicy.frozen import replace

SEX, AGE = ("F", "M"), ("young", "old")

KINDS: dict[str, Callable[[Any], Result]] = {
    "counts": lambda r: r.crosstab(["sex", "age"], "region = 'N'"),
    "counts of the population": lambda r: r.crosstab("sex", target="population", level=0.9),
    "one count": lambda r: r.crosstab(),
    "exact counts": lambda r: r.crosstab("region"),
    "maximum likelihood": lambda r: r.crosstab(["sex", "age"], estimator="em"),
    "people of the population": lambda r: r.with_design(strata="region").crosstab(["sex", "age"]),
    "weighted counts of this table": lambda r: r.with_design(weight="hours").crosstab("region", target="table"),
    "means of the population": lambda r: r.with_design(strata="region").mean("hours", ["sex"]),
    "cube": lambda r: r.cube(["sex", "age"]),
    "changes": lambda r: r.change_since(r, ["sex", "age"]),
    "comparison": lambda r: rrpolicy.compare_estimates([r, _other(r)], lambda one: one.crosstab(["sex", "age"])),
    "bounds": lambda r: r.crosstab(["region", "town"], spread=True),
    "bounds of a cube": lambda r: r.cube(["region", "town"], spread=True),
    "no bounds where values are exchanged": lambda r: r.crosstab(["sex", "town"], spread=True),
    "nothing certain of the population": lambda r: r.crosstab("town", target="population", spread=True),
    "means": lambda r: r.mean("hours", ["sex"], target="population"),
    "association": lambda r: r.association("sex", "age"),
    "association that is not bounded": lambda r: r.association("sex", "rare", level=0.999),
    "association of spread counts": lambda r: r.association("region", "town", spread=True),
    "rules": lambda r: r.rules(0.05, 0.3, ["sex", "age", "region"]),
    "rules that were named": lambda r: r.rule(["sex = F -> age = old", "region = N, age = old -> sex = M"]),
    "pairs of counts": lambda r: r.pairwise(lambda of: of.crosstab(["sex", "age"])),
    "pairs of shares and means": lambda r: r.pairwise(
        "SELECT sex, share() AS s, avg(hours) AS h FROM release GROUP BY sex"
    ),
    "pairs that are exact": lambda r: r.pairwise(lambda of: of.crosstab("region")),
    "no rules": lambda r: r.rules(1, 1, ["sex", "age"]),
    "no candidates": lambda r: r.rules(0.1, 0.1, ["sex"]),
    "loglinear": lambda r: r.loglinear("sex*age + region"),
    "regression": lambda r: r.glm("age ~ sex + region", "binomial", target="population"),
    "predictions": lambda r: r.glm("age ~ sex", "binomial").predict([{"sex": SEX[0]}]),
    "bootstrapped counts": lambda r: r.bootstrap(lambda of: of.crosstab("sex"), 50, 1),
    "shares": lambda r: r.shares("age", within="sex", part="region = 'N'"),
    "totals": lambda r: r.totals("hours", by="sex", target="population"),
    "query": lambda r: r.query(
        "SELECT sex, count(*) AS n, share() AS s, avg(hours) AS h, sum(hours) FROM release GROUP BY ROLLUP (sex)"
    ),
    "query without rows": lambda r: r.query("SELECT sex, count(*) FROM release GROUP BY sex LIMIT 0"),
}


@pytest.fixture
def release(publish: Any, made: Any) -> Any:
    rng = np.random.default_rng(10)
    n = 900
    rows: dict[str, list[Any]] = {
        "sex": rng.choice(SEX, n).tolist(),
        "age": rng.choice(AGE, n, p=[0.7, 0.3]).tolist(),
        "rare": rng.choice(["no", "yes"], n, p=[0.8, 0.2]).tolist(),
        "region": rng.choice(["N", "S"], n).tolist(),
        "town": rng.choice(["North", "South"], n).tolist(),
        "hours": rng.normal(38, 5, n).round(1).tolist(),
    }
    axes = [
        made.retention("sex", SEX, [((0, 1), "3/5")]),
        made.retention("age", AGE, [((0, 1), "4/5")]),
        made.retention("rare", ("no", "yes"), [((0, 1), "3/5")]),
        made.identity("region", ("N", "S")),
        made.recoded("town", {"North": ["Aby"], "South": ["Bro", "Cove"]}),
    ]
    return open_release(publish(axes, rows, carried=[made.column("hours", (), "carried", "DOUBLE")]))


def _other(release: Any) -> Any:
    """The same release under another label."""
    return replace(release, manifest=replace(release.manifest, release="another"))


@pytest.fixture(params=list(KINDS))
def found(request: pytest.FixtureRequest, release: Any) -> Result:
    return KINDS[request.param](release)


class Cells(HTMLParser):
    """The cells of a table by row, those that hold a drawing and their heads apart, and all other text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.around: list[str] = []
        self.inside = False
        self.drawn: set[int] = set()
        self.feed(text)
        self.heads = [[row[i] for i in sorted(self.drawn)] for row in self.rows[:1]]
        self.rows = [[cell for i, cell in enumerate(row) if i not in self.drawn] for row in self.rows]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.inside = True
            self.rows[-1].append("")
        if tag == "svg":
            self.drawn.add(len(self.rows[-1]) - 1)

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data
        else:
            self.around.append(data)


def is_same(a: Any, b: Any) -> bool:
    """Return whether two values are the same; None, NaN and infinity stand for no number where JSON has none."""
    if isinstance(a, float) and not math.isfinite(a):
        return b is None
    return bool(a == b)


def test_frame_and_plain_data_hold_the_same(found: Result) -> None:
    frame, document = found.to_frame(), found.to_dict()

    assert found.to_json() == document
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert {"schema", "where", "target", "level", "records", "notes", "rows", "not_bounded"} <= set(document)
    assert len(frame) == len(document["rows"]) == len(document["not_bounded"]) == len(found.labels())
    assert list(frame) == list(found.columns())
    for i, (row, lost) in enumerate(zip(document["rows"], document["not_bounded"], strict=True)):
        assert list(row) == list(frame)
        for name, value in row.items():
            if isinstance(value, list):
                assert frame[name][i] == "; ".join(value)
            elif not isinstance(value, dict):
                assert is_same(frame[name][i], value)
        infinite = [n for n, kind in frame.dtypes.items() if kind == "float64" and np.isinf(frame[n][i])]
        assert infinite == lost


def test_csv_holds_the_same(found: Result) -> None:
    rows = list(csv.reader(io.StringIO(found.to_csv())))
    columns = found.columns()

    assert rows[0] == list(columns)
    for i, row in enumerate(rows[1:]):
        for name, text in zip(columns, row, strict=True):
            value = columns[name][i]
            if isinstance(value, float) and not isinstance(value, bool):
                assert text == "" if math.isnan(value) else float(text) == value
            elif value is None:
                assert text == ""
    assert len(rows) - 1 == len(found.to_frame())


def test_text_and_html_show_the_same_numbers(found: Result) -> None:
    text, page = found.summary(), Cells(found._repr_html_())
    frame = found.to_frame()
    body = text.split("\n\n", 1)[1].splitlines()

    assert [line.split() for line in body[: len(frame) + 1]] == [" ".join(row).split() for row in page.rows]
    heading, notes = text.split("\n\n")[0].splitlines(), body[len(frame) + 1 :]
    assert page.around == [*heading, *notes]
    for m in found.quantities:
        header = next(
            j
            for j, name in enumerate(page.rows[0])
            if name == m.name or (m.names == SINGLE_QUANTITY_NAMES and name == "count")
        )
        for row, value in zip(page.rows[1:], m.estimate, strict=True):
            shown = row[header].replace(",", "")
            if math.isnan(value):
                assert shown == "-"
            else:
                decimals = len(shown.partition(".")[2])
                assert abs(float(shown) - value) <= 0.5 * 10**-decimals * (1 + 1e-9)


def test_every_flag_is_explained_below(found: Result) -> None:
    text = found.summary()

    for flag in {f for m in found.quantities for row in m.flags for f in row}:
        assert f"{flag}: {MEANINGS[flag]}" in text
    for note in found.notes:
        assert f"note: {note}" in text


def test_what_a_flag_means_is_said_once(found: Result) -> None:
    text = found.summary()

    assert [meaning for meaning in MEANINGS.values() if text.count(meaning) > 1] == []


def test_the_population_is_suggested_where_it_has_a_meaning_alone(release: Any, capsys: Any) -> None:
    for arguments, suggested in (
        (["--by", "sex"], True),
        (["--by", "town"], True),
        (["--by", "town", "--spread"], False),
    ):
        assert main(["estimate", str(release.folder), *arguments]) == 0
        printed = capsys.readouterr().out
        assert ("--population" in printed) == suggested
        assert "--format csv" in printed


def test_the_heading_names_what_is_spoken_of(found: Result) -> None:
    head = found.summary().splitlines()[:2]

    assert "population" in head[0] if found.target == "population" else "this table" in head[0]
    assert head[1].startswith("900 records; " if found.where is None else "of 900 records in the release, those that ")
    columns = found.summary().splitlines()[2 + found.summary().splitlines()[2:].index("") + 1]
    if found.exact or (found.biased and np.isnan(found.quantities[0].ends(0.95, found.target)).all()):
        assert "exact" in head[1] or "no interval" in head[1]
        assert "low" not in columns
    elif found.biased:
        assert "certain bounds" in head[1]
        assert "low, certain" in columns
        assert " se " not in columns
    else:
        assert "low" in columns
        assert "se" in columns


def test_every_kind_of_result_is_among_these(release: Any) -> None:
    def below(kind: type) -> set[type]:
        return {kind, *(k for s in kind.__subclasses__() for k in below(s))}

    made = {type(make(release)) for make in KINDS.values()}
    concrete = {k for k in below(Result) if not getattr(k, "__abstractmethods__", None)}
    names = {k.__name__ for k in concrete - made}
    assert names <= {"Estimates", "NumericEstimates"}  # what others are kinds of


def test_names_of_others_are_spelled_out_and_escaped(publish: Any, made: Any) -> None:
    odd = "<b>\u202e&\n"
    axis = made.retention(odd, ("<i>", "\u2066x"), [((0, 1), "3/5")])
    found = open_release(publish([axis], {odd: ["<i>", "\u2066x"] * 60})).crosstab(odd)
    page = found._repr_html_()

    assert "<b>" not in page
    assert "<i>" not in page
    for text in (page, found.summary(), found.plot(), found.plot(facet=odd), found.plot(group=odd)):
        assert not re.search("[\u202e\u2066]", text)
    for picture in (found.plot(), found.plot(facet=odd), found.plot(group=odd)):
        assert "<i>" not in picture
    assert not re.search("[\u202e\u2066]", json.dumps(found.to_altair().to_dict(), ensure_ascii=False))
    assert "&lt;b&gt;\\u202e&amp;\\n" in page
    assert odd in found.to_dict()["rows"][0]
    assert next(iter(found.to_frame())) == odd


def test_released_columns_that_are_called_as_those_of_results_stand_apart(publish: Any, made: Any) -> None:
    axes = [made.retention(name, SEX, [((0, 1), "3/5")]) for name in ("flags", "estimate", "marks", "estimator")]
    rows = {name: list("FM") * 60 for name in ("flags", "estimate", "marks", "estimator")}
    release = open_release(publish(axes, rows))

    counts = release.crosstab(["flags", "estimate", "marks", "estimator"])

    assert list(counts.to_frame())[:4] == ["flags (group)", "estimate (group)", "marks", "estimator"]
    assert [c.name for c in key_columns(("low", "low (group)"), [])] == ["low (group) (group)", "low (group)"]
    mean = release.query("SELECT flags, count(*) FROM release GROUP BY flags")
    assert list(mean.to_frame()) == ["flags", "estimate_", "se_", "low_", "high_", "flags_", "released_"]


def test_numbers_have_as_many_decimals_as_their_error_needs() -> None:
    class Made(Result):
        title = "Made"

        def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
            return (quantity,)

    def text(estimate: list[float], error: list[float]) -> list[list[str]]:
        nonlocal quantity
        ends = np.array([[-np.inf, np.nan]] * len(estimate))
        errors = {"table": np.array(error), "population": np.array(error)}
        quantity = EstimatedQuantity(
            SINGLE_QUANTITY_NAMES, np.array(estimate), errors, lambda _l, _t: ends, ((),) * len(estimate)
        )
        made = Made(where=None, target="table", level=0.95, records=10)
        return [line.split() for line in made.summary().split("\n\n")[1].splitlines()[1:]]

    quantity: Any = None
    assert text([6287.21, -0.04], [965.3, 12.0]) == [
        ["6,287.2", "965.3", "not", "bounded", "-"],
        ["0.0", "12.0", "not", "bounded", "-"],
    ]
    assert text([0.45], [0.00012])[0][:2] == ["0.45000", "0.00012"]
    assert text([3.21], [0.5])[0][:2] == ["3.210", "0.500"]
    assert text([np.nan], [np.nan])[0][:2] == ["-", "-"]


def test_bounds_are_certain_only_where_no_value_was_exchanged(release: Any) -> None:
    """A count by a randomised column lies where its errors put it: below the least and above the most released."""
    exact = release.crosstab(["region", "town"], spread=True).conf_int()
    assert (exact[:, 0] <= exact[:, 1]).all()
    for found in (
        release.crosstab(["sex", "town"], spread=True),
        release.crosstab("town", "sex = 'F'", spread=True),
    ):
        assert np.isnan(found.conf_int()).all()
        assert "with unknown error" in found.summary()


def test_parts_are_joined_and_picked() -> None:
    one = EstimatedQuantity(
        SINGLE_QUANTITY_NAMES,
        np.array([1.0, 2.0]),
        {"table": np.array([0.1, 0.2]), "population": np.array([0.3, 0.4])},
        lambda level, _target: np.array([[0.0, level], [1.0, 2.0]]),
        (("few records",), ()),
        np.array([3.0, 4.0]),
        whole=10,
    )
    both = concatenate_quantities([one, one.select([1, -1, 0], absent=0.0, flags=("spread",))])

    assert both.estimate.tolist() == [1, 2, 2, 0, 1]
    assert both.errors["population"].tolist() == [0.3, 0.4, 0.4, 0, 0.3]
    assert both.ends(0.5, "table").tolist() == [[0, 0.5], [1, 2], [1, 2], [0, 0], [0, 0.5]]
    assert both.flags == (("few records",), (), (), ("spread",), ("few records",))
    assert both.released is not None
    assert both.released.tolist() == [3, 4, 4, 0, 3]
    assert both.scaled(2.0).estimate.tolist() == [2, 4, 4, 0, 2]
    assert both.scaled(2.0).whole is None


def test_the_formula_of_variance() -> None:
    w = np.array([1.5, -0.5, 1.5, 1.5, -0.5])
    square, total = np.array([(w**2).sum(), 4.0, 1.0]), np.array([w.sum(), 5.0, 1.0 + 1e-12])
    population = population_variance(square, total, 5)
    table, stand_in = table_variance(square, total, population)

    assert population[0] == pytest.approx(5 * w.var(ddof=1), rel=1e-12)
    assert stand_in.tolist() == [False, True, False]
    assert table.tolist() == [pytest.approx((w**2 - w).sum()), population[1], 0.0]
