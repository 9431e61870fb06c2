"""Third-party text for people: invisible characters, and those that control the display, are spelled out."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

_UNUSUAL = re.compile(r"[^ -~]")
_PLAIN = re.compile(r"[\w.:+/-]+")
_NAMED = re.compile(r"'[^']+'|^[\w.+/-]+(?=: | \()")
_NUMBERS = re.compile(r"\d[\d,]*(?:\.\d+)?")
_HERE = "\0"
_PLURALS = {"is": "are", "has": "have", "was": "were", "identifies": "identify", "goes": "go", "stands": "stand"}
"""Verbs of sentences about one column, with their plurals for sentences about several."""
_IT = re.compile(rf"\bit ({'|'.join(_PLURALS)})\b")
_MANY = 4
"""The number of equal sentences that are condensed into one."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_ANYWHERE = r"#(?=#[\w.-]*\[)|section_(?:start|end)(?=:)"
_COMMAND = re.compile(rf"^\s*:(?=:)|{_ANYWHERE}")
_INSIDE = re.compile(_ANYWHERE)
"""Commands to a runner of CI jobs: `::name` at the beginning of a line (GitHub); anywhere in a line
`##[name]`, `##vso[name]`, `##teamcity[name]` (GitHub, Azure, TeamCity) and `section_start:` (GitLab)."""


def quoted_list(names: Iterable[str]) -> str:
    """Return names separated by commas; a name that is not a plain word is in quotes, with its own commas."""
    return ", ".join(name if _PLAIN.fullmatch(name) else f"'{name}'" for name in names)


def shortened_names(names: Sequence[str], most: int = 8) -> str:
    """Return names separated by commas, of many the first ones and the number of the others."""
    if len(names) <= most:
        return quoted_list(names)
    return f"{quoted_list(names[: most - 1])} and {len(names) - most + 1:,} more"


def condense_sentences(texts: Iterable[str]) -> tuple[str, ...]:
    """Return sentences, with those that differ only in a column's name or in numbers condensed.

    A sentence names its column in its first quotes, or before a colon at its beginning. Four or more that are otherwise
    the same become one of all these columns. If their numbers differ, the sentence with the largest last number is
    kept, and the other columns are named after it.
    """
    groups: dict[str, list[tuple[int, str, str]]] = {}
    for place, text in enumerate(texts):
        found = _NAMED.search(text)
        name = "" if found is None else found[0]
        rest = text.replace(name, _HERE, 1) if name else text
        groups.setdefault(_NUMBERS.sub("#", rest), []).append((place, name, rest))
    told: list[tuple[int, str]] = []
    for group in groups.values():
        if len(group) < _MANY or not group[0][1]:
            told += [(place, rest.replace(_HERE, name)) for place, name, rest in group]
            continue
        names = [name for _, name, _ in group]
        first, rests = group[0][0], {rest for *_, rest in group}
        if len(rests) == 1:
            told.append((first, _plural_sentence(rests.pop()).replace(_HERE, _column_names_phrase(names))))
        else:
            _, name, rest = max(group, key=lambda each: float(_NUMBERS.findall(each[2])[-1].replace(",", "")))
            others = [other for other in names if other != name]
            told.append(
                (
                    first,
                    f"{rest.replace(_HERE, name)}; the same, with smaller numbers, of {_column_names_phrase(others)}",
                )
            )
    return tuple(text for _, text in sorted(told))


def _plural_sentence(rest: str) -> str:
    """Return a sentence about a column as one about several: the verb after the name, and `it`, become plural."""
    for one, many in _PLURALS.items():
        if f"{_HERE} {one} " in f"{rest} ":
            return _IT.sub(lambda found: f"they {_PLURALS[found[1]]}", rest.replace(f" {one}", f" {many}", 1))
    return rest


def _column_names_phrase(names: Sequence[str]) -> str:
    shown = ", ".join(names[: _MANY - 1])
    return f"{shown} and {len(names) - _MANY + 1:,} more" if len(names) >= _MANY else shown


def visible(text: str) -> str:
    r"""Return text on one line, with invisible characters spelled out: a line's end as `\n`, an override as `\u202e`.

    Nothing is left out, so that different names look different.
    """
    return escape_invisible(text, lambda character: ascii(character)[1:-1])


def line(text: str) -> str:
    """Return text as one line of a terminal, or of a CI job's log: visible, and no command to the job's runner."""
    return _COMMAND.sub(lambda found: _escape_command_start(found, "\\x{:02x}"), visible(text))


def lines(text: str) -> str:
    """Return text of several lines, each as `line` has it."""
    return "\n".join(map(line, text.split("\n")))


def inert_text(document: str) -> str:
    """Return JSON, or a string of TOML, of the same meaning without any command to a runner of CI jobs."""
    return _INSIDE.sub(lambda found: _escape_command_start(found, "\\u{:04x}"), document)


def _escape_command_start(found: re.Match[str], escape: str) -> str:
    """Return the beginning of a command with its last character escaped."""
    return found[0][:-1] + escape.format(ord(found[0][-1]))


def visible_lines(text: str) -> str:
    """Return text of several lines, each made visible."""
    return "\n".join(map(visible, text.split("\n")))


def escape_invisible(text: str, escape: Callable[[str], str]) -> str:
    """Return text with each invisible character replaced.

    They are of Unicode's categories Cc (control), Cf (format: bidirectional overrides, isolates and marks, joiners), Cs
    (lone surrogates), Zl or Zp (separators of lines, paragraphs).
    """

    def replaced(found: re.Match[str]) -> str:
        return escape(found[0]) if unicodedata.category(found[0]) in _HIDDEN else found[0]

    return _UNUSUAL.sub(replaced, text)


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
    """Return a block of code of whole lines, in fences that no line can close."""
    fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
    return f"{fence}{language}\n{text}{fence}\n"


def command_line(*words: str | Path, options: Mapping[str, str | Path | Sequence[str] | None] | None = None) -> str:
    """Return a command that starts rrpolicy.

    A word that begins with a dash is written so that it is not read as an option. An option of None is left out;
    several values repeat it.
    """
    parts = ["rrpolicy", *(f"./{word}" if str(word).startswith("-") else str(word) for word in words)]
    for name, values in (options or {}).items():
        for value in () if values is None else (values,) if isinstance(values, (str, Path)) else values:
            parts += [f"{name}={value}"] if str(value).startswith("-") else [name, str(value)]
    return " ".join(map(shell_quoted, parts))


def shortest_path(path: str | Path) -> str:
    """Return a path without its steps back, unless a link makes it another one."""
    short = os.path.normpath(path)
    return short if os.path.realpath(short) == os.path.realpath(path) else str(path)


def shell_quoted(word: str) -> str:
    """Return a word for a shell; the bytes of one with invisible characters are spelled in octal."""
    if line(word) == word:
        return shlex.quote(word)
    return "$'" + "".join(c if visible(c) == c and c not in "\\'#:" else _octal_bytes(c) for c in word) + "'"


def _octal_bytes(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))
