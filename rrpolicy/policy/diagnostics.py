"""Problems as text for terminals and as JSON for programs."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from rrpolicy.canonical_json import Json
from rrpolicy.errors import Place, Problem
from rrpolicy.escaping.printable import line, lines, visible

_RED, _BOLD, _CYAN, _RESET = "\x1b[31m", "\x1b[1m", "\x1b[36m", "\x1b[0m"
_WIDEST = 160
SCHEMA = "rrpolicy.problems/1"


def render(problems: Sequence[Problem], *, colour: bool = False) -> str:
    """Return problems as text: place, code and message, the line with its part underlined, expected, hint.

    There is no final newline; a blank line separates problems.
    """
    return "\n\n".join("\n".join(_problem_lines(problem, colour=colour)) for problem in problems)


def to_json(problems: Sequence[Problem]) -> list[Json]:
    """Return problems as plain data: code, message, file, line, column, key, expected, hint."""
    return [
        {
            "code": p.code,
            "message": p.message,
            **{key: getattr(p.place, key, None) for key in ("file", "line", "column", "width", "key")},
            "expected": p.expected,
            "hint": p.hint,
        }
        for p in problems
    ]


def problems_document(problems: Sequence[Problem], exit_status: int) -> dict[str, Json]:
    """Return the JSON document of a command that failed: its exit status and problems."""
    return {"schema": SCHEMA, "exit_status": exit_status, "problems": to_json(problems)}


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
