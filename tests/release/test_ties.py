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


def test_a_batch_without_rows_changes_nothing(tmp_path):
    rows = sorted([("f", 0.5, 1, "a"), ("m", 0.5, 1, "a"), ("f", 1.5, 1, "b")], key=lead)
    n = np.ones(3, np.int64)
    for name in ("out", "scratch"):
        (tmp_path / name).mkdir()
    sink = FolderSink([SPEC], tmp_path / "out", "parquet", tmp_path / "scratch")
    for batch in (table(rows).to_batches()[0], table(rows).to_batches()[0].slice(0, 0)):
        sink.write("data", batch, n[: batch.num_rows], sorted_by=2)
    assert sink.finish()["data"] == written(tmp_path / "at once", rows, n, 10, 2)[0]


def test_ties_that_were_spilled_and_some_that_are_still_held_are_written_once(tmp_path, monkeypatch):
    rows = [("fm"[i % 2], 0.5, 1 + i % 3, "a") for i in range(11)]
    n = np.ones(len(rows), np.int64)
    expected = written(tmp_path / "at once", rows, n, 100, 2)[1]
    monkeypatch.setattr(tie_break, "HELD", 4)
    assert written(tmp_path / "spilled", rows, n, 2, 2)[1] == expected


@pytest.mark.parametrize("sorted_by", [0, 2])
def test_a_draw_that_ends_early_leaves_no_spilled_rows(tmp_path, monkeypatch, sorted_by):
    monkeypatch.setattr(tie_break, "HELD", 1)
    for name in ("out", "scratch"):
        (tmp_path / name).mkdir()
    sink = FolderSink([SPEC], tmp_path / "out", "parquet", tmp_path / "scratch")
    rows = table([("fm"[i % 2], 0.5, 1 + i % 3, "a") for i in range(12)])
    for batch in rows.to_batches(max_chunksize=3):
        sink.write("data", batch, np.ones(3, np.int64), sorted_by=sorted_by)
    sink.abandon()
    with pytest.raises(ValueError, match="wrote nothing into table 'data'"):
        FolderSink([SPEC], tmp_path / "out", "parquet", tmp_path / "scratch").finish()


def test_a_draw_that_breaks_its_promises_is_refused(tmp_path):
    sink = FolderSink([SPEC], tmp_path, "parquet", tmp_path)
    rows = table([("f", 0.5, 1, "a")]).to_batches()[0]
    sink.write("data", rows, np.ones(1, np.int64), sorted_by=2)
    with pytest.raises(ValueError, match="cannot be mixed"):
        sink.write("data", rows, np.ones(1, np.int64), sorted_by=0)
    with pytest.raises(ValueError, match="other columns than its channel"):
        sink.write("data", rows.select(["sex", "x"]), np.ones(1, np.int64), sorted_by=2)
    sink.abandon()
