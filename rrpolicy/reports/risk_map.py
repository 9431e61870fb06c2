"""A map of risk and error: positions of points between 0 and 1, the better ends at 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.numbers import plain_number
from rrpolicy.plotting.chart import nice_step
from rrpolicy.report import MapMark, RiskMap, Tick

MAP_ROUNDING = 1e-3
"""Relative difference of risks and errors up to which they count as equal: a tie."""
STEPS = 4
"""Approximate number of grid lines of a scale."""
NEAR = (0.03, 0.05)
"""Distance of marks, across and up, below which they share one label."""


@frozen
class RiskMapPoint:
    """A candidate's numbers as costs, the greater the worse.

    Attributes:
        risk: its risk.
        error: its error.
        spread: uncertainty of its error, to both sides; 0 if it is no estimate.
        passes: whether it passes.
    """

    risk: float
    error: float
    spread: float
    passes: bool


def risk_map(
    points: Mapping[int, RiskMapPoint], front: Sequence[int], *, risk_up: bool, error_up: bool
) -> RiskMap | None:
    """Return the map; None without points.

    Infinite costs are omitted. With `risk_up` larger displayed risks are better, and costs are their negatives;
    `error_up` likewise.
    """
    finite = {i: one for i, one in points.items() if math.isfinite(one.risk) and math.isfinite(one.error)}
    if not finite:
        return None
    up = _CostScale([one.risk for one in finite.values()])
    across = _CostScale([one.error + sign * one.spread for one in finite.values() for sign in (-1, 1)])
    labels = _mark_labels({i: (across.at(one.error), up.at(one.risk)) for i, one in finite.items()})
    marks = tuple(
        MapMark(
            i,
            across.at(one.error),
            up.at(one.risk),
            across.at(one.error - one.spread),
            across.at(one.error + one.spread),
            one.passes,
            labels.get(i, ""),
        )
        for i, one in finite.items()
    )
    steps = sorted((mark.across, mark.up) for mark in marks if mark.candidate in front)
    return RiskMap(across.ticks(negative=error_up), up.ticks(negative=risk_up), marks, tuple(steps))


def _mark_labels(places: Mapping[int, tuple[float, float]]) -> Mapping[int, str]:
    """Return the labels of marks: candidates' numbers, those of nearby marks together at the first mark."""
    together: dict[int, list[int]] = {}
    for i, (across, up) in places.items():
        near = (j for j in together if abs(places[j][0] - across) < NEAR[0] and abs(places[j][1] - up) < NEAR[1])
        together.setdefault(next(near, i), []).append(i)
    return {first: ", ".join(map(str, all_of_them)) for first, all_of_them in together.items()}


class _CostScale:
    """Costs on a line from 0 to 1; tied costs share a position, so that a zero difference does not fill the scale."""

    def __init__(self, values: Sequence[float]) -> None:
        low, high = min(values), max(values)
        largest = max(abs(low), abs(high))
        room = 0.08 * (high - low if high - low > MAP_ROUNDING * largest else largest or 1.0)
        least = low - room
        self._low = 0.0 if least < 0 <= low else least  # no tick below the minimum of a share or a distance
        self._high = high + room

    def at(self, cost: float) -> float:
        return (cost - self._low) / (self._high - self._low)

    def ticks(self, *, negative: bool) -> tuple[Tick, ...]:
        """Return grid lines at round numbers."""
        sign = -1 if negative else 1
        step = nice_step(self._high - self._low, STEPS)
        first, last = math.ceil(self._low / step - 1e-9), math.floor(self._high / step + 1e-9)
        digits = 2 + math.ceil(math.log10(max(abs(self._low), abs(self._high)) / step))
        places = (step * i for i in range(first, last + 1))
        return tuple(Tick(self.at(place), plain_number(sign * place + 0.0, digits)) for place in places)
