"""Text in CSV that a spreadsheet would run as a formula: an apostrophe stands before it, and readers take it off.

Text that begins with an apostrophe gets one, too, so that taking one off is right for every text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

Handling: TypeAlias = Literal["escape", "keep"]
"""What becomes of such text: `[release] csv_formulas`."""
BEGINS = ("=", "+", "-", "@", "\t", "\r")
"""The characters that a formula begins with, or that a spreadsheet passes over before it."""
APOSTROPHE = "'"
TOLD = ", ".join({"\t": "a tab", "\r": "a carriage return"}.get(begin, begin) for begin in BEGINS)
"""`BEGINS` in words."""
ESCAPE_CONVENTION = (
    f"text that begins with {TOLD} or an apostrophe has one more apostrophe before it, which is not part of the value"
)
_SIGNS = "".join(rf"\x{ord(sign):02x}" for sign in (*BEGINS, APOSTROPHE))
PATTERN = rf"\A([{_SIGNS}])"
"""What is escaped, as a regular expression; its group stays."""


def escape_formula(text: str) -> str:
    """Return text as an escaped file holds it."""
    return APOSTROPHE + text if text.startswith((*BEGINS, APOSTROPHE)) else text


def unescape_formula_sql(text: str) -> str:
    """Return SQL for text, given that for the cell of an escaped file."""
    return f"CASE WHEN starts_with({text}, '''') THEN substr({text}, 2) ELSE {text} END"


def is_formula_sql(text: str) -> str:
    """Return SQL of whether a spreadsheet would run text, given as SQL, as a formula."""
    listed = ", ".join(f"'{begin}'" if begin.isprintable() else f"chr({ord(begin)})" for begin in BEGINS)
    return f"left({text}, 1) IN ({listed})"


def any_formula(values: Iterable[object]) -> bool:
    """Return whether a spreadsheet would take one of some values for a formula; numbers are none."""
    return any(isinstance(value, str) and value.startswith(BEGINS) for value in values)
