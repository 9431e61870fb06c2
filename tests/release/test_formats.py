"""Files of released tables: read back by engines that did not write them, whatever the labels, runs and batches."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.bundle.tables.released_table import open_released_table
from rrpolicy.bundle.tables.writer import FolderSink
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.channels.values import read_codes
from rrpolicy.formats.format import UnlikeSpecError
from rrpolicy.formats.parquet import ParquetTableWriter
from rrpolicy.formats.rows import encode_dictionary
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.source.row_digest import row_digest

AWKWARD = ("a", "b,c", '"q"', "new\nline", "<b>&amp;", "", "ünï", "x\r\ny", "'; DROP TABLE data; --", "\\N", "NULL")


def spec_of(*columns: Column) -> TableSpec:
    return TableSpec("data", columns, tuple(c.name for c in columns))


def category(name, labels, kind="category", engine=""):
    return Column(name, kind, tuple(labels), engine, name)


def write(folder, spec, table, form, size=None):
    folder.mkdir()
    (folder / "scratch").mkdir()
    sink = FolderSink([spec], folder, form, folder / "scratch")
    for batch in table.combine_chunks().to_batches(max_chunksize=size):
        sink.write("data", batch)
    return sink.finish()["data"]


MIXED = spec_of(
    category('we"ird, name', AWKWARD),
    category("size", (1, 2, 3)),
    category("flag", (True, False)),
    category("half", (0.5, 1.5)),
    category("age", (), "carried", "DOUBLE"),
    category("seen", (), "carried", "TIMESTAMP WITH TIME ZONE"),
    category("several", ("x", 'y,"', "z"), "set"),
    category("cost", (), "carried", "DECIMAL(10,2)"),
    category("born", (), "carried", "DATE"),
    category("text", (), "carried", "VARCHAR"),
)


def mixed(rows: int, seed: int) -> pa.Table:
    import datetime as dt
    import decimal
    import random

    rng = random.Random(seed)
    choices = {
        'we"ird, name': AWKWARD,
        "size": (1, 2, 3),
        "flag": (True, False),
        "half": (0.5, 1.5),
        "age": (None, -0.0, 0.0, 1.5, 1e300, float("inf"), 0.1),
        "seen": (None, dt.datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC)),
        "several": (None, [], ["x"], ['y,"', "z"]),
        "cost": (None, decimal.Decimal("1.20")),
        "born": (None, dt.date(1999, 1, 1)),
        "text": (None, "", "NULL", 'a"b'),
    }
    return pa.table({name: [rng.choice(values) for _ in range(rows)] for name, values in choices.items()})


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_every_type_survives_every_format(tmp_path, form):
    table = mixed(3000, 1)
    written = write(tmp_path / "out", MIXED, table, form, 777)
    assert written.rows == 3000
    with open_released_table([tmp_path / "out" / written.files[0]], form, MIXED, tmp_path) as read:
        assert read.rows() == 3000
        assert read.outside() == ()
        assert "sha256:" + row_digest(read.distinct()).hex() == written.digest


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_rows_in_no_order_are_the_rows(tmp_path, form):
    """Text with labels may come coded; what it stands for is the same, in every format."""
    written = write(tmp_path / "out", MIXED, mixed(3000, 5), form)
    names = ("flag", 'we"ird, name', "size", "half", "age", "text")
    with open_released_table([tmp_path / "out" / written.files[0]], form, MIXED, tmp_path) as read:
        rows = [tuple(row.values()) for row in read.unordered(*names).read_all().to_pylist()]
        whole = read.distinct().read_all().to_pylist()
    expected = [tuple(row[name] for name in names) for row in whole for _ in range(row[MULTIPLICITY])]

    assert len(rows) == 3000
    assert Counter(rows) == Counter(expected)


def test_what_is_no_label_is_null_among_coded_text(tmp_path):
    column = category("a", ("x", "y"))
    pq.write_table(pa.table({"a": ["x", "z", "y"]}), tmp_path / "data.parquet")
    with open_released_table([tmp_path / "data.parquet"], "parquet", spec_of(column), tmp_path) as read:
        found = read.unordered("a").read_all().column("a").combine_chunks()

    assert sorted(found.to_pylist(), key=str) == [None, "x", "y"]
    assert sorted(read_codes(column, found).tolist()) == [-1, 0, 1]


def test_all_formats_have_one_digest(tmp_path):
    table = mixed(500, 2)
    digests = {write(tmp_path / form, MIXED, table, form).digest for form in ("parquet", "csv", "duckdb")}
    assert len(digests) == 1


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_bytes_do_not_depend_on_how_rows_arrive(tmp_path, form):
    table = mixed(2000, 3)
    order = np.random.default_rng(0).permutation(2000)
    first = write(tmp_path / "first", MIXED, table, form)
    again = write(tmp_path / "again", MIXED, table.take(order), form, 91)
    assert (tmp_path / "first" / first.files[0]).read_bytes() == (tmp_path / "again" / again.files[0]).read_bytes()


def test_parquet_holds_no_metadata_and_only_its_own_labels(tmp_path):
    table = mixed(500, 4)
    written = write(tmp_path / "out", MIXED, table, "parquet")
    metadata = pq.read_metadata(tmp_path / "out" / written.files[0]).metadata
    assert not metadata
    spec = spec_of(category("a", ("used", "never-drawn")), category("b", ("x",)))
    few = write(tmp_path / "few", spec, pa.table({"a": ["used"] * 9, "b": ["x"] * 9}), "parquet")
    assert b"never-drawn" not in (tmp_path / "few" / few.files[0]).read_bytes()


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 1), st.integers(1, 40)), min_size=1),
    size=st.integers(1, 97),
)
def test_runs_read_back_as_they_were(tmp_path_factory, rows, size):
    """Arrow and DuckDB agree on every value, whatever the row groups."""
    from rrpolicy.formats.parts import RowGrouper

    path = tmp_path_factory.mktemp("runs") / "data.parquet"
    spec = spec_of(category("a", AWKWARD), category("b", (10, 20, -30)), category("c", (0.5, -1.5)))
    a, b, c, n = (np.array(column) for column in zip(*rows, strict=True))
    values = pa.table(
        {
            "a": pa.array([AWKWARD[i] for i in a]),
            "b": pa.array(np.array([10, 20, -30])[b]),
            "c": pa.array(np.array([0.5, -1.5])[c]),
        }
    )
    grouping = RowGrouper(ParquetTableWriter(path, spec), size)
    half = len(rows) // 2
    for start, stop in ((0, half), (half, len(rows))):
        if stop > start:
            grouping.write(values.slice(start, stop - start).to_batches()[0], n[start:stop].astype(np.int64))
    grouping.close()
    expected = values.take(pa.array(np.repeat(np.arange(len(rows)), n))).to_pydict()
    assert pq.read_table(path).to_pydict() == expected
    assert duckdb.sql(f"SELECT * FROM read_parquet('{path}')").fetchall() == list(zip(*expected.values(), strict=True))
    groups = pq.read_metadata(path)
    assert {groups.row_group(i).num_rows for i in range(groups.num_row_groups - 1)} <= {size}


def test_a_dictionary_of_one_and_of_many(tmp_path):
    labels = [f"label {i}" for i in range(70_000)]
    spec = spec_of(category("a", labels))
    table = pa.table({"a": labels * 2})
    written = write(tmp_path / "out", spec, table, "parquet")
    assert pq.read_table(tmp_path / "out" / written.files[0]).column("a").to_pylist() == sorted(labels * 2)


@given(
    st.lists(st.sampled_from(["b", "a", None]), min_size=1, max_size=5),
    st.permutations(["a", "b", "unused"]),
    st.booleans(),
)
def test_a_column_is_coded_by_the_values_that_it_holds_in_order(last, labels, known):
    values = ["b"] * 5000 + last
    column = pa.array(values)
    if known:
        places = pa.array([None if value is None else labels.index(value) for value in values], pa.int32())
        column = pa.DictionaryArray.from_arrays(places, pa.array(labels))

    found = encode_dictionary(column)

    assert found.to_pylist() == values
    assert found.dictionary.to_pylist() == sorted({*values} - {None})


def test_a_release_costs_its_cells_and_not_its_records(tmp_path):
    """A hundred million records in a thousand cells fit in a few megabytes of memory and of disk."""
    spec = spec_of(category("a", range(10)), category("b", [f"b{i}" for i in range(100)]))
    sink = FolderSink([spec], tmp_path, "parquet", tmp_path)
    cells = pa.RecordBatch.from_pydict(
        {"a": np.repeat(np.arange(10), 100), "b": sorted(f"b{i}" for i in range(100)) * 10}
    )
    sink.write("data", cells, np.full(1000, 100_000, dtype=np.int64), in_order=True)
    written = sink.finish()["data"]
    path = tmp_path / written.files[0]
    assert written.rows == 100_000_000
    assert path.stat().st_size < 1_000_000
    assert duckdb.sql(f"SELECT count(*), count(DISTINCT b) FROM read_parquet('{path}')").fetchall() == [
        (100_000_000, 100)
    ]


def test_what_is_no_label_is_not_written(tmp_path):
    spec = spec_of(category("a", ("x",)))
    sink = FolderSink([spec], tmp_path, "parquet", tmp_path)
    with pytest.raises(ValueError, match="outside its labels"):
        sink.write("data", pa.RecordBatch.from_pydict({"a": ["y"]}), in_order=True)
    sink.abandon()


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_another_table_is_not_taken_for_the_released_one(tmp_path, form):
    spec = spec_of(category("a", ("x",)), category("b", ("y",)))
    written = write(tmp_path / "out", spec, pa.table({"a": ["x"], "b": ["y"]}), form)
    other = spec_of(category("a", ("x",)), category("b", (1, 2)), category("c", ("z",)))
    with (
        pytest.raises(UnlikeSpecError),
        open_released_table([tmp_path / "out" / written.files[0]], form, other, tmp_path) as read,
    ):
        read.rows()
    (tmp_path / "broken").write_bytes(b"PAR1 nothing")
    with pytest.raises(UnlikeSpecError), open_released_table([tmp_path / "broken"], form, spec, tmp_path) as read:
        list(read.distinct())
