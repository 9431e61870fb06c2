"""A part of the report from a channel or one of its axes, and the format of numbers."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction

from rrpolicy.frozen_dataclass import frozen

DIGITS = 6
"""Significant digits; more only if fewer would hide on which side of a limit a number is."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@frozen
class Fact:
    """A name with its value, as text."""

    name: str = field(metadata={"help": "what is told"})
    value: str = field(metadata={"help": "what it is"})


@frozen
class Section:
    """A mechanism's own part: paragraphs, facts and a table."""

    title: str = field(metadata={"help": "its heading"})
    paragraphs: tuple[str, ...] = field(default=(), metadata={"help": "plain text"})
    facts: tuple[Fact, ...] = field(default=(), metadata={"help": "names with values"})
    header: tuple[str, ...] = field(default=(), metadata={"help": "column heads of the table"})
    table: tuple[tuple[str, ...], ...] = field(default=(), metadata={"help": "rows of the table"})
    bars: tuple[float, ...] = field(
        default=(), metadata={"help": "a share for each row of the table, to be drawn beside it; or none"}
    )
    shares: str = field(default="", metadata={"help": "what the shares are of: the head of their column"})


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


def percent(share: float, decimals: int = 1) -> str:
    """Return a share in percent, with two decimals below one percent; only exactly 0 is 0 and only exactly 1 is 100."""
    value = 100 * share
    text = f"{value:.2f}" if 0 < abs(value) < 1 else f"{value:.{decimals}f}"
    if value and not float(text):
        text = "< 0.01" if value > 0 else "> −0.01"
    elif float(text) == 100 and value < 100:  # noqa: PLR2004 - percent
        text = "> 99." + decimals * "9"
    return f"{text} %".replace("-", "−")


def sentence(text: str) -> str:
    """Return text that starts with a capital and ends with a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) or not text else ".")


def rational(value: Fraction) -> str:
    """Return an exact rational: the decimal alone if it is exact, else with the fraction added."""
    decimal = figure(float(value))
    plain = decimal.replace(",", "").replace("−", "-")
    if value.denominator == 1 or ("×" not in plain and Fraction(plain) == value):
        return decimal
    return f"{decimal} ({value})"
