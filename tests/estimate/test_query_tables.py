"""Queries that join small tables of the analyst's own, choose rows by estimates, and ask for least and largest values."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError

CODES = {"code": [1, 2, 3, 4], "name": ["North", "South", "North", "Islands"], "rank": [1, 1, 2, 3]}


@pytest.fixture
def release(publish, made):
    rng = np.random.default_rng(4)
    axes = [
        made.retention("region", (1, 2, 3, 4), [((0, 1, 2, 3), "7/10")]),
        made.retention("sex", ("F", "M"), [((0, 1), "4/5")]),
        made.identity("town", ("a", "b", "c")),
        made.identity("size", (10, 20, 30, "unknown")),
    ]
    rows = {}
    for axis in axes:
        rows |= made.draw(axis, rng.integers(0, len(axis.P), 3000), rng)
    rows["size"] = [v if t != "c" else "20" for v, t in zip(map(str, rows["size"]), rows["town"], strict=True)]
    rows["hours"] = rng.integers(0, 80, 3000).astype(float).tolist()
    rows["hours"][7] = None
    carried = [made.column("hours", (), "carried", "DOUBLE")]
    return rrpolicy.open_release(publish(axes, rows, carried=carried)), pd.DataFrame(rows)


def test_a_joined_table_groups_by_what_it_says_of_original_categories(release):
    opened, _ = release
    table = opened.crosstab(["region", "sex"])
    covariance = table.covariance()
    expected = {}
    for name, sex in ((n, s) for n in ("North", "South", "Islands") for s in ("F", "M")):
        inside = np.array([CODES["name"][r - 1] == name and s == sex for r in (1, 2, 3, 4) for s in ("F", "M")], float)
        expected[name, sex] = (inside @ table.estimate.reshape(-1), np.sqrt(inside @ covariance @ inside))
    for given in (CODES, pd.DataFrame(CODES), pl.DataFrame(CODES)):
        found = opened.query(
            "SELECT labels.name, sex, count(*) AS n FROM release r JOIN labels ON r.region = labels.code GROUP BY ALL",
            tables={"labels": given},
        )
        assert [c for c in found.columns() if not c.startswith("n_")] == ["labels.name", "sex", "n"]
        rows = {(row["labels.name"], row["sex"]): (row["n"], row["n_se"]) for row in found.rows}
        assert rows.keys() == expected.keys()
        for key, values in expected.items():
            assert rows[key] == pytest.approx(values)
    # of released regions it is another table: the join is of the original ones
    released = opened.query("SELECT region, count(*) AS n FROM release GROUP BY region")
    assert sum(r["n"] for r in released.rows if r["region"] in {1, 3}) == pytest.approx(
        sum(rows["North", s][0] for s in ("F", "M"))
    )


def test_conditions_shares_and_means_of_a_joined_table(release):
    opened, _ = release
    joined = "FROM release JOIN l ON release.region = l.code"

    def asked(sql):
        return opened.query(sql, tables={"l": CODES, "unused": {"x": [1]}}).rows

    where = asked(f"SELECT count(*) AS n {joined} WHERE l.name = 'North' AND sex = 'F'")
    plain = asked("SELECT count(*) AS n FROM release WHERE region IN (1, 3) AND sex = 'F'")
    assert where == plain
    for condition, regions in (
        ("name IN ('North', 'Islands')", "1, 3, 4"),
        ("name IS NOT NULL AND rank IN (2)", "3"),
        ("NOT name IS NULL AND NOT name = 'South'", "1, 3, 4"),
    ):
        found = asked(f"SELECT count(*) AS n {joined} WHERE {condition}")
        assert found == asked(f"SELECT count(*) AS n FROM release WHERE region IN ({regions})"), condition
    assert asked(f"SELECT count(*) AS n {joined} WHERE rank >= 2") == asked(
        "SELECT count(*) AS n FROM release WHERE region IN (3, 4)"
    )
    means = asked(f"SELECT name, avg(hours) AS h {joined} GROUP BY name ORDER BY name")
    north = asked("SELECT avg(hours) AS h FROM release WHERE region IN (1, 3)")[0]
    assert [m["name"] for m in means] == ["Islands", "North", "South"]
    assert means[1]["h"] == pytest.approx(north["h"])
    assert means[1]["h_se"] == pytest.approx(north["h_se"])
    shares = asked(
        f"SELECT name, region, count(*) / sum(count(*)) OVER (PARTITION BY name) AS s {joined} GROUP BY name, region"
    )
    within = {(r["name"], r["region"]): r["s"] for r in shares if not np.isnan(r["s"])}
    assert within["South", 2] == pytest.approx(1)
    assert within["North", 1] + within["North", 3] == pytest.approx(1)


def test_categories_without_a_row_are_left_out_and_it_is_said(release, tmp_path, capsys):
    opened, _ = release
    labels = tmp_path / "labels.csv"
    labels.write_text("town,where\na,coast\nb,hills\n")
    sql = 'SELECT "where", count(*) AS n FROM release JOIN labels USING (town) GROUP BY "where"'
    found = opened.query(sql, tables={"labels": labels})

    counts = {r["town"]: r["n"] for r in opened.query("SELECT town, count(*) AS n FROM release GROUP BY town").rows}
    assert {r["where"]: r["n"] for r in found.rows} == {"coast": counts["a"], "hills": counts["b"]}
    assert found.notes == ("1 of 3 categories of 'town' have no row in “labels”: left out",)
    call = ["estimate", "query", str(opened.folder), sql, "--table", f"labels={labels}", "--format", "csv"]
    assert main(call) == 0
    assert next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["where"] == "coast"


@pytest.mark.parametrize(
    ("sql", "content", "code", "reason"),
    [
        ("JOIN l ON release.region = l.code", "code,name\n1,a\n1,b\n", "RR508", "'1' twice"),
        ("JOIN l ON release.region = l.code", "code,name\n9,a\n", "RR508", "no cell of 'code' is a category"),
        ("JOIN l ON release.region = l.key", "code,name\n1,a\n", "RR508", "no column 'key'"),
        ("JOIN l ON release.region = l.code", "code,name\n1,a,b\n", "RR508", "record 1"),
        ("JOIN l ON release.region = l.code", "code,code\n1,a\n", "RR508", "twice"),
        ("JOIN l ON release.region = l.code", "", "RR508", "not a CSV file with a header"),
        ("JOIN l ON release.region = l.code", b"\xff\xfe", "RR508", "UTF-8"),
        ("JOIN l ON release.hours = l.code", "code,name\n1,a\n", "RR263", "'hours'"),
        ("JOIN l ON release.region > l.code", "code,name\n1,a\n", "RR272", "one equality"),
        ("LEFT JOIN l ON release.region = l.code", "code,name\n1,a\n", "RR272", "another way"),
        ("JOIN m ON release.region = m.code", "code,name\n1,a\n", "RR272", "not one of the given tables"),
        ("JOIN l ON release.region = l.code JOIN l ON release.sex = l.name", "code,name\n1,F\n", "RR272", "same name"),
        ("JOIN release ON release.region = release.region", "code,name\n1,a\n", "RR272", "once"),
        ("JOIN l ON release.region = l.code AND release.sex = l.name", "code,name\n1,a\n", "RR272", "one equality"),
        ("JOIN l ON release.region = l.code WHERE l.name = 'x'", "code,name\n1,a\n", "RR265", "'x' is not a category"),
    ],
)
def test_what_cannot_be_joined_is_refused(release, tmp_path, sql, content, code, reason):  # noqa: PLR0917
    opened, _ = release
    (tmp_path / "l.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(PolicyError, match=code) as caught:
        opened.query(f"SELECT count(*) FROM release {sql}", tables={"l": tmp_path / "l.csv"})
    assert reason in caught.value.problems[0].message


def test_a_table_that_is_none_is_refused(release, tmp_path, capsys):
    opened, _ = release
    sql = "SELECT count(*) FROM release JOIN l ON release.region = l.code"
    for given in (tmp_path / "none.csv", tmp_path, 7, {"code": [1, 2], "name": ["a"]}):
        with pytest.raises(PolicyError, match="RR508"):
            opened.query(sql, tables={"l": given})
    assert main(["estimate", "query", str(opened.folder), sql, "--table", "labels.csv"]) == 2
    assert "RR250" in capsys.readouterr().err
    for what, code in (("count(l.rank)", "RR272"), ("max(l.rank)", "RR272"), ("avg(l.name)", "RR274")):
        with pytest.raises(PolicyError, match=code):
            opened.query(f"SELECT {what} FROM release JOIN l ON release.region = l.code", tables={"l": CODES})


def test_having_chooses_rows_by_estimates(release):
    opened, _ = release
    whole = opened.query("SELECT region, sex, count(*) AS n, share() AS s FROM release GROUP BY ALL")

    def rows(having, shown="count(*) AS n, share() AS s"):
        return opened.query(f"SELECT region, sex, {shown} FROM release GROUP BY ALL HAVING {having}")

    for having, keeps in (
        ("count(*) > 380", lambda r: r["n"] > 380),
        ("n > 380 AND sex = 'F'", lambda r: r["n"] > 380 and r["sex"] == "F"),
        ("0.12 <= share() OR region = 2", lambda r: r["s"] >= 0.12 or r["region"] == 2),
        ("NOT n BETWEEN 370 AND 390.5", lambda r: not 370 <= r["n"] <= 390.5),
        ("count(*) > 370 AND count(*) < 390.5", lambda r: 370 < r["n"] < 390.5),
        ("avg(hours) > 39", None),
    ):
        found = rows(having)
        assert 0 < len(found.rows) < len(whole.rows)
        if keeps is not None:
            assert list(found.rows) == [r for r in whole.rows if keeps(r)]
        assert "chosen by their estimates" in found.summary()
    exact = opened.query("SELECT town, count(*) AS n FROM release GROUP BY town HAVING n > 0 AND town <> 'b'")
    assert [r["town"] for r in exact.rows] == ["a", "c"]
    assert exact.notes == ()
    assert rows("count(*) > 1000000").rows == ()
    for having, code in (("count(*) > share()", "RR272"), ("upper(sex) = 'F'", "RR272"), ("sex > 3", "RR272"),
                         ("true", "RR272"), ("nothing = 3", "RR262"), ("median(hours) > 3", "RR272")):  # fmt: skip
        with pytest.raises(PolicyError, match=code):
            rows(having)


def test_least_and_largest_values_of_what_is_unchanged_are_exact(release):
    opened, frame = release
    found = opened.query(
        "SELECT town, min(hours) AS least, max(hours), max(size) AS size, count(*) AS n FROM release GROUP BY town"
    )
    numbers = pd.to_numeric(frame["size"], errors="coerce")
    for row in found.rows:
        own = frame["town"] == row["town"]
        assert row["least"] == frame["hours"][own].min()
        assert row["max_hours"] == frame["hours"][own].max()
        assert row["size"] == numbers[own].max()
    assert [r["size"] for r in found.rows] == [30, 30, 20]
    assert any("min and max are exact" in note for note in found.notes)
    kept = opened.query("SELECT min(hours) FILTER (WHERE hours > 20) AS h, max(town) FROM release WHERE town <> 'c'")
    assert dict(kept.rows[0]) == {"h": 21.0, "max_town": "b"}
    assert "21" in kept.summary()
    assert kept.to_csv() == "h,max_town\n21.0,b\n"
    assert kept.plot().startswith("<svg")
    rolled = opened.query("SELECT town, max(hours) AS h FROM release GROUP BY ROLLUP (town) HAVING h > 0 ORDER BY h")
    assert [r["h"] for r in rolled.rows if r["town"] is None] == [frame["hours"].max()]
    labels = {"town": ["a", "b", "c"], "coast": ["yes", "no", "yes"]}
    joined = opened.query("SELECT coast, min(hours) AS h, count(*) AS n FROM release JOIN l USING (town) GROUP BY coast", tables={"l": labels})  # fmt: skip
    coast = frame["town"].isin(["a", "c"])
    assert {r["coast"]: (r["h"], r["n"]) for r in joined.rows}["yes"] == (frame["hours"][coast].min(), coast.sum())


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT max(sex) FROM release", "'sex' is randomised"),
        ("SELECT sex, max(hours) FROM release GROUP BY sex", "'sex' is randomised"),
        ("SELECT max(hours) FROM release WHERE region = 1", "'region' is randomised"),
        ("SELECT max(hours) * 2 FROM release", "it cannot be part of an expression"),
        ("SELECT max(hours, town) FROM release", "takes one column"),
        ("SELECT count(*) / max(hours) FROM release", "divided"),
    ],
)
def test_least_and_largest_values_of_what_was_randomised_are_refused(release, sql, reason):
    opened, _ = release
    with pytest.raises(PolicyError, match="RR272") as caught:
        opened.query(sql)
    assert reason in caught.value.problems[0].message
