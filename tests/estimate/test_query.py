"""SQL on a release: the corrected counts, shares and means of Python, or a refusal with its reason."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from rrpolicy.cli.main import main
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release


@pytest.fixture
def folder(publish, made):
    """Two randomised columns, one as it is, one of numbers that some records do not have."""
    rng = np.random.default_rng(20240807)
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    age = made.retention("age", ("young", "old", "oldest"), [((0, 1, 2), "9/10")])
    region = made.identity("region", ("N", "S"))
    codes = {c: rng.integers(0, size, 600) for c, size in (("sex", 2), ("age", 3), ("region", 2))}
    rows = {
        **made.draw(sex, codes["sex"], rng),
        **made.draw(age, codes["age"], rng),
        **made.draw(region, codes["region"], rng),
    }
    hours = [None if i % 11 == 0 else float(20 + 5 * s + i % 7) for i, s in enumerate(codes["sex"])]
    carried = [made.column("hours", (), "carried", "DOUBLE")]
    return publish([sex, age, region], rows | {"hours": hours}, carried=carried)


@pytest.fixture
def release(folder):
    return open_release(folder)


def same(found, expected) -> bool:
    return bool(np.allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-12, atol=1e-12))


@pytest.mark.parametrize(
    ("sql", "by", "where"),
    [
        ("SELECT count(*) FROM release", [], None),
        ("SELECT sex, count(*) FROM release WHERE age = 'old' GROUP BY sex", ["sex"], "age = 'old'"),
        ("SELECT age, SEX, count() AS n FROM release GROUP BY ALL", ["age", "sex"], None),
        ("select sex, count(*) from release where not age in ('old') group by 1", ["sex"], "age <> 'old'"),
        ("select count(*), sex from release where age in ('old', 'young') group by 2", ["sex"], "age <> 'oldest'"),
        ("SELECT sex, age, count(*) FROM release GROUP BY age, sex;", ["sex", "age"], None),
        ("SELECT sex AS s, count(1) FROM release GROUP BY s", ["sex"], None),
        ("SELECT release.sex, count(age) FROM release GROUP BY sex", ["sex"], None),
        (
            "SELECT sex, count(*) FROM release WHERE sex = 'F' AND region = 'N' GROUP BY sex",
            ["sex"],
            "sex='F' AND region='N'",
        ),
        ("SELECT count(*) FILTER (WHERE sex = 'F' AND age = 'old') FROM release", [], "sex = 'F' AND age = 'old'"),
        (
            "SELECT sex, count_if(age = 'old') FROM release WHERE region = 'S' GROUP BY sex",
            ["sex"],
            "region='S' AND age='old'",
        ),
        ("SELECT sex, count(hours) FROM release GROUP BY sex", ["sex"], "hours IS NOT NULL"),
    ],
)
def test_counts_are_those_of_crosstab(release, sql, by, where):
    for target in ("table", "population"):
        found, expected = release.query(sql, target, 0.9), release.crosstab(by, where, target, 0.9)

        assert same(found.estimate[:, 0], expected.estimate.reshape(-1))
        assert same(found.se()[:, 0], expected.se().reshape(-1))
        assert same(found.conf_int()[:, 0], expected.conf_int())
        assert same(found.conf_int(0.99, "table")[:, 0], expected.conf_int(0.99, "table"))
        assert found.by == tuple(by)
        assert list(found.keys) == list(expected.group_values())
        assert [r.flags for r in expected.rows] == list(found.quantities[0].flags)


def test_one_count_has_the_columns_of_a_crosstab_and_several_their_own_names(release):
    lone = release.query("SELECT sex, count(*) FROM release GROUP BY sex")
    named = release.query(
        "SELECT count(*) AS n, sex, count(*) FILTER (WHERE age = 'old'), avg(hours) FROM release GROUP BY sex"
    )

    assert list(lone.to_frame()) == list(release.crosstab("sex").to_frame())
    assert list(named.to_frame()) == [
        "n", "n_se", "n_low", "n_high", "n_flags", "n_released", "sex",
        "count", "count_se", "count_low", "count_high", "count_flags", "count_released",
        "avg_hours", "avg_hours_se", "avg_hours_low", "avg_hours_high", "avg_hours_flags",
        "avg_hours_released",
    ]  # fmt: skip
    assert named.rows[0]["n"] == pytest.approx(release.crosstab("sex").rows[0].estimate, rel=1e-12)


def test_names_that_clash_are_told_apart(release):
    found = release.query("SELECT sex AS estimate, count(*) FROM release GROUP BY sex")
    alias = release.query("SELECT sex AS x, count(*) AS x FROM release GROUP BY sex")
    twice = release.query("SELECT count(*), count(*) FILTER (WHERE sex = 'F') FROM release")

    assert list(found.columns())[:3] == ["estimate", "estimate_", "se_"]
    assert list(alias.columns())[:2] == ["x", "x_"]
    assert [m.name for m in twice.quantities] == ["count", "count_"]


@pytest.mark.parametrize(
    ("clause", "sets"),
    [
        ("CUBE (sex, age)", [["sex", "age"], ["sex"], ["age"], []]),
        ("ROLLUP (sex, age)", [["sex", "age"], ["sex"], []]),
        ("GROUPING SETS ((sex), (age, sex))", [["sex"], ["sex", "age"]]),
        ("sex, ROLLUP (age)", [["sex"], ["sex", "age"]]),
    ],
)
def test_grouping_sets_are_tables_of_the_cube(release, clause, sets):
    sql = f"SELECT sex, age, count(*) AS n, share() AS s, avg(hours) AS h, sum(hours) AS t FROM release WHERE region = 'N' GROUP BY {clause}"
    found = release.query(sql)
    cube = release.cube(["sex", "age"], "region = 'N'")

    assert len(found.keys) == sum(cube.table(*by).estimate.size for by in sets)
    n, s, h, t = found.quantities
    for by in sets:
        rows = [i for i, key in enumerate(found.keys) if {c for c, v in key.items() if v is not None} == set(by)]
        table, means = cube.table(*by), release.mean("hours", by, "region = 'N'")
        assert [[v for v in found.keys[i].values() if v is not None] for i in rows] == [
            list(key.values()) for key in table.group_values()
        ]
        assert same(n.estimate[rows], table.estimate.reshape(-1))
        assert same(n.errors["table"][rows], table.se().reshape(-1))
        assert same(s.estimate[rows], table.estimate.reshape(-1) / cube.table().estimate)
        assert same(h.estimate[rows], means.estimate)
        assert same(h.errors["table"][rows], means.se())
        assert same(
            t.estimate[rows],
            means.estimate * release.crosstab(by, "region = 'N' AND hours IS NOT NULL").estimate.reshape(-1),
        )


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize(
    ("item", "within", "scale"),
    [
        ("share()", [], 1),
        ("share(*)", [], 1),
        ("count(*) / sum(count(*)) OVER ()", [], 1),
        ("count(*) * 1.0 / sum(count(*)) OVER ()", [], 1),
        ("100 * count(*)::DOUBLE / sum(count(*)) OVER ()", [], 100),
        ("count(*) / sum(count(*)) OVER () / 4", [], 0.25),
        ("count(*) / sum(count(*)) OVER (PARTITION BY sex) * 100.0", ["sex"], 100),
        ("count(*) / sum(count(*)) OVER (PARTITION BY age)", ["age"], 1),
        ("count(*) / sum(count(*)) OVER (PARTITION BY sex, age)", ["sex", "age"], 1),
    ],
)
def test_shares_are_ratios_of_the_crosstab_with_errors_by_its_covariance(release, item, within, scale, target):
    where = "region = 'N' AND age IN ('old', 'oldest')"
    found = release.query(f"SELECT sex, age, {item} AS s FROM release WHERE {where} GROUP BY sex, age", target)
    table = release.crosstab(["sex", "age"], where, target)
    n, keys, covariance = table.estimate.reshape(-1), table.group_values(), table.covariance()

    for i, key in enumerate(keys):
        whole = np.array([all(key[c] == other[c] for c in within) for other in keys], dtype=float)
        part = np.eye(len(keys))[i]
        R = n[i] / (whole @ n)
        gradient = (part - R * whole) / (whole @ n)
        assert found.estimate[i, 0] == pytest.approx(scale * R, rel=1e-12)
        assert found.se()[i, 0] == pytest.approx(scale * np.sqrt(max(gradient @ covariance @ gradient, 0)), abs=1e-9)


@pytest.mark.parametrize("target", ["table", "population"])
def test_rates_are_shares_within_groups(release, target):
    sql = "SELECT sex, count(*) FILTER (WHERE age = 'old') / count(*) AS rate FROM release WHERE region = 'S' GROUP BY sex"
    within = "SELECT sex, age, count(*) / sum(count(*)) OVER (PARTITION BY sex) AS s FROM release WHERE region = 'S' GROUP BY ALL"
    rate, share = release.query(sql, target), release.query(within, target)

    at = [i for i, key in enumerate(share.keys) if key["age"] == "old"]
    assert same(rate.estimate, share.estimate[at])
    assert same(rate.se(), share.se()[at])


def test_a_rate_of_a_column_that_is_as_it_is_is_the_mean_of_its_indicator(release):
    sql = "SELECT sex, count(*) FILTER (WHERE region = 'N') / count(*) AS rate FROM release GROUP BY sex"
    found = release.query(sql)
    whole, part = release.crosstab("sex"), release.crosstab("sex", "region = 'N'")

    assert same(found.estimate[:, 0], part.estimate / whole.estimate)
    alone = release.query("SELECT count(*) FILTER (WHERE region = 'N') / count(*) AS rate FROM release")
    assert alone.se("table")[0, 0] == pytest.approx(0.0, abs=1e-9)
    R = alone.estimate[0, 0]
    assert alone.se("population")[0, 0] == pytest.approx(np.sqrt(R * (1 - R) / 599), rel=1e-9)


@pytest.mark.parametrize("target", ["table", "population"])
def test_means_are_those_of_python(release, target):
    found = release.query("SELECT sex, age, avg(hours) FROM release WHERE region = 'N' GROUP BY ALL", target)
    expected = release.mean("hours", ["sex", "age"], "region = 'N'", target=target)
    filtered = release.query(
        "SELECT sex, mean(hours) FILTER (WHERE age = 'old') AS h FROM release GROUP BY sex", target
    )
    where = release.mean("hours", "sex", "age = 'old'", target=target)

    assert same(found.estimate[:, 0], expected.estimate)
    assert same(found.se()[:, 0], expected.se())
    assert same(filtered.estimate[:, 0], where.estimate)
    assert same(filtered.conf_int()[:, 0], where.conf_int())


def test_a_total_has_the_error_of_its_weighted_sum(release, folder):
    import duckdb

    found = release.query("SELECT sex, sum(hours) FROM release GROUP BY sex")
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT sex, hours FROM '{folder}/data.parquet' WHERE hours IS NOT NULL").fetchall()
    y = np.array([h for _, h in rows])
    for i, category in enumerate("FM"):
        w = np.array([(0.8 if s == category else -0.2) / 0.6 for s, _ in rows])
        assert found.estimate[i, 0] == pytest.approx(w @ y, rel=1e-12)
        assert found.se("table")[i, 0] == pytest.approx(np.sqrt(((w**2 - w) * y**2).sum()), rel=1e-9)
        population = 600 / 599 * ((w**2 * y**2).sum() - (w @ y) ** 2 / 600)
        assert found.se("population")[i, 0] == pytest.approx(np.sqrt(population), rel=1e-9)


def test_a_filter_leaves_groups_without_records_at_0_and_without_a_mean(release):
    found = release.query(
        "SELECT sex, count(*) FILTER (WHERE sex = 'F') AS n, avg(hours) FILTER (WHERE sex = 'F') AS h FROM release GROUP BY sex"
    )
    n, h = found.quantities

    assert n.estimate[1] == n.errors["table"][1] == 0
    assert same(n.estimate[0], release.crosstab("sex").estimate[0])
    assert np.isnan(h.estimate[1])
    assert found.to_dict()["rows"][1]["h"] is None


def test_rows_are_ordered_and_limited_as_asked(release):
    plain = release.query("SELECT sex, age, count(*) AS n FROM release GROUP BY ALL")
    n = plain.estimate[:, 0]
    falling = [plain.keys[i] for i in np.argsort(-n)]

    def keys(clause: str) -> list[object]:
        return list(release.query(f"SELECT sex, age, count(*) AS n FROM release GROUP BY ALL ORDER BY {clause}").keys)

    assert keys("n DESC") == keys("3 DESC") == keys("count(*) DESC") == falling
    assert keys("N") == falling[::-1]
    assert keys("n_se DESC")[0] == plain.keys[int(np.argmax(plain.se()[:, 0]))]
    assert keys("age, sex DESC") == sorted(
        sorted(plain.keys, key=lambda k: k["sex"], reverse=True), key=lambda k: k["age"]
    )
    assert keys("ALL") == sorted(plain.keys, key=lambda k: (k["sex"], k["age"]))
    assert keys("n DESC LIMIT 2 OFFSET 1") == falling[1:3]
    assert keys("n LIMIT 0") == []


def test_what_is_chosen_by_estimates_says_so(release):
    sql = "SELECT age, count(*) AS n FROM release GROUP BY age ORDER BY {} LIMIT {}"

    assert "too large" in release.query(sql.format("n DESC", 1)).notes[0]
    assert "too large" in release.query(sql.format("n DESC", 1)).summary()
    assert not release.query(sql.format("n DESC", 3)).notes
    assert not release.query(sql.format("age", 1)).notes


def test_rows_that_sum_over_a_column_come_last_unless_asked_otherwise(release):
    sql = "SELECT sex, count(*) FROM release GROUP BY ROLLUP (sex) ORDER BY sex "

    assert [key["sex"] for key in release.query(sql).keys] == ["F", "M", None]
    assert [key["sex"] for key in release.query(sql + "DESC").keys] == ["M", "F", None]
    assert [key["sex"] for key in release.query(sql + "NULLS FIRST").keys] == [None, "F", "M"]


def test_the_command_prints_json(folder, capsys):
    sql = "SELECT sex, count(*) FROM release WHERE age = 'old' GROUP BY sex"

    assert main(["estimate", "query", str(folder), sql, "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == open_release(folder).crosstab("sex", "age = 'old'").to_dict()["rows"]
    assert "age" in document["where"]


def test_the_command_prints_tables_and_csv(folder, capsys):
    sql = "SELECT sex, count(*) AS n, share() AS s FROM release GROUP BY CUBE (sex)"

    assert main(["estimate", "query", str(folder), sql, "--population"]) == 0
    text = capsys.readouterr().out
    assert main(["estimate", "query", str(folder), sql, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))

    assert "population's shares" in text
    assert "n_low" in text
    found = open_release(folder).query(sql)
    assert [float(r["s_se"]) for r in rows] == found.se()[:, 1].tolist()
    assert [r["sex"] for r in rows] == [key["sex"] or "" for key in found.keys]


def test_a_plot_has_a_line_for_every_row(release):
    svg = release.query("SELECT sex, count(*) FROM release GROUP BY ROLLUP (sex)").plot()._repr_svg_()

    assert svg.startswith("<svg")
    assert "all" in svg


def test_an_unknown_name_is_refused_as_everywhere(release):
    for sql in ("SELECT sx, count(*) FROM release GROUP BY sx", "SELECT avg(hour) FROM release"):
        with pytest.raises(PolicyError, match="RR262"):
            release.query(sql)
