"""Text in CSV that a spreadsheet would run as a formula: it gets a leading apostrophe, and readers remove it.

Text that begins with an apostrophe gets one, too, so that removing one is right for every text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

Handling: TypeAlias = Literal["escape", "keep"]
"""The treatment of such text: `[release] csv_formulas`."""
BEGINS = ("=", "+", "-", "@", "\t", "\r")
"""Characters at the beginning of a formula, or skipped by a spreadsheet before it."""
APOSTROPHE = "'"
TOLD = ", ".join({"\t": "a tab", "\r": "a carriage return"}.get(begin, begin) for begin in BEGINS)
"""`BEGINS` in words."""
ESCAPE_CONVENTION = (
    f"text that begins with {TOLD} or an apostrophe has one more apostrophe before it, which is not part of the value"
)
_SIGNS = "".join(rf"\x{ord(sign):02x}" for sign in (*BEGINS, APOSTROPHE))
PATTERN = rf"\A([{_SIGNS}])"
"""A regular expression of text to escape; its group is kept."""


def escape_formula(text: str) -> str:
    """Return text as in an escaped file."""
    return APOSTROPHE + text if text.startswith((*BEGINS, APOSTROPHE)) else text


def unescape_formula_sql(text: str) -> str:
    """Return SQL for text, given SQL for the cell of an escaped file."""
    return f"CASE WHEN starts_with({text}, '''') THEN substr({text}, 2) ELSE {text} END"


def is_formula_sql(text: str) -> str:
    """Return SQL of whether a spreadsheet would run text, given as SQL, as a formula."""
    listed = ", ".join(f"'{begin}'" if begin.isprintable() else f"chr({ord(begin)})" for begin in BEGINS)
    return f"left({text}, 1) IN ({listed})"


def any_formula(values: Iterable[object]) -> bool:
    """Return whether a spreadsheet would treat one of some values as a formula; numbers are not formulas."""
    return any(isinstance(value, str) and value.startswith(BEGINS) for value in values)
