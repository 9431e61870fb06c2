"""Cramér's V corrected for bias, and what counts as beyond chance."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.privacy import dependence
from rrpolicy.privacy.dependence import chi_square_tail, corrected_v, pool_rare_codes


def v(rows: list[int], columns: list[int], chance: float = 1.0) -> float:
    return corrected_v(np.array(rows), np.array(columns), chance)


def test_v_is_that_of_bergsma() -> None:
    rows, columns = [0] * 30 + [1] * 30, [0] * 20 + [1] * 10 + [0] * 8 + [1] * 22
    chi2 = 60 * (20 * 22 - 10 * 8) ** 2 / (30 * 30 * 28 * 32)
    phi2, side = chi2 / 60 - 1 / 59, 2 - 1 / 59
    assert v(rows, columns) == pytest.approx((phi2 / (side - 1)) ** 0.5)


def test_a_second_coding_has_v_one_and_nothing_that_varies_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [i % 3 for i in range(60)]
    assert v(codes, codes, 1e-6) == pytest.approx(1)
    assert v([0] * 60, codes) == 0
    assert v([0, 1], [0, 1]) == 0
    assert v(codes[:6], codes[:6], 1e-6) == 0  # chance does as much
    monkeypatch.setattr(dependence, "MOST_CELLS", 1)
    assert v(codes, codes, 1e-6) == pytest.approx(1)


def test_the_moments_of_chi_squared_are_those_over_all_tables() -> None:
    """Enumerated: the gamma law has the mean and the variance of the statistic over all orders of a column."""
    rows, columns = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1, 0])
    a, b = np.bincount(rows), np.bincount(columns)

    def statistic(order: tuple[int, ...]) -> float:
        table = np.bincount(rows * 2 + np.array(order), minlength=6).reshape(3, 2)
        return float(7 * ((table**2 / np.outer(a, b)).sum() - 1))

    found = np.array([statistic(order) for order in permutations(columns.tolist())])
    from scipy.stats import gamma

    mean, variance = found.mean(), found.var()
    law = gamma(mean**2 / variance, scale=variance / mean)
    assert chi_square_tail(5.0, a, b) == pytest.approx(law.sf(5.0))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([60, 5000]), st.integers(2, 12), st.integers(2, 6))
def test_independent_columns_are_not_beyond_chance(seed: int, records: int, r: int, c: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, r, records), rng.integers(0, c, records)
    rows, columns = (np.unique(each, return_inverse=True)[1] for each in (rows, columns))
    assert corrected_v(pool_rare_codes(rows), pool_rare_codes(columns), 1e-6) == 0


@pytest.mark.parametrize(
    ("codes", "sizes"),
    [
        ([0] * 6 + [1] * 7, [6, 7]),
        ([0] * 6 + [1] * 7 + [2, 2, 3, 3, 4], [5, 6, 7]),  # the rare ones are one
        ([0] * 6 + [1] * 7 + [2, 2], [7, 8]),  # too few by themselves: with the rarest other
        ([0, 0, 1, 1], [2, 2]),
    ],
)
def test_rare_values_are_pooled(codes: list[int], sizes: list[int]) -> None:
    assert sorted(np.bincount(pool_rare_codes(np.array(codes))).tolist()) == sizes
