"""Names and texts of a release in Markdown: shown literally, and never interpreted."""

from __future__ import annotations

import re

from rrpolicy.escaping.printable import visible

_MARKS = re.compile(
    r"[\\`*_{}\[\]<>#|~!&@]"  # marks, and addresses of mail
    r"|:(?=//)|(?<=\w)\.(?=[^\W\d_])"  # addresses, which many renderers link without a mark
    r"|^[-+=]"  # a list, a rule or a heading, at a line's start
)
_NUMBERED = re.compile(r"^\d{1,9}(?=[.)](?:\s|$))")


def markdown_prose(text: str) -> str:
    """Return text for a paragraph, a heading or a table, without any markup."""
    return _NUMBERED.sub(r"\g<0>\\", _MARKS.sub(r"\\\g<0>", visible(text)))


def markdown_code(text: str) -> str:
    """Return a code span that shows exactly this text, on one line."""
    shown = visible(text)
    if not shown:
        return '""'
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    pad = " " if shown[0] == "`" or shown[-1] == "`" or (shown[0] == shown[-1] == " " and shown.strip()) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def markdown_cell(text: str) -> str:
    """Return a code span for a cell of a table, which a bar would end."""
    return markdown_code(text).replace("|", "\\|")


def markdown_fence(text: str, language: str) -> str:
    """Return a block of code of whole lines, in fences that none of them can close."""
    fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
    return f"{fence}{language}\n{text}{fence}\n"
