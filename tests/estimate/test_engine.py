"""One engine answers many questions: no question sees what another one left, and no file is remembered."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rrpolicy.engine.connect import query_connection
from rrpolicy.estimate.opening import open_release


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_a_file_that_was_written_again_is_read_again(publish: Any, made: Any, form: str, tmp_path: Path) -> None:
    """Of the same size, at the same time, under the same name."""
    folders = {v: publish([made.identity("a", ["x", "y"])], {"a": [v] * 9}, form, name=f"of {v}") for v in ("x", "y")}
    data = tmp_path / f"data.{form}"
    for value in ("x", "y", "x"):
        shutil.copy(folders[value] / data.name, data)
        os.utime(data, (1, 1))
        (tmp_path / "release.json").write_bytes((folders[value] / "release.json").read_bytes())
        found = open_release(tmp_path).crosstab("a").estimate
        assert found.tolist() == [9.0 * (value == label) for label in ("x", "y")]


def test_questions_share_an_engine_and_leave_nothing(tmp_path: Path) -> None:
    with query_connection() as first, query_connection() as second:
        first.execute("CREATE TEMP TABLE left_over AS SELECT 1 AS x")
        with pytest.raises(duckdb.CatalogException):
            second.execute("SELECT * FROM left_over")
    with query_connection(alone=True) as alone, query_connection() as shared:
        alone.execute(f"ATTACH '{tmp_path / 'data.duckdb'}' AS released")
        attached = {name for (name,) in shared.execute("SELECT database_name FROM duckdb_databases()").fetchall()}
    assert "released" not in attached


def test_a_child_process_has_an_engine_of_its_own() -> None:
    """Threads do not outlive a fork: a child that asked its parent's engine would wait for ever."""
    with query_connection() as connection:
        connection.execute("SELECT count(*) FROM range(1000000)").fetchall()
    child = os.fork()
    if child == 0:  # nothing of pytest may run here
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            with query_connection() as connection:
                rows = connection.execute("SELECT count(*) FROM range(1000000)").fetchall()
            os._exit(0 if rows == [(1000000,)] else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
