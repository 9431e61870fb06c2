"""Every number that people read becomes text here: digits, percentages, fractions, probabilities, labels of axes.

Only counts are written elsewhere, as `{n:,}`: nothing is rounded there. `tests/test_numbers.py` finds other formats.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

Direction: TypeAlias = Literal["at most", "at least"]
"""The side of a limit on which a requirement is met."""
DIGITS = 6
"""Significant digits; more only if fewer would hide on which side of a limit a number is."""
CERTAIN = 1.0
"""No number is rounded to this: a probability would read as certainty."""
NOISE = 1e-13
"""Relative distance below which two numbers differ by rounding alone."""
NO_LIMIT = "not limited"
"""Text of a probability that is certain."""
NEARLY_CERTAIN = 0.01
"""Distance from certainty from which a probability, rounded up to hundredths, would read as certain."""
_SMALLEST_HUNDREDTHS = 0.01
"""Probabilities below it are written as 1 in n."""
_SMALLEST_P = 0.001
_WRITTEN_OUT = 1e7
"""Labels of this number and of larger ones have an exponent."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def figure(value: float, digits: int = DIGITS) -> str:
    """Return a number for people: significant digits, thousands grouped, infinity as `unbounded`."""
    if math.isinf(value):
        return "unbounded" if value > 0 else "−unbounded"
    if _scientific(value):
        mantissa, _, exponent = f"{value:.{significant(value, digits) - 1}e}".partition("e")
        shown = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{shown} × 10".replace("-", "−") + str(int(exponent)).translate(_RAISED)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{places}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def significant(value: float, digits: int) -> int:
    """Return the number of significant digits that `figure` writes for a requested number: fewer at a power of ten."""
    return min(digits, 4) if digits <= DIGITS and _scientific(value) else digits


def _scientific(value: float) -> bool:
    """Return whether positional digits of a number would be hard to read."""
    return bool(value) and (abs(value) < 1e-4 or abs(value) >= 1e15)  # noqa: PLR2004


def plain_number(value: float, digits: int = DIGITS) -> str:
    """Return a number as policies and programs write it, for messages: significant digits, nothing grouped."""
    return f"{value:.{digits}g}"


def exact_number(value: float) -> str:
    """Return a number of the data or of a policy with the digits that a double represents exactly.

    Labels of bins are made of it, so it never changes.
    """
    return f"{value:.15g}"


def grouped_number(value: float | None) -> str:
    """Return a number of a result in significant digits, thousands grouped; "" without a number."""
    return "" if value is None else f"{value:,.{DIGITS}g}"


def fixed_number(value: float, decimals: int = 0) -> str:
    """Return a number with fixed decimals, thousands grouped; a negative one that rounds to 0 has no sign."""
    return f"{value:z,.{decimals}f}"


def rational(value: Fraction) -> str:
    """Return an exact rational: the decimal alone if it is exact, else with the fraction added."""
    decimal = figure(float(value))
    plain = decimal.replace(",", "").replace("−", "-")
    if value.denominator == 1 or ("×" not in plain and Fraction(plain) == value):
        return decimal
    return f"{decimal} ({value})"


def percent(share: float, decimals: int = 1) -> str:
    """Return a share in percent, with two decimals below one percent; only exactly 0 is 0 and only exactly 1 is 100."""
    value = 100 * share
    text = f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.{decimals}f}"
    if value and not float(text):
        text = "< 0.01" if value > 0 else "> −0.01"
    elif float(text) == 100 and value < 100:  # noqa: PLR2004 - percent
        text = "> 99." + decimals * "9"
    return f"{text} %".replace("-", "−")


def percent_range(low: float, high: float) -> str:
    """Return a range of shares in whole percent, with decimals near 0 and 1; one number if the ends read equal."""
    ends = [percent(end, 0 if 0.01 <= end < 0.99 else 2) for end in (low, high)]  # noqa: PLR2004 - one percent
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def out_of_hundred(low: float, high: float | None = None) -> str:
    """Return a share, or a range of shares in whole numbers, as numbers out of 100."""
    return (percent(low) if high is None else percent_range(low, high)).replace(" %", "")


def percent_rounded_up(limit: Fraction) -> str:
    """Return a probability in percent; where digits are cut it is rounded up, so that it stays a bound."""
    up = Context(prec=3, rounding=ROUND_CEILING)
    return f"{figure(float(up.divide(Decimal(100 * limit.numerator), Decimal(limit.denominator))))} %"


def rough_percent(share: float) -> str:
    """Return a share in percent with two significant digits."""
    return f"{figure(100 * share, 2)} %"


def percent_number(share: float, decimals: int = 2) -> str:
    """Return a share in percent without the sign, for tables whose head has it; decimals as for `fixed_number`."""
    return fixed_number(100 * share, decimals)


def percent_tick(share: float) -> str:
    """Return a round share as the label of an axis in percent."""
    return f"{tick_label(round(100 * share, 8))} %"


def percent_cell(share: float) -> str:
    """Return a share in percent without the sign, for the cell of a map: two significant digits."""
    return two_digits(100 * share)


def level_percent(level: float) -> str:
    """Return a confidence level, such as `95 %`."""
    return f"{100 * level:g} %"


def percentage_points(share: float, unit: str = "points") -> str:
    """Return a difference of shares in percentage points: two significant digits."""
    return f"{figure(100 * share, 2)} {unit}"


def points_of_percent(share: float) -> str:
    """Return a difference of shares in percentage points, in the digits of `percent`."""
    return percent(share).replace(" %", " points")


def percentage_points_up(share: float) -> str:
    """Return a half width of an interval in percentage points: two significant digits, rounded up."""
    up = Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(100 * share))
    return f"± {figure(float(up))} points"


def one_in(chance: float) -> str:
    """Return a probability in readable form: a percentage, or 1 in n."""
    if 0 < chance < _SMALLEST_HUNDREDTHS:
        return f"1 in {int(1 / chance + 1e-6):,}"
    return percent(chance)


def at_most_in_hundred(chance: float) -> str:
    """Return a probability in natural frequencies, never rounded down: `at most 5 in 100`, `at most 1 in 400`."""
    if chance >= CERTAIN - NEARLY_CERTAIN:
        return NO_LIMIT if chance >= CERTAIN else "nearly certain"
    if chance <= 0:
        return "none"
    if chance < _SMALLEST_HUNDREDTHS:
        scale = 10.0 ** (math.floor(math.log10(1 / chance)) - 1)
        return f"at most 1 in {figure(math.floor(1 / chance / scale) * scale)}"
    return f"at most {math.ceil(round(100 * chance, 6))} in 100"


def up_to_percent(chance: float) -> str:
    """Return an upper bound of a probability in whole percent, never rounded down."""
    return f"up to {math.ceil(round(100 * min(chance, 1.0), 6))} %"


def matrix_probability(value: float) -> str:
    """Return a probability for a cell of a matrix: three decimals, 0 and 1 exact, and never rounded to them."""
    if value in {0.0, 1.0}:
        return str(int(value))
    if value < 0.0005:  # noqa: PLR2004 - half of the last digit
        return "<.001"
    if value >= 0.9995:  # noqa: PLR2004 - half of the last digit
        return ">.999"
    return f"{value:.3f}".removeprefix("0")


def p_value(p: float) -> str:
    """Return a p-value as people write it: three decimals, `<0.001` below that, `-` if it is NaN."""
    if math.isnan(p):
        return "-"
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.3f}"


def p_value_equation(p: float, name: str = "p") -> str:
    """Return a p-value in a sentence, such as `p = 0.042` or `p < 0.001`."""
    told = p_value(p)
    return f"{name} < {told[1:]}" if told.startswith("<") else f"{name} = {told}"


def used_share(share: float) -> str:
    """Return the used share of a limit, never rounded across the limit."""
    text = f"{100 * share:.0f}"
    if text == "100" and share != 1:
        text = "> 99" if share < 1 else "> 100"
    return f"{'< 1' if text == '0' and share else text} %"


def tick_label(value: float) -> str:
    """Return a round number as the label of an axis: thousands grouped, with a true minus sign."""
    plain = f"{value + 0.0:,.10g}" if abs(value) < _WRITTEN_OUT else f"{value:.4g}"
    return plain.replace("-", "\u2212")


def edge_label(value: float) -> str:
    """Return the edge of a bin as the label of an axis: without the noise of its computation."""
    return tick_label(round(value, 6))


def at_most_decimals(value: float, decimals: int, digits: int = DIGITS) -> str:
    """Return a number with at most so many decimals and significant digits, and no trailing zeros."""
    return figure(round(value, decimals), digits)


def two_digits(value: float) -> str:
    """Return a number with two significant digits and no exponent: the label of a cell, or of an axis's end."""
    return f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.2g}"  # noqa: PLR2004 where .2g turns to powers of ten


def strictest_limit(end: float, side: Direction) -> str:
    """Return the strictest limit, to three digits, that a number meets: rounded to the side on which it is met."""
    up = Context(prec=3, rounding=ROUND_CEILING if side == "at most" else ROUND_FLOOR)
    return f"{max(up.create_decimal(Decimal(repr(float(end)))), Decimal(0)).normalize():f}"


def rounded_down(value: float, digits: int) -> str:
    """Return a positive number with so many significant digits, never a larger one: what may be required at most."""
    down = Context(prec=digits, rounding=ROUND_FLOOR)
    return f"{down.create_decimal(Decimal(repr(float(value)))).normalize():f}"


def distinguishable_number(
    value: float, others: tuple[float, ...], least: int = DIGITS, bound: Direction | None = None
) -> str:
    """Return a number with as many digits as needed to distinguish it from some others, such as its limit.

    Args:
        value: the number.
        others: numbers to distinguish it from.
        least: significant digits at least.
        bound: side of the bounded quantity: the number is rounded so that it stays a bound.
    """
    unlike = [other for other in others if abs(value - other) > NOISE * abs(other)]
    texts = (
        (digits, figure(value if bound is None else _outward_rounded(value, digits, bound), digits))
        for digits in range(least, 16)
    )
    # trailing zeros are dropped, so that it may read as the limit does with fewer digits
    return next(
        text
        for digits, text in texts
        if text not in {figure(other, places) for other in unlike for places in (digits, least)}
    )


def _outward_rounded(value: float, digits: int, bound: Direction) -> float:
    """Return a bound rounded to so many significant digits that is still a bound."""
    if not value or math.isinf(value):
        return value
    scale = 10.0 ** max(0, significant(value, digits) - 1 - math.floor(math.log10(abs(value))))
    cut = math.ceil if bound == "at most" else math.floor
    return cut(round(value * scale, 6)) / scale
