"""A table with its policy, its counts in every form, and engines that count it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.engine.quoting import identifier
from tests.postgres import psql as asked_psql
from tests.postgres import socket_of_postgres

__all__ = ["socket_of_postgres"]

POLICY = """
schema = 1
[policy]
name = "people"
version = "1.0.0"
owner = "Tests"
purpose = "Counts in."
[source]
uri = "people.parquet"
missing = ["n/a"]
{source}
[attributes]
person_id = {{ role = "identifier" }}
note = {{ role = "excluded" }}
sex = {{ role = "quasi-identifier", domain = ["F", "M"] }}
age = {{ role = "quasi-identifier", bins = [0, 40, 65, inf], labels = ["0-39", "40-64", "65+"], release_as = "age_group" }}
grade = {{ role = "quasi-identifier", domain = [1, 2, 3], outside = "other", missing = [99], nulls = "unknown" }}
region = {{ role = "sensitive", domain = ["north", "south", "unknown"], nulls = "unknown" }}
{columns}
{rest}
"""
CARRIED = 'hours = { role = "insensitive", assume_unlinkable = "a test says so", nulls = "keep" }'
RECORDS = 700


def people() -> pa.Table:
    """Return the table: every kind of column that is counted, with codes, missing values and strangers."""
    n = range(RECORDS)
    return pa.table({
        "person_id": [f"SECRET-{i}" for i in n],
        "note": [f"NOTE-{i}" for i in n],
        "sex": ["FM"[i % 3 > 0] for i in n],
        "age": [i * 37 % 90 for i in n],
        "grade": [(1, 2, 3, 7, 99, None)[i * i % 11 % 6] for i in n],
        "region": [("north", "south", None, "n/a")[i * i % 7 % 4] for i in n],
        "hours": [None if i // 13 % 5 == 0 else float(i // 13 % 7) for i in n],
    })  # fmt: skip


def counts_of(table: pa.Table, *columns: str, sums: str = "n") -> pa.Table:
    """Return distinct rows with how often each stands."""
    return table.group_by(list(columns)).aggregate([([], "count_all")]).rename_columns([*columns, sums])


@dataclass(frozen=True)
class Case:
    """A folder with a table, its counts without what is dropped, and a policy."""

    folder: Path

    def policy(self, rest: str, *, carried: bool = False, source: str = "", name: str = "policy.toml") -> Path:
        path = self.folder / name
        path.write_text(
            POLICY.format(rest=rest, columns=CARRIED if carried else 'hours = { role = "excluded" }', source=source)
        )
        return path

    def path(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture
def case(tmp_path: Path) -> Case:
    table = people()
    pq.write_table(table, tmp_path / "people.parquet")
    released = ["sex", "age", "grade", "region"]
    pq.write_table(counts_of(table, *released), tmp_path / "counts.parquet")
    pq.write_table(counts_of(table, *released, "hours"), tmp_path / "hours.parquet")
    return Case(tmp_path)


def public_bytes(bundle: Path) -> dict[str, bytes]:
    """Return every file of public/ by its path."""
    public = bundle / "public"
    return {str(p.relative_to(public)): p.read_bytes() for p in sorted(public.rglob("*")) if p.is_file()}


@dataclass(frozen=True)
class Engine:
    """An engine that holds a table and writes what a statement returns.

    Attributes:
        dialect: its SQL.
        load: takes a table's name, and an Arrow table.
        save: takes a statement and a path that ends in what the engine writes; returns the path.
        fetch: takes a statement, and returns its rows as text.
    """

    dialect: str
    load: Callable[[str, pa.Table], None]
    save: Callable[[str, Path], Path]
    fetch: Callable[[str], list[tuple[str, ...]]]


@pytest.fixture
def in_duckdb() -> Iterator[Engine]:
    """Return DuckDB as somebody else's engine, which writes Parquet."""
    with duckdb.connect() as connection:

        def load(name: str, table: pa.Table) -> None:
            connection.register("given", table)
            connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM given')
            connection.unregister("given")

        def save(statement: str, path: Path) -> Path:
            path = path.with_suffix(".parquet")
            connection.execute(f"COPY ({statement.rstrip(';')}) TO '{path}' (FORMAT parquet)")
            return path

        def fetch(statement: str) -> list[tuple[str, ...]]:
            return [tuple(map(str, row)) for row in connection.execute(statement).fetchall()]

        yield Engine("duckdb", load, save, fetch)


@pytest.fixture
def in_sqlite(tmp_path: Path) -> Iterator[Engine]:
    """Return SQLite, whose rows Python writes as CSV."""
    connection = sqlite3.connect(":memory:")

    def load(name: str, table: pa.Table) -> None:
        columns = ", ".join(identifier(f.name) for f in table.schema)
        connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        connection.execute(f'CREATE TABLE "{name}" ({columns})')
        rows = [[*map(_held, row.values())] for row in table.to_pylist()]
        places = ", ".join("?" * table.num_columns)
        connection.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)

    def save(statement: str, path: Path) -> Path:
        path = path.with_suffix(".csv")
        found = connection.execute(statement)
        with path.open("w", encoding="utf-8", newline="") as file:
            names = [c[0] for c in found.description]
            file.write(",".join(map(identifier, names)) + "\n")
            for row in found:
                told = ("" if v is None else identifier(v) if isinstance(v, str) else repr(v) for v in row)
                file.write(",".join(told) + "\n")
        return path

    def fetch(statement: str) -> list[tuple[str, ...]]:
        return [tuple(map(str, row)) for row in connection.execute(statement)]

    yield Engine("sqlite", load, save, fetch)
    connection.close()


def _held(value: Any) -> Any:
    """Return a value as SQLite holds it: dates are text."""
    return float(value) if isinstance(value, Decimal) else str(value) if isinstance(value, date) else value


_TYPES: dict[str, str] = {
    "string": "text", "int64": "bigint", "int32": "integer", "int16": "smallint", "double": "double precision",
    "float": "real", "bool": "boolean", "date32[day]": "date", "timestamp[us]": "timestamp",
}  # fmt: skip


@pytest.fixture
def in_postgres(socket_of_postgres: Path, tmp_path: Path) -> Engine:
    """Return PostgreSQL, whose client writes CSV."""

    def psql(*arguments: str, text: str | None = None) -> str:
        return asked_psql(socket_of_postgres, *arguments, text=text)

    def load(name: str, table: pa.Table) -> None:
        columns = ", ".join(f"{identifier(f.name)} {_type(f.type)}" for f in table.schema)
        file = tmp_path / "load.csv"
        _write_csv(table, file)
        psql(text=f'SET client_min_messages = error; DROP TABLE IF EXISTS "{name}"; CREATE TABLE "{name}" ({columns});\n'
                  f"\\copy \"{name}\" FROM '{file}' WITH (FORMAT csv, NULL '\\N')\n")  # fmt: skip

    def save(statement: str, path: Path) -> Path:
        path = path.with_suffix(".csv")
        path.write_text(psql("--csv", text=statement))
        return path

    def fetch(statement: str) -> list[tuple[str, ...]]:
        return [tuple(line.split("\x1f")) for line in psql("-A", "-t", "-F", "\x1f", text=statement).splitlines()]

    return Engine("postgres", load, save, fetch)


def _type(kind: pa.DataType) -> str:
    return f"numeric({kind.precision},{kind.scale})" if pa.types.is_decimal(kind) else _TYPES[str(kind)]


def _write_csv(table: pa.Table, file: Path) -> None:
    def spelled(value: Any) -> str:
        if value is None:
            return "\\N"
        return '"' + str(value).replace('"', '""') + '"'

    file.write_text("".join(",".join(map(spelled, row.values())) + "\n" for row in table.to_pylist()))
