"""Representative values: one value in a table of counts for all values that the policy maps to the same category.

The same policy maps it to that category: a number inside a bin, the category, and for values outside the domain another
value outside it. So counts are refused for the same reasons, and in the same words, as records.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import chain, count
from typing import Any, TypeAlias

from rrpolicy.canonical_json import Value
from rrpolicy.policy.model import Attribute

Point: TypeAlias = "float | date | time"
"""Type of the edges of bins; the bins of one policy all have one type and are comparable."""
_DAY = date(2000, 1, 1)
_STEPS = 1000
"""Maximum number of steps to search: no policy has more adjacent codes of missing values."""


def unlisted_text(attribute: Attribute, codes: Collection[Value]) -> str:
    """Return a text that is in no domain, and no code of a missing value; if there is one, the category it maps to."""
    domain = {v for v in attribute.domain or () if v != attribute.outside}
    named = [attribute.outside] if isinstance(attribute.outside, str) and attribute.outside else []
    tried = chain(named, (f"outside{'.' * n}" for n in count()))
    return next(text for text in tried if text not in domain and text not in codes)


def unlisted_number(attribute: Attribute, codes: Collection[float]) -> int:
    """Return the least whole number >= 0 that is neither a category nor a code of a missing value."""
    taken = {float(v) for v in attribute.domain or () if not isinstance(v, str)} | set(codes)
    return next(n for n in count() if float(n) not in taken)


def value_inside(low: Point | None, high: Point | None, codes: Collection[Point]) -> Point | None:
    """Return a value in [low, high) that is not a code of a missing value; None if not found.

    An end of None is unbounded.
    """
    if low is not None:
        tried: Iterator[Any] = chain([low], _nearby_points(low, 1))
    else:
        tried = chain([0.0], _nearby_points(0.0, 1)) if high is None else _nearby_points(high, -1)
    sound = (x for x in tried if (low is None or x >= low) and (high is None or x < high) and x not in codes)
    return next(sound, None)


def value_outside_bins(edges: Sequence[Point | None], codes: Collection[Point]) -> Point | None:
    """Return a value that is in no bin, and is not a code of a missing value; None if not found."""
    least, most = edges[0], edges[-1]
    below: Iterator[Any] = iter(()) if least is None else (x for x in _nearby_points(least, -1) if x < least)  # type: ignore[operator]
    above: Iterator[Any] = iter(()) if most is None else (x for x in _nearby_points(most, 1) if x > most)  # type: ignore[operator]
    return next((x for x in chain(below, above) if x not in codes), None)


def parse_moment(value: str) -> date | time:
    """Return the date or time of a text."""
    if len(value) == len("2026-01-31"):
        return date.fromisoformat(value)
    try:
        return time.fromisoformat(value)
    except ValueError:
        return datetime.fromisoformat(value)


def _nearby_points(point: Point, sign: int) -> Iterator[Point]:
    """Yield values after a point, or before it: the nearest whole steps, then nearer ones."""
    if isinstance(point, float):
        yield from (point + sign * step for step in range(1, _STEPS))
        yield from (point + sign * 0.5**n for n in range(1, 50))
        yield math.nextafter(point, sign * math.inf)
        return
    step = timedelta(seconds=1) if isinstance(point, (datetime, time)) else timedelta(days=1)
    start = datetime.combine(_DAY, point) if isinstance(point, time) else point
    for n in range(1, _STEPS):
        try:
            moved = start + sign * n * step
        except OverflowError:
            return
        if not isinstance(point, time):
            yield moved
        elif isinstance(moved, datetime) and moved.date() == _DAY:
            yield moved.time()
