"""The guide's commands, run as written against PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rrpolicy.drafting.demo.source import survey
from tests.docs.console import ROOT, hold

from .conftest import Engine


@pytest.mark.slow
def test_the_way_from_the_warehouse_runs_as_written(
    in_postgres: Engine, socket_of_postgres: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = survey()
    in_postgres.load("survey", pa.table({n: _plain(table[n]) for n in table.column_names}))
    monkeypatch.setenv("PGHOST", str(socket_of_postgres))
    monkeypatch.setenv("PGUSER", "postgres")
    folder = tmp_path / "guide"
    folder.mkdir()

    hold(ROOT / "docs" / "how-to" / "warehouse.md", folder)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without its dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
