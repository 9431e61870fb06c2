"""Printed commands: quoted for a shell, so that they can be pasted whatever names they contain."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rrpolicy.escaping.printable import line, visible


def command_line(*words: str | Path, options: Mapping[str, str | Path | Sequence[str] | None] | None = None) -> str:
    """Return a command that starts rrpolicy.

    A word that begins with a dash is written so that it is no option. An option of None is left out; several values
    repeat it.
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
