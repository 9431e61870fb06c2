"""Rows in no order: few are sorted in memory, many in a file, and both come in the canonical order."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.bundle.tables import external_sort
from rrpolicy.bundle.tables.external_sort import ExternalSorter
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.formats.column_types import arrow_schema

KINDS: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": (False, True, None),
    "BIGINT": (-(2**63), -1, 0, 2**63 - 1, None),
    "UBIGINT": (0, 2**64 - 1, None),
    "DOUBLE": (-np.inf, -1.5, 0.0, 5e-324, np.inf, None),
    "DECIMAL(9,2)": (Decimal("-1.25"), Decimal("0.10"), Decimal("10.00"), None),
    "DATE": (date(1969, 12, 31), date(2026, 1, 1), None),
    "TIME": (time(0), time(23, 59, 59, 999_999), None),
    "TIMESTAMP": (datetime(1900, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1), None),  # noqa: DTZ001
    "TIMESTAMP WITH TIME ZONE": (datetime(1900, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), None),
    "VARCHAR": ("", "A", "Z", "a", "ab", "ß", "ä", "\uffee", "\U0001f600", None),
}
"""Values of each type that can be carried, in their order."""


def rows_of(kind: str, held: int | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Write every value with every category twice, in batches and in no order; return what comes back."""
    columns = (Column("x", "carried", (), kind, "x"), Column("sex", "category", ("m", "f"), "VARCHAR", "sex"))
    spec = TableSpec("data", columns, ("x", "sex"))
    if held is not None:
        monkeypatch.setattr(external_sort, "HELD", held)
    folder.mkdir()
    one = ExternalSorter(spec, folder)
    rows = [(value, sex) for value in KINDS[kind] for sex in "mf"] * 2
    order = np.random.default_rng(3).permutation(len(rows))
    for part in np.array_split(order, 3):
        values = [[rows[i][j] for i in part] for j in range(2)]
        batch = pa.RecordBatch.from_arrays(
            [pa.array(v, f.type) for v, f in zip(values, arrow_schema(spec), strict=True)], names=["x", "sex"]
        )
        one.write(batch, np.ones(len(part), dtype=np.int64))
    one.close()
    spilled = any(folder.iterdir())
    found = [
        (*row.values(), int(n)) for rows, many in one.sorted() for row, n in zip(rows.to_pylist(), many, strict=True)
    ]
    assert spilled == (held is not None)
    assert not any(folder.iterdir())
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_few_and_many_come_in_the_same_order(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = rows_of(kind, None, tmp_path / "few", monkeypatch)

    assert in_memory == [(value, sex, 2) for value in KINDS[kind] for sex in "fm"]
    assert in_memory == rows_of(kind, 5, tmp_path / "many", monkeypatch)


def test_values_that_are_no_number_come_after_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "DOUBLE", (-1.0, np.inf, np.nan, None))

    for name, held in (("few", None), ("many", 0)):
        found = [row[0] for row in rows_of("DOUBLE", held, tmp_path / name, monkeypatch)]
        assert list(dict.fromkeys(map(str, found))) == ["-1.0", "inf", "nan", "None"]
