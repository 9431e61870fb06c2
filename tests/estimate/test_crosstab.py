"""Counts from hand-made public folders: names, groups, conditions, formats, the shape of results."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release

SEX = ("F", "M")
AGE = ("0-19", "20-39", "40-64", "65+")


@pytest.fixture
def survey(made):
    """Sex and age by retention, region released as it is, hours carried."""
    rng = np.random.default_rng(3)
    n = 4000
    axes = [
        made.retention("sex", SEX, [((0, 1), "4/5")]),
        made.retention("age_group", AGE, [((0, 1, 2, 3), "7/10")]),
        made.identity("region", ("north", "south")),
    ]
    original = [rng.integers(0, k, n) for k in (2, 4, 2)]
    rows = {}
    for axis, codes in zip(axes, original, strict=True):
        rows |= made.draw(axis, codes, rng)
    rows["hours"] = [float(h) for h in rng.integers(0, 60, n)]
    return axes, rows, [made.column("hours", (), "carried", "DOUBLE")], original


@pytest.mark.parametrize("file_format", ["parquet", "csv", "duckdb"])
def test_every_format_gives_the_moment_estimate(publish, survey, file_format):
    axes, rows, carried, _ = survey
    release = open_release(publish(axes, rows, file_format, carried).parent)

    table = release.crosstab(["sex", "age_group"])

    counts = np.zeros((2, 4))
    np.add.at(counts, ([SEX.index(v) for v in rows["sex"]], [AGE.index(v) for v in rows["age_group"]]), 1)
    W = [np.linalg.inv(axis.array) for axis in axes[:2]]
    expected = W[0] @ counts @ W[1].T
    second = W[0] ** 2 @ counts @ (W[1] ** 2).T
    np.testing.assert_allclose(table.estimate, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(table.se("table") ** 2, second - expected, rtol=1e-12)
    np.testing.assert_allclose(table.se("population") ** 2, (second - expected**2 / 4000) * 4000 / 3999, rtol=1e-12)
    assert table.estimate.sum() == pytest.approx(4000)
    assert [r.group for r in table.rows][:5] == [{"sex": "F", "age_group": a} for a in AGE] + [
        {"sex": "M", "age_group": "0-19"}
    ]


def test_columns_come_in_the_order_asked_for(publish, survey):
    axes, rows, carried, _ = survey
    release = open_release(publish(axes, rows, carried=carried))

    forward, backward = release.crosstab(["sex", "age_group"]), release.crosstab(["age_group", "sex"])

    np.testing.assert_allclose(forward.estimate, backward.estimate.T)
    assert list(backward.rows[0].group) == ["age_group", "sex"]


def test_a_condition_on_a_randomised_column_is_a_row_of_the_larger_table(publish, survey):
    axes, rows, carried, _ = survey
    release = open_release(publish(axes, rows, carried=carried))
    full = release.crosstab(["sex", "age_group"])

    part = release.crosstab("sex", where="age_group = '65+'")
    listed = release.crosstab(where="age_group IN ('40-64', '65+') AND sex <> 'M'")
    negated = release.crosstab(where="NOT (age_group = '0-19' OR age_group = '20-39') AND sex = 'F'")

    np.testing.assert_allclose(part.estimate, full.estimate[:, 3])
    np.testing.assert_allclose(part.se(), full.se()[:, 3])
    assert listed.estimate == pytest.approx(full.estimate[0, 2:].sum())
    assert negated.estimate == pytest.approx(listed.estimate)
    together = np.zeros(8)
    together[2:4] = 1
    for target in ("table", "population"):
        assert listed.se(target) ** 2 == pytest.approx(together @ full.covariance(target) @ together)


def test_a_condition_on_the_grouping_column_leaves_its_categories_alone(publish, survey):
    axes, rows, carried, _ = survey
    release = open_release(publish(axes, rows, carried=carried))
    full = release.crosstab(["sex", "age_group"])

    part = release.crosstab(["sex", "age_group"], where="age_group IN ('65+', '0-19') AND sex = 'M'")

    assert [r.group["age_group"] for r in part.rows] == ["0-19", "65+"]
    np.testing.assert_allclose(part.estimate, full.estimate[1:, [0, 3]])
    np.testing.assert_allclose(part.se(), full.se()[1:, [0, 3]])
    picked = np.ix_([4, 7], [4, 7])
    np.testing.assert_allclose(part.covariance(), full.covariance()[picked])


def test_what_is_released_as_it_is_is_counted_exactly(publish, survey):
    axes, rows, carried, original = survey
    release = open_release(publish(axes, rows, carried=carried))
    hours = np.array(rows["hours"])
    north = original[2] == 0

    exact = release.crosstab("region", where="hours >= 40 AND hours BETWEEN 40 AND 50")
    mixed = release.crosstab("sex", where="hours < 20 AND (region = 'north' OR hours > 10)")

    inside = (hours >= 40) & (hours <= 50)
    assert exact.estimate.tolist() == [int((inside & north).sum()), int((inside & ~north).sum())]
    assert exact.se().tolist() == [0, 0]
    assert (exact.se("population") > 0).all()
    chosen = (hours < 20) & (north | (hours > 10))
    released = np.array([((np.array(rows["sex"]) == s) & chosen).sum() for s in SEX])
    np.testing.assert_allclose(mixed.estimate, np.linalg.inv(axes[0].array) @ released)


def test_coupled_columns_group_together_and_apart(publish, made):
    cells = [(a, b) for a in ("x", "y") for b in (1, 2)]
    rows_of_P = [
        ["7/10", "1/10", "1/5", "0"],
        ["1/10", "4/5", "1/10", "1/10"],
        ["1/10", "1/10", "3/5", "1/5"],
        ["1/10", "0", "1/10", "7/10"],
    ]
    pair, sex = made.coupled(["a", "b"], cells, rows_of_P), made.retention("sex", SEX, [((0, 1), "9/10")])
    rng = np.random.default_rng(5)
    data = made.draw(pair, rng.integers(0, 4, 900), rng) | made.draw(sex, rng.integers(0, 2, 900), rng)
    release = open_release(publish([pair, sex], data))

    both = release.crosstab(["a", "sex", "b"])
    one = release.crosstab("b")
    under = release.crosstab("a", where="b = 2")
    either = release.crosstab(where="a = 'x' OR b = 2")

    counts = np.array([sum((a, b) == c for a, b in zip(data["a"], data["b"], strict=True)) for c in cells])
    pi = np.linalg.inv(pair.array) @ counts
    by_pair = {}
    for r in both.rows:
        by_pair[r.group["a"], r.group["b"]] = by_pair.get((r.group["a"], r.group["b"]), 0) + r.estimate
    assert [by_pair[c] for c in cells] == pytest.approx(pi.tolist())
    assert list(both.rows[0].group) == ["a", "sex", "b"]
    np.testing.assert_allclose(one.estimate, [pi[0] + pi[2], pi[1] + pi[3]])
    np.testing.assert_allclose(under.estimate, [pi[1], pi[3]])
    assert either.estimate == pytest.approx(pi[0] + pi[1] + pi[3])


def test_rectangular_matrices_are_undone_by_original_category(publish, made):
    axis = made.matrix("d", ("r0", "r1", "r2"), ("A", "B"), [["3/5", "1/10"], ["3/10", "3/10"], ["1/10", "3/5"]])
    data = {"d": ["r0"] * 30 + ["r1"] * 20 + ["r2"] * 10}
    release = open_release(publish([axis], data))

    table = release.crosstab("d")

    w = np.array([[Fraction(int(v * 10**12), 10**12) for v in row] for row in release.columns.axes["d"].table.tolist()])
    np.testing.assert_allclose(axis.array.T @ w.astype(float), np.eye(2), atol=1e-11)
    np.testing.assert_allclose(table.estimate, w.astype(float).T @ [30, 20, 10])
    assert [r.group for r in table.rows] == [{"d": "A"}, {"d": "B"}]
    assert table.estimate.sum() == pytest.approx(60)
    with pytest.raises(PolicyError, match="RR265"):
        release.crosstab(where="d = 'r0'")


def test_what_the_release_does_not_tell_apart_is_refused(publish, made):
    merging = made.matrix("d", ("AB", "C"), ("A", "B", "C"), [["1", "1", "0"], ["0", "0", "1"]])
    flat = made.retention("sex", SEX, [((0, 1), "1/2")])
    release = open_release(publish([merging, flat], {"d": ["AB"] * 7 + ["C"] * 3, "sex": list("FM" * 5)}))

    with pytest.raises(PolicyError, match="RR267"):
        release.crosstab("d")
    with pytest.raises(PolicyError, match="RR267"):
        release.crosstab("sex")
    assert release.crosstab(where="d IN ('A', 'B')").estimate == 7
    assert release.crosstab(where="sex IN ('F', 'M')").estimate == 10
    assert release.crosstab(where="d = 'C'").rows[0].se == 0


def test_a_result_reads_as_frame_dictionary_and_text(publish, survey):
    axes, rows, carried, _ = survey
    table = open_release(publish(axes, rows, carried=carried)).crosstab(["sex"], where="age_group = '65+'", level=0.9)

    frame, document, text = table.to_frame(), table.to_dict(), table.summary()

    assert list(frame.columns) == ["sex", "estimate", "se", "low", "high", "flags", "released"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [r["estimate"] for r in document["rows"]] == frame["estimate"].tolist() == table.estimate.tolist()
    assert document["method"] == "moment (unbiased)"
    assert "low 90 %" in text
    assert "where age_group = '65+'" in text
    ends = table.conf_int(0.9)
    assert frame["low"].tolist() == ends[:, 0].tolist()
    assert (table.conf_int(0.99)[:, 0] <= ends[:, 0]).all()


def test_estimates_are_not_clipped_and_intervals_are(publish, made):
    sex = made.retention("sex", SEX, [((0, 1), "3/4")])
    release = open_release(publish([sex], {"sex": ["F"] * 96 + ["M"] * 4}))

    low, high = release.crosstab("sex").rows[1], release.crosstab("sex").rows[0]

    assert low.estimate == pytest.approx(-42)
    assert high.estimate == pytest.approx(142)
    assert low.low == 0
    assert high.high == 100
    assert low.flags == ("outside the possible",)
    assert high.flags == ("outside the possible",)


def test_an_interval_outside_the_possible_is_no_point(publish, made):
    sex = made.retention("sex", SEX, [((0, 1), "3/4")])
    table = open_release(publish([sex], {"sex": ["F"] * 96 + ["M"] * 4})).crosstab("sex")
    half = 1.959963984540054 * table.se() + 0.5

    assert (np.abs(table.estimate - np.clip(table.estimate, 0, 100)) > half).all()  # [0, 0] and [100, 100] if clipped
    assert table.conf_int().tolist() == [[pytest.approx(100 - half[0]), 100], [0, pytest.approx(half[1])]]
    assert "outside the possible" in table.to_frame()["flags"][1]
    assert "lies outside what is possible" in table.summary()


def test_a_share_outside_the_possible_is_no_point_and_marked(publish, made):
    sex = made.retention("sex", SEX, [((0, 1), "3/4")])
    release = open_release(publish([sex], {"sex": ["F"] * 96 + ["M"] * 4}))
    row = release.query("SELECT sex, share() FROM release GROUP BY sex").rows[1]

    assert row["low"] == 0 < row["high"]
    assert "outside the possible" in row["flags"]


@pytest.mark.parametrize(("keep", "empty"), [("5001/10000", True), ("3/4", False)])
def test_intervals_that_hold_all_that_is_possible_are_told(publish, made, keep, empty):
    axes = [made.retention("sex", SEX, [((0, 1), keep)]), made.retention("ill", ("no", "yes"), [((0, 1), keep)])]
    release = open_release(publish(axes, {"sex": ["F"] * 50 + ["M"] * 50, "ill": ["no", "yes"] * 50}))

    for found in (
        release.crosstab("sex"),
        release.association("sex", "ill", measure="phi"),
        release.query("SELECT sex, ill, count(*) AS n FROM release GROUP BY sex, ill"),
        release.query("SELECT share() AS s FROM release WHERE sex = 'F' GROUP BY ill"),
    ):
        assert ("an interval that covers all possible values" in found.summary()) == empty


def test_categories_that_the_condition_excludes_have_no_row(publish, made):
    sex = made.retention("sex", SEX, [((0, 1), "3/4")])
    rows = {"sex": ["F"] * 60 + ["M"] * 40, "town": ["a", "b", "c", "d"] * 25}
    release = open_release(publish([sex, made.identity("town", ("a", "b", "c", "d"))], rows))

    assert [r.group["town"] for r in release.crosstab("town", where="town = 'c'").rows] == ["c"]
    table = release.crosstab(["town", "sex"], where="town <> 'c' AND town IN ('a', 'c', 'd')")
    assert [r.group["town"] for r in table.rows] == ["a", "a", "d", "d"]
    assert table.estimate.sum() == pytest.approx(50)
    shares = release.query("SELECT town, share() FROM release WHERE town IN ('b') GROUP BY town")
    assert [(r["town"], r["estimate"]) for r in shares.rows] == [("b", 1.0)]


def test_the_text_of_an_error_tells_what_to_do(publish, survey):
    with pytest.raises(PolicyError, match="did you mean 'sex'"):
        open_release(publish(*survey[:2], carried=survey[2])).crosstab("sexx")


def test_a_negative_variance_is_replaced_and_marked(publish, made):
    axis = made.matrix("d", ("r", "s", "t"), ("A", "B"), [["1/2", "0"], ["1/2", "1/2"], ["0", "1/2"]])
    release = open_release(publish([axis], {"d": ["s"] * 9 + ["r"]}))

    table = release.crosstab("d")

    w = release.columns.axes["d"].table
    n = np.array([1, 9, 0])
    assert ((w**2).T @ n - w.T @ n < 0).any()
    marked = [r for r in table.rows if "population variance" in r.flags]
    assert marked
    assert all(r.se > 0 for r in marked)
    assert "population's is used" in table.summary()
