"""Generalised columns are counted, compared and queried by the labels that were released; what lies inside is bounded."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release

TOWNS = ("Aby", "Bro", "Cove", "Dale", "North")
LABELS = ("North", "South", "*")
GROUPS = ((0, 1, 4), (2, 3), (0, 1, 2, 3, 4))
"""“North” is also a town of its own; “South” is all of Cove and Dale but for what was suppressed."""
AGES = (10, 20, 30, 40)
AGE_LABELS = ("10-20", "30-40")
AGE_GROUPS = ((0, 1), (2, 3))


def spread(made: Any) -> Any:
    parameters = {
        "columns": ["town", "age"],
        "released": [list(LABELS), list(AGE_LABELS)],
        "original": [list(TOWNS), list(AGES)],
        "groups": [[list(g) for g in GROUPS], [list(g) for g in AGE_GROUPS]],
    }
    columns = (made.column("town", LABELS), made.column("age", AGE_LABELS))
    document = made.decoder(["town", "age"], "recode", parameters) | {"unbiased": False, "independent": False}
    return made.Axis(document, columns, [])


@pytest.fixture
def rows() -> dict[str, list[str]]:
    rng = np.random.default_rng(7)
    return {
        "town": [LABELS[i] for i in rng.integers(0, 3, 400)],
        "age": [AGE_LABELS[i] for i in rng.integers(0, 2, 400)],
        "ill": [("no", "yes")[i] for i in rng.integers(0, 2, 400)],
    }


@pytest.fixture(params=["parquet", "csv", "duckdb"])
def release(publish: Any, made: Any, rows: dict[str, list[str]], request: pytest.FixtureRequest) -> Any:
    return open_release(publish([spread(made), made.identity("ill", ("no", "yes"))], rows, request.param))


def tally(rows: dict[str, list[str]], *names: str) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(rows[n] for n in names), strict=True))


def test_a_table_is_by_released_labels_and_exact(release, rows):
    table = release.crosstab(["town", "ill"])

    assert not table.biased
    assert {(r.group["town"], r.group["ill"]): r.estimate for r in table.rows} == tally(rows, "town", "ill")
    assert (table.se() == 0).all()
    assert table.summary().splitlines()[3].split()[-6:] == ["count", "share", "at", "least", "at", "most"]
    assert "exact" in table.summary()
    assert release.domain("town") == TOWNS
    assert release.association("age", "ill").estimator.count("moment") > 3
    ages = [tally(rows, "age")[label,] for label in AGE_LABELS]
    assert release.cube(["town", "age"]).table("age").estimate.reshape(-1).tolist() == ages


def test_labels_that_overlap_tell_nothing_of_how_columns_go_together(release):
    """Which of several labels a record has was chosen by its other columns, as `*` is by the size of its class."""
    for asked in (
        lambda: release.association("ill", "town"),
        lambda: release.independence("Town", "age"),
        lambda: release.loglinear("town + ill"),
        lambda: release.rules(0.1, 0.1),
        lambda: release.rule("town = South -> ill = yes"),
    ):
        with pytest.raises(PolicyError, match="RR288") as caught:
            asked()
        assert "its labels overlap" in caught.value.problems[0].message
    assert set(release.association("ill", "town", spread=True).flags) == {("spread",)}
    assert 0 < release.independence("age", "ill").p_value < 1
    assert release.loglinear("age + ill").method.startswith("likelihood ratio")
    assert release.rules(0.1, 0.1, columns=["age", "ill"]).rules


def test_a_hint_names_the_keyword_in_python_and_the_option_on_the_command_line(publish, made, rows, capsys):
    folder = publish([spread(made), made.identity("ill", ("no", "yes"))], rows)
    with pytest.raises(PolicyError, match="RR288") as caught:
        open_release(folder).association("ill", "town")
    assert "`spread=True`" in (caught.value.problems[0].hint or "")

    assert main(["estimate", "association", str(folder), "ill", "town", "--json"]) == 2
    printed = capsys.readouterr()
    (problem,) = json.loads(printed.out)["problems"]
    assert "an association with `--spread`" in problem["hint"]
    assert "spread=" not in printed.err


def test_what_holds_tells_labels_that_overlap_from_others(release):
    told = {(s.analysis, s.verdict): s.columns for s in release.what_holds().statements}

    assert told["any analysis by the labels of these columns", "valid"] == ("age",)
    assert told["counts and shares by the labels of these columns", "valid"] == ("town",)
    assert told["tests, associations and models by the labels of these columns", "biased"] == ("town",)


def test_labels_that_no_record_has_overlap_with_none(publish, made, rows):
    rows["town"] = [LABELS[i % 2] for i in range(400)]
    release = open_release(publish([spread(made), made.identity("ill", ("no", "yes"))], rows))

    assert 0 < release.independence("town", "ill").p_value < 1
    assert len(release.association("town", "ill").estimate) > 3


BOXES = {"young": (10, 20), "[20, 40]": (20, 30, 40), "old": (30, 40), "*": AGES}
"""Labels of boxes that overlap; no record has the last but one."""


@pytest.fixture
def boxes(publish: Any, made: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Return a release by labels that overlap, of which one stands for every category, and its records."""
    records = [("young", "no")] * 4 + [("[20, 40]", "yes")] * 3 + [("*", "yes")] * 2 + [("[20, 40]", "no")]
    rows = {"age": [age for age, _ in records], "ill": [ill for _, ill in records]}
    return open_release(publish([made.recoded("age", BOXES), made.identity("ill", ("no", "yes"))], rows)), records


def enumerated(records: list[tuple[str, str]], label: str, ill: str | None = None) -> tuple[int, int]:
    """Return the fewest and the most records whose age a label holds, over every original table."""
    tables: set[int] = set()
    for ages in product(*(BOXES[age] for age, _ in records)):
        tables.add(sum(age in BOXES[label] and ill in {None, i} for age, (_, i) in zip(ages, records, strict=True)))
    return min(tables), max(tables)


def test_rows_of_labels_that_overlap_are_bounded_and_no_exact_0(boxes):
    """A count of records released as such is no count of a category where others may belong to it (by enumeration)."""
    release, records = boxes
    for by in (["age"], ["age", "ill"]):
        table = release.crosstab(by)
        answer = release.query(f"SELECT {', '.join(by)}, count(*), share() FROM release GROUP BY {', '.join(by)}")
        asked = dict(zip((tuple(key.values()) for key in answer.keys), answer.conf_int(), strict=True))
        assert len(asked) == len(table.rows)
        for row in table.rows:
            label, ill = row.group["age"], row.group.get("ill")
            here = [r for r in records if r[0] == label and ill in {None, r[1]}]
            bounds = enumerated(records, label, ill) if label != "*" else (len(here), len(here))
            assert (row.estimate, row.se) == (len(here), 0)
            assert (row.low, row.high) == bounds
            assert ("as released" in row.flags) == (bounds != (len(here), len(here)))
            count, share = asked[tuple(row.group.values())]
            assert tuple(count) == bounds
            assert tuple(share) == pytest.approx([end / len(records) for end in bounds])
        notes = " ".join(table.notes)
        assert "2 more records are suppressed" in notes
        assert "labels of 'age' overlap" in notes
        assert "do not add up" in notes
        assert notes in " ".join(answer.to_dict()["notes"])


def test_rows_of_labels_under_a_condition_inside_labels_are_bounded_too(publish, made):
    """The fewest and the most of every original table, by the other generalised column and under conditions on both."""
    sexes = {"f": ["f"], "m": ["m"], "*": ["f", "m"]}
    records = [("young", "f")] * 2 + [("[20, 40]", "m"), ("*", "*"), ("*", "f"), ("[20, 40]", "*")]
    axes = [made.recoded("age", BOXES), made.recoded("sex", sexes)]
    rows = {"age": [age for age, _ in records], "sex": [sex for _, sex in records]}
    release = open_release(publish(axes, rows))
    options = [list(product(BOXES[age], sexes[sex])) for age, sex in records]
    for where, kept in (
        ("sex = 'f'", lambda _, sex: sex == "f"),
        ("age = 20 AND sex = 'f'", lambda a, s: (a, s) == (20, "f")),
    ):
        for row in release.crosstab("age", where=where).rows:
            label = row.group["age"]
            if label == "*":
                continue
            counts = {sum(age in BOXES[label] and kept(age, sex) for age, sex in table) for table in product(*options)}
            assert (row.low, row.high) == (min(counts), max(counts)), (where, label)


def test_rows_of_labels_that_no_record_has_are_left_out(boxes):
    """“old” is no category, and nobody was released so: a row of it would be of the product of labels alone."""
    release, records = boxes
    for rows in (
        {tuple(row.group.values()): row.estimate for row in release.crosstab(["age", "ill"]).rows},
        {row[:2]: row[2] for row in release.crosstab(["age", "ill"]).to_frame().itertuples(index=False, name=None)},
        {
            (row["age"], row["ill"]): row["estimate"]
            for row in release.query("SELECT age, ill, count(*) FROM release GROUP BY age, ill").rows
        },
    ):
        assert rows == Counter(records)
    assert [row["age"] for row in release.cube(["age"]).to_dict()["rows"]] == [None, "young", "[20, 40]", "*"]


def test_suppressed_records_stand_beside_an_exact_0(publish, made):
    """No record was released as old, and three were suppressed: 0 to 3 are, in text, JSON and CSV alike."""
    ages = {"young": ["young"], "old": ["old"], "*": ["young", "old"]}
    rows = {"age": ["young"] * 5 + ["*"] * 3}
    table = open_release(publish([made.recoded("age", ages)], rows)).crosstab("age")

    assert table.summary().splitlines()[5].split() == ["old", "0", "0.0", "%", "0", "3", "*"]
    assert "3 more records are suppressed" in table.summary()
    assert {row["age"]: (row["estimate"], row["low"], row["high"]) for row in table.to_dict()["rows"]} == {
        "young": (5, 5, 8),
        "old": (0, 0, 3),
        "*": (3, 3, 3),
    }
    assert "old,0.0,0.0,0.0,3.0,as released,0" in table.to_csv()
    assert "certain bounds" in table.plot()
    assert "old: 0.000 (0.000 to 3.000); their bounds do not overlap" in table.plot()


def test_a_share_of_nobody_makes_figures_no_estimates(publish, made):
    """Nothing was drawn: that one row divides by 0 does not make the others estimates."""
    rows = {"sex": ["f"] * 4, "ill": ["no", "yes"] * 2}
    release = open_release(publish([made.identity("sex", ("f", "m")), made.identity("ill", ("no", "yes"))], rows))

    found = release.query("SELECT sex, count(*) FILTER (WHERE ill = 'yes') / count(*) AS ill FROM release GROUP BY sex")

    assert found.summary().startswith("Figures of ill by sex: of this table\n4 records; exact")
    assert found.estimate[0, 0] == 0.5
    assert np.isnan(found.estimate[1, 0])


def test_labels_that_share_no_category_are_conditions_on_what_was_released(release, rows):
    both = release.crosstab(["ill"], where="age <> '10-20'")
    expected = Counter(ill for age, ill in zip(rows["age"], rows["ill"], strict=True) if age == "30-40")
    either = release.crosstab(where="age = '30-40' OR ill = 'yes'")
    rate = release.query(
        "SELECT town, count(*) FILTER (WHERE ill = 'yes') / count(*) AS ill FROM release WHERE age IN ('30-40') GROUP BY town"
    ).to_frame()

    assert {r.group["ill"]: r.estimate for r in both.rows} == expected
    assert not both.biased
    assert either.estimate.sum() == sum(
        a == "30-40" or i == "yes" for a, i in zip(rows["age"], rows["ill"], strict=True)
    )
    for town, share in zip(rate["town"], rate["ill"], strict=True):
        inside = [
            i for t, a, i in zip(rows["town"], rows["age"], rows["ill"], strict=True) if (t, a) == (town, "30-40")
        ]
        assert share == pytest.approx(inside.count("yes") / len(inside))
    assert (rate["ill_se"] == 0).all()


def test_a_label_stands_for_its_categories_wherever_else_they_were_released(release, rows):
    counts = tally(rows, "town")
    (south,) = release.crosstab(where="town = 'South'").rows
    (listed,) = release.crosstab(where="town IN ('Cove', 'Dale')").rows
    (other,) = release.crosstab(where="town <> 'South'").rows
    (starred,) = release.crosstab(where="town = '*'").rows
    told = release.query("SELECT ill, count(*) FROM release WHERE town = 'South' GROUP BY ill").summary()

    assert (south.low, south.high) == (counts["South",], counts["South",] + counts["*",])
    assert (south.estimate, south.low, south.high) == (listed.estimate, listed.low, listed.high)
    assert (other.low, other.high) == (counts["North",], counts["North",] + counts["*",])
    assert (starred.low, starred.high) == (counts["*",], counts["*",])
    assert "certain bounds" in told
    assert "randomisation" not in told


def test_categories_inside_labels_have_bounds(release, rows):
    counts = tally(rows, "town")
    (cove,) = release.crosstab(where="town = 'Cove'").rows
    (old,) = release.crosstab(where="age >= 30").rows
    (some,) = release.crosstab(where="age > 10").rows

    assert (cove.low, cove.high) == (0, counts["South",] + counts["*",])
    assert cove.estimate == pytest.approx(counts["South",] / 2 + counts["*",] / 5)
    assert np.isnan(cove.se)
    assert (old.low, old.high, old.se) == (old.estimate, old.estimate, 0)
    assert old.estimate == tally(rows, "age")["30-40",]
    assert (some.low, some.high) == (old.estimate, 400)


def test_a_name_that_is_a_label_and_a_category_is_read_as_the_category(release, rows):
    counts = tally(rows, "town")
    (north,) = release.crosstab(where="town = 'North'").rows

    assert (north.low, north.high) == (0, counts["North",] + counts["*",])
    assert release.crosstab(["town"]).rows[0].estimate == counts["North",]


def test_by_label_under_a_condition_inside_labels(release, rows):
    table = release.crosstab(["town"], where="town IN ('Cove', 'Aby')")
    counts = tally(rows, "town")

    found = {r.group["town"]: (r.low, r.estimate, r.high) for r in table.rows}
    assert found["South"] == (0, pytest.approx(counts["South",] / 2), counts["South",] + counts["*",])
    assert found["North"] == (0, pytest.approx(counts["North",] / 3), counts["North",] + counts["*",])
    assert found["*"] == (0, pytest.approx(counts["*",] * 2 / 5), counts["*",])


def test_spread_counts_the_categories(release, rows):
    table = release.crosstab(["town"], spread=True)
    inside = release.crosstab(["age"], where="age = '30-40'", spread=True)

    assert table.biased
    assert [r.group["town"] for r in table.rows] == list(TOWNS)
    assert table.estimate.sum() == pytest.approx(400)
    old = tally(rows, "age")["30-40",]
    assert {r.group["age"]: (r.low, r.high) for r in inside.rows} == {30: (0, old), 40: (0, old)}
    assert [t.biased for t in release.cube(["town", "ill"], spread=True).tables] == [True] * 4
    for estimator in ("em", "projection"):
        with pytest.raises(PolicyError, match="RR288"):
            release.crosstab(["town"], spread=True, estimator=estimator)
        with pytest.raises(PolicyError, match="RR288"):
            release.crosstab(["ill"], where="town = 'Cove'", estimator=estimator)


def test_labels_that_share_nothing_may_be_mixed_with_categories(release, rows):
    ages = tally(rows, "age")
    (mixed,) = release.crosstab(where="age = '30-40' OR age = 10").rows

    assert (mixed.low, mixed.high) == (ages["30-40",], 400)
    assert mixed.estimate == pytest.approx(ages["30-40",] + ages["10-20",] / 2)
    (rest,) = release.crosstab(where="NOT (age = '30-40' OR age = 10)").rows
    assert rest.estimate == pytest.approx(ages["10-20",] / 2)


@pytest.mark.parametrize(
    ("where", "code", "words"),
    [
        ("town = 'Sout'", "RR265", "did you mean 'South'"),
        ("town = 'xyz'", "RR265", "released were 'North', 'South', '*'"),
        ("town = 3", "RR265", "a text for each category"),
        ("age < '30-40'", "RR265", "a number for each category"),
        ("age >= 30 OR town = 'South'", "RR266", "OR and NOT"),
    ],
)
def test_what_cannot_be_read_is_refused(release, where, code, words):
    with pytest.raises(PolicyError) as caught:
        release.crosstab(where=where)

    (problem,) = caught.value.problems
    assert problem.code == code
    assert words in f"{problem.message} {problem.hint}"
