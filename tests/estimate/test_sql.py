"""estimate.sql, the weight tables and the README: plain DuckDB gives the numbers that Python gives."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from rrpolicy.estimate.opening import open_release
from rrpolicy.exports.files import public_files
from rrpolicy.exports.weights import safe_file_stem
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.serialization import read

ODD = "e\"du; --\n'c"

RUN = """
import duckdb, json, sys
with duckdb.connect() as connection:
    connection.execute(open("estimate.sql").read()).fetchall()
    result = {}
    for name in json.loads(sys.argv[1]):
        relation = connection.sql('FROM "' + name.replace('"', '""') + '"')
        result[name] = [relation.columns, [list(r) for r in relation.fetchall()]]
print(json.dumps(result))
"""


def run(folder: Path, names: list[str]):
    """Run estimate.sql with the folder as working directory, as its heading says, and read some of its views."""
    command = [sys.executable, "-c", RUN, json.dumps(names)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env={**os.environ})
    return json.loads(done.stdout)


@pytest.fixture
def write(publish, made):
    def make(file_format="parquet"):
        rng = np.random.default_rng(11)
        n = 3000
        axes = [
            made.retention("sex", ("F", "M"), [((0, 1), "4/5")]),
            made.matrix(
                ODD,
                ("a,b", "NA", "q\"'", "l\nm"),
                ("a,b", "q\"'", "l\nm"),
                [["7/10", "1/10", "1/20"], ["1/10", "1/10", "1/20"], ["1/10", "7/10", "1/5"], ["1/10", "1/10", "7/10"]],
            ),
            made.retention("n", (1, 2, 3), [((0, 2), "9/10"), ((1,), "1")]),
            made.identity("region", ("north", "south")),
        ]
        rows = {}
        for axis in axes:
            rows |= made.draw(axis, rng.integers(0, len(axis.P[0]), n), rng)
        rows["hours"] = [float(v) for v in rng.integers(0, 50, n)]
        folder = publish(axes, rows, file_format, [made.column("hours", (), "carried", "DOUBLE")])
        for path, content in public_files(open_release(folder).manifest).items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(content)
        return folder

    return make


@pytest.mark.parametrize("file_format", ["parquet", "csv", "duckdb"])
def test_the_views_of_estimate_sql_are_the_tables_of_python(write, file_format):
    folder = write(file_format)
    release = open_release(folder)
    views = {
        "estimate_sex": ["sex"],
        f"estimate_{ODD}": [ODD],
        "estimate_n": ["n"],
        f"estimate_by_sex_by_{ODD}": ["sex", ODD],
    }

    found = run(folder, list(views))

    for name, by in views.items():
        columns, rows = found[name]
        table = release.crosstab(by)
        assert columns == [*by, "estimate", "se", "se_population", "low", "high"] if ODD not in by else True
        expected = {
            tuple(r.group.values()): (r.estimate, r.se, float(p), r.low, r.high)
            for r, p in zip(table.rows, table.se("population").reshape(-1), strict=True)
        }
        assert {tuple(r[: len(by)]) for r in rows} == set(expected)
        for row in rows:
            np.testing.assert_allclose(row[len(by) :], expected[tuple(row[: len(by)])], rtol=1e-9, atol=1e-9)


def test_weights_are_written_to_the_last_bit_and_the_same_every_time(write):
    folder = write()
    release = open_release(folder)
    axes = release.columns.axes

    for name, path in [("sex", "weights/sex.csv"), (ODD, f"weights/{safe_file_stem(ODD)}.csv")]:
        text = (folder / path).read_text()
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0] == ["released", "original", "weight"]
        table = axes[name].table
        assert [float(r[2]) for r in rows[1:]] == table.reshape(-1).tolist()
        assert [tuple(r[:2]) for r in rows[1:]] == [
            (u[0], v[0]) for u in axes[name].released for v in axes[name].original
        ]
    again = read(Manifest, json.loads(json.dumps(release.manifest.to_json())))
    assert public_files(release.manifest) == public_files(again)
    assert not (folder / "weights" / "region.csv").exists()


def test_coupled_columns_have_one_weight_table(publish, made):
    cells = [(a, b) for a in ("x", "y") for b in (1, 2)]
    P = [
        ["7/10", "1/10", "1/5", "0"],
        ["1/10", "4/5", "1/10", "1/10"],
        ["1/10", "1/10", "3/5", "1/5"],
        ["1/10", "0", "1/10", "7/10"],
    ]
    pair, sex = made.coupled(["a", "n"], cells, P), made.retention("estimate", ("F", "M"), [((0, 1), "9/10")])
    rng = np.random.default_rng(2)
    data = made.draw(pair, rng.integers(0, 4, 500), rng) | made.draw(sex, rng.integers(0, 2, 500), rng)
    folder = publish([pair, sex], data)
    for path, content in public_files(open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)

    found = run(folder, ["estimate_a_n", "estimate_by_a_by_n_by_estimate"])

    table = open_release(folder).crosstab(["a", "n", "estimate"])
    columns, rows = found["estimate_by_a_by_n_by_estimate"]
    assert columns == ["a", "n", "estimate", "estimate_", "se", "se_population", "low", "high"]
    expected = {tuple(r.group.values()): (r.estimate, r.se) for r in table.rows}
    for row in rows:
        np.testing.assert_allclose(row[3:5], expected[tuple(row[:3])], rtol=1e-9)
    assert len(found["estimate_a_n"][1]) == 4
    assert "estimate (group)" in table.to_frame().columns


def test_the_sql_example_of_the_readme_runs(write):
    folder = write()
    examples = re.findall(r"```sql\n(.*?)```", (folder / "README.md").read_text(), flags=re.DOTALL)
    queries = [q for q in examples if q.startswith("SELECT")]
    code = (
        "import duckdb, sys; c = duckdb.connect(); c.execute(open('estimate.sql').read()).fetchall(); "
        "print(*c.sql(sys.argv[1].rstrip(';\\n')).fetchall()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, queries[0]], cwd=folder, capture_output=True, text=True, check=True
    )

    row = open_release(folder).crosstab(where="sex = 'F'").rows[0]
    assert [float(v) for v in done.stdout.split()] == pytest.approx([row.estimate, row.se])


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("numbers", [(20, 40), (12.0, 40.5)])
def test_the_condition_of_the_readme_runs_where_numbers_stand_beside_text(publish, made, numbers, file_format):
    age = made.retention("age", (*numbers, "unknown"), [((0, 1, 2), "4/5")])
    age.columns[0]["type"] = "VARCHAR"
    folder = publish([age], {"age": [str(v) for v in (*numbers, numbers[1], "unknown") * 50]}, file_format)
    for path, content in public_files(open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    (example,) = re.findall(r"```sql\n(SELECT.*?)```", (folder / "README.md").read_text(), flags=re.DOTALL)
    with contextlib.chdir(folder), duckdb.connect() as connection:
        connection.execute((folder / "estimate.sql").read_text())
        (found,) = connection.execute(example).fetchall()

    row = open_release(folder).crosstab(where=f"age = {numbers[0]}").rows[0]
    assert found == pytest.approx((row.estimate, row.se))


@pytest.mark.parametrize(
    "name",
    ["sex", "Sex", "age group", "../../etc/passwd", "con", "", "ü", "a" * 200, "a/b", "a.b", "a\0b", "-rf", "CON"],
)
def test_file_names_are_safe_for_any_column(name):
    stem = safe_file_stem(name)

    assert re.fullmatch(r"[a-z0-9_][a-z0-9_-]{0,62}", stem)
    assert stem not in {"con", "nul", "aux", "prn"}
    others = {safe_file_stem(n) for n in ("sex", "SEX", "sEx", "age group", "age_group", "ü", "ä")}
    assert len(others) == 7


def test_a_table_that_tells_nothing_apart_has_no_weights(made):
    flat = made.retention("sex", ("F", "M"), [((0, 1), "1/2")])

    files = public_files(made.manifest([flat], 10, "parquet"))
    assert set(files) == {"estimate.sql", "README.md"}
    assert "no weights for `sex`" in files["README.md"].decode()
    with duckdb.connect() as connection:
        assert connection.extract_statements(files["estimate.sql"].decode())


def test_nothing_of_a_label_becomes_markup(made):
    axis = made.retention("<script>|`x", ("<b>", "a|b\n# h"), [((0, 1), "3/5")])
    text = public_files(made.manifest([axis], 10, "csv"))["README.md"].decode()

    before = text.split("## In SQL")[0]
    outside = re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", before)  # code spans show what they hold
    assert "``<script>\\|`x``" in before
    assert "`<b>`" in before
    assert "<" not in re.sub(r"\\.", "", outside)
    assert "\n# h" not in before


def test_the_r_example_reads_each_column_as_its_labels_are(made):
    axes = [made.retention("n", (1.0, 2.5), [((0, 1), "3/5")]), made.retention("yes", (False, True), [((0, 1), "3/5")])]
    document = made.manifest(axes, 10, "csv", [made.column("hours", (), "carried", "DOUBLE")])
    text = public_files(document)["README.md"].decode()

    assert 'read.csv("data.csv", colClasses = c("numeric", "logical", NA)' in text
    assert 'read.csv("weights/n.csv", colClasses = c("numeric", "numeric", "numeric")' in text
    assert 'read.csv("weights/yes.csv", colClasses = c("logical", "logical", "numeric")' in text


@pytest.mark.parametrize("file_format", ["parquet", "csv", "duckdb"])
def test_an_empty_label_loses_nobody(publish, made, file_format):
    sex = made.retention("sex", ("", "M"), [((0, 1), "4/5")])
    town = made.identity("town", ("", "a", "b"))
    rows = {"sex": ["", "", "M", ""] * 30, "town": ["", "a", "b"] * 40}
    folder = publish([sex, town], rows, file_format)
    for path, content in public_files(open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    found = run(folder, ["estimate_sex", "estimate_by_sex_by_town"])
    release = open_release(folder)

    for name, by in (("estimate_sex", ["sex"]), ("estimate_by_sex_by_town", ["sex", "town"])):
        expected = {tuple(r.group.values()): r.estimate for r in release.crosstab(by).rows}
        assert {tuple(r[: len(by)]): r[len(by)] for r in found[name][1]} == pytest.approx(expected)
        assert sum(expected.values()) == pytest.approx(120)
    assert release.crosstab(where="town = ''").estimate.sum() == pytest.approx(40)
    assert release.crosstab(where="town <> 'a'").estimate.sum() == pytest.approx(80)


def test_an_interval_outside_the_possible_is_no_point(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "3/4")])
    folder = publish([sex], {"sex": ["F"] * 96 + ["M"] * 4})
    for path, content in public_files(open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    (_, rows) = run(folder, ["estimate_sex"])["estimate_sex"]

    assert [r[-2:] for r in rows] == [pytest.approx(list(e)) for e in open_release(folder).crosstab("sex").conf_int()]
    assert all(high > low for *_, low, high in rows)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
def test_an_interval_outside_the_possible_is_no_point_in_the_r_of_the_readme(publish, made):
    sex = made.retention("sex", ("F", "M"), [((0, 1), "3/4")])
    folder = publish([sex], {"sex": ["F"] * 96 + ["M"] * 4}, "csv")
    for path, content in public_files(open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    (code,) = re.findall(r"```r\n(.*?)```", (folder / "README.md").read_text(), flags=re.DOTALL)
    (folder / "asked.R").write_text(f"options(digits = 12)\nfound <- {{\n{code}}}\nwrite.csv(found)\n")
    done = subprocess.run(["Rscript", "--vanilla", "asked.R"], cwd=folder, capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))

    ends = [[float(row["low"]), float(row["high"])] for row in rows]
    assert ends == [pytest.approx(list(e), rel=1e-4) for e in open_release(folder).crosstab("sex").conf_int()]
