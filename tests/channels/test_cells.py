"""Cells keep their codes and counts whatever is packed, split, merged or sorted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.product.draw import PackedCells
from rrpolicy.channels.table import Column
from rrpolicy.channels.values import (
    canonical_ranks,
    engine_type,
    labels,
    read_codes,
    sorted_labels,
)

TABLES = st.lists(st.sampled_from([1, 2, 7, 1000, 2**20, 2**40]), min_size=1, max_size=6).flatmap(
    lambda sizes: st.tuples(
        st.just(sizes),
        st.lists(st.tuples(*(st.integers(0, min(size, 5) - 1) for size in sizes), st.integers(1, 9)), max_size=30),
    )
)


def listed(cells: PackedCells) -> list[tuple[int, ...]]:
    columns = [cells.slot(i).tolist() for i in range(len(cells.sizes))]
    return list(zip(*columns, cells.n.tolist(), strict=True))


@settings(deadline=None)
@given(TABLES)
def test_merging_adds_up_equal_cells_in_order(table):
    sizes, rows = table
    array = np.array(rows, dtype=np.int64).reshape(-1, len(sizes) + 1)
    cells = PackedCells(sizes, list(array[:, :-1].T), array[:, -1])
    expected: dict[tuple[int, ...], int] = {}
    for *codes, n in sorted(rows):
        expected[tuple(codes)] = expected.get(tuple(codes), 0) + n

    assert rows == listed(cells)
    cells.merge()
    assert [(*codes, n) for codes, n in expected.items()] == listed(cells)


def test_a_slot_is_replaced_and_no_other():
    cells = PackedCells([2**40, 5, 2**40], [np.array([7, 8]), np.array([1, 4]), np.array([3, 2])], np.array([10, 20]))
    cells.replace(1, np.array([0, 0, 1]), np.array([0, 4, 2]), np.array([4, 6, 20]))

    assert listed(cells) == [(7, 0, 3, 4), (7, 4, 3, 6), (8, 2, 2, 20)]


def column(*values: object, engine: str = "") -> Column:
    return Column("c", "category", values, engine, "c")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("made", "kind", "in_order"),
    [
        (column("b", "é", "B", "z", "𝄞", "\uffff"), "VARCHAR", ["B", "b", "z", "é", "\uffff", "𝄞"]),
        (column(10, 9, -1), "BIGINT", [-1, 9, 10]),
        (column(10, 9, -1, engine="SMALLINT"), "SMALLINT", [-1, 9, 10]),
        (column(10, 9, 1000, engine="TINYINT"), "BIGINT", [9, 10, 1000]),
        (column(10, 9, engine="VARCHAR"), "VARCHAR", ["10", "9"]),
        (column(10, 9, "Unknown", engine="INTEGER"), "VARCHAR", ["10", "9", "Unknown"]),
        (column(2, 1.5), "DOUBLE", [1.5, 2.0]),
        (column(2, 1, engine="DOUBLE"), "DOUBLE", [1.0, 2.0]),
        (column(*(True, False)), "BOOLEAN", [False, True]),
        (column("0-19", "20-39", engine="INTEGER"), "VARCHAR", ["0-19", "20-39"]),
    ],
)
def test_labels_are_released_in_their_type_and_sorted_by_value(made, kind, in_order):
    assert engine_type(made) == kind
    assert sorted_labels(made).to_pylist() == in_order
    assert [in_order[rank] for rank in canonical_ranks(made).tolist()] == labels(made).to_pylist()


def test_released_values_are_read_back_in_any_type_that_holds_them():
    made = column("x", "y", "z")
    values = pa.array(["z", "x", None, "X"])

    assert read_codes(made, values).tolist() == [2, 0, -1, -1]
    assert read_codes(made, values.dictionary_encode()).tolist() == [2, 0, -1, -1]
    assert read_codes(column(3, 1), pa.array([1, 3, 4], pa.int8())).tolist() == [1, 0, -1]
    assert read_codes(column(3, 1), pa.array(["1", "x"])).tolist() == [-1, -1]
