"""Meanings suggested by a column's name: an identifier of people, a row number, a sensitive attribute, or a place."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import takewhile
from typing import TypeAlias

SENSITIVE_WORDS = (
    "disease diagnos illness health hiv medic drug drugs disab income salar wage wages wealth debt benefit religio"
    " belief party politic vote voted union ethni race crime convict sexual orientation pregnan"
)
LINKING_WORDS = (
    "age ages birth born sex gender female male zip post region city town county state states country nation educat"
    " school occupat job profession marital famil household child language"
)
_SHORT = 5
"""Words of the lists above with fewer letters match a whole word of a name; longer ones match its beginning."""
_WHOLE = "state"
"""A longer word that matches only a whole word: a statement is not a place."""
_ROWS = [
    [w]
    for w in (
        *("row", "rows", "rownum", "rowid", "rownumber", "rownames", "rowname", "rownr", "rowno"),
        *("recno", "recordno", "index", "idx", "line", "lineno", "seq"),
    )
]
PERSON_WORDS = "person patient subject respondent participant client"
"""Words of a name of people."""
UNIT_WORDS = f"hh household {PERSON_WORDS}"
"""Words of a name of people or households."""
_HOUSEHOLDS = "hh household house family mom mum mother dwelling couple hid hhid hhnr famid"
_HOUSEHOLD_WORDS = "hh household famil mom mum mother dwelling couple"
_WHOLE_UNITS = [[w] for w in (*UNIT_WORDS.split(), "nr", "caseid", "casenr", "persid", "persnr", "respid", "subjid")]
_KEYS = [[w] for w in ("pid", "pids", "hhid", "hhids", "hhnr", "id", "ids", "key", "uuid", "guid", "ssn")]


INDEX_COLUMN = re.compile(r"__index_level_\d+__")
"""The column in which pandas writes a nameless index; it is no column of the data, unless a policy names it."""


def is_row_number_name(name: str) -> bool:
    """Return whether a column's name is that of row numbers."""
    return name_words(name)[-1:] in _ROWS


def is_person_identifier_name(name: str) -> bool:
    """Return whether a column's name is that of an identifier of people, households or other units."""
    words = name_words(name)
    return not is_row_number_name(name) and (words in _WHOLE_UNITS or words[-1:] in _KEYS)


def is_household_name(name: str) -> bool:
    """Return whether a column's name is that of a key of households or families, such as `mother` or `family_id`."""
    words = name_words(name)
    keyed = words[-1:] in _KEYS and contains_word(name, _HOUSEHOLD_WORDS)
    return (len(words) == 1 and words[0] in _HOUSEHOLDS.split()) or keyed


def name_words(name: str) -> list[str]:
    """Return the words of a column's name in lower case, without its digits."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def contains_word(name: str, known: str) -> bool:
    """Return whether a name contains one of some words: short ones whole, longer ones as the beginning of a word."""
    parts = name_words(name)
    words = known.split()
    return any(p in words or p.startswith(tuple(w for w in words if len(w) >= _SHORT and w != _WHOLE)) for p in parts)


Number: TypeAlias = "int | float | Decimal"

_LAST = re.compile(r"9*[6-9]|5{3,}|6{2,}|7+|8+")
_BELOW = re.compile(r"-(9*[6-9]|5{3,}|6{2,}|7+|8+|[1-5])")
_STEP = 2
"""The least gap: steps of a scale are 1."""
_APART = 0.25
"""The least distance of a code at the high end from the other numbers, as a share of their range."""


def likely_missing_codes(first: Sequence[Number], last: Sequence[Number]) -> tuple[Number, ...]:
    """Return the numbers of a column that look like codes of missing values, in order.

    They are beyond a gap at an end of the other numbers, as in surveys. At the high end these are the last numbers of a
    width (6 to 9, 96 to 99, 998, 9999) and repeated fives to eights (555, 66, 77, 88). At the low end the same and -1
    to -5 below 0. A scale of 0 to 10 with 77, 88 and 99 has three; ages up to 99, percentages up to 100 and years have
    none, as no gap separates them.

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
