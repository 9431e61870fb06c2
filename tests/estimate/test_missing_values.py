"""A category of missing values is in no average; conditions on numbers beside it hold; and what is left out is said."""

from __future__ import annotations

import contextlib
import json

import duckdb
import numpy as np
import pytest

from rrpolicy import open_release
from rrpolicy.canonical_json import canonical, digest
from rrpolicy.cli.main import main
from rrpolicy.exports.files import public_files
from rrpolicy.exports.metadata.datapackage import datapackage
from rrpolicy.testing import policy_text

SEX, AGE = ["F", "M"], [20, 40, "unknown"]


@pytest.fixture(params=["parquet", "csv", "duckdb"])
def survey(request, made, publish):
    """Return a release in which far more women than men did not tell their age, and the true means are equal."""
    rng = np.random.default_rng(20261121)
    original = {"sex": np.repeat([0, 1], 3000)}
    age = [np.repeat([0, 1, 2], n) for n in ([750, 750, 1500], [1400, 1400, 200])]
    original["age"] = np.concatenate(age)
    axes = [made.retention("sex", SEX, [((0, 1), "9/10")]), made.retention("age", AGE, [((0, 1, 2), "4/5")])]
    rows = {}
    for axis, codes in zip(axes, original.values(), strict=True):
        rows |= made.draw(axis, codes, rng)
    labels = [str(v) for v in rows["age"]]
    plain = made.identity("place", [1, 2, "unknown"])
    rows = {"sex": rows["sex"], "age": labels, "place": [["1", "2", "unknown"][i % 3] for i in range(6000)]}
    axes.append(plain)
    for axis in axes[1:]:
        axis.columns[0]["type"] = "VARCHAR"
    return published(publish, axes, rows, request.param), axes, rows


def published(publish, axes, rows, form):
    """Return the folder of a release whose `age` and `place` have a category of missing values."""
    folder = publish(axes, rows, form)
    manifest = json.loads((folder / "release.json").read_text())
    for attribute in manifest["attributes"]:
        attribute["nulls"] = "unknown" if attribute["name"] in {"age", "place"} else None
    del manifest["digest"]
    manifest["digest"] = digest(canonical(manifest))
    (folder / "release.json").write_text(json.dumps(manifest))
    return folder


def test_a_mean_leaves_the_category_of_missing_values_out(survey):
    folder, axes, rows = survey
    found = open_release(folder).mean("age", "sex")

    y, known = np.array([20.0, 40.0, 0.0]), np.array([1.0, 1.0, 0.0])
    W_sex, W_age = (np.linalg.inv(axis.array) for axis in axes[:2])
    at = np.array([[str(v) for v in AGE].index(v) for v in rows["age"]])
    omega, kappa = (y @ W_age)[at], (known @ W_age)[at]
    own = (y**2) @ W_age
    for g, (estimate, table, population) in enumerate(
        zip(found.estimate, found.se("table"), found.se("population"), strict=True)
    ):
        w = W_sex[g, [SEX.index(v) for v in rows["sex"]]]
        size = (w * kappa).sum()
        R = (w * omega).sum() / size
        square = (w**2 * (omega - R * kappa) ** 2).sum()
        single = (w * (own[at] - 2 * R * omega + R**2 * kappa)).sum()
        assert estimate == pytest.approx(R, rel=1e-9)
        assert abs(estimate - 30) < 5 * table
        assert table**2 == pytest.approx((square - single) / size**2, rel=1e-6)
        assert population**2 == pytest.approx(square * 6000 / 5999 / size**2, rel=1e-6)
        assert found.sizes[g] == pytest.approx(size)
    share = 1 - kappa.sum() / 6000
    assert found.left_out == pytest.approx(share)
    assert abs(share - 1700 / 6000) < 0.03
    assert f"without 'unknown' (an estimated {100 * share:.1f} % of the records)" in found.summary()


def test_a_query_leaves_it_out_and_says_so(survey):
    release = open_release(survey[0])
    found = release.query("SELECT sex, avg(age), sum(age) AS total FROM release GROUP BY sex")

    np.testing.assert_allclose(found.estimate[:, 0], release.mean("age", "sex").estimate, rtol=1e-9)
    sizes = release.mean("age", "sex").sizes
    np.testing.assert_allclose(found.estimate[:, 1], found.estimate[:, 0] * sizes, rtol=1e-9)
    (note,) = found.notes
    assert note.startswith("averages and sums of 'age' are without 'unknown' (an estimated ")
    assert note in found.summary()


def test_what_is_released_as_it_is_is_averaged_exactly(survey):
    found = open_release(survey[0]).mean("place")

    assert found.estimate.tolist() == [1.5]
    assert found.se("table").tolist() == [0]
    assert found.left_out == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "where",
    [
        "place = 1",
        "place <= 2",
        "place > 1",
        "place <> 1",
        "NOT (place = 1)",
        "NOT (place >= 2)",
        "NOT (place = 1 OR place = 2)",
        "NOT (place = 1 AND place = 2)",
        "NOT (NOT (place > 1))",
        "place IN (2)",
        "place NOT IN (1)",
        "place NOT BETWEEN 2 AND 3",
        "place BETWEEN 1 AND 2",
        "place = 1 AND place = 2",
        "place IS NULL",
        "place IS NOT NULL",
        "NOT (place IS NOT NULL)",
        "place <> 1 OR place IS NULL",
    ],
)
def test_conditions_hold_of_missing_values_as_sql_says(where, survey):
    """The truth is DuckDB's, of the same values with nulls: a comparison with one is neither true nor false."""
    release = open_release(survey[0])
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE release AS SELECT unnest([1, 2, NULL]) AS place FROM range(2000)")
        ((truth,),) = connection.execute(f"SELECT count(*) FROM release WHERE {where}").fetchall()
        ((other,),) = connection.execute(f"SELECT count(*) FILTER (WHERE {where}) FROM release").fetchall()

    assert release.crosstab([], where=where).estimate.sum() == pytest.approx(truth)
    assert release.query(f"SELECT count(*) FILTER (WHERE {where}) FROM release").estimate[0, 0] == pytest.approx(other)


def test_the_category_of_missing_values_may_be_named(survey):
    release = open_release(survey[0])
    for where, records in (
        ("place <> 'unknown'", 4000),
        ("place IN (2, 'unknown')", 4000),
        ("place = 'unknown'", 2000),
    ):
        found = release.crosstab([], where=where)
        assert found.estimate.sum() == pytest.approx(records)
        assert not found.notes


def test_no_negative_number_of_records_is_left_out(made, publish):
    """Nobody is released without an age: the unbiased estimate of those who had none is negative."""
    axes = [made.retention("sex", SEX, [((0, 1), "9/10")]), made.retention("age", AGE, [((0, 1, 2), "4/5")])]
    axes[1].columns[0]["type"] = "VARCHAR"
    axes.append(made.identity("place", [1, 2, "unknown"]))
    axes[2].columns[0]["type"] = "VARCHAR"
    rows = {
        "sex": [SEX[i % 2] for i in range(400)],
        "age": [str(AGE[i // 2 % 2]) for i in range(400)],
        "place": ["1"] * 400,
    }
    release = open_release(published(publish, axes, rows, "parquet"))
    few = "left out: few or no records (their estimated number is below 0) without a value of 'age'"

    assert release.crosstab(where="age IS NULL").estimate.item() < 0
    assert f"{few}, for which no comparison is true" in release.crosstab([], where="age <> 40").notes
    assert few in release.glm("age ~ sex").to_dict()["notes"]
    assert not any("-" in note for note in release.glm("age ~ sex").notes if "left out" in note)


def test_who_has_no_value_is_left_out_of_negations_and_counts_and_how_many_is_said(survey):
    release = open_release(survey[0])
    ages = {row.group["age"]: row.estimate for row in release.crosstab("age").rows}
    place = "left out: 2,000 records without a value of 'place', for which no comparison is true"
    age = (
        f"left out: an estimated {ages['unknown']:,.1f} records without a value of 'age', for which no comparison "
        f"is true"
    )

    for where in ("age <> 40", "NOT (age >= 30)", "age NOT IN (40)"):
        found = release.crosstab([], where=where)
        assert found.estimate.sum() == pytest.approx(ages[20])
        assert found.notes == (age,)
        assert f"note: {age}" in found.summary()
        assert age in found.to_dict()["notes"]
    for found in (
        release.mean("age", where="place <> 1"),
        release.cube(["sex"], "place <> 1"),
        release.association("sex", "age", "cramers-v", "place <> 1"),
        release.loglinear("sex + age", "place <> 1"),
        release.query("SELECT sex, count(*) FROM release WHERE place <> 1 GROUP BY sex"),
        release.query("SELECT count(*) FILTER (WHERE NOT (place = 1)) FROM release"),
    ):
        assert place in found.notes

    counted = release.query("SELECT count(place) AS known, count(*) AS every FROM release")
    assert counted.estimate.tolist() == [[4000, 6000]]
    assert counted.notes == ("left out of count(place): 2,000 records without a value",)
    counted = release.query("SELECT sex, count(age) FROM release GROUP BY sex")
    assert counted.estimate.sum() == pytest.approx(ages[20] + ages[40])


def test_conditions_on_randomised_numbers_hold(survey):
    release = open_release(survey[0])
    ages = {row.group["age"]: row.estimate for row in release.crosstab("age").rows}

    for where, among in (
        ("age = 20", [20]),
        ("age > 20", [40]),
        ("age < 99", [20, 40]),
        ("age = 'unknown'", ["unknown"]),
    ):
        assert release.crosstab([], where=where).estimate.sum() == pytest.approx(sum(ages[a] for a in among))
    answer = release.query("SELECT age, count(*) FROM release GROUP BY age ORDER BY age DESC")
    assert [key["age"] for key in answer.keys] == ["unknown", 40, 20]


def test_the_readme_names_it_and_its_sql_averages_without_it(survey):
    folder, *_ = survey
    for path, content in public_files(open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    readme = (folder / "README.md").read_text()
    example = readme.partition("## Missing values")[2].partition("```sql\n")[2].partition("```")[0]

    assert "- `age`: `unknown`" in readme
    with contextlib.chdir(folder), duckdb.connect() as connection:
        connection.execute((folder / "estimate.sql").read_text())
        ((mean,),) = connection.execute(example).fetchall()
    assert mean == pytest.approx(open_release(folder).mean("age").estimate[0])


def test_the_data_package_names_it(survey):
    folder, *_ = survey
    manifest = open_release(folder).manifest
    fields = {f["name"]: f for f in datapackage(manifest, folder)["resources"][0]["schema"]["fields"]}

    assert fields["age"]["type"] == "string"
    assert fields["age"]["missingValues"] == ["", "unknown"]
    assert fields["age"]["constraints"] == {"enum": ["20", "40"]}
    assert "missingValues" not in fields["sex"]


POLICY = policy_text("""\
[attributes]
age = { role = "quasi-identifier", domain = [20, 40], outside = "other", nulls = "unknown" }
rooms = { role = "insensitive", domain = [1, 2], outside = "more", unchanged = "a test" }
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[mechanism]
name = "pram"
keep_probability = { age = 0.9 }
""")


def test_a_text_for_what_is_outside_of_numbers_is_in_no_average(tmp_path):
    """Records outside are in no average, as those without a value are, and how many are left out is said."""
    ages = [20] * 900 + [40] * 2700 + [99] * 2000 + [""] * 400
    rows = [f"{age},{1 + i % 4}" for i, age in enumerate(ages)]
    (tmp_path / "people.csv").write_text("\n".join(["age,rooms", *rows, ""]))
    (tmp_path / "policy.toml").write_text(POLICY)
    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "bundle")]) == 0
    release = open_release(tmp_path / "bundle")

    rooms, age = release.mean("rooms"), release.mean("age")
    assert (rooms.estimate[0], rooms.se()[0], rooms.left_out) == (1.5, 0.0, 0.5)
    assert "without 'more' (50.0 % of the records)" in rooms.summary()
    assert abs(age.estimate[0] - 35) < 5 * age.se()[0] < 5
    assert abs(age.left_out - 0.4) < 0.05
    assert "without 'other' and 'unknown' (an estimated" in age.summary()
    answer = release.query("SELECT avg(age) AS a FROM release")
    assert answer.estimate[0, 0] == pytest.approx(age.estimate[0])
    assert "without 'other' and 'unknown'" in answer.notes[0]


def test_nulls_of_a_column_without_categories_are_left_out_and_said_as_well(tmp_path):
    hours = [3, 4, None, 5, None, None, 3]
    rows = "".join(f"{'fm'[i % 2]},{'' if h is None else h}\n" for i, h in enumerate(hours))
    (tmp_path / "people.csv").write_text("sex,hours\n" + rows)
    text = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
hours = { role = "insensitive", nulls = "keep", unchanged = "a test", assume_unlinkable = "a test" }
[[privacy]]
model = "local-dp"
epsilon = 6
[mechanism]
name = "pram"
"""
    (tmp_path / "policy.toml").write_text(policy_text(text))
    assert main(["release", str(tmp_path / "policy.toml"), "--out", str(tmp_path / "bundle")]) == 0
    release = open_release(tmp_path / "bundle")

    found = release.crosstab(where="hours <> 3")
    assert found.estimate == 2
    assert found.notes == ("left out: 3 records without a value of 'hours', for which no comparison is true",)
    assert release.crosstab(where="hours IS NULL").estimate == 3
    counted = release.query("SELECT count(hours) FROM release")
    assert counted.estimate[0, 0] == 4
    assert counted.notes == ("left out of count(hours): 3 records without a value",)
