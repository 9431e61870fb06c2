"""Macros for DuckDB: what they estimate is what rrpolicy does, and what they cannot weigh is an error, never 0."""

from __future__ import annotations

import duckdb
import pytest

import rrpolicy
from rrpolicy.errors import PolicyError

COLUMNS = ("estimate", "se", "low", "high")


@pytest.fixture
def asked(monkeypatch):
    """Return a function that asks a folder in plain DuckDB, after its macros were read."""
    with duckdb.connect() as connection:

        def ask(folder, sql):
            monkeypatch.chdir(folder)
            connection.execute(rrpolicy.export(folder, "duckdb"))
            return connection.execute(sql).fetchall()

        yield ask


def close(found, expected):
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        assert list(row) == pytest.approx(other, rel=1e-9, abs=1e-8)


COUNTS = {
    "w_sex(sex, ['f'])": "sex = 'f'",
    "w_sex(sex, ['f']) * w_below(below, [1, 3]) * w_square(square, [true])": "sex = 'f' AND below IN (1, 3) AND square",
    "\"w_my column\"(\"my column\", ['=1+1', '''x'])": "\"my column\" IN ('=1+1', '''x')",
    "w_wide(wide, ['a'])": "wide = 'a'",
    "w_p_q(p, q, [{'p': 'u', 'q': 0.5}, {'p': 'w', 'q': 0.5}])": "q = 0.5",
    "w_ill(ill, ['=asthma']) * w_plain(plain, [10])": "ill = '=asthma' AND plain = 10",
    "w_sex(sex, ['f', 'm'])": "sex IN ('f', 'm')",
}


@pytest.mark.parametrize("weight", COUNTS)
def test_counts_are_those_of_rrpolicy(mixed, asked, weight):
    aggregates = "est_count(w), est_se(w), est_low(w), est_high(w), est_se_population(w)"
    found = asked(mixed, f"SELECT {aggregates} FROM (SELECT {weight} AS w FROM release)")
    table = rrpolicy.open_release(mixed).crosstab((), COUNTS[weight])
    row = table.rows[0]
    close(found, [[row.estimate, row.se, row.low, row.high, table.se("population").item()]])


def test_by_original_category_and_by_columns_as_they_are(mixed, asked):
    sql = """
SELECT r.plain, d."my column", est_count("w_my column"(r."my column", [d."my column"])),
    est_se("w_my column"(r."my column", [d."my column"]))
FROM release AS r, "domain_my column" AS d WHERE r.hours > 20 GROUP BY ALL ORDER BY ALL"""
    found = {row[:2]: row[2:] for row in asked(mixed, sql)}
    table = rrpolicy.open_release(mixed).crosstab(["plain", "my column"], "hours > 20")
    assert len(found) == len(table.rows)
    for row in table.rows:
        assert found[row.group["plain"], row.group["my column"]] == pytest.approx((row.estimate, row.se), rel=1e-9)


def test_shares_and_means(mixed, asked):
    release = rrpolicy.open_release(mixed)
    pair = "w_sex(sex, ['f']) * w_wide(wide, ['a']) AS part, w_sex(sex, ['f']) AS whole, hours"
    found = asked(
        mixed,
        f"""SELECT est_share(part, whole), est_share_se(part, whole), est_mean(whole, hours),
        est_mean_se(whole, hours) FROM (SELECT {pair} FROM release)""",
    )
    share = release.query("SELECT count(*) FILTER (WHERE wide = 'a') / count(*) AS s FROM release WHERE sex = 'f'")
    mean = release.mean("hours", where="sex = 'f'")
    frame = share.to_frame()
    close(found, [[frame["s"][0], frame["s_se"][0], mean.estimate[0], mean.se()[0]]])


def test_a_category_that_is_none_is_an_error(mixed, asked):
    for call in ("w_sex(sex, ['x'])", "w_below(below, [4])", "w_ill(ill, ['none', 'x'])"):
        with pytest.raises(duckdb.Error, match="not a category of"):
            asked(mixed, f"SELECT est_count({call}) FROM release")


def test_a_column_may_be_called_as_the_parameters_are(made, publish, asked):
    names = ["w", "x", "r0", "categories", "part", "c"]
    axes = [made.retention(name, ["a", "b", "c"], [([0, 1], "3/4"), ([2], "1")]) for name in names]
    rows = {name: list("aabbc" * (i + 1) + "abc" * (6 - i))[:20] for i, name in enumerate(names)}
    rows = {name: (column * 4)[:20] for name, column in rows.items()}
    folder = publish(axes, rows)
    for name in names:
        found = asked(
            folder, f"SELECT est_count(w_{name}({name}, ['a', 'c'])), est_se(w_{name}({name}, ['a'])) FROM release"
        )
        release = rrpolicy.open_release(folder)
        one, two = (release.crosstab((), f"{name} IN ({values})").rows[0] for values in ("'a', 'c'", "'a'"))
        close(found, [[one.estimate, two.se]])


def test_names_of_macros_are_told_apart(made, publish, asked):
    """Of columns x and y drawn together, and of a column x_y; of columns whose names differ by case in nothing else."""
    keep = [["7/10" if u == v else "1/10" for v in range(4)] for u in range(4)]
    cells = [["a", 1], ["a", 2], ["b", 1], ["b", 2]]
    axes = [made.coupled(["x", "y"], cells, keep), made.retention("x_y", ["a", "b"], [((0, 1), "4/5")])]
    folder = publish(axes, {"x": ["a", "b"] * 9, "y": [1, 1, 2] * 6, "x_y": ["a", "b", "b"] * 6})
    release = rrpolicy.open_release(folder)
    found = asked(
        folder, "SELECT est_count(w_x_y(x, y, [{'x': 'a', 'y': 1}])), est_count(w_x_y_(x_y, ['a'])) FROM release"
    )
    counts = [release.crosstab((), where).rows[0].estimate for where in ("x = 'a' AND y = 1", "x_y = 'a'")]
    close(found, [counts])


def test_columns_without_macros_are_named(made, publish):
    labels = [[a, b] for a in "ab" for b in "cd"]
    decoder = made.decoder(["g", "h"], "addition", {"columns": ["g", "h"], "labels": labels, "set_size": 2})
    columns = tuple(made.column(n, [*v], "set", "VARCHAR[]") for n, v in (("g", "ab"), ("h", "cd")))
    rows = {"g": [["a", "b"]] * 4, "h": [["c", "d"]] * 4, "flat": ["x", "y"] * 2}
    flat = made.matrix("flat", ["x", "y"], ["x", "y"], [["1/2", "1/2"], ["1/2", "1/2"]])
    text = rrpolicy.export(publish([made.Axis(decoder, columns, []), flat], rows), "duckdb")

    assert "-- no macro for g, h: sets of values that belong together" in text
    assert "-- no macro for flat" in text
    assert "w_" not in "".join(line for line in text.splitlines(keepends=True) if "MACRO w_" in line)


def test_an_axis_too_large_for_a_macro_is_named(made, publish, asked):
    from rrpolicy.exports.programs import macros

    d = 150
    rows = [[("1/2" if u == v else "1/298") for v in range(d)] for u in range(d)]
    folder = publish([made.matrix("big", list(range(d)), list(range(d)), rows)], {"big": list(range(d))})
    text = rrpolicy.export(folder, "duckdb")
    assert d * d > macros._ENTRIES
    assert "-- no macro for big: too many weights" in text
    assert "w_big" not in text.replace("-- ", "")


def test_dealt_groups_are_refused(tmp_path):
    (tmp_path / "people.csv").write_text("sex,disease\n" + "f,flu\nm,cold\n" * 10)
    (tmp_path / "policy.toml").write_text("""schema = 1
[policy]
name = "a"
version = "1.0.0"
owner = "o"
purpose = "a test"
[source]
uri = "people.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
disease = { role = "sensitive", domain = ["flu", "cold"] }
[[privacy]]
model = "l-diversity"
kind = "distinct"
l = 2
[mechanism]
name = "anatomy"
[release]
format = "csv"
""")
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out")
    with pytest.raises(PolicyError, match="RR513"):
        rrpolicy.export(tmp_path / "out", "duckdb")
    for program, file in (("stata", 'save "{}.dta"'), ("spss", "DATASET NAME {}.")):
        text = rrpolicy.export(tmp_path / "out", program)
        assert all(file.format(table) in text for table in ("qit", "st"))
