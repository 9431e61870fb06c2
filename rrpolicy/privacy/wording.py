"""Limits in the sentences on the guarantees of privacy models."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from rrpolicy.numbers import figure

_UP = Context(prec=3, rounding=ROUND_CEILING)


def percent_rounded_up(limit: Fraction) -> str:
    """Return a probability in percent; where digits are cut it is rounded up, so that it stays a bound."""
    return f"{figure(float(_UP.divide(Decimal(100 * limit.numerator), Decimal(limit.denominator))))} %"


def attribute_phrase(sensitive: Sequence[str]) -> str:
    """Return the attributes of an entry, in words; "" if it names none."""
    return f" of {' and '.join(f'`{name}`' for name in sensitive)}" if sensitive else ""
