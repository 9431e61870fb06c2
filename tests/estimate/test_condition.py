"""Conditions: what is read, what is refused, and that nothing of them is executed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.counts.predicate import parse_condition
from rrpolicy.estimate.expression import (
    ColumnComparison,
    Member,
    Not,
    Null,
    Or,
    columns_of,
    to_sql,
)
from rrpolicy.estimate.opening import open_release
from rrpolicy.testing import policy_text


def test_conjuncts_are_read():
    parts = parse_condition("a = 'O''B' AND \"e f\" IN (1, -2) AND NOT (g IS NULL) AND (h < 5 OR 7 <= h)")

    assert parts == (
        ColumnComparison("a", "=", "O'B"),
        Member("e f", (1, -2)),
        Not(Null("g")),
        Or((ColumnComparison("h", "<", 5), ColumnComparison("h", ">=", 7))),
    )
    assert columns_of(parts[3]) == ("h",)
    parameters = []
    assert to_sql(parts[3], lambda n: f'"{n}"', parameters) == '("h" < ?) OR ("h" >= ?)'
    assert parameters == [5, 7]


@pytest.mark.parametrize(
    ("text", "said"), [("grade > 3", "is > 3"), ("grade < 1 OR NOT grade < 9", "satisfies the condition")]
)
def test_what_no_category_satisfies_is_refused_and_not_an_exact_0(publish, made, text, said):
    grade = made.retention("grade", (1, 2, 3), [((0, 1, 2), "4/5")])
    release = open_release(publish([grade], {"grade": [1, 2, 3] * 20}))

    with pytest.raises(PolicyError, match="RR265") as caught:
        release.crosstab("grade", text)

    (found,) = caught.value.problems
    assert (said in found.message, found.hint) == (True, "they go from 1 to 3")
    for holding in ("grade >= 1 AND grade <= 99", "NOT grade > 3", "grade <= 3 OR grade > 100"):
        assert release.crosstab("grade", holding).estimate.sum() == pytest.approx(60)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a =",
        "true",
        "1 = 1",
        "a = b",
        "a = NULL",
        "a = 1; DROP TABLE x",
        "a = 1) OR (1 = 1",
        "a = 1 GROUP BY a",
        "a = 1 ORDER BY a",
        "a = 1 LIMIT 1",
        "a = 1 UNION SELECT 1",
        "a = 1 HAVING true",
        "a = 1 QUALIFY true",
        "a = 1 USING SAMPLE 1",
        "lower(a) = 'x'",
        "a LIKE 'x%'",
        "a = (SELECT 1)",
        "a IN (SELECT 1)",
        "a IN (FROM read_csv('/etc/passwd'))",
        "a = ?",
        "a = DATE 'never'",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(PolicyError, match="RR264") as caught:
        parse_condition(text)

    assert caught.value.problems[0].hint


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("t.a = 1", "t.a"),
        ("a.b.c = 1", "a.b.c"),
        ('t."my a" = 1', "t.my a"),
        ("release.a.b = 1", "a.b"),
        ("release.a = 1", "a"),
    ],
)
def test_words_before_a_point_are_part_of_a_name_but_for_the_release(text, column):
    """Whether there is such a column is asked later: what is none is refused, and nothing else is read in its place."""
    assert parse_condition(text) == (ColumnComparison(column, "=", 1),)


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=30))
def test_quoted_text_comes_back_as_it_was(value):
    text = value.replace("\0", "")

    assert parse_condition("a = '" + text.replace("'", "''") + "' -- and so on") == (ColumnComparison("a", "=", text),)


@pytest.fixture
def release(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    level = made.retention("level", (1, 2, 3), [((0, 1, 2), "4/5")])
    flag = made.retention("flag", (False, True), [((0, 1), "4/5")])
    odd = made.retention('o"dd; DROP TABLE data --', ("a,b", 'q"', "l\nm", "<b>"), [((0, 1, 2, 3), "4/5")])
    rows = {
        "sex": list("FFMMFM"),
        "level": [1, 2, 3, 1, 2, 3],
        "flag": [True, False] * 3,
        'o"dd; DROP TABLE data --': ["a,b", 'q"', "l\nm", "<b>", "a,b", 'q"'],
        "hours": [1.5, None, 3.0, 4.0, 5.0, 6.0],
        "born": ["2001-01-01", "2002-02-02", None, "2003-03-03", "2004-04-04", "2005-05-05"],
    }
    carried = [made.column("hours", (), "carried", "DOUBLE"), made.column("born", (), "carried", "VARCHAR")]
    return open_release(publish([sex, level, flag, odd], rows, carried=carried))


def test_missing_values_that_became_a_category_are_asked_for_by_it(tmp_path):
    """`IS NULL` asks for the category of missing values, `IS NOT NULL` for all others."""
    rows = (f"{'fm'[i % 2]},{('0', '1', '')[i % 3]}\n" for i in range(90))
    (tmp_path / "t.csv").write_text("sex,often\n" + "".join(rows))
    text = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
often = { role = "sensitive", domain = [0, 1], nulls = "not asked" }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""
    (tmp_path / "policy.toml").write_text(policy_text(text))
    made = rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out", source=tmp_path / "t.csv")
    release = open_release(made.bundle)
    known = release.crosstab("often").estimate
    for where, truth in (
        ("often IS NULL", known[2]),
        ("often IS NOT NULL", known[:2].sum()),
        ("often IS NULL OR often = 1", known[1:].sum()),
        ("often <> 1", known[0]),
    ):
        assert release.crosstab(where=where).estimate == pytest.approx(truth)
    assert release.crosstab(where="sex IS NULL").estimate == 0


def test_names_that_look_like_sql_are_only_names(release):
    table = release.crosstab('o"dd; DROP TABLE data --', where='"o""dd; DROP TABLE data --" IN (\'q"\', \'l\nm\')')

    assert [list(r.group.values()) for r in table.rows] == [['q"'], ["l\nm"]]
    assert "\nm" not in table.summary()


def test_numbers_and_truth_values_are_compared_as_such(release):
    by_level = release.crosstab("level").estimate

    assert release.crosstab(where="level >= 2").estimate == pytest.approx(by_level[1:].sum())
    assert release.crosstab(where="level IN (1, 3) AND LEVEL <> 3").estimate == pytest.approx(by_level[0])
    assert release.crosstab(where="flag").estimate == pytest.approx(release.crosstab("flag").estimate[1])
    assert release.crosstab(where="hours > 1.5 AND born < '2004-01-01'").estimate == 1
    assert release.crosstab(where="hours IS NULL").estimate == 1
    assert release.crosstab(where="sex IS NULL").estimate == 0
    assert release.crosstab(where="NOT sex IS NULL").estimate == 6


@pytest.mark.parametrize(
    ("where", "code", "hint"),
    [
        ("sx = 'F'", "RR262", "'sex'"),
        ("sex = 'f'", "RR265", "its categories are"),
        ("sex = 1", "RR265", None),
        ("sex > 'F'", "RR265", "IN"),
        ("level = '1'", "RR265", None),
        ("level = 4", "RR265", None),
        ("level", "RR265", None),
        ("hours = 'many'", "RR265", None),
        ("sex = 'F' OR level = 1", "RR266", "AND"),
        ("sex = 'F' OR hours > 2", "RR266", "AND"),
        ("NOT (sex = 'F' AND level = 1)", "RR266", "AND"),
    ],
)
def test_what_cannot_be_asked_says_why(release, where, code, hint):
    with pytest.raises(PolicyError, match=code) as caught:
        release.crosstab(where=where)

    assert hint is None or hint in str(caught.value.problems[0].hint)


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("level BETWEEN 7 AND 9", "no category of 'level' is >= 7 and <= 9"),
        ("level BETWEEN 1.2 AND 1.8", "no category of 'level' is >= 1.2 and <= 1.8"),
        ("level > 2 AND sex = 'F' AND level < 2", "no category of 'level' is > 2 and < 2"),
        ("level > 3", "no category of 'level' is > 3"),
    ],
)
def test_what_no_category_satisfies_is_named_whole(release, where, told):
    with pytest.raises(PolicyError, match="RR265") as caught:
        release.crosstab(where=where)

    assert caught.value.problems[0].message == told
    assert caught.value.problems[0].hint == "they go from 1 to 3"
