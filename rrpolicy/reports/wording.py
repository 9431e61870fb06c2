"""Numbers in reports: one place decides digits, standing, direction and the used share of a limit."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from rrpolicy.finding import Measure, Standing, Verdict
from rrpolicy.report_blocks import DIGITS, figure, significant

Direction = Literal["at most", "at least"]

COMPANION_DIGITS = 4
"""Significant digits of related measures."""

CERTAIN = 1.0
"""No number is rounded to this: a probability would read as certainty."""

HARDLY = 1e-8
"""A distance from certainty that digits would hide."""
NOISE = 1e-13
"""Relative distance below which two numbers differ by rounding alone."""

ULPS = 4
"""Units in the last place of a limit by which a number at it may differ through rounding."""

SET = " (set by the optimiser)"
_NAMED = 8
"""Maximum number of columns that a sentence lists; for more it gives their number."""
NOTHING = 1e-3
"""Relative distance from a limit below which there is no margin."""


def distinguishable_number(
    value: float, others: Sequence[float], least: int = DIGITS, bound: Direction | None = None
) -> str:
    """Return a number with as many digits as needed to distinguish it from some others.

    Args:
        value: the number.
        others: numbers to distinguish it from, such as its limit.
        least: significant digits at least.
        bound: side of the bounded quantity: the number is rounded so that it stays a bound.
    """
    unlike = [other for other in others if abs(value - other) > NOISE * abs(other)]
    for digits in range(least, 16):
        text = figure(value if bound is None else _outward_rounded(value, digits, bound), digits)
        # trailing zeros are dropped, so that it may read as the limit does with fewer digits
        if text not in {figure(other, places) for other in unlike for places in (digits, least)}:
            return text
    return figure(value, 15)


def _outward_rounded(value: float, digits: int, bound: Direction) -> float:
    """Return a bound rounded to so many significant digits that is still a bound."""
    if not value or math.isinf(value):
        return value
    scale = 10.0 ** max(0, significant(value, digits) - 1 - math.floor(math.log10(abs(value))))
    cut = math.ceil if bound == "at most" else math.floor
    return cut(round(value * scale, 6)) / scale


def limit_direction(
    requirement: str, achieved: float | None, limit: float | None, verdict: Verdict | None
) -> Direction:
    """Return the side of its limit on which a requirement holds: by its wording, else by its verdict."""
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
        limit: keeps as many digits as needed to distinguish the two.
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
    """Return the distance of a number from its limit, and its side.

    Args:
        achieved: the number.
        limit: the limit.
        solved: an optimiser chose parameters, and goes as far as the limit allows.
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
    """Return whether a number is so near to its limit that there is no margin."""
    return abs(achieved - limit) <= max(NOTHING * abs(limit), ULPS * math.ulp(limit))


def used_share_of_limit(achieved: float, limit: float, side: Direction) -> float | None:
    """Return the used share of a limit: 1 at it, more if it is exceeded; None if that is no number.

    Args:
        achieved: the number.
        limit: the limit.
        side: on which the requirement holds.
    """
    over, under = (achieved, limit) if side == "at most" else (limit, achieved)
    if math.isinf(under):
        return 0.0
    return over / under if under > 0 and over >= 0 and math.isfinite(over) else None


def columns_phrase(columns: Collection[str]) -> str:
    """Return columns as a phrase of a sentence; of many, the first and the number of the others."""
    shown = [f"`{column}`" for column in columns][:_NAMED]
    more = len(columns) - len(shown)
    if more:
        return f"{', '.join(shown)} and {figure(more)} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
