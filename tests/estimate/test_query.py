"""SQL on a release: the corrected counts of crosstab, or a refusal with its reason."""

from __future__ import annotations

import json

import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release


@pytest.fixture
def folder(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    age = made.retention("age", ("young", "old"), [((0, 1), "9/10")])
    rows = {"sex": list("FFMMFM") * 20, "age": ["young", "old", "old"] * 40}
    return publish([sex, age], rows)


@pytest.mark.parametrize(
    ("sql", "by", "where"),
    [
        ("SELECT count(*) FROM release", [], None),
        ("SELECT sex, count(*) FROM release WHERE age = 'old' GROUP BY sex", ["sex"], "age = 'old'"),
        ("SELECT age, SEX, count() AS n FROM release GROUP BY ALL", ["age", "sex"], None),
        ("select count(*), sex from release where not age in ('old') group by 1", ["sex"], "age = 'young'"),
        ("SELECT sex, age, count(*) FROM release GROUP BY age, sex;", ["sex", "age"], None),
    ],
)
def test_counts_are_those_of_crosstab(folder, sql, by, where):
    release = open_release(folder)

    if "group by 1" in sql:
        sql = sql.replace("group by 1", "group by sex")
    found = release.query(sql)

    assert found.estimate.tolist() == release.crosstab(by, where).estimate.tolist()
    assert found.by == tuple(by)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT sex FROM release GROUP BY sex", "count"),
        ("SELECT DISTINCT sex, count(*) FROM release GROUP BY sex", "DISTINCT"),
        ("SELECT sex, count(*) FROM release GROUP BY sex HAVING count(*) > 3", "HAVING"),
        ("SELECT sex, count(*) FROM release GROUP BY CUBE (sex)", "CUBE"),
        ("SELECT sex, count(*) FROM release GROUP BY sex LIMIT 1", "LIMIT"),
        ("SELECT sex, count(*) FROM release a JOIN release b USING (sex) GROUP BY sex", "join"),
        ("SELECT count(*) FROM read_csv('/etc/passwd')", "release"),
        ("SELECT count(*) FROM other", "release"),
        ("SELECT max(sex), count(*) FROM release", "max"),
        ("SELECT sex, count(*) FILTER (age = 'old') FROM release GROUP BY sex", "count_star"),
        ("SELECT age, count(*) FROM release GROUP BY sex", "those it groups by"),
        ("SELECT 1, count(*) FROM release", "other than columns"),
        ("SELECT count(*) FROM release UNION SELECT 1", "UNION"),
        ("WITH x AS (SELECT 1) SELECT count(*) FROM release", "WITH"),
    ],
)
def test_what_cannot_be_corrected_is_refused_with_the_reason(folder, sql, reason):
    with pytest.raises(PolicyError, match="RR272") as caught:
        open_release(folder).query(sql)

    assert reason in caught.value.problems[0].message


@pytest.mark.parametrize("sql", ["", "DROP TABLE release", "SELECT", "SELECT count(*) FROM release; SELECT 1"])
def test_what_is_no_query_is_refused(folder, sql):
    with pytest.raises(PolicyError, match=r"RR264|RR272"):
        open_release(folder).query(sql)


def test_the_command_prints_json(folder, capsys):
    sql = "SELECT sex, count(*) FROM release WHERE age = 'old' GROUP BY sex"

    assert main(["query", str(folder), sql, "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == open_release(folder).crosstab("sex", "age = 'old'").to_dict()["rows"]
    assert "age" in document["where"]
