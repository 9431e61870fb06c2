"""Tables that would keep the reader busy for ever: refused with a code, in seconds."""

from __future__ import annotations

import glob
from pathlib import Path

import duckdb
import pytest

from rrpolicy.errors import DataError
from rrpolicy.source.duckdb import files
from rrpolicy.source.duckdb import source as engine
from rrpolicy.source.duckdb.source import DuckDBSource

VIEWS = {
    "a product of tables": "SELECT a.x FROM t a, t b, t c, t d WHERE a.x * b.x % 7 = c.x * d.x % 11",
    "a recursion": "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT x FROM r",
}


def refused(uri: Path, table: str | None, scratch: Path) -> str:
    with pytest.raises(DataError) as caught, DuckDBSource().open(str(uri), table, scratch):
        pass
    return caught.value.problems[0].code


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_never_ends_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(engine, "SECONDS", 1)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(20000)")
        connection.execute(f"CREATE VIEW v AS {VIEWS[name]}")
    assert refused(tmp_path / "t.duckdb", "v", tmp_path) == "RR341"


@pytest.mark.slow
def test_more_records_than_can_be_are_refused(tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE VIEW v AS SELECT 1 AS x FROM range(10000000001)")
    assert refused(tmp_path / "t.duckdb", "v", tmp_path) in {"RR341", "RR342"}


def test_a_glob_of_too_many_files_or_too_far_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_FILES", 20)
    for i in range(21):
        (tmp_path / f"{i}.parquet").touch()
    assert refused(tmp_path / "*.parquet", None, tmp_path) == "RR340"
    monkeypatch.setattr(files, "_MOST_ENTRIES", 1000)
    assert refused(Path("/*/*/*/*/*.parquet"), None, tmp_path) == "RR340"


def test_a_glob_finds_what_globs_find(tmp_path):
    for name in ("a/x1.csv", "a/x2.csv", "a/.x3.csv", "b/x1.csv", "b/y[1].csv", "c"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    for pattern in ("*", "a/*.csv", "*/x?.csv", "[ab]/*", "b/y[[]1].csv", "a/.*", "none/*", "c/*", "*/x1.csv"):
        whole = str(tmp_path / pattern)
        assert files._glob_paths(whole) == sorted(glob.glob(whole)), pattern  # noqa: PTH207
