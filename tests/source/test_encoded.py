"""A source of somebody else's in twenty lines: it hands over its records, and `encoded` does the rest."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.errors import DataError, RefusedError
from rrpolicy.plugin import PLAIN, Attribute, Reading, Role, Snapshot, encoded, pin
from rrpolicy.policy.model import Bins
from rrpolicy.source.opening import engine_for_uri

SEX = Attribute("sex", Role.QUASI_IDENTIFIER, domain=("f", "m", "unknown"), nulls="unknown")
AGE = Attribute(
    "age", Role.QUASI_IDENTIFIER, domain=("16 to 39", "40+"), bins=Bins((16.0, 40.0, float("inf")), ("16 to 39", "40+"))
)


class SQLite:
    """Tables of SQLite databases."""

    schemes: ClassVar[tuple[str, ...]] = ("sqlite", ".sqlite")

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[Snapshot]:
        """Read the table as it is now."""
        path = uri.removeprefix("sqlite:")
        pinned = pin(path, ("-wal",))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            rows = database.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in rows.description]
            columns = zip(*rows, strict=True)
            records = pa.table(dict(zip(names, map(pa.array, columns), strict=True)))
        with encoded(records, f"'{Path(path).name}'", scratch, reading, pinned) as snapshot:
            yield snapshot


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "people.sqlite"
    rng = np.random.default_rng(7)
    rows = [(("f", "m", None)[i % 3], int(a)) for i, a in enumerate(rng.integers(16, 90, 300))]
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE people (sex TEXT, age INTEGER)")
        made.executemany("INSERT INTO people VALUES (?, ?)", rows)
        made.commit()
    return path


def test_its_tallies_are_those_of_the_same_records_in_a_file(database, tmp_path):
    with closing(sqlite3.connect(database)) as made:
        rows = made.execute("SELECT sex, age FROM people").fetchall()
    with SQLite().open(f"sqlite:{database}", "people", tmp_path) as snapshot:
        assert (snapshot.columns(), snapshot.records()) == ({"sex": "VARCHAR", "age": "BIGINT"}, 300)
        tally = snapshot.tally([SEX, AGE]).read_all().to_pylist()
        counted = {(r["sex"], r["age"]): r["n\x1f"] for r in tally}
    expected: dict[tuple[int, int], int] = {}
    for sex, age in rows:
        cell = ("f", "m", None).index(sex), int(age >= 40)
        expected[cell] = expected.get(cell, 0) + 1
    assert counted == expected


def test_what_the_copy_was_made_of_is_held_to_its_state(database, tmp_path):
    with SQLite().open(f"sqlite:{database}", "people", tmp_path) as snapshot:
        snapshot.unchanged()
        with closing(sqlite3.connect(database)) as made:
            made.execute("DELETE FROM people WHERE age > 40")
            made.commit()
        with pytest.raises(RefusedError, match="RR410"):
            snapshot.tally([SEX]).read_all()


def test_what_changes_while_it_is_copied_is_refused(database, tmp_path):
    pinned = pin(str(database))

    def batches() -> Iterator[pa.RecordBatch]:
        batch = pa.record_batch({"sex": ["f", "m"]})
        yield batch
        database.write_bytes(database.read_bytes() + b"x")
        yield batch

    records = pa.RecordBatchReader.from_batches(pa.schema({"sex": pa.string()}), batches())
    with pytest.raises(RefusedError, match="RR410"), encoded(records, "it", tmp_path, PLAIN, pinned):
        pass


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (pa.table([[1], [2]], names=["a", "A"]), "RR308"),
        (pa.table({"": [1]}), "RR308"),
        (pa.table({}), "RR344"),
    ],
)
def test_records_that_are_no_table_are_refused(records, code, tmp_path):
    with pytest.raises(DataError, match=code), encoded(records, "it", tmp_path):
        pass


def test_paths_of_any_scheme_start_in_the_folder_of_the_policy(tmp_path):
    source = SQLite()
    sources = {"sqlite": source, ".sqlite": source}
    for uri, found in {
        "sqlite:people.db": f"sqlite:{tmp_path / 'people.db'}",
        "sqlite:/data/people.db": "sqlite:/data/people.db",
        "sqlite://host/people": "sqlite://host/people",
        "people.sqlite": str(tmp_path / "people.sqlite"),
    }.items():
        assert engine_for_uri(uri, sources, tmp_path) == (source, found)
