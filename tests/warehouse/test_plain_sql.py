"""`rrpolicy export --for postgres|sqlite|ansi`: the views of estimate.sql, the same numbers in other databases."""

from __future__ import annotations

import csv
import io
import math
import re
import sqlite3
import subprocess
from pathlib import Path

import duckdb
import pytest
import sqlglot

import rrpolicy
from rrpolicy.cli.main import main

HEAD = """\
schema = 1
[policy]
name = "plain"
version = "1.0.0"
owner = "an office"
[source]
uri = "people.parquet"
[attributes]
person = { role = "identifier" }
"sex; --" = { role = "quasi-identifier", domain = ["F", "M's"] }
area = { role = "quasi-identifier", domain = ["a", "b", "c", "d"], hierarchy = [{ "ab" = ["a", "b"], "cd" = ["c", "d"] }, { "*" = ["ab", "cd"] }] }
works = { role = "quasi-identifier", domain = [false, true] }
rooms = { role = "quasi-identifier", domain = [1, 2, 3] }
ill = { role = "sensitive", domain = ["=none", "flu", "cold"] }
"""
LDP = '[[privacy]]\nmodel = "local-dp"\nepsilon = 20\n'
L = '[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = 2\n'
KEPT = '[release]\nformat = "{}"\n[[waivers]]\nfinding = "protection"\nreason = "a test"\napprover = "office"\nuntil = 2099-01-01\n'
FULL = '[[privacy]]\nmodel = "k-anonymity"\nk = 20\n[mechanism]\nname = "l-diversity"\nalgorithm = "full-domain"\n'
KINDS = {
    "pram": LDP + '[mechanism]\nname = "pram"\n',
    "generalised": FULL,
    "anatomy": L + '[mechanism]\nname = "anatomy"\n',
    "withheld": LDP + '[mechanism]\nname = "pram"\n',
}


@pytest.fixture(scope="module", params=[*KINDS, "csv"])
def bundle(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    kind = "pram" if request.param == "csv" else request.param
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.3)")
        query = """SELECT i AS person, ['F', 'M''s'][1 + i % 2] AS "sex; --", ['a', 'b', 'c', 'd'][1 + i % 4] AS area,
            i % 3 = 0 AS works, 1 + (i // 7) % 3 AS rooms, ['=none', 'flu', 'cold'][1 + (i // 5) % 3] AS ill FROM range(600) t(i)"""
        connection.execute(f"COPY ({query}) TO '{folder}/people.parquet'")
    text = HEAD
    if kind in {"anatomy", "generalised"}:
        text = text.replace('role = "quasi-identifier",', 'role = "quasi-identifier", unchanged = "a test",')
    kept = KEPT.format("csv" if request.param == "csv" else "parquet")
    kept = kept.replace("[release]\n", '[release]\ndecoders = "withheld"\n') if kind == "withheld" else kept
    (folder / "policy.toml").write_text(text + KINDS[kind] + kept)
    rrpolicy.release(folder / "policy.toml", folder / "bundle")
    return folder / "bundle"


def in_duckdb(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, list[tuple]], dict[str, str]]:
    """Return what the views of estimate.sql hold, and the rows that its heading lets DuckDB write, as CSV."""
    monkeypatch.chdir(bundle / "public")
    text = Path("estimate.sql").read_text()
    with duckdb.connect() as connection:
        connection.execute(text).fetchall()
        made = [one.this.name for one in sqlglot.parse(text, dialect="duckdb") if isinstance(one, sqlglot.exp.Create)]
        views = {
            name: connection.execute(f'FROM "{name}"').fetchall()
            for name in made
            if name.startswith(("estimate", "released_", "joined"))
        }
        tables = [name for name in made if not name.startswith(("estimate", "released_", "joined", "weights"))]
        rows = {}
        for name in tables:
            target = bundle.parent / f"{name}.csv"
            connection.execute(f"COPY \"{name}\" TO '{target}' (HEADER)")
            rows[name] = str(target)
    return views, rows


def plain(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return float(value)
    return value


def alike(found: list[tuple], expected: list[tuple]) -> bool:
    def key(row: tuple) -> list[str]:
        return [f"{v:.9g}" if isinstance(v, float) else str(v) for v in row]

    one, other = (sorted(([plain(v) for v in row] for row in rows), key=key) for rows in (found, expected))
    return len(one) == len(other) and all(
        all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6) if isinstance(a, float) and isinstance(b, float) else a == b for a, b in zip(x, y, strict=True))
        for x, y in zip(one, other, strict=True)
    )  # fmt: skip


def exported(bundle: Path, program: str, capsys) -> str:
    capsys.readouterr()
    assert main(["export", str(bundle), "--for", program]) == 0
    return capsys.readouterr().out


def test_sqlite_has_the_numbers_of_duckdb(bundle, monkeypatch, capsys):
    text = exported(bundle, "sqlite", capsys)
    views, rows = in_duckdb(bundle, monkeypatch)
    connection = sqlite3.connect(":memory:")
    parts = re.split(r"^\.import --csv --skip 1 (\S+) (\S+)$", text, flags=re.MULTILINE)
    connection.executescript(parts[0])
    for file, table, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        assert file == f"{table}.csv"
        with Path(rows[table]).open(newline="") as lines:
            _, *values = csv.reader(lines)
        marks = ", ".join("?" * len(values[0]))
        connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)
        connection.executescript(after)
    for name, expected in views.items():
        quoted = name.replace('"', '""')
        found = connection.execute(f'SELECT * FROM "{quoted}"').fetchall()
        assert alike(found, expected), name
    connection.close()


def test_postgres_has_the_numbers_of_duckdb(bundle, monkeypatch, capsys, socket_of_postgres):
    text = exported(bundle, "postgres", capsys)
    views, rows = in_duckdb(bundle, monkeypatch)
    for table, file in rows.items():
        text = text.replace(f"FROM '{table}.csv'", f"FROM '{file}'")
    shown = "".join(f'\\echo @@{name}\nSELECT * FROM "{name}";\n' for name in views)
    script = "\\o /dev/null\n" + text + "\\o\n" + shown
    command = [
        "psql",
        "-X",
        "-q",
        "--csv",
        "-t",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        str(socket_of_postgres),
        "-U",
        "postgres",
    ]
    schema = f"t_{abs(hash(str(bundle)))}"
    script = (
        f"CREATE SCHEMA {schema}; SET search_path = {schema};\n{script}\\o /dev/null\nDROP SCHEMA {schema} CASCADE;\n"
    )
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    for name, expected in views.items():
        part = done.stdout.partition(f"@@{name}\n")[2].partition("@@")[0]
        found = [tuple(map(number, row)) for row in csv.reader(io.StringIO(part)) if row]
        assert alike(found, [tuple(map(number, row)) for row in expected]), name


def number(value: object) -> object:
    if isinstance(value, bool):
        return "t" if value else "f"
    try:
        return float(str(value))
    except ValueError:
        return value


def test_standard_sql_is_what_any_database_reads(bundle, monkeypatch, capsys):
    text = exported(bundle, "ansi", capsys)
    for word in ("GREATEST", "LEAST", "OR REPLACE", "GROUP BY ALL", "TEMP ", "**", "POWER"):
        assert word not in text.upper(), word
    views, rows = in_duckdb(bundle, monkeypatch)
    with duckdb.connect() as connection:  # one that knows the standard, and files besides
        for part in re.split(r"^-- load (\S+) into \S+ as your database does$", text, flags=re.MULTILINE):
            if part.removesuffix(".csv") in rows:
                table = part.removesuffix(".csv")
                connection.execute(f"COPY \"{table}\" FROM '{rows[table]}' (HEADER)")
            else:
                connection.execute(part.replace('"release"', '"release"'))
        for name, expected in views.items():
            quoted = name.replace('"', '""')
            assert alike(connection.execute(f'FROM "{quoted}"').fetchall(), expected), name


def test_sets_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i AS person, ['F', 'M'][1 + i % 2] AS sex, ['a', 'b', 'c', 'd'][1 + i % 4] AS ill FROM range(400) t(i)) TO 'people.parquet'"
        )
    Path("policy.toml").write_text(
        'schema = 1\n[policy]\nname = "sets"\nversion = "1.0.0"\nowner = "an office"\n[source]\nuri = "people.parquet"\n[attributes]\n'
        'person = { role = "identifier" }\nsex = { role = "quasi-identifier", unchanged = "a test", domain = ["F", "M"] }\n'
        'ill = { role = "sensitive", domain = ["a", "b", "c", "d"] }\n' + L + '[mechanism]\nname = "sensitive-addition"\n' + KEPT.format("parquet")
    )  # fmt: skip
    rrpolicy.release("policy.toml", "bundle")
    for program in ("postgres", "sqlite", "ansi"):
        assert main(["export", "bundle", "--for", program]) == 2
        assert "RR513" in capsys.readouterr().err
