"""What SQL asks that no weights can correct: each is refused with its reason and exit status 2."""

from __future__ import annotations

import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.query.aggregate import EXPECTED

BY = "FROM release GROUP BY sex"


@pytest.fixture
def folder(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    age = made.retention("age", ("young", "old"), [((0, 1), "9/10")])
    rows = {"sex": list("FFMMFM") * 20, "age": ["young", "old", "old"] * 40, "hours": list(range(120))}
    return publish([sex, age], rows, carried=[made.column("hours", (), "carried", "BIGINT")])


@pytest.mark.parametrize(
    ("sql", "code", "reason"),
    [
        (f"SELECT sex {BY}", "RR272", "count"),
        ("SELECT * FROM release", "RR272", "released rows"),
        ("SELECT sex, age FROM release", "RR272", "count"),
        ("SELECT DISTINCT sex, count(*) FROM release GROUP BY sex", "RR272", "DISTINCT"),
        (f"SELECT count(DISTINCT age), sex {BY}", "RR272", "DISTINCT"),
        (f"SELECT sex, count(*) {BY} HAVING count(*) > share()", "RR272", "HAVING"),
        ("SELECT a.sex, count(*) FROM release a JOIN release b USING (sex) GROUP BY ALL", "RR272", "join"),
        ("SELECT count(*) FROM release, other", "RR272", "joins"),
        ("SELECT count(*) FROM read_csv('/etc/passwd')", "RR272", "release"),
        ("SELECT count(*) FROM other", "RR272", "reads “other”; the one table to read is called “release”"),
        ("SELECT count(*) FROM (SELECT * FROM release)", "RR272", "subqueries"),
        ("SELECT (SELECT count(*) FROM release)", "RR272", "release"),
        ("SELECT count(*), (SELECT 1) FROM release", "RR272", "subqueries"),
        ("SELECT count(*) FROM release WHERE sex IN (SELECT sex FROM release)", "RR264", "IN (SELECT sex"),
        ("SELECT count(*) FROM release WHERE hours > (SELECT 1)", "RR264", "constants"),
        ("SELECT count(*) FROM release WHERE 1 = 2", "RR264", "the condition cannot be read"),
        ("SELECT max(sex), count(*) FROM release", "RR272", "max()"),
        ("SELECT median(hours) FROM release", "RR272", "median()"),
        (f"SELECT sex, count(*) FILTER (WHERE age = 'old' OR sex = 'F') {BY}", "RR266", "OR"),
        ("SELECT age, count(*) FROM release GROUP BY sex", "RR272", "those it groups by"),
        ("SELECT age, count(*) FROM release", "RR272", "those it groups by"),
        ("SELECT 1, count(*) FROM release", "RR272", "other than columns"),
        ("SELECT sex || 'x', count(*) FROM release GROUP BY 1", "RR272", "||"),
        ("SELECT count(*) FROM release GROUP BY upper(sex)", "RR272", "expression"),
        ("SELECT count(*) FROM release UNION SELECT 1", "RR272", "UNION"),
        ("WITH x AS (SELECT 1) SELECT count(*) FROM release", "RR272", "WITH"),
        ("SELECT count(*) FROM release TABLESAMPLE 10%", "RR272", "SAMPLE"),
        ("SELECT sex, count(*), rank() OVER (ORDER BY count(*)) FROM release GROUP BY sex", "RR272", "window"),
        ("SELECT sex, sum(count(*)) OVER () FROM release GROUP BY sex", "RR272", "window"),
        (f"SELECT sex, count(*) / sum(count(*)) OVER (ORDER BY sex) {BY}", "RR272", "window"),
        (f"SELECT sex, count(*) / max(count(*)) OVER () {BY}", "RR272", "window"),
        (f"SELECT sex, count(*) / sum(hours) OVER () {BY}", "RR272", "window"),
        ("SELECT count(*) / sum(count(*)) OVER () FROM release GROUP BY CUBE (sex)", "RR272", "GROUPING SETS"),
        (f"SELECT count(*) / sum(count(*)) OVER (PARTITION BY age) {BY}", "RR263", "grouped by"),
        (f"SELECT sum(hours) / count(*) {BY}", "RR272", "only count(*)"),
        (f"SELECT count(*) / avg(hours) {BY}", "RR272", "divided"),
        (f"SELECT count(*) FILTER (WHERE age = 'old') / sum(count(*)) OVER () {BY}", "RR272", "FILTER"),
        (f"SELECT share() FILTER (WHERE age = 'old') {BY}", "RR272", "FILTER"),
        (f"SELECT share(age) {BY}", "RR272", "share()"),
        (f"SELECT count(*) - 1 {BY}", "RR272", "added"),
        (f"SELECT count(*) * count(*) {BY}", "RR272", "constant"),
        (f"SELECT count(*) * -1 {BY}", "RR272", "multiplied by a"),
        (f"SELECT count(*) * 0 {BY}", "RR272", "positive"),
        (f"SELECT round(count(*), 2) {BY}", "RR272", "round()"),
        (f"SELECT count(*)::INT {BY}", "RR272", "other than columns"),
        (f"SELECT sum(CASE WHEN age = 'old' THEN 1 ELSE 0 END) {BY}", "RR272", "one column"),
        (f"SELECT CASE WHEN sex = 'F' THEN 1 END, count(*) {BY}", "RR272", "FILTER"),
        ("SELECT sex, count(*), grouping(sex) FROM release GROUP BY CUBE (sex)", "RR272", "GROUPING"),
        (f"SELECT sex, count(*) {BY} LIMIT 10%", "RR272", "LIMIT"),
        (f"SELECT sex, count(*) {BY} LIMIT (SELECT 1)", "RR272", "LIMIT"),
        (f"SELECT sex, count(*) {BY} ORDER BY avg(hours)", "RR272", "ORDER BY"),
        (f"SELECT sex, count(*) {BY} ORDER BY age", "RR272", "order by"),
        ("SELECT sex AS x, age AS x, count(*) FROM release GROUP BY ALL", "RR272", "same name"),
        ("SELECT avg(sex) FROM release", "RR274", "not numbers"),
        ("SELECT hours, count(*) FROM release GROUP BY hours", "RR263", "unchanged"),
        ("SELECT count(*) FROM release WHERE sex = 'X'", "RR265", "not a category"),
        ("", "RR264", "the query cannot be read"),
        ("SELEC count(*) FROM release", "RR264", "the query cannot be read: syntax error"),
        ("DROP TABLE release", "RR264", "the query cannot be read"),
        ("SELECT", "RR264", "the query cannot be read"),
        ("SELECT count(*) FROM release; SELECT 1", "RR264", "more than one"),
    ],
)
def test_what_cannot_be_corrected_is_refused_with_the_reason(folder, sql, code, reason):
    release = open_release(folder)
    with pytest.raises(PolicyError, match=code) as caught:
        release.query(sql)

    assert reason in caught.value.problems[0].message


@pytest.mark.parametrize(
    ("sql", "instead"),
    [
        (f"SELECT sum(CASE WHEN age = 'old' THEN 1 ELSE 0 END) {BY}", "count(*) FILTER (WHERE age = 'old')"),
        (f"SELECT CASE WHEN sex = 'F' THEN 1 END, count(*) {BY}", "count(*) FILTER (WHERE sex = 'F')"),
        (
            "SELECT age = 'old' AS aged, count(*) FROM release GROUP BY aged",
            "count(*) FILTER (WHERE age = 'old')",
        ),
        ("SELECT count(*) FROM release GROUP BY hours >= 16", "count(*) FILTER (WHERE hours >= 16)"),
        *(
            (f"SELECT {case} {BY}", EXPECTED)
            for case in (
                "sum(CASE WHEN age = 'old' THEN 0 ELSE 1 END)",
                "sum(CASE WHEN age = 'old' THEN hours END)",
                "sum(CASE WHEN age = 'old' THEN 1 WHEN sex = 'F' THEN 1 END)",
            )
        ),
        (f"SELECT median(hours) {BY}", EXPECTED),
    ],
)
def test_what_is_expected_instead_answers_the_same_and_runs(folder, sql, instead):
    release = open_release(folder)
    with pytest.raises(PolicyError, match="RR272") as caught:
        release.query(sql)

    assert caught.value.problems[0].expected == instead
    if instead == EXPECTED:
        form = instead.replace("columns", "sex").replace("condition", "age = 'old'")
        assert release.query(form).keys
    else:
        assert len(release.query(f"SELECT {instead}, count(*) FROM release").keys) == 1


def test_refusals_end_with_status_2_and_their_code(folder, capsys):
    assert main(["estimate", "query", str(folder), "SELECT DISTINCT sex FROM release"]) == 2
    assert "RR272" in capsys.readouterr().err
    assert main(["explain", "RR272"]) == 0
    assert "HAVING" in capsys.readouterr().out
