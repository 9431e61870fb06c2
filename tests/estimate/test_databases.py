"""Programs for databases: in SQLite, PostgreSQL and by standard SQL the views have the numbers of estimate.sql."""

from __future__ import annotations

import csv
import io
import itertools
import math
import shutil
import sqlite3
import subprocess
from decimal import Decimal

import duckdb
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import PolicyError
from rrpolicy.exports.files import public_files
from rrpolicy.exports.programs import databases
from rrpolicy.exports.programs.views import _ROOT
from tests.matrix.releases import KINDS, make
from tests.postgres import psql, socket_of_postgres

__all__ = ["socket_of_postgres"]
SCHEMAS = itertools.count()
TRUTHS = {"t": "true", "f": "false", "true": "true", "false": "false"}
MATHEMATICS = {"sqrt", "pow", "power", "exp", "ln", "log"}


def plain(value):
    """Return a value as engines have it in common: numbers as floats, truth values as text, null as no text."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return ""
    return float(value) if isinstance(value, (int, float, Decimal)) else str(value)


def in_order(rows):
    return sorted(rows, key=lambda row: [(isinstance(v, str), v if isinstance(v, str) else round(v, 6)) for v in row])


def as_duckdb_counts(folder, monkeypatch):
    """Return the columns and rows of every view of estimate.sql, by name."""
    for path, content in public_files(rrpolicy.open_release(folder).manifest).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    monkeypatch.chdir(folder)
    with duckdb.connect() as connection:
        connection.execute((folder / "estimate.sql").read_text())
        found = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        asked = {
            name: connection.sql(f"FROM {identifier(name)}") for (name,) in found if name not in {"release", "data"}
        }
        return {name: (r.columns, [[*map(plain, row)] for row in r.fetchall()]) for name, r in asked.items()}


def without_mathematics(action, name, other, *_):
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_FUNCTION and other in MATHEMATICS else sqlite3.SQLITE_OK


def in_sqlite(text, names, tmp_path, socket):
    connection = sqlite3.connect(":memory:")
    if text.startswith("-- A release for SQLite"):
        connection.set_authorizer(without_mathematics)
    connection.executescript(text)
    found = {
        name: [[*map(plain, row)] for row in connection.execute(f"SELECT * FROM {identifier(name)}")] for name in names
    }
    connection.close()
    return found


def in_its_client(text, names, tmp_path, socket):
    path = tmp_path / "release.db"
    path.unlink(missing_ok=True)

    def client(statements, *options):
        command = ["sqlite3", *options, str(path)]
        return subprocess.run(command, input=statements, capture_output=True, text=True, check=False)

    assert client(text, "-bail").stderr == ""
    assert "UNIQUE" in client(text).stderr  # a second time nothing is entered
    return {
        name: [*csv.reader(io.StringIO(client(f"SELECT * FROM {identifier(name)};", "-csv").stdout, newline=""))]
        for name in names
    }


def in_postgres(text, names, tmp_path, socket):
    schema = f"SET search_path = s{next(SCHEMAS)};\n"
    psql(socket, text=schema.replace("SET search_path =", "CREATE SCHEMA") + schema + text)
    return {
        name: [
            *csv.reader(
                io.StringIO(psql(socket, "--csv", "-t", text=f"{schema}SELECT * FROM {identifier(name)};"), newline="")
            )
        ]
        for name in names
    }


def in_duckdb(text, names, tmp_path, socket):
    with duckdb.connect() as connection:
        connection.execute(text).fetchall()
        return {
            name: [[*map(plain, row)] for row in connection.sql(f"FROM {identifier(name)}").fetchall()]
            for name in names
        }


CLIENTS = {
    "sqlite": ("sqlite", in_sqlite),
    "sqlite3": ("sqlite", in_its_client),
    "postgres": ("postgres", in_postgres),
    "ansi, sqlite": ("ansi", in_sqlite),
    "ansi, postgres": ("ansi", in_postgres),
    "ansi, duckdb": ("ansi", in_duckdb),
}


def agree(folder, client, monkeypatch, tmp_path, socket):
    expected = as_duckdb_counts(folder, monkeypatch)
    program, run = CLIENTS[client]
    found = run(rrpolicy.export(folder, program), list(expected), tmp_path, socket)
    for name, (columns, rows) in expected.items():
        truths = [{row[place] for row in rows} <= {"true", "false"} for place in range(len(columns))]
        numbers = [isinstance(value, float) for value in rows[0]]
        kinds = [
            TRUTHS.get if truth else float if number else str for truth, number in zip(truths, numbers, strict=True)
        ]
        told = [[kind(value) for kind, value in zip(kinds, row, strict=True)] for row in found[name]]
        assert len(told) == len(rows) > 0, name
        for row, other in zip(in_order(told), in_order(rows), strict=True):
            assert row == [pytest.approx(v, rel=1e-9, abs=1e-9) if isinstance(v, float) else v for v in other], columns
    return expected


@pytest.fixture
def socket(request):
    return lambda client: request.getfixturevalue("socket_of_postgres") if "postgres" in client else None


@pytest.fixture
def same(monkeypatch, tmp_path, socket):
    return lambda folder, client: agree(folder, client, monkeypatch, tmp_path, socket(client))


@pytest.mark.parametrize("client", CLIENTS)
def test_the_numbers_are_those_of_estimate_sql(mixed, client, same):
    if client == "sqlite3" and shutil.which("sqlite3") is None:
        pytest.skip("the client sqlite3 is not installed")
    expected = same(mixed, client)
    assert {"estimate_ill", "estimate_p_q", "estimate_square", "estimate_by_sex_by_my column"} <= set(expected)


COUNTED_OTHERWISE = {
    "sensitive-addition", "anatomy", "anatomy of two", "full-domain with suppression", "mondrian", "tp", "together",
    "withheld", "several files", "duckdb", "dealt in csv", "several records", "survey", "nulls", "bins and names",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(COUNTED_OTHERWISE & set(KINDS)))
def test_every_kind_of_release_has_the_numbers_of_estimate_sql(kind, tmp_path, same):
    made = make(kind, tmp_path, {})
    for client in ("sqlite", "postgres", "ansi, duckdb"):
        same(made.bundle / "public", client)


def test_the_kinds_are_those_of_the_matrix():
    assert set(KINDS) >= COUNTED_OTHERWISE


def test_the_root_of_sqlite_is_the_root():
    numbers = [0, 1, 2, 1e-12, 3e-5, 0.25, 7.5, 12345.678, 1e9, 4.2e15, 1e24]
    with sqlite3.connect(":memory:") as connection:
        found = [connection.execute(f"SELECT {_ROOT}".replace("argument", repr(x))).fetchone()[0] for x in numbers]
        assert connection.execute(f"SELECT {_ROOT}".replace("argument", "NULL")).fetchone() == (0.0,)
    connection.close()
    assert found == pytest.approx([math.sqrt(x) for x in numbers], rel=1e-15, abs=0)


def test_a_program_has_no_comment_of_another_engine_and_keeps_warnings(tmp_path, publish, made):
    folder = publish([made.retention("sex", ["f", "m"], [([0, 1], "3/4")])], {"sex": list("fm" * 5)})
    text = rrpolicy.export(folder, "sqlite")
    assert text.startswith("-- A release for SQLite: sqlite3 NEW.db < FILE\n")
    assert "DuckDB" not in text
    assert "--   variance, table     = sum(w^2) - sum(w)" in text
    assert "-- The examples, as they run:" in text
    assert text.index("COMMIT;") < text.index("-- The examples")


@pytest.mark.parametrize("client", ["sqlite", "postgres", "ansi, duckdb"])
def test_columns_may_be_called_as_what_the_program_itself_names(publish, made, client, same):
    names = ["rowid", "oid", "x", "i", "t", "h", "n", "w", "r", "a", "estimate", "release", "half", "e\"du; --\n'c"]
    axes = [made.retention(name, ["f", "\\.\nm'"], [([0, 1], "3/4")]) for name in names]
    folder = publish(axes, {name: ["f", "\\.\nm'", "f", "f"] for name in names})
    same(folder, client)


@pytest.mark.parametrize("client", ["sqlite", "postgres", "ansi, duckdb"])
def test_a_release_without_anything_to_correct_has_its_rows(publish, made, client, tmp_path, socket):
    program, run = CLIENTS[client]
    folder = publish([made.identity("sex", ["f", "m"])], {"sex": list("fmf")})
    text = rrpolicy.export(folder, program)
    assert "-- Every released value is the original one: plain counts are exact." in text
    assert sorted(run(text, ["release"], tmp_path, socket(client))["release"]) == [["f"], ["f"], ["m"]]


def test_every_type_of_a_column_is_held(tmp_path, publish, made, socket_of_postgres):
    kinds = {
        "d": ("DATE", ["2020-01-31", None]), "t": ("TIMESTAMP", ["2020-01-31 12:30:00", "1999-12-31 23:59:59.5"]),
        "i": ("INTEGER", [1, -2]), "f": ("FLOAT", [0.1, 2.5]), "n": ("DECIMAL(9,2)", [Decimal("0.50"), Decimal("-3.25")]),
        "h": ("HUGEINT", [2**70, 1]), "b": ("BOOLEAN", [True, False]), "x": ("DOUBLE", [math.nan, math.inf]),
    }  # fmt: skip
    columns = ", ".join(f'"{name}" {kind}' for name, (kind, _) in kinds.items())
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE typed (sex VARCHAR, {columns})")
        rows = zip(["f", "m"], *(values for _, values in kinds.values()), strict=True)
        connection.executemany(f"INSERT INTO typed VALUES ({', '.join('?' * (len(kinds) + 1))})", [*map(list, rows)])
        arrow = connection.sql("FROM typed").to_arrow_table()
    folder = publish(
        [made.retention("sex", ["f", "m"], [([0, 1], "3/4")])], {name: arrow[name] for name in arrow.column_names},
        "parquet", [made.column(name, (), "carried", kind) for name, (kind, _) in kinds.items()],
    )  # fmt: skip

    schema = "CREATE SCHEMA typed; SET search_path = typed;\n"
    psql(socket_of_postgres, text=schema + rrpolicy.export(folder, "postgres"))
    asked = "SELECT d, t, i, f, n, h, b, x FROM typed.release ORDER BY sex;"
    assert psql(socket_of_postgres, "-A", "-t", "-F", " | ", text=asked).splitlines() == [
        f"2020-01-31 | 2020-01-31 12:30:00 | 1 | 0.10000000149011612 | 0.50 | {2**70} | t | NaN",
        " | 1999-12-31 23:59:59.5 | -2 | 2.5 | -3.25 | 1 | f | Infinity",
    ]
    for program, said in (("sqlite", "'h' of release contains numbers of more than 15 digits"),
                          ("ansi", "'x' of release contains infinite numbers")):  # fmt: skip
        with pytest.raises(PolicyError, match=f"RR512.*{said}"):
            rrpolicy.export(folder, program)


def test_dates_and_truth_values_are_text_where_an_engine_may_lack_them(publish, made):
    carried = [made.column("d", (), "carried", "DATE"), made.column("b", (), "carried", "BOOLEAN")]
    with duckdb.connect() as connection:
        arrow = connection.sql("SELECT 'f' AS sex, DATE '2020-01-31' AS d, true AS b").to_arrow_table()
    rows = {name: arrow[name] for name in arrow.column_names}
    folder = publish([made.retention("sex", ["f", "m"], [([0, 1], "3/4")])], rows, "parquet", carried)
    for program in ("sqlite", "ansi"):
        with sqlite3.connect(":memory:") as connection:
            connection.executescript(rrpolicy.export(folder, program))
            assert connection.execute("SELECT d, b FROM 'release'").fetchall() == [("2020-01-31", "true")]
        connection.close()


def test_names_that_are_too_long_are_cut_and_told_apart(publish, made, socket_of_postgres):
    names = ["ü" * 25 + end for end in "abc"]
    axes = [made.retention(name, ["f", "m"], [([0, 1], "3/4")]) for name in names]
    folder = publish(axes, {name: list("fmffm") for name in names})
    text = rrpolicy.export(folder, "postgres")

    psql(socket_of_postgres, text="CREATE SCHEMA long; SET search_path = long;\n" + text)
    asked = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'long' ORDER BY 1;"
    found = psql(socket_of_postgres, "-A", "-t", text=asked).split()
    pair = "estimate_by_" + "ü" * 24
    whole = ["release", *(f"{kind}_{name}" for kind in ("estimate", "weights") for name in names)]
    assert set(found) == {*whole, f"{pair}_2"}


def test_a_column_with_a_name_that_is_too_long_is_refused(publish, made):
    wide = publish([made.retention("ü" * 32, ["f", "m"], [([0, 1], "3/4")])], {"ü" * 32: ["f"]})
    with pytest.raises(PolicyError, match="RR512.*has a name of more than 63 bytes, and PostgreSQL"):
        rrpolicy.export(wide, "postgres")


@pytest.mark.parametrize("other", ["F", "f ", "ｆ", "ḟ"])
def test_texts_that_a_collation_may_take_for_one_are_refused_in_standard_sql(publish, made, other):
    folder = publish([made.retention("sex", ["f", other], [([0, 1], "3/4")])], {"sex": ["f", other, "f"]})
    with pytest.raises(PolicyError, match="RR512.*differ in case, accents or blanks"):
        rrpolicy.export(folder, "ansi")
    for program in ("postgres", "sqlite"):
        assert f"'{other}'" in rrpolicy.export(folder, program)


def test_a_program_of_too_many_values_is_refused(mixed, monkeypatch, capsys):
    monkeypatch.setattr(databases, "_VALUES", 399)
    assert main(["export", str(mixed), "--for", "postgres"]) == 2
    assert "RR513" in (said := capsys.readouterr().err)
    assert "the release holds 4,000 values, and such a program at most 399" in said


def test_data_that_are_not_what_the_manifest_says_are_refused(publish, made):
    folder = publish([made.retention("n", [1, 2], [([0, 1], "3/4")])], {"n": ["one", "two"]}, "csv")
    with pytest.raises(PolicyError, match="RR269"):
        rrpolicy.export(folder, "sqlite")
