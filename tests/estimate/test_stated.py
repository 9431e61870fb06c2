"""Means and totals of numbers stated for categories, and bounds of those of columns that were released in bins."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.frozen import replace
from rrpolicy.policy.model import intervals
from rrpolicy.testing import policy_text, write_csv

BINS = ["[0, 35)", "[35, 65)", "[65, inf)"]
MIDDLES = {"[0, 35)": 20, "[35, 65)": 50.0, "[65, inf)": 75}
HOURS = [*BINS, "unknown"]
PAIRS = list(itertools.combinations(range(4), 2))


def binned(axis):
    axis.columns[0]["kind"] = "interval"
    return axis


def uneven(made, name="age", labels=(*BINS, "unknown")):
    """Return bins that are exchanged by a matrix without symmetry."""
    rows = [["7/10", "1/10", "0", "1/5"], ["1/10", "3/5", "1/10", "0"], ["1/10", "1/5", "4/5", "1/5"],
            ["1/10", "1/10", "1/10", "3/5"]]  # fmt: skip
    return binned(made.matrix(name, labels, labels, rows))


def sets(made, name="age", labels=(*BINS, "unknown")):
    document = {"columns": [name], "labels": [[v] for v in labels], "set_size": 2}
    return made.Axis(made.decoder([name], "addition", document), (made.column(name, labels, "set", "VARCHAR[]"),), [])


def generalised(made, name, groups, original):
    document = {"columns": [name], "released": [list(groups)], "original": [original], "groups": [[*groups.values()]]}
    column = made.column(name, list(groups), "interval", "VARCHAR")
    return made.Axis(made.decoder([name], "recode", document) | {"unbiased": False}, (column,), [])


def refusal(question, *arguments, **keys):
    with pytest.raises(PolicyError) as caught:
        question(*arguments, **keys)
    return caught.value.problems[0]


@pytest.fixture
def survey(publish, made):
    rng = np.random.default_rng(20261123)
    axes = [
        made.retention("sex", ["F", "M"], [((0, 1), "4/5")]),
        uneven(made),
        binned(made.identity("income", [*BINS, "unknown"])),
    ]
    rows = {}
    for axis in axes:
        rows |= made.draw(axis, rng.integers(0, len(axis.P), 3000), rng)
    own = rng.integers(0, 4, 3000)
    others = (own + rng.integers(1, 4, 3000)) % 4
    rows["hours"] = [[HOURS[v] for v in sorted(pair)] for pair in zip(own, others, strict=True)]
    return rrpolicy.open_release(publish([*axes, sets(made, "hours", HOURS)], rows))


def totals_of(release, sql, **tables):
    row = release.query(sql, tables=tables).to_frame().iloc[0]
    return float(row["estimate"]), float(row["se"])


@pytest.mark.parametrize("form", ["matrix", "sets"])
def test_totals_of_stated_numbers_are_unbiased_and_so_is_their_variance(publish, made, form):
    """Every release of a table of two records, each with its probability."""
    own, y = (0, 2), [20.0, 50.0, 75.0, -4.0]
    labels = [*BINS, "unknown"]
    axis = uneven(made) if form == "matrix" else sets(made)
    cells = range(4) if form == "matrix" else PAIRS
    chance = axis.array if form == "matrix" else [[(v in pair) / 3 for v in range(4)] for pair in PAIRS]
    released: dict[tuple[int, ...], float] = {}
    for pair in itertools.product(range(len(list(cells))), repeat=2):
        key = tuple(sorted(pair))
        released[key] = released.get(key, 0.0) + math.prod(chance[u][v] for u, v in zip(pair, own, strict=True))
    assert sum(released.values()) == pytest.approx(1)
    table = {"code": labels, "y": y}
    expectation = square = variance = wrong = 0.0
    for i, (codes, probability) in enumerate(released.items()):
        if not probability:
            continue
        shown = [labels[u] if form == "matrix" else [labels[v] for v in PAIRS[u]] for u in codes]
        release = rrpolicy.open_release(publish([axis], {"age": shown}, name=f"r{i}"))
        if form == "matrix":
            total, se = totals_of(release, "SELECT sum(l.y) FROM release JOIN l ON release.age = l.code", l=table)
            wrong += probability * sum(y[u] for u in codes)
        else:
            found = release.mean("age", values=dict(zip(labels, y, strict=True)))
            total, se = 2 * float(found.estimate[0]), 2 * float(found.se()[0])
            wrong += probability * sum(y[v] for u in codes for v in PAIRS[u]) / 2
        expectation, square = expectation + probability * total, square + probability * total**2
        variance += probability * se**2
    truth = sum(y[v] for v in own)
    assert expectation == pytest.approx(truth, abs=1e-9)
    assert abs(wrong - truth) > 1  # released categories, uncorrected
    # an estimate of a variance that is negative has the population's in its place: that can only be larger
    assert variance >= square - expectation**2 - 1e-9


@pytest.mark.parametrize("column", ["age", "hours"])
def test_a_mean_of_stated_numbers_is_a_ratio_of_the_crosstab(survey, column):
    numbers = {"[0, 35)": 20, "[35, 65)": 50, "[65, inf)": 75}
    y, known = np.array([20.0, 50, 75, 0]), np.array([1.0, 1, 1, 0])
    table = survey.crosstab(["sex", column])
    n = table.estimate
    missing = refusal(survey.mean, column, "sex", values=numbers)
    assert (missing.code, "'unknown'" in missing.message) == ("RR532", True)
    found = survey.mean(column, "sex", values=numbers | {"unknown": None})
    R = n @ y / (n @ known)
    np.testing.assert_allclose(found.estimate, R, rtol=1e-9)
    np.testing.assert_allclose(found.sizes, n @ known, rtol=1e-9)
    for target in ("table", "population"):
        for k in (0, 1):
            gradient = np.zeros(n.shape)
            gradient[k] = (y - R[k]) * known / (n[k] @ known)
            flat = gradient.reshape(-1)
            assert found.se(target)[k] ** 2 == pytest.approx(flat @ table.covariance(target) @ flat, rel=1e-9)
    assert found.left_out == pytest.approx(1 - (n @ known).sum() / 3000)
    text = found.summary()
    assert "without 'unknown' (an estimated" in text
    assert f"estimates are of these numbers, not of {column!r} itself" in text


def test_sql_and_the_command_line_have_them_by_a_table(survey, tmp_path, capsys):
    numbers = tmp_path / "middles.csv"
    numbers.write_text("age,middle,lower\n" + "".join(f'"{v}",{n},{n - 10}\n' for v, n in MIDDLES.items()))
    sql = "SELECT sex, avg(m.middle) AS y, sum(m.middle) AS t FROM release JOIN m ON release.age = m.age GROUP BY sex"
    found = survey.query(sql, tables={"m": numbers})
    means = survey.mean("age", "sex", values={**MIDDLES, "unknown": None})

    np.testing.assert_allclose(found.estimate[:, 0], means.estimate, rtol=1e-9)
    np.testing.assert_allclose(found.se()[:, 0], means.se(), rtol=1e-9)
    np.testing.assert_allclose(found.estimate[:, 1], means.estimate * means.sizes, rtol=1e-9)
    assert any("not of 'age' itself" in note for note in found.notes)
    assert main(["estimate", "query", str(survey.folder), sql, "--table", f"m={numbers}", "--format", "csv"]) == 0
    first = capsys.readouterr().out.splitlines()[1].split(",")
    assert float(first[1]) == pytest.approx(means.estimate[0])


def test_a_condition_on_the_column_itself_leaves_categories_out(survey):
    for column in ("age", "income"):
        without = survey.mean(column, "sex", values={**MIDDLES, "[65, inf)": None, "unknown": None})
        found = survey.mean(column, "sex", f"{column} IN ('[0, 35)', '[35, 65)')", values={**MIDDLES, "unknown": 1000})
        np.testing.assert_allclose(found.estimate, without.estimate, rtol=1e-9)
        np.testing.assert_allclose(found.se(), without.se(), rtol=1e-9)
        np.testing.assert_allclose(found.conf_int(), without.conf_int(), rtol=1e-9)
        assert (found.categories, found.left_out) == ((), 0.0)
    nobody = survey.mean("age", where="age = 'unknown'", values={**MIDDLES, "unknown": None})
    assert np.isnan(nobody.estimate).all()
    assert nobody.estimator == ("not estimable",)


def test_numbers_of_a_column_that_has_numbers_may_be_others(publish, made):
    axis = made.retention("level", [1, 2, 9], [((0, 1, 2), "3/4")])
    release = rrpolicy.open_release(publish([axis], {"level": [1, 2, 2, 9]}))
    n = release.crosstab("level").estimate
    assert release.mean("level").estimate[0] == pytest.approx(n @ [1, 2, 9] / 4)
    assert release.mean("level", values={1: 10, 2: 20, 9: 0}).estimate[0] == pytest.approx(n @ [10, 20, 0] / 4)


@pytest.mark.parametrize(
    ("values", "code", "said"),
    [
        ({**MIDDLES, "[65, 99)": 80}, "RR265", "not a category"),
        ({"[0, 35)": 20, "unknown": None}, "RR532", "'[35, 65)', '[65, inf)'"),
        ({**MIDDLES, "unknown": math.nan}, "RR532", "nan"),
        ({**MIDDLES, "unknown": "5"}, "RR532", "'5'"),
        ({**MIDDLES, "unknown": True}, "RR532", "True"),
        ({**MIDDLES, "unknown": [1]}, "RR532", "[1]"),
        ({**MIDDLES, "unknown": 10**400}, "RR532", "not a finite number"),
        ({**MIDDLES, "[0, 35)": math.inf, "unknown": None}, "RR532", "inf"),
        (dict.fromkeys([*BINS, "unknown"]), "RR274", "not numbers"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(survey, values, code, said):
    problem = refusal(survey.mean, "age", values=values)
    assert (problem.code, said in problem.message) == (code, True)


@pytest.mark.parametrize(
    ("column", "limits", "said"),
    [
        ("sex", (0, None), "not released in bins"),
        ("age", (-5, None), "has an end below"),
        ("age", (None, 60), "go to 65 above"),
        ("age", (None, math.inf), "inf, which is not a finite number"),
        ("age", (None, "99"), "'99', which is not a finite number"),
    ],
)
def test_limits_that_do_not_fit_are_refused(survey, column, limits, said):
    problem = refusal(survey.mean, column, limits=limits)
    assert (problem.code, said in problem.message) == ("RR532", True)


def test_what_has_no_number_says_what_to_state(publish, made):
    axis = made.retention("town", ["north", "south"], [((0, 1), "4/5")])
    release = rrpolicy.open_release(publish([axis], {"town": ["north", "south"]}))
    for problem in (refusal(release.mean, "town"), refusal(release.query, "SELECT avg(town) FROM release")):
        assert problem.code == "RR274"
        assert "values={" in problem.hint
        assert "joins" in problem.hint
    named = binned(made.retention("age", ["young", "old"], [((0, 1), "4/5")]))
    other = rrpolicy.open_release(publish([named], {"age": ["young", "old"]}, name="named"))
    assert refusal(other.mean, "age").code == "RR274"
    dates = binned(made.identity("day", intervals(["2020-01-01", "2021-01-01", "2022-01-01"])))
    third = rrpolicy.open_release(publish([dates], {"day": [dates.columns[0]["labels"][0]]}, name="dates"))
    assert refusal(third.mean, "day").code == "RR274"


def test_bins_without_an_end_below_and_a_single_bin(publish, made):
    labels = list(intervals([-math.inf, 10, 20]))
    release = rrpolicy.open_release(
        publish([binned(made.identity("change", labels))], {"change": [labels[0], labels[1]]})
    )
    assert release.mean("change").conf_int().tolist() == [[-math.inf, 15]]
    assert release.mean("change", limits=(-6, None)).conf_int().tolist() == [[2, 15]]
    assert release.mean("change", where=f"change = '{labels[1]}'").conf_int().tolist() == [[10, 20]]
    assert np.isinf(release.mean("change", where=f"change = '{labels[1]}'").conf_int(target="population")).sum() == 0
    (alone,) = intervals([-math.inf, math.inf])
    other = rrpolicy.open_release(
        publish([binned(made.identity("change", [alone]))], {"change": [alone]}, name="single")
    )
    assert other.mean("change").conf_int().tolist() == [[-math.inf, math.inf]]
    one_end, none = "rules out no value on the other", "an interval that covers all possible values"
    for asked, said, unsaid in ((release, one_end, none), (other, none, one_end)):
        text = " ".join(asked.mean("change").summary().split())
        assert said in text
        assert unsaid not in text
    assert other.mean("change", limits=(-1, 3)).conf_int().tolist() == [[-1, 3]]
    assert "not bounded" in other.mean("change").summary()
    assert "not bounded" not in other.mean("change", limits=(-1, 3)).plot()


def test_generalised_bins_without_an_end_are_unbounded_where_they_may_be_meant(publish, made):
    labels = list(intervals([-math.inf, 10, 20, 40]))
    groups = {labels[0]: [0], labels[1]: [1], "below 20": [0, 1], labels[2]: [2]}
    axis = generalised(made, "change", groups, labels)
    shown = {"change": ["below 20", labels[2], labels[1], labels[2]], "sex": ["F", "F", "M", "M"]}
    release = rrpolicy.open_release(publish([axis, made.identity("sex", ["F", "M"])], shown))
    found = release.mean("change", "sex")
    assert found.conf_int().tolist() == [[-math.inf, 30], [15, 30]]
    assert found.flags == (("spread", "bins without an end"), ("spread",))


EDGES = [0, 10, 25, 60, math.inf]
LABELS = list(intervals(EDGES))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(st.tuples(st.sampled_from("FM"), st.integers(0, 4)), min_size=1, max_size=5),
    limit=st.sampled_from([None, 60, 99.5]),
)
def test_bounds_of_bins_as_released_are_those_of_all_tables(made, publish, records, limit, tmp_path_factory):
    """Values lie anywhere in their bins; of the last one, that has no end, anywhere above 60."""
    labels = [*LABELS, "unknown"]
    axes = [made.identity("sex", ["F", "M"]), binned(made.identity("age", labels))]
    rows = {"sex": [s for s, _ in records], "age": [labels[v] for _, v in records]}
    name = str(tmp_path_factory.mktemp("bins"))
    release = rrpolicy.open_release(publish(axes, rows, name=name))
    found = release.mean("age", "sex", limits=(None, limit))
    for key, (low, high), estimate, se in zip(found.keys, found.conf_int(), found.estimate, found.se(), strict=True):
        own = [v for s, v in records if s == key["sex"] and v < 4]
        if not own:
            assert np.isnan([estimate]).all()
            continue
        top = math.inf if limit is None else limit
        ends = [(EDGES[v], min(EDGES[v + 1], top)) for v in own]
        tables = [np.mean(table) for table in itertools.product(*ends)]
        assert (low, high) == pytest.approx((min(tables), max(tables)))
        if math.isinf(high):
            assert math.isnan(estimate)
        else:
            assert estimate == pytest.approx((low + high) / 2)
        assert (se == 0) if low == high else math.isnan(se)
    totals = release.query("SELECT sum(age) AS t FROM release").to_frame()
    own = [v for _, v in records if v < 4]
    assert float(totals["t_low"][0]) == sum(EDGES[v] for v in own)
    assert float(totals["t_high"][0]) == sum(EDGES[v + 1] for v in own)


def test_bins_as_released_have_bounds_that_are_certain(publish, made):
    axes = [made.retention("sex", ["F", "M"], [((0, 1), "4/5")]), binned(made.identity("age", LABELS[:3]))]
    rows = {"sex": ["F", "M", "M", "F"], "age": [LABELS[0], LABELS[1], LABELS[1], LABELS[2]]}
    release = rrpolicy.open_release(publish(axes, rows))
    found = release.mean("age")
    assert found.biased
    assert found.flags == (("spread",),)
    assert "certain bounds" in found.summary()
    assert "95 %" not in found.summary()
    assert "by their lower edges" in found.summary()
    assert found.conf_int(level=0.5).tolist() == found.conf_int(level=0.99).tolist() == [[45 / 4, 120 / 4]]
    # by a column that was exchanged they hold at the level alone, as the population's do
    for drawn in (release.mean("age", "sex"), release.mean("age", target="population")):
        assert drawn.flags[0][-1] == "middles of bins"
        assert drawn.biased
        assert "certain" not in drawn.summary()
        assert "from the 95 % interval by lower edges to that by upper edges" in drawn.summary()
        assert "low 95 %" in drawn.summary()
        assert np.isnan(drawn.se()).all()
    answer = release.query("SELECT sex, avg(age) AS y, count(*) AS n FROM release GROUP BY sex")
    assert "certain" not in answer.summary()
    assert any("by their lower edges" in note for note in answer.notes)
    assert refusal(release.pairwise, "SELECT sex, avg(age) FROM release GROUP BY sex").code == "RR288"
    assert refusal(release.bootstrap, lambda r: r.mean("age"), 60).code == "RR509"
    assert found.plot().startswith("<svg")
    assert "certain" not in release.mean("age", "sex").plot()


@pytest.mark.parametrize("column", ["age", "hours"])
def test_bounds_of_exchanged_bins_are_intervals_of_edges(survey, column):
    lower = survey.mean(column, "sex", values={"[0, 35)": 0, "[35, 65)": 35, "[65, inf)": 65, "unknown": None})
    upper = survey.mean(column, "sex", values={"[0, 35)": 35, "[35, 65)": 65, "[65, inf)": 99, "unknown": None})
    found = survey.mean(column, "sex", limits=(None, 99))
    for level, target in itertools.product((0.8, 0.95), ("table", "population")):
        ends = np.stack([lower.conf_int(level, target)[:, 0], upper.conf_int(level, target)[:, 1]], axis=1)
        np.testing.assert_allclose(found.conf_int(level, target), ends, rtol=1e-9)
    np.testing.assert_allclose(found.estimate, (lower.estimate + upper.estimate) / 2, rtol=1e-9)
    assert found.categories == ("unknown",)
    assert found.value == column
    unknown = survey.mean(column, "sex")
    assert np.isposinf(unknown.conf_int()[:, 1]).all()
    np.testing.assert_allclose(unknown.conf_int()[:, 0], lower.conf_int()[:, 0], rtol=1e-9)
    assert unknown.flags[0][-1] == "bins without an end"
    bounded = survey.mean("age", "sex", "age <> '[65, inf)'")
    assert np.isfinite(bounded.conf_int()).all()
    assert (bounded.conf_int()[:, 1] <= 65).all()


def test_generalised_bins_have_bounds_over_all_that_is_open(publish, made):
    """Every choice of a bin inside each label, and of a place inside each bin."""
    groups = {"[0, 10)": [0], "[0, 25)": [0, 1], "*": [0, 1, 2, 3]}
    axis = generalised(made, "age", groups, [*LABELS[:3], "unknown"])
    shown = ["[0, 10)", "[0, 25)", "[0, 25)", "*"]
    release = rrpolicy.open_release(
        publish([axis, made.identity("sex", ["F", "M"])], {"age": shown, "sex": list("FMMF")})
    )
    places = {0: (0, 10), 1: (10, 25), 2: (25, 60), 3: (None,)}

    def tables(labels):
        each = [[place for v in groups[label] for place in places[v]] for label in labels]
        kept = ([y for y in table if y is not None] for table in itertools.product(*each))
        return [np.mean(table) for table in kept if table]

    assert release.mean("age").conf_int().tolist() == [[min(tables(shown)), max(tables(shown))]]
    by_sex = release.mean("age", "sex").conf_int()
    for row, labels in zip(by_sex, (["[0, 10)", "*"], ["[0, 25)", "[0, 25)"]), strict=True):
        assert row.tolist() == [min(tables(labels)), max(tables(labels))]
    assert "certain" in release.mean("age").summary()
    # numbers for the labels that were released are numbers of a column that is as it was released
    by_label = release.mean("age", values={"[0, 10)": 5, "[0, 25)": 12, "*": None})
    assert (by_label.estimate[0], by_label.se()[0]) == (pytest.approx(29 / 3), 0)
    # those for the categories inside are bounded likewise
    inside = release.mean("age", values={"[0, 10)": 5, "[10, 25)": 15, "[25, 60)": 40, "unknown": None})
    assert inside.conf_int().tolist() == [[5.0, (5 + 15 + 15 + 40) / 4]]
    sql = "SELECT avg(l.y) FROM release JOIN l ON release.age = l.age"
    problem = refusal(release.query, sql, tables={"l": {"age": ["[0, 10)"], "y": [5]}})
    assert (problem.code, "values=" in problem.hint) == ("RR272", True)


DEALT = policy_text("""\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
pay = { role = "sensitive", bins = [0, 10, 20, 30, 70] }
[[privacy]]
model = "l-diversity"
kind = "distinct"
l = 3
[mechanism]
name = "anatomy"
""")


def test_dealt_bins_have_bounds_over_all_matchings(tmp_path):
    people = list(zip("fmfmfmf", (5, 12, 25, 65, 8, 15, 21), strict=True))
    write_csv(tmp_path / "people.csv", dict(zip(("sex", "pay"), zip(*people, strict=True), strict=True)))
    (tmp_path / "policy.toml").write_text(DEALT)
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out")
    release = rrpolicy.open_release(tmp_path / "out")
    edges = dict(zip(release.domain("pay"), [(0, 10), (10, 20), (20, 30), (30, 70)], strict=True))
    n = Counter({key["pay"]: c for key, c in ((row.group, row.estimate) for row in release.crosstab("pay").rows)})
    whole = release.mean("pay")
    expected = [sum(edges[v][i] * c for v, c in n.items()) / 7 for i in (0, 1)]
    assert whole.conf_int()[0] == pytest.approx(expected)
    lower, upper = (release.mean("pay", "sex", values={v: e[i] for v, e in edges.items()}) for i in (0, 1))
    found = release.mean("pay", "sex")
    assert found.conf_int()[:, 0] == pytest.approx(lower.conf_int()[:, 0])
    assert found.conf_int()[:, 1] == pytest.approx(upper.conf_int()[:, 1])
    for (low, high), sex in zip(found.conf_int(), ("f", "m"), strict=True):
        assert low <= np.mean([v for s, v in people if s == sex]) <= high
    poor = release.mean("pay", where="pay IN ('[0, 10)', '[10, 20)')")
    assert poor.conf_int()[0] == pytest.approx([2 * 10 / 4, (2 * 10 + 2 * 20) / 4])


@pytest.mark.slow
@pytest.mark.parametrize("end", [0, 1])
def test_bounds_of_exchanged_bins_cover_wherever_values_lie(publish, made, end):
    """At 90 %, at most 5 of 100 are missed to a side: of 300 more than 37 with probability 1e-6."""
    from scipy.stats import binom

    rng = np.random.default_rng([7, end])
    labels, draws, N = ["[0, 35)", "[35, 65)", "[65, 95]", "unknown"], 300, 1500
    table = rng.choice(4, N, p=[0.3, 0.3, 0.3, 0.1])
    truth = np.mean([((0, 35), (35, 65), (65, 95))[v][end] for v in table if v < 3])
    axis = uneven(made, labels=labels)
    missed = wrong = 0
    middles = {"[0, 35)": 17.5, "[35, 65)": 50, "[65, 95]": 80, "unknown": None}
    for i in range(draws):
        release = rrpolicy.open_release(publish([axis], made.draw(axis, table, rng), name=f"r{i}"))
        low, high = release.mean("age", level=0.9).conf_int()[0]
        missed += not low <= truth <= high
        low, high = release.mean("age", values=middles, level=0.9).conf_int()[0]
        wrong += not low <= truth <= high
    most = binom.isf(1e-6, draws, 0.05)
    assert missed <= most
    assert wrong > most  # the interval of the middles alone
    assert missed > 0  # it is no wider than it must be


@pytest.mark.parametrize(
    "where",
    [
        "income < 10000",
        "income >= 10000",
        "NOT (income < 10000)",
        "income >= 10000 AND income < 40000",
        "income <= 90000.0",
        "10000 > income",
        "income < 10000 OR income >= 40000",
        "income IS NOT NULL AND NOT (income >= 40000)",
    ],
)
def test_comparisons_at_edges_of_bins_are_those_of_the_numbers_in_them(publish, made, where):
    """The truth is DuckDB's count of the numbers themselves, some of them missing."""
    import duckdb

    numbers = [0, 1, 9999, 10000, 10001, 39999.5, 40000, 90000, None, None, 500]
    labels = intervals([0, 10000, 40000, 90000])
    place = [sum(v >= edge for edge in (10000, 40000)) if v is not None else 3 for v in numbers]
    axis = binned(made.identity("income", [*labels, "unknown"]))
    release = rrpolicy.open_release(publish([axis], {"income": [[*labels, "unknown"][i] for i in place]}))
    columns = replace(release.columns, missing={"income": "unknown"})
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (income DOUBLE)")
        connection.executemany("INSERT INTO t VALUES (?)", [[v] for v in numbers])
        ((truth,),) = connection.execute(f"SELECT count(*) FROM t WHERE {where}").fetchall()

    assert replace(release, columns=columns).crosstab(where=where).estimate == truth


def test_comparisons_inside_bins_are_refused_and_name_the_nearest_edges(survey):
    ages = {row.group["age"]: row.estimate for row in survey.crosstab("age").rows}
    assert survey.crosstab(where="age >= 35").estimate == pytest.approx(ages["[35, 65)"] + ages["[65, inf)"])
    for where, said in (
        ("age < 40", "such as 35 or 65"),
        ("age <= 35", "`<` or `>=` with an edge, such as 35"),
        ("age BETWEEN 35 AND 65", "such as 65"),
        ("age > 70", "such as 65"),
        ("age < 0", "they go from 0 to inf"),
    ):
        problem = refusal(survey.crosstab, where=where)
        assert problem.code == "RR265"
        assert said in problem.hint


def test_labels_of_bins_that_are_numbers_have_means(publish, made):
    axis = binned(made.identity("age", ["20", "50.5", "75"]))
    release = rrpolicy.open_release(publish([axis], {"age": ["20", "20", "50.5", "75"]}))

    found = release.mean("age")

    assert found.estimate[0] == pytest.approx((20 + 20 + 50.5 + 75) / 4)
    assert "the bins of 'age' are labelled by numbers" in found.notes[0]
    assert release.query("SELECT sum(age) FROM release").estimate[0, 0] == pytest.approx(165.5)


def test_a_query_takes_limits_of_bins_without_an_end(survey, capsys):
    truth = survey.mean("income", "sex", limits=(None, 100))
    sql = "SELECT sex, avg(income) AS m, sum(income) AS t FROM release GROUP BY sex"

    found = survey.query(sql, limits={"income": (None, 100)})

    assert found.conf_int()[:, 0] == pytest.approx(truth.conf_int())
    assert np.isfinite(found.conf_int()).all()
    assert np.isinf(survey.query(sql).conf_int()).any()
    folder = str(survey.folder)
    assert main(["estimate", "query", folder, sql, "--limits", "income=,100", "--format", "csv"]) == 0
    assert capsys.readouterr().out == found.to_csv()
    for stops, code in (("income", "RR250"), ("income=1", "RR250"), ("income=a,b", "RR250"), ("sex=0,1", "RR532")):
        assert main(["estimate", "query", folder, sql, "--limits", stops]) == 2
        assert code in capsys.readouterr().err
