"""Cutting numbers or dates into bins, and merging neighbours.

Bins are cut at quantiles, rounded to numbers that a person would choose. Neighbours are merged by their order alone:
two, then four, then eight of them, until two or three groups are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

from rrpolicy.canonical_json import Value
from rrpolicy.drafting.profile import ColumnProfile, QuantileCut
from rrpolicy.policy.file import moment_text
from rrpolicy.policy.model import intervals

PARTS = 5
NEAR = 0.05
"""Maximum share by which a cut may miss its quantile to be a round number."""


LARGEST = 10**15
"""Numbers above which whole numbers are written with an exponent."""


def bin_edges_toml(column: ColumnProfile) -> list[str]:
    """Return edges of about five bins as TOML, open at both ends, so that they do not disclose the extremes.

    The column has finite numbers or dates, at least two values.
    """
    cuts = [c for c in column.cuts if not isinstance(c.value, float) or math.isfinite(c.value)]
    inner = dict.fromkeys(
        cut for part in range(1, PARTS) for cut in _round_cut_points(cuts, column.known, part / PARTS)
    )
    if not inner and len(cuts) > 1:
        middle = min(range(1, len(cuts)), key=lambda i: abs(cuts[i].below / column.known - 1 / 2))
        inner = {_roundest_value(cuts[middle - 1].value, cuts[middle].value, cuts[middle].value): None}
    positive = not isinstance(column.low, date) and column.low >= 0 and 0 not in inner
    return ["0" if positive else "-inf", *map(_edge_toml, inner), "inf"]


def _round_cut_points(cuts: Sequence[QuantileCut], records: int, share: float) -> Iterator[Any]:
    """Yield a round value with about that share of the records below it; nothing if too many have one value."""
    near = [i for i in range(1, len(cuts)) if abs(cuts[i].below / records - share) <= NEAR]
    if near:
        best = min(near, key=lambda i: abs(cuts[i].below / records - share))
        yield _roundest_value(cuts[near[0] - 1].value, cuts[near[-1]].value, cuts[best].value)


def _roundest_value(above: Any, most: Any, aim: Any) -> Any:
    if isinstance(most, date):
        after, until, near = (_as_day(d) for d in (above, most, aim))
        first, last = after.year * 12 + after.month - 1, until.year * 12 + until.month - 1
        for months in (120, 60, 12, 3, 1):
            counted = range(-(-first // months) * months, last + 1, months)
            starts = [s for m in counted if after < (s := date(m // 12, m % 12 + 1, 1)) <= until]
            if starts:
                return _as_comparable_day(min(starts, key=lambda s: abs(s - near)), most)
        return _as_comparable_day(until, most) if until > after else most
    above, most, aim = float(above), float(most), float(aim)
    power = math.floor(math.log10(max(abs(above), abs(most)))) + 1
    while True:
        for unit in (5, 2, 1):
            found = [
                k
                for k in _candidate_multiples(above, most, aim, unit, power)
                if above < _scaled_multiple(k, unit, power) <= most
            ]
            if found:
                return _scaled_multiple(
                    min(found, key=lambda k: abs(_scaled_multiple(k, unit, power) - aim)), unit, power
                )
        power -= 1


def _candidate_multiples(above: float, most: float, aim: float, unit: int, power: int) -> tuple[int, ...]:
    """Return the multiples of a step that may be the nearest to the aim inside of an interval."""
    step = unit * 10.0**power
    near = aim / step
    return math.floor(near), math.ceil(near), math.floor(above / step) + 1, math.floor(most / step)


def _scaled_multiple(k: int, unit: int, power: int) -> float:
    return float(f"{k * unit}e{power}")


def _as_day(moment: date) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _as_comparable_day(day: date, moment: date) -> date:
    """Return a day in the type that it is compared with: a date, or the first moment of it."""
    return datetime(day.year, day.month, day.day) if isinstance(moment, datetime) else day  # noqa: DTZ001


def _edge_toml(edge: Any) -> str:
    if isinstance(edge, date):
        return edge.isoformat()
    return str(int(edge)) if edge == int(edge) and abs(edge) < LARGEST else repr(edge)


Merged: TypeAlias = Iterator[Mapping[str, Sequence[Value]]]
"""Levels of a hierarchy: group -> its members on the level below."""


def merged_bins(bounds: Sequence[float | date]) -> Merged:
    """Yield the levels that merge neighbouring bins into intervals.

    `bounds` are the edges of the bins, as read from TOML.
    """
    ends = [moment_text(e) if isinstance(e, date) else float(e) for e in bounds]
    return _merge_levels(len(ends) - 1, lambda starts: intervals([*(ends[start] for start in starts), ends[-1]]))


def merged_values(values: Sequence[Value]) -> Merged:
    """Yield the levels that merge neighbouring values into groups such as `16 to 19`."""

    def labels(starts: Sequence[int]) -> Sequence[Value]:
        if len(starts) == len(values):
            return values
        ends = (*starts[1:], len(values))
        return [f"{values[start]} to {values[end - 1]}" for start, end in zip(starts, ends, strict=True)]

    return _merge_levels(len(values), labels)


def _merge_levels(parts: int, labels: Callable[[Sequence[int]], Sequence[Value]]) -> Merged:
    """Yield levels of two groups of the level below each, three in the last one of an odd number.

    `labels` names groups by the positions of their first parts.
    """
    starts = [*range(parts)]
    below = labels(starts)
    while len(starts) > 3:  # noqa: PLR2004 fewer make one group
        groups = len(starts) // 2
        starts = starts[: 2 * groups : 2]
        above = labels(starts)
        yield {str(name): below[2 * i : 2 * i + 2 if i < groups - 1 else None] for i, name in enumerate(above)}
        below = above
