"""What is read back of sets: expectations by enumeration of all of them, bounds where they are too many to list."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes import set_posterior as posterior
from rrpolicy.channels.axes.set_posterior import (
    can_list_sets,
    exact_ratio,
    expected_posterior,
    expected_ratio,
    largest_other_sum,
)
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Posterior, Readable, Transition

TINY = 1e-12


def mean_ratio(weight: list[int], prior: list[int], own: int, set_size: int) -> Fraction:
    """Return the mean of w(s)/c(s) over all sets that hold a value."""
    sets = [s for s in combinations(range(len(prior)), set_size) if own in s]
    return sum((Fraction(sum(weight[v] for v in s), sum(prior[v] for v in s)) for s in sets), Fraction(0)) / len(sets)


COUNTS = st.integers(3, 6).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 7), min_size=size, max_size=size).filter(any),
        st.lists(st.integers(0, 7), min_size=size, max_size=size),
        st.integers(2, size - 1),
    )
)


@given(case=COUNTS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_ratios_are_those_of_enumeration(case: tuple[list[int], list[int], int]) -> None:
    prior, weight, set_size = case
    c, w = np.array(prior) / sum(prior), np.array(weight) / sum(prior)

    low, high = expected_ratio(w, c, set_size)

    assert low is high
    for u in range(len(prior)):
        if not prior[u]:
            assert low[u] == 0
            continue
        expected = mean_ratio(weight, prior, u, set_size)
        assert low[u] == pytest.approx(float(expected), rel=TINY)
        assert exact_ratio(weight, prior, u, set_size, 10**6) == expected
    posteriors, _ = expected_posterior(c, set_size)
    for u in np.flatnonzero(c):
        own = [n if v == u else 0 for v, n in enumerate(prior)]
        assert exact_ratio(own, prior, int(u), set_size, 10**6) == mean_ratio(own, prior, int(u), set_size)
        assert posteriors[u] == pytest.approx(float(mean_ratio(own, prior, int(u), set_size)), rel=TINY)


@given(case=COUNTS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_bounds_enclose_what_enumeration_gives(case: tuple[list[int], list[int], int]) -> None:
    prior, weight, set_size = case
    c, w = np.array(prior) / sum(prior), np.array(weight) / sum(prior)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "MOST_ENTRIES", 0)
        assert not can_list_sets(c, set_size)
        bounds = expected_ratio(w, c, set_size)
        own = expected_posterior(c, set_size)
        patch.setattr(posterior, "MOST_PAIRS", -1)
        loose = expected_ratio(w, c, set_size)

    for u in range(len(prior)):
        if not prior[u]:
            assert [x[u] for x in (*bounds, *own, *loose)] == [0] * 6
            continue
        ratio = float(mean_ratio(weight, prior, u, set_size))
        read = float(mean_ratio([n if v == u else 0 for v, n in enumerate(prior)], prior, u, set_size))
        assert bounds[0][u] <= ratio + TINY
        assert ratio <= bounds[1][u] + TINY
        assert own[0][u] <= read + TINY
        assert read <= own[1][u] + TINY
        assert own[1][u] <= 1 + TINY
        assert (loose[0][u], loose[1][u]) == (bounds[0][u], np.inf)


def test_rows_are_computed_as_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    prior = generator.integers(0, 6, (4, 7, 6)).astype(float)
    prior[..., 0] += 1
    prior /= prior.sum(axis=-1, keepdims=True)
    weight = generator.random(prior.shape)
    for most in (posterior.MOST_ENTRIES, 130):
        monkeypatch.setattr(posterior, "MOST_ENTRIES", most)
        for together, alone in (
            (expected_posterior(prior, 3), lambda i: expected_posterior(prior[i], 3)),
            (expected_ratio(weight, prior, 3), lambda i: expected_ratio(weight[i], prior[i], 3)),
        ):
            for i in np.ndindex(4, 7):
                for x, y in zip(together, alone(i), strict=True):
                    assert x[i] == pytest.approx(y, rel=1e-12)
    monkeypatch.setattr(posterior, "MOST_ENTRIES", 36)  # one row at a time, bounded
    low, high = expected_ratio(weight, prior, 3)
    assert ((low < high) | (prior == 0)).all()
    for i in np.ndindex(4, 7):
        assert high[i] == pytest.approx(expected_ratio(weight[i], prior[i], 3)[1], rel=1e-12)


def test_the_largest_others_leave_the_value_itself_out() -> None:
    prior = np.array([5.0, 3, 3, 1, 0])

    assert largest_other_sum(prior, 0).tolist() == [0] * 5
    assert largest_other_sum(prior, 1).tolist() == [3, 5, 5, 5, 5]
    assert largest_other_sum(prior, 2).tolist() == [6, 8, 8, 8, 8]
    assert largest_other_sum(prior, 4).tolist() == [7, 9, 9, 11, 12]


def test_what_takes_too_many_sums_is_not_told() -> None:
    prior = [3, 1, 4, 1, 5, 9, 2, 6]

    assert exact_ratio(prior, prior, 0, 4, 10**4) == 1
    assert exact_ratio(prior, prior, 0, 4, 20) is None


def test_exact_numbers_do_not_need_the_sets_to_be_listed() -> None:
    prior = [200, 100, *[1] * 198]

    read = exact_ratio([0, 100, *[0] * 198], prior, 1, 40, 10**6)

    # with x of the 38 or 39 others in the set that are 1 each, and 39/199 the chance to hold the commonest
    common = Fraction(39, 199)
    assert read == common * Fraction(100, 300 + 38) + (1 - common) * Fraction(100, 100 + 39)
    low, high = expected_posterior(np.array(prior) / 498, 40)
    assert low[1] <= float(read) <= high[1]
    assert not can_list_sets(np.array(prior), 40)


def test_sets_can_be_read_and_not_listed() -> None:
    axis: Any = Sets.of("s", ("a", "b", "c", "d"), 3)

    assert isinstance(axis, Posterior)
    assert isinstance(axis, Readable)
    assert not isinstance(axis, Transition)
    c = np.array([0.4, 0.3, 0.2, 0.1])
    assert axis.expected_ratio(c, c)[0] == pytest.approx(np.ones(4))
    assert axis.worst_posterior(c) == pytest.approx([4 / 7, 3 / 6, 2 / 6, 1 / 6])
    assert (
        axis.exact_ratio([4, 0, 0, 0], [4, 3, 2, 1], 0, 100)
        == Fraction(4, 9) / 3 + Fraction(4, 8) / 3 + Fraction(4, 7) / 3
    )
