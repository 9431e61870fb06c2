"""Exact rationals in policies: "1/3" is one third, 0.25 is 25/100, never a rounded double."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from rrpolicy.canonical_json import exact


def rational(value: object) -> Fraction:
    """Read an exact rational as a policy writes it.

    `value` is a Fraction, an int, a Decimal (TOML floats are parsed as such), a float (by its shortest decimal
    spelling), or text such as "1/3" or "0.25". Raises ValueError for any other value, or if it is not finite.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, str) and not _SPELLING.fullmatch(value.strip()):
        raise ValueError('expected a number such as 3 or 0.25, or a fraction such as "1/3"')
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise ValueError("expected a number that is neither vast nor tiny beyond reason")
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        raise ValueError('expected a number such as 3 or 0.25, or a fraction such as "1/3"')  # noqa: TRY004  pydantic requires it
    try:
        return Fraction(str(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError('expected a number such as 3 or 0.25, or a fraction such as "1/3"') from error


_SPELLING = re.compile(r"[+-]?\d+(/\d+|(\.\d+)?([eE][+-]?\d{1,3})?)", re.ASCII)
_LARGEST_EXPONENT = 999

Rational = Annotated[
    Fraction,
    BeforeValidator(rational),
    PlainSerializer(exact, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": r"^[+-]?\d+(/\d+|(\.\d+)?([eE][+-]?\d{1,3})?)$"},
            ],
            "title": "exact rational",
        }
    ),
]
"""A pydantic field type for exact rationals; dumped as text such as "1/3"."""
