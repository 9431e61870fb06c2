"""Rows are numbered as numpy numbers distinct rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rrpolicy.counts import number_rows, rank_codes

ROWS = st.tuples(st.integers(1, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1)))
)


@given(ROWS)
def test_rows_are_numbered_in_lexicographic_order(rows):
    distinct, expected = np.unique(rows, axis=0, return_inverse=True)
    number, many = number_rows(rows.T, len(rows))
    assert many == len(distinct)
    assert number.tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_without_a_column_all_rows_are_one(rows):
    number, many = number_rows([], rows)
    assert (number.tolist(), many) == ([0] * rows, min(rows, 1))


@given(arrays(np.int64, st.integers(0, 30), elements=st.one_of(st.integers(-3, 5), st.integers(-(2**40), 2**40))))
def test_codes_that_occur_are_ranked(codes):
    found, places = rank_codes(codes)
    assert found.tolist() == sorted(set(codes.tolist()))
    assert found[places].tolist() == codes.tolist()
