"""How the report writes numbers: one place decides digits, standing, direction and what is drawn against a limit."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from rrpolicy.finding import Measure, Standing, Verdict
from rrpolicy.report import Gauge

Direction = Literal["at most", "at least"]

DIGITS = 6
"""Significant digits; more only where fewer would hide on which side of a limit a number lies."""

FAR_APART = 20.0
"""From this ratio on a linear track would squeeze the smaller number into the axis."""


def figure(value: float, digits: int = DIGITS) -> str:
    """Return a number for people: significant digits, thousands grouped, infinity as `unbounded`."""
    if math.isinf(value):
        return "unbounded" if value > 0 else "−unbounded"
    if value and (abs(value) < 1e-4 or abs(value) >= 1e15):  # noqa: PLR2004 - where positional digits stop being read
        mantissa, _, exponent = f"{value:.{min(digits, 4) - 1}e}".partition("e")
        return f"{mantissa} × 10^{int(exponent)}".replace("-", "−")
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def beside_limit(value: float, limit: float) -> str:
    """Return a number with as many digits as it takes to see that it is not the limit."""
    for digits in range(DIGITS, 16):
        text = figure(value, digits)
        # zeros at the end are dropped, so that it may read as the limit does with fewer digits
        if value == limit or text not in {figure(limit, digits), figure(limit)}:
            return text
    return figure(value, 15)


def rational(value: Fraction) -> str:
    """Return an exact rational: the decimal alone where it is exact, else with the fraction beside it."""
    decimal = figure(float(value))
    plain = decimal.replace(",", "").replace("−", "-")
    if value.denominator == 1 or ("^" not in plain and Fraction(plain) == value):
        return decimal
    return f"{decimal} ({value})"


def direction(requirement: str, reached: float | None, limit: float | None, verdict: Verdict | None) -> Direction:
    """Return on which side of its limit a requirement holds: by its wording, else by what was decided."""
    for signs, side in (((">", "≥", "at least"), "at least"), (("<", "≤", "at most"), "at most")):
        if any(sign in requirement for sign in signs):
            return "at least" if side == "at least" else "at most"
    if reached is None or limit is None or reached == limit or verdict not in {Verdict.HOLDS, Verdict.FAILS}:
        return "at most"
    return "at least" if (reached > limit) == (verdict is Verdict.HOLDS) else "at most"


def worded(measure: Measure, side: Direction = "at most", limit: float | None = None) -> str:
    """Return a number with its standing in words: `2.31`, `at most 4.52`, `0.013 ± 0.002`.

    Args:
        measure: the number.
        side: a bound of a quantity that must be large enough is a lower one.
        limit: keeps as many digits as it takes to tell the two apart.
    """
    text = figure(measure.value) if limit is None else beside_limit(measure.value, limit)
    if measure.standing is Standing.UPPER_BOUND:
        return text if math.isinf(measure.value) else f"{side} {text}"
    if measure.standing is Standing.ESTIMATE:
        return f"{text} ± {figure(measure.error, 2)}"
    return text


def margin(reached: float, limit: float) -> str | None:
    """Return how far a number is from its limit, and on which side."""
    if math.isinf(reached) or math.isinf(limit):
        return None
    distance = reached - limit
    if distance == 0:
        return "exactly at the limit"
    share = f" ({figure(100 * abs(distance) / abs(limit), 2)} % of it)" if limit else ""
    where = "above" if distance > 0 else "below"
    return f"{figure(abs(distance), 3)} {where} the limit{share}"


def gauge(reached: float, limit: float, side: Direction) -> Gauge | None:
    """Return a number and its limit as places on a track; None where they cannot be drawn."""
    if math.isnan(reached) or math.isinf(limit) or min(reached, limit) < 0 or max(reached, limit) == 0:
        return None
    if math.isinf(reached):
        return Gauge(side, "linear", 1.0, 0.5)
    least, most = min(reached, limit), max(reached, limit)
    if least > 0 and most / least > FAR_APART:
        start, end = math.log(least) - 1, math.log(most) + 1
        return Gauge(
            side, "logarithmic", (math.log(reached) - start) / (end - start), (math.log(limit) - start) / (end - start)
        )
    return Gauge(side, "linear", reached / (1.25 * most), limit / (1.25 * most))
