"""Problems as text for terminals and as JSON for programs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from rrpolicy.errors import ExitStatus, Place, Problem
from rrpolicy.escaping.printable import line, lines, visible

_RED, _BOLD, _CYAN, _RESET = "\x1b[31m", "\x1b[1m", "\x1b[36m", "\x1b[0m"
_WIDEST = 160


def render(problems: Sequence[Problem], *, colour: bool = False) -> str:
    """Return problems as text: place, code and message, the line with its part underlined, expected, hint.

    There is no final newline; a blank line separates problems.
    """
    return "\n\n".join("\n".join(_problem_lines(problem, colour=colour)) for problem in problems)


class ProblemsDocument(Struct, frozen=True):
    """Output of a command that fails before it has a result.

    Attributes:
        exit_status: exit status of the command.
        problems: the reasons.
    """

    schema: ClassVar[str] = "rrpolicy.problems/1"

    exit_status: ExitStatus
    problems: tuple[Problem, ...]


def _problem_lines(problem: Problem, *, colour: bool) -> list[str]:
    red, bold, cyan, reset = (_RED, _BOLD, _CYAN, _RESET) if colour else ("", "", "", "")
    where = f"{bold}{line(str(problem.place))}:{reset} " if problem.place else ""
    message = lines(problem.message)
    told = [f"{where}{red}{line(problem.code)}{reset} {message}"]
    if problem.place is not None and problem.place.text.strip():
        shown, caret = _underlined_line(problem.place)
        number = str(problem.place.line)
        bar = " " * len(number)
        told += [
            f"{cyan}{bar} |{reset}",
            f"{cyan}{number} |{reset} {shown}",
            f"{cyan}{bar} |{reset} {red}{caret}{reset}",
        ]
    for name, text in (("expected", problem.expected), ("hint", problem.hint)):
        if text is not None:
            first, *rest = text.rstrip("\n").split("\n")
            told.append(f"  {bold}{name}:{reset} {line(first)}")
            told += [f"    {line(further)}" for further in rest]
    return told


def _underlined_line(place: Place) -> tuple[str, str]:
    """Return the line and its underline; of a very long line, the part around the place."""
    start, stop = place.column - 1, place.column - 1 + place.width
    text, before = place.text, ""
    if len(text) > _WIDEST and stop > _WIDEST:
        cut = max(0, start - _WIDEST // 4)
        text, start, stop, before = text[cut:], start - cut, stop - cut, "…"
    after = "…" if len(text) > _WIDEST else ""
    text = text[:_WIDEST]
    stop = min(stop, max(len(text), start + 1))
    pad = "".join("\t" if c == "\t" else " " * _terminal_width(visible(c)) for c in text[:start])
    caret = "^" * max(1, sum(_terminal_width(_visible_with_tabs(c)) for c in text[start:stop]))
    return before + _visible_with_tabs(text) + after, " " * len(before) + pad + caret


def _visible_with_tabs(text: str) -> str:
    """Return a line of a file, visible; tabs stay, as the underline has them, too."""
    return "\t".join(map(line, text.split("\t")))


def _terminal_width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
