"""Names and texts of a release in Markdown: shown as they are, and unable to become anything but text."""

from __future__ import annotations

import re

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def prose(text: str) -> str:
    """Return text for a paragraph, a heading or a table: no character of it marks anything."""
    return _MARKS.sub(r"\\\1", _line(text))


def code(text: str) -> str:
    """Return a code span that shows exactly this text, on one line."""
    shown = _line(text)
    if not shown:
        return '""'
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown[0] == "`" or shown[-1] == "`" or (shown[0] == shown[-1] == " " and shown.strip()) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cell(text: str) -> str:
    """Return a code span for a cell of a table, which a bar would end."""
    return code(text).replace("|", "\\|")


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
