"""Lines on a terminal: wrapped to its width, headings and verdicts in colour. The words suffice without colour.

Where no terminal reads them lines stay whole, for programs and logs.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from rrpolicy.cli.terminal import wants_colour
from rrpolicy.wording import MET, NOT_MET, UNDECIDED, WAIVED

WIDEST = 100
"""Columns beyond which prose is hard to read."""
_BOLD, _RED, _GREEN, _YELLOW, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_VERDICTS = {
    MET: _GREEN,
    "passes": _GREEN,
    "verified": _GREEN,
    "as predicted": _GREEN,
    NOT_MET.upper(): _RED,
    "does not pass": _RED,
    "NOT verified": _RED,
    "fails": _RED,
    "refused": _RED,
    "not as predicted": _RED,
    UNDECIDED: _YELLOW,
    WAIVED: _YELLOW,
    "warnings": _YELLOW,
    "warning": _YELLOW,
}
"""Words that begin a line, or end a heading, and how they are printed."""
_MARKED = re.compile(rf"( *)({'|'.join(map(re.escape, _VERDICTS))})(?![\w-])( *)")
_COLUMNS = re.compile(r"\S {2,}\S")
_QUOTED = re.compile(r"(\x1b\[\d+m)*\s*\d* \|")
"""A line of a policy's file, and the marks that underline a part of it."""
_COMMAND = re.compile(r"(next: +| +)rrpolicy ")


def format_for_terminal(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines as standard output is to show them."""
    return wrap_and_colour(lines, _width(sys.stdout), colour=wants_colour(sys.stdout))


def wrap_for_stream(text: str, stream: TextIO) -> str:
    """Return text as a stream is to show it, in its own colours: wrapped where a terminal reads it."""
    width = _width(stream)
    return text if width is None else "\n".join(wrap_and_colour(text.split("\n"), width, colour=False))


def _width(stream: TextIO) -> int | None:
    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST) if stream.isatty() else None


def wrap_and_colour(lines: Sequence[str], width: int | None, *, colour: bool) -> Iterator[str]:
    """Yield lines wrapped and coloured.

    A width of None leaves lines whole.
    """
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        titled = bool(line) and not line[0].isspace() and below.startswith("  ")
        for place, part in enumerate([line] if width is None else _wrap_line(line, width)):
            yield _colour_line(part, titled=titled, first=place == 0) if colour else part


def _wrap_line(line: str, width: int) -> list[str]:
    """Return a line as several; tables and commands, which are copied, stay whole."""
    marked = _MARKED.match(line)
    behind = marked.end() if marked else 0
    if len(line) <= width or _COLUMNS.search(line, max(behind - 1, 0)) or _COMMAND.match(line) or _QUOTED.match(line):
        return [line]
    indent = len(line) - len(line.lstrip())
    further = behind if marked and marked[3][1:] else indent + 2
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * further,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _colour_line(line: str, *, titled: bool, first: bool) -> str:
    marked = _MARKED.match(line) if first else None
    if marked:
        start, end = marked.span(2)
        return f"{line[:start]}{_VERDICTS[marked[2]]}{line[start:end]}{_RESET}{line[end:]}"
    return f"{_BOLD}{line}{_RESET}" if titled else line
