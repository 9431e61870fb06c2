"""Commands as they are printed: quoted for a shell, so that they can be pasted whatever names they hold."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path


def command_line(*words: str | Path, options: Mapping[str, str | Path | None] | None = None) -> str:
    """Return a command that starts rrpolicy.

    Args:
        words: the command's name, then files; one that begins with a dash is written so that it is no option.
        options: such as {"--key": path}; None leaves one out.
    """
    parts = ["rrpolicy", *(f"./{word}" if str(word).startswith("-") else str(word) for word in words)]
    for name, value in (options or {}).items():
        if value is not None:
            parts += [f"{name}={value}"] if str(value).startswith("-") else [name, str(value)]
    return shlex.join(parts)
