"""How the report writes numbers: one place decides digits, standing, direction and what is used of a limit."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from rrpolicy.finding import Measure, Standing, Verdict
from rrpolicy.report_blocks import DIGITS, figure, significant

Direction = Literal["at most", "at least"]

COMPANION_DIGITS = 4
"""Significant digits of what stands beside a finding."""

CERTAIN = 1.0
"""No number is rounded to this: a chance would read as certainty."""

HARDLY = 1e-8
"""A distance from certainty that digits would hide rather than show."""
NOISE = 1e-13
"""Relative distance below which two numbers differ by rounding alone."""

ULPS = 4
"""Last places of a limit by which a number at it may lie off through rounding."""

SET = " (set by the optimiser)"
_NAMED = 8
"""Columns that a sentence names; of more it says how many there are."""
NOTHING = 1e-3
"""Relative distance from a limit below which a margin is none."""


def distinguishable_number(
    value: float, others: Sequence[float], least: int = DIGITS, bound: Direction | None = None
) -> str:
    """Return a number with as many digits as it takes to see that it is not one of some others.

    Args:
        value: the number.
        others: what it must not be taken for, such as its limit.
        least: significant digits at least.
        bound: on which side of the number lies what it bounds: it is rounded so that it stays a bound.
    """
    unlike = [other for other in others if abs(value - other) > NOISE * abs(other)]
    for digits in range(least, 16):
        text = figure(value if bound is None else _outward_rounded(value, digits, bound), digits)
        # zeros at the end are dropped, so that it may read as the limit does with fewer digits
        if text not in {figure(other, places) for other in unlike for places in (digits, least)}:
            return text
    return figure(value, 15)


def _outward_rounded(value: float, digits: int, bound: Direction) -> float:
    """Return a bound with so many significant digits that is none the less one."""
    if not value or math.isinf(value):
        return value
    scale = 10.0 ** max(0, significant(value, digits) - 1 - math.floor(math.log10(abs(value))))
    cut = math.ceil if bound == "at most" else math.floor
    return cut(round(value * scale, 6)) / scale


def limit_direction(
    requirement: str, achieved: float | None, limit: float | None, verdict: Verdict | None
) -> Direction:
    """Return on which side of its limit a requirement holds: by its wording, else by what was decided."""
    for signs, side in (((">", "≥", "at least"), "at least"), (("<", "≤", "at most"), "at most")):
        if any(sign in requirement for sign in signs):
            return "at least" if side == "at least" else "at most"
    if achieved is None or limit is None or achieved == limit or verdict not in {Verdict.SATISFIED, Verdict.FAILED}:
        return "at most"
    return "at least" if (achieved > limit) == (verdict is Verdict.SATISFIED) else "at most"


def measure_words(
    measure: Measure, side: Direction = "at most", limit: float | None = None, digits: int = DIGITS
) -> str:
    """Return a number with its standing in words: `2.31`, `at most 4.52`, `0.013 ± 0.002`.

    Args:
        measure: the number.
        side: a bound of a quantity that must be large enough is a lower one.
        limit: keeps as many digits as it takes to tell the two apart.
        digits: significant ones at least.
    """
    bound = side if measure.standing is Standing.UPPER_BOUND else None
    if bound is None and NOISE < abs(measure.value - CERTAIN) < HARDLY:
        return f"just {'above' if measure.value > CERTAIN else 'below'} {figure(CERTAIN)}"
    text = distinguishable_number(measure.value, (CERTAIN,) if limit is None else (CERTAIN, limit), digits, bound)
    if measure.standing is Standing.UPPER_BOUND:
        return text if math.isinf(measure.value) else f"{side} {text}"
    if measure.standing is Standing.ESTIMATE:
        return f"{text} ± {figure(measure.error, 2)}" if measure.error else text
    return text


def margin_text(achieved: float, limit: float, *, solved: bool = False) -> str | None:
    """Return how far a number is from its limit, and on which side.

    Args:
        achieved: the number.
        limit: what it is held against.
        solved: an optimiser chose parameters, and goes as far as it may.
    """
    if math.isinf(achieved) or math.isinf(limit):
        return None
    distance = achieved - limit
    where = "above" if distance > 0 else "below"
    if at_limit(achieved, limit):
        off = abs(distance) > ULPS * math.ulp(limit)
        return f"at the limit{SET if solved else ''}{f', {figure(abs(distance), 3)} {where} it' if off else ''}"
    share = f" ({figure(100 * abs(distance) / abs(limit), 2)} % of it)" if limit else ""
    return f"{figure(abs(distance), 3)} {where} the limit{share}"


def at_limit(achieved: float, limit: float) -> bool:
    """Return whether a number is so near to its limit that nothing is left."""
    return abs(achieved - limit) <= max(NOTHING * abs(limit), ULPS * math.ulp(limit))


def used_share_of_limit(achieved: float, limit: float, side: Direction) -> float | None:
    """Return the share of a limit that is used up: 1 at it, more where it is missed; None if that is no number.

    Args:
        achieved: the number.
        limit: what it is held against.
        side: on which the requirement holds.
    """
    over, under = (achieved, limit) if side == "at most" else (limit, achieved)
    if math.isinf(under):
        return 0.0
    return over / under if under > 0 and over >= 0 and math.isfinite(over) else None


def columns_phrase(columns: Collection[str]) -> str:
    """Return columns as a sentence names them; of many, the first and how many more there are."""
    shown = [f"`{column}`" for column in columns][:_NAMED]
    more = len(columns) - len(shown)
    if more:
        return f"{', '.join(shown)} and {figure(more)} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
