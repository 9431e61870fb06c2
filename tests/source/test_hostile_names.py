"""Names are looked up and quoted: whatever they hold, nothing of it is executed and nothing breaks."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.cli.main import main
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import DataError

from .conftest import carried, distinct, qi

NAMES = [
    'with "quotes"',
    "it's",
    "two words",
    "select",
    "group",
    "n",
    "k0",
    "a0",
    "c0",
    "p0",
    "count(*)",
    "naïve größe 数",
    "🙂",
    'x"; DROP TABLE people; --',
    "a.b",
    "a,b",
    "back\\slash",
    "percent%s",
    "{brace}",
    "line\nbreak",
    "tab\t",
    "-- comment",
    "/* comment */",
    "$1",
    "?",
    " ",
    "rowid",
    "file_row_number",
    "*",
    "columns(*)",
]
HOSTILE = "'); DROP TABLE people; --"


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_any_name_in_parquet(name, opened, parquet):
    path = parquet({name: ["x", HOSTILE, "x"], "other": [1, 2, 2]})
    with opened(path, qi(name, "x", HOSTILE), carried("other", assume_unlinkable="test")) as original:
        assert original.counts(name).n.tolist() == [2, 1]
        assert [b.schema.names for b in original.rows("other", name)] == [["other", name]]
        assert distinct(original) == 3
    with opened(path, carried(name, assume_unlinkable="test"), qi("other", 1, 2)) as original:
        assert distinct(original) == 3
    path = parquet({name: ["x", HOSTILE, "x"], "other": ["1", "2", "2"]})
    with opened(path, qi("other", "2", "1"), qi(name, "x", HOSTILE)) as original:
        assert original.counts(name, "other").codes.tolist() == [[0, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize("name", [n for n in NAMES if "\n" not in n])
def test_columns_of_any_name_in_csv(name, opened, tmp_path):
    with (tmp_path / "t.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([[name, "other"], ["x", "1"], [HOSTILE, "2"], ["x", "2"]])
    with opened(tmp_path / "t.csv", qi(name), qi("other")) as original:
        assert original.policy.attributes[name].domain == (HOSTILE, "x")
        assert original.policy.attributes["other"].domain == (1, 2)
        assert original.counts(name, "other").n.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_tables_and_columns_of_any_name_in_a_database(name, opened, database):
    quoted = '"' + name.replace('"', '""') + '"'
    path = database(
        "CREATE TABLE people (a INT)",
        f"CREATE TABLE {quoted} ({quoted} VARCHAR, other INT)",
        f"INSERT INTO {quoted} VALUES ('x', 1), ('y', 2), ('x', 2)",
    )
    with opened(path, qi(name, "x", "y"), qi("other", 1, 2), table=name) as original:
        assert original.counts(name).n.tolist() == [2, 1]
    with duckdb.connect(str(path)) as connection:
        assert connection.sql("SHOW TABLES").fetchall() == sorted([("people",), (name,)])


@pytest.mark.parametrize("table", ["people; DROP TABLE people", "(SELECT 1)", 'people"', "missing", "", "other.people"])
def test_a_table_that_is_not_there_is_refused_not_run(table, opened, database):
    path = database("CREATE TABLE people (a INT)", "INSERT INTO people VALUES (1)", "CREATE TABLE second (a INT)")
    with pytest.raises(DataError) as caught, opened(path, qi("a", 1), table=table):
        pass
    assert caught.value.problems[0].code == "RR306"


@pytest.mark.parametrize(
    "name",
    [
        "a[1].parquet",
        "b*.parquet",
        "c?.parquet",
        "d'e.parquet",
        'f"g.parquet',
        "h i.parquet",
        "ü.parquet",
        "{1,2}.parquet",
    ],
)
def test_files_of_any_name(name, opened, parquet):
    parquet({"a": ["y", "y"]}, name.replace("*", "x").replace("?", "x").replace("[1]", "1"))
    path = parquet({"a": ["x"]}, name)
    with opened(path, qi("a", "x")) as original:
        assert original.records == 1


def test_a_csv_file_with_the_name_of_a_glob(opened, tmp_path):
    (tmp_path / "a[1]*.csv").write_text("a\nx\n")
    (tmp_path / "a1.csv").write_text("a\ny\ny\n")
    with opened(tmp_path / "a[1]*.csv", qi("a", "x")) as original:
        assert original.records == 1


def test_partition_folders_and_parquet_metadata_add_no_columns(opened, tmp_path):
    folder = tmp_path / "year=2026"
    folder.mkdir()
    pq.write_table(pa.table({"a": ["x", "y"]}), folder / "part.parquet")
    with opened(tmp_path / "*" / "part.parquet", qi("a")) as original:
        assert list(original.snapshot.columns()) == ["a"]


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect() as connection:
        yield connection


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1))
def test_quoting_gives_back_any_text(engine, text):
    row = engine.execute(f"SELECT {literal(text)} AS {identifier(text)}")
    assert row.description[0][0] == text
    assert row.fetchone() == (text,)


@settings(deadline=None)
@given(value=st.one_of(st.booleans(), st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False)))
def test_quoting_gives_back_any_value(engine, value):
    (back,) = engine.execute(f"SELECT {literal(value)}").fetchone()
    assert back == value
    assert isinstance(back, type(value))


def test_a_nul_is_refused():
    with pytest.raises(DataError, match="RR304"):
        identifier("a\0b")
    with pytest.raises(DataError, match="RR304"):
        literal("a\0b")


TABLE = "sex,ill\n" + "F,no\nM,yes\n" * 20
POLICY = """schema = 1
[policy]
name = "town"
version = "1.0.0"
owner = "registry"
purpose = "tables"
[source]
uri = "people.csv"
unit = "each row"
[attributes]
sex = { role = "quasi-identifier", domain = ["F", "M"] }
ill = { role = "sensitive", domain = ["no", "yes"] }
[[privacy]]
model = "local-dp"
epsilon = 4
[mechanism]
name = "pram"
"""


def test_a_path_that_is_no_text_is_refused(tmp_path, capsys):
    table = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xfcber.csv"))
    table.write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)

    assert main(["plan", str(tmp_path / "policy.toml"), "--source", str(table)]) == 3
    assert "RR300" in capsys.readouterr().err


def test_umlauts_are_read_whatever_the_locale(tmp_path):
    folder = tmp_path / "Münster"
    folder.mkdir()
    (folder / "people.csv").write_text(TABLE)
    (folder / "policy.toml").write_text(POLICY)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": os.environ["PATH"]}
    program = Path(sys.executable).with_name("rrpolicy")
    command = [program, "plan", folder / "policy.toml"]
    found = subprocess.run(command, env=plain, capture_output=True, text=True, check=False)

    assert found.returncode == 0, found.stderr
    assert "town 1.0.0" in found.stdout
