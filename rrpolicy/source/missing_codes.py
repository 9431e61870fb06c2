"""Numbers that look like codes of missing values: beyond a gap at an end of the other numbers, as in surveys.

At the high end these are the last numbers of a width (6 to 9, 96 to 99, 998, 9999) and repeated fives to eights (555,
66, 77, 88); at the low end the same and -1 to -5 below 0. A scale of 0 to 10 with 77, 88 and 99 has three; ages up to
99, percentages up to 100 and years have none, as no gap separates them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import takewhile
from typing import TypeAlias

Number: TypeAlias = "int | float | Decimal"

_LAST = re.compile(r"9*[6-9]|5{3,}|6{2,}|7+|8+")
_BELOW = re.compile(r"-(9*[6-9]|5{3,}|6{2,}|7+|8+|[1-5])")
_STEP = 2
"""The least gap: steps of a scale are 1."""
_APART = 0.25
"""The least distance of a code at the high end from the other numbers, as a share of their range."""


def likely_missing_codes(first: Sequence[Number], last: Sequence[Number]) -> tuple[Number, ...]:
    """Return the numbers of a column that look like codes of missing values, in order.

    `first` are some of its first different numbers in order, the least one among them; `last` likewise, the same as
    `first` if these are all.
    """
    below = [*takewhile(lambda v: _matches_pattern(v, _BELOW), first)]
    rest = first[len(below) :]
    if not rest or float(rest[0]) < 0 or (below and float(rest[0]) - float(below[-1]) < _STEP):
        below, rest = [], first
    above = [*takewhile(lambda v: _matches_pattern(v, _LAST), reversed(last))][::-1]
    if above and len(above) < len(last) and rest:
        highest, gap = float(last[-len(above) - 1]), float(above[0]) - float(last[-len(above) - 1])
        if highest >= float(rest[0]) and gap >= max(_STEP, _APART * (highest - float(rest[0]))):
            return (*below, *above)
    return tuple(below)


def _matches_pattern(number: Number, pattern: re.Pattern[str]) -> bool:
    return math.isfinite(number) and number == int(number) and pattern.fullmatch(str(int(number))) is not None
