"""Text of others in what people read: characters that are not seen, or that steer what shows them, are spelled out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

_UNUSUAL = re.compile(r"[^ -~]")
_PLAIN = re.compile(r"[\w.:+/-]+")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ANYWHERE = r"#(?=#[\w.-]*\[)|section_(?:start|end)(?=:)"
_COMMAND = re.compile(rf"^\s*:(?=:)|{_ANYWHERE}")
_INSIDE = re.compile(_ANYWHERE)
"""What a runner of CI jobs takes for a command: `::name` at the beginning of a line (GitHub); anywhere in a line
`##[name]`, `##vso[name]`, `##teamcity[name]` (GitHub, Azure, TeamCity) and `section_start:` (GitLab)."""


def listed(names: Iterable[str]) -> str:
    """Return names with commas between; one that is no plain word stands in quotes, with its own commas."""
    return ", ".join(name if _PLAIN.fullmatch(name) else f"'{name}'" for name in names)


def visible(text: str) -> str:
    r"""Return text on one line, with what is not seen spelled out: a line's end as `\n`, an override as `\u202e`.

    Nothing is left out, so that names that differ are shown as different.
    """
    return spelled_out(text, lambda character: ascii(character)[1:-1])


def line(text: str) -> str:
    """Return text as one line of a terminal, or of a CI job's log: visible, and no command to the job's runner."""
    return _COMMAND.sub(lambda found: _escaped(found, "\\x{:02x}"), visible(text))


def lines(text: str) -> str:
    """Return text of several lines, each as `line` has it."""
    return "\n".join(map(line, text.split("\n")))


def inert(document: str) -> str:
    """Return JSON, or a string of TOML, that means the same and holds no command to a runner of CI jobs."""
    return _INSIDE.sub(lambda found: _escaped(found, "\\u{:04x}"), document)


def _escaped(found: re.Match[str], escape: str) -> str:
    """Return the beginning of a command with its last character escaped."""
    return found[0][:-1] + escape.format(ord(found[0][-1]))


def visible_lines(text: str) -> str:
    """Return text of several lines, each made visible."""
    return "\n".join(map(visible, text.split("\n")))


def spelled_out(text: str, escape: Callable[[str], str]) -> str:
    """Return text with each character that is not seen replaced.

    Args:
        text: any.
        escape: returns how to spell a character of Unicode's categories Cc (control), Cf (format: bidirectional
            overrides, isolates and marks, joiners), Cs (lone surrogates), Zl or Zp (separators of lines, paragraphs).
    """

    def replaced(found: re.Match[str]) -> str:
        return escape(found[0]) if unicodedata.category(found[0]) in _HIDDEN else found[0]

    return _UNUSUAL.sub(replaced, text)
