"""The map of risk and error: round grid lines, marks where their numbers are, labels that can be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.reports.alternatives import RiskMapPoint, risk_map

COSTS = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


def points(*numbers: tuple[float, float]) -> dict[int, RiskMapPoint]:
    return {i: RiskMapPoint(risk, error, 0.0, passes=True) for i, (risk, error) in enumerate(numbers, 1)}


@given(numbers=st.lists(st.tuples(COSTS, COSTS), min_size=1, max_size=8))
def test_grid_lines_are_round_and_stand_where_their_numbers_are(numbers: list[tuple[float, float]]) -> None:
    made = risk_map(points(*numbers), [], risk_up=False, error_up=False)
    assert made is not None
    for ticks in (made.across, made.up):
        assert 2 <= len(ticks) <= 6
        assert all(-1e-6 <= tick.at <= 1 + 1e-6 for tick in ticks)
        assert len({tick.text for tick in ticks}) == len(ticks)
    for (_, error), mark in zip(numbers, made.marks, strict=True):
        first, last = made.across[0], made.across[-1]
        slope = (float(last.text) - float(first.text)) / (last.at - first.at)
        there = float(first.text) + (mark.across - first.at) * slope
        assert there == pytest.approx(error, rel=1e-3, abs=1e-3 * abs(slope))


def test_marks_that_lie_upon_one_another_share_a_label() -> None:
    made = risk_map(points((1, 0.5), (1.001, 0.5), (2, 0.1), (1, 0.5001)), [], risk_up=False, error_up=False)
    assert made is not None
    assert [mark.label for mark in made.marks] == ["1, 2, 4", "", "3", ""]


def test_numbers_of_which_larger_is_better_are_shown_as_they_are() -> None:
    made = risk_map(points((-0.9, -0.2), (-0.5, -0.8)), [], risk_up=True, error_up=True)
    assert made is not None
    assert [tick.text for tick in made.across] == ["0.8", "0.6", "0.4", "0.2"]
    assert [mark.across < 0.5 for mark in made.marks] == [False, True]


def test_no_axis_is_zoomed_into_a_tie() -> None:
    """Parameters solved for k = 2 attain 2.000111 and 2.000185: marks far apart would show a difference that is none."""
    made = risk_map(points((-2.000185, 0.0989), (-2.000111, 0.092)), [], risk_up=True, error_up=False)
    assert made is not None
    first, second = made.marks
    assert abs(first.up - second.up) < 0.01
    assert [tick.text for tick in made.up] == ["2.1", "2", "1.9"]
    assert abs(first.across - second.across) > 0.5
