"""Text as the page shows it: labels that cannot break out, and sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from rrpolicy.plugin import visible
from rrpolicy.plugin.text import sentence

QUOTED = re.compile(r"`([^`]+)`")
NUMBER = re.compile(r"[−<>]? ?[\d,.]+( %| × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?|–")
BASIS = {
    "policy": "the policy alone",
    "channel": "the published randomisation and the number of records",
    "release": "the released table",
    "original": "the original table",
}


def printable(value: object) -> object:
    """Return a value for the page: invisible characters of text are made visible; markup is unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def escaped_label(text: str) -> Markup:
    """Return a label for the page: escaped, on one line, with a separate text direction."""
    spelled = visible(text)
    if not spelled:
        return Markup("<i>empty text</i>")
    if spelled.isspace():
        return Markup("<i>blank text</i>")
    return Markup("<bdi>{}</bdi>").format(escape(spelled))


def code_line(text: str) -> Markup:
    """Return a line of code for the page: if too long it is broken between its words, never inside one."""
    words = (Markup('<span class="word">{}</span>').format(visible(word)) for word in text.split(" "))
    return Markup("<bdi>{}</bdi>").format(Markup(" ").join(words))


def relative_link(path: str) -> str:
    """Return the address of a file in the page's folder: never of another place, whatever its name."""
    elsewhere = {"", ".", ".."} & set(path.split("/"))
    return "#downloads" if elsewhere else f"./{quote(path, errors='replace')}"


def basis_text(word: str) -> str:
    """Return the data that recompute a number, in words."""
    return BASIS.get(word, word)


def escaped_lines(text: str) -> Markup:
    """Return a file's text, line by line, with invisible characters made visible."""
    return Markup("\n").join(escape(visible(line)) for line in text.splitlines())


def cited_numbers(texts: Sequence[str], every: Sequence[str]) -> tuple[int, ...]:
    """Return the positions, from 1, of some texts in a list."""
    return tuple(number for number, text in enumerate(every, 1) if text in texts)


def not_covered(findings: Sequence[Any]) -> tuple[str, ...]:
    """Return the statements on what the findings do not cover, each sentence once."""
    return tuple(dict.fromkeys(text for row in findings for text in row.not_covered))


def prose_text(text: str) -> Markup:
    """Return a sentence for the page; text between backticks is set as a name."""
    return name_text(sentence(text))


def name_text(text: str) -> Markup:
    """Return text for the page; text between backticks is set as a name."""
    return Markup(QUOTED.sub(r"<code>\1</code>", str(escaped_label(text))))  # noqa: S704 - label has escaped it


def numeric_columns(table: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Return the columns of a table that contain only numbers."""
    columns = list(zip(*table, strict=False))
    return tuple(i for i, cells in enumerate(columns) if all(NUMBER.fullmatch(cell) for cell in cells))
