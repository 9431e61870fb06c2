"""Rows that come sorted by what is carried are written as rows in no order are; others are refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.bundle.tables import tie_break
from rrpolicy.bundle.tables.writer import FolderSink
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.source.run_length import UniqueValueCounter

COLUMNS = (
    Column("sex", "category", ("f", "m"), "VARCHAR", "sex"),
    Column("x", "carried", (), "DOUBLE", "x"),
    Column("size", "category", (3, 1, 2), "BIGINT", "size"),
    Column("note", "carried", (), "VARCHAR", "note"),
)
SPEC = TableSpec("data", COLUMNS, ("x", "note", "sex", "size"))
XS, NOTES = (-1.0, -0.0, 0.0, 0.5, None), ("A", "a", "ä", "\U0001f600", None)
ROW = st.tuples(st.sampled_from("fm"), st.sampled_from(XS), st.sampled_from((1, 2, 3)), st.sampled_from(NOTES))


def lead(row):
    _, x, _, note = row
    return x is None, x or 0.0, note is None, (note or "").encode()


def table(rows) -> pa.Table:
    kinds = (pa.string(), pa.float64(), pa.int64(), pa.string())
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(v, k) for v, k in zip(columns, kinds, strict=True)], names=[c.name for c in COLUMNS])


def written(folder, rows, n, size, sorted_by):
    for name in ("out", "scratch"):
        (folder / name).mkdir(parents=True)
    sink = FolderSink([SPEC], folder / "out", "parquet", folder / "scratch")
    start = 0
    try:
        for batch in table(rows).to_batches(max_chunksize=size):
            sink.write("data", batch, n[start : start + batch.num_rows], sorted_by=sorted_by)
            start += batch.num_rows
        found = sink.finish()["data"]
    except ValueError:
        sink.abandon()
        raise
    assert not list((folder / "scratch").iterdir())
    return found, (folder / "out" / found.files[0]).read_bytes()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_sorted_or_not_the_file_is_the_same(tmp_path_factory, data):
    """Ties of one row and of many, in one batch and over several, held, counted together and spilled."""
    rows = sorted(data.draw(st.lists(ROW, min_size=1, max_size=80)), key=lead)
    n = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(rows), max_size=len(rows))), dtype=np.int64)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    folder = tmp_path_factory.mktemp("ties")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tie_break, "HELD", data.draw(st.sampled_from((1, 4, 1 << 18))))
        one = written(folder / "sorted", rows, n, data.draw(st.integers(1, 90)), 2)
    other = written(folder / "not", [rows[i] for i in order], n[order], 1000, 0)

    assert one == other


def test_rows_that_do_not_come_sorted_as_it_is_said_are_refused(tmp_path):
    one, other = ("f", 0.5, 1, "a"), ("f", 0.5, 1, "A")
    for number, size in enumerate((1, 10)):
        with pytest.raises(ValueError, match="are not sorted"):
            written(tmp_path / str(number), [one, other], np.ones(2, np.int64), size, 2)
        assert written(tmp_path / f"once {number}", [one, other], np.ones(2, np.int64), size, 1)


@given(st.lists(st.sampled_from((0, 1, 2, 3, None))), st.integers(1, 9))
def test_values_of_one_record_are_counted(values, size):
    ordered = sorted(values, key=lambda v: (v is None, v or 0))
    found = UniqueValueCounter()
    for low in range(0, len(ordered), size):
        part = pa.array(ordered[low : low + size], pa.int64())
        found.take(part, np.ones(len(part), dtype=np.int64))

    assert found.count() == sum(values.count(v) == 1 for v in (0, 1, 2, 3))
