"""Rows that are sorted once and kept, and counted by their neighbours, are those that grouping gives."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.engine.quoting import double_bits_sql, doubles_from_sortable, sortable_integer_sql
from rrpolicy.errors import RefusedError
from rrpolicy.source.duckdb import packing, snapshot
from rrpolicy.source.duckdb.packing import digits
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.run_length import SystematicSampler, UniqueValueCounter, counted, with_unit_multiplicity

from .conftest import qi

ROWS = [("b", 0.5), ("a", None), ("a", 0.5), ("b", 0.5), ("a", None), ("a", -1.0), ("b", math.nan), ("b", math.inf)]
KNOWN = qi("sex", "a", "b")


@pytest.fixture
def table(parquet):
    return parquet({"sex": [s for s, _ in ROWS], "x": pa.array([x for _, x in ROWS], pa.float64(), from_pandas=False)})


def lines(reader) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in reader.read_all().to_pylist()]


@pytest.mark.parametrize("seldom", [0, 10**9])
def test_sorted_or_grouped_a_tally_is_the_same(seldom, table, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "SELDOM", seldom)
    with DuckDBSource().open(str(table), None, tmp_path) as opened:
        found = lines(opened.tally([KNOWN], ["x"]))

        assert found == [(0, -1.0, 1), (0, 0.5, 1), (1, 0.5, 2), (1, math.inf, 1), (0, None, 2), (1, None, 1)]
        assert bool(opened._kept) is (seldom > 0)


def test_rows_are_sorted_once(table, tmp_path, monkeypatch):
    asked: list[str] = []
    plain = snapshot.TableSnapshot._stream
    monkeypatch.setattr(
        snapshot.TableSnapshot, "_stream", lambda self, sql, query: (asked.append(sql), plain(self, sql, query))[1]
    )
    with DuckDBSource().open(str(table), None, tmp_path) as opened:
        first, again = lines(opened.rows([KNOWN], ["x"])), lines(opened.rows([KNOWN], ["x"]))
        other = lines(opened.rows([qi("sex", "b", "a")], ["x"]))

    assert first == again == [(0, -1.0), (0, 0.5), (0, None), (0, None), (1, 0.5), (1, 0.5), (1, math.inf), (1, None)]
    assert other == [(1 - code, x) for code, x in [*first[4:], *first[:4]]]
    assert len(asked) == 2


def test_rows_of_which_not_all_were_read_are_sorted_again(table, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "BATCH", 1)
    with DuckDBSource().open(str(table), None, tmp_path) as opened:
        half, whole = opened.rows([KNOWN], ["x"]), opened.rows([KNOWN], ["x"])
        begun = half.read_next_batch().to_pylist()

        assert len(lines(whole)) == len(ROWS)
        del half
        assert begun[0] in opened.rows([KNOWN], ["x"]).read_all().to_pylist()
        assert len(lines(opened.rows([KNOWN], ["x"]))) == len(ROWS)


def test_kept_rows_are_not_read_of_a_table_that_changed(table, tmp_path):
    with DuckDBSource().open(str(table), None, tmp_path) as opened:
        lines(opened.rows([KNOWN], ["x"]))
        table.write_bytes(table.read_bytes() + b" ")

        with pytest.raises(RefusedError, match="RR410"):
            lines(opened.rows([KNOWN], ["x"]))


@given(
    st.lists(st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from([None, "", "a"])), max_size=30),
    st.lists(st.integers(0, 30), max_size=5),
)
def test_neighbours_are_added_up_however_rows_are_cut(rows, cuts):
    ordered = sorted(rows, key=lambda r: [(v is None, v or 0 if i == 0 else v or "") for i, v in enumerate(r)])
    whole = pa.record_batch(
        [pa.array([a for a, _ in ordered], pa.int64()), pa.array([b for _, b in ordered], pa.string())],
        names=["a", "b"],
    )
    edges = sorted({0, len(ordered), *(min(c, len(ordered)) for c in cuts)})
    parts = [whole.slice(low, high - low) for low, high in pairwise(edges)]

    found = [tuple(row.values()) for batch in counted(with_unit_multiplicity(parts)) for row in batch.to_pylist()]

    assert found == [(*row, n) for row, n in Counter(ordered).items()]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 2**32), st.booleans())
def test_digits_looked_up_are_those_divided(radices, seed, looked_up):
    numbers = np.random.default_rng(seed).integers(0, math.prod(radices), 50)

    with patch.object(packing, "_LISTED", 1 << 16 if looked_up else 0):
        found = digits(pa.array(numbers), tuple(radices), -2)

    assert {code.type for code in found} == {pa.int32()}
    assert [code.to_pylist() for code in found] == [
        [d - 2 for d in each] for each in zip(*(places(n, radices) for n in numbers), strict=True)
    ]


@given(st.lists(st.floats(allow_nan=False) | st.none(), max_size=30))
def test_doubles_sort_as_the_whole_numbers_do_that_stand_for_them(values):
    """Smallest, largest, subnormal and infinite ones, and both zeros; a null stays one."""
    held = pa.table({"x": pa.array(values, pa.float64())})
    connection = duckdb.connect()
    connection.register("held", held)
    inner = f"SELECT {double_bits_sql('x')} AS x FROM held"
    found = connection.sql(
        f"SELECT {sortable_integer_sql('x')} AS x FROM ({inner}) ORDER BY x NULLS LAST"
    ).to_arrow_table()

    back = doubles_from_sortable(found.column(0).combine_chunks()).to_pylist()

    known = sorted((v for v in values if v is not None), key=lambda v: (v, math.copysign(1, v)))
    assert [math.copysign(1, v) for v in back if v is not None] == [math.copysign(1, v) for v in known]
    assert back == [*known, *[None] * values.count(None)]


def test_rows_with_doubles_are_sorted_without_a_second_copy(table, tmp_path):
    """What is sorted are whole numbers; singles, which have no such spelling, stay as they are."""
    single = tmp_path / "single.parquet"
    pq.write_table(pa.table({"sex": ["b", "a", "a"], "x": pa.array([2.5, -0.0, -1.5], pa.float32())}), single)
    for file, kind in ((table, pa.int64()), (single, pa.float32())):
        with DuckDBSource().open(str(file), None, tmp_path) as opened:
            found = lines(opened.rows([KNOWN], ["x"]))
            ((_, kept),) = opened._kept.items()

            assert kept.again().schema.types == [pa.uint32(), kind]
    assert found == [(0, -1.5), (0, 0.0), (1, 2.5)]
    assert math.copysign(1, found[1][1]) == 1


def places(number: int, radices: list[int]) -> list[int]:
    """Return the digits of one number, by repeated division."""
    found = []
    for radix in reversed(radices):
        number, digit = divmod(int(number), radix)
        found.append(digit)
    return found[::-1]


def test_batches_without_a_row_change_nothing():
    rows = pa.record_batch({"x": ["a", "b", "b"], "n": [1, 1, 2]})
    batches = [rows.slice(0, 0), rows.slice(0, 2), rows.slice(0, 0), rows.slice(2), rows.slice(3)]

    assert pa.Table.from_batches(counted(batches)).to_pydict() == {"x": ["a", "b"], "n": [1, 3]}
    sampler, unique = SystematicSampler(4, most=2), UniqueValueCounter()
    for batch in batches:
        sampler.take(batch)
        unique.take(batch.column(0), batch.column(1).to_numpy())
    assert sampler.table().to_pydict() == {"x": ["a", "b"]}
    assert unique.count() == 1
