"""The highest point of a quadratic without negative entries is the one that another program finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from rrpolicy.estimate.invert import simplex
from rrpolicy.estimate.invert.simplex import maximise_quadratic


@pytest.mark.parametrize("seed", range(40))
def test_it_is_the_point_of_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 60))
    A = rng.normal(size=(k + int(rng.integers(0, 9)), k)) * 10 ** rng.uniform(-3, 3, size=k)
    b = A @ np.maximum(rng.normal(size=k), 0) + rng.normal(size=len(A))
    near = np.where(rng.random(k) < rng.random(), rng.exponential(size=k), 0.0)

    found = maximise_quadratic(A.T @ A, A.T @ b, near)

    expected, least = nnls(A, b)
    assert found.min() >= 0
    assert np.linalg.norm(A @ found - b) == pytest.approx(least, rel=1e-9)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6 * expected.max())


def test_where_nothing_leads_up_all_entries_are_zero() -> None:
    assert maximise_quadratic(np.eye(3), np.array([-1.0, -2.0, 0.0]), np.ones(3)).tolist() == [0, 0, 0]


def test_a_search_that_goes_round_in_circles_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simplex, "_ROUNDS", 0)
    with pytest.raises(np.linalg.LinAlgError, match="no highest point was found"):
        maximise_quadratic(np.eye(2), np.ones(2), np.ones(2))


def test_a_square_that_is_singular_has_no_highest_point() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        maximise_quadratic(np.ones((2, 2)), np.array([1.0, 0.5]), np.ones(2))
