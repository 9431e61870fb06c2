"""The option that a plugin's error is about, so that the problem points there."""

from __future__ import annotations

import re
from collections.abc import Collection


def offending_key(told: str, keys: Collection[str]) -> str | None:
    """Return the key that an error is about: the one that it begins with, else the first that it names; None if none.

    After the first word of the error, a key counts only in quotes, or with a digit or an underscore: otherwise it may
    be an ordinary word.
    """
    first = told.removeprefix("a ").split(" ", 1)[0].strip("`'\":,")
    named = re.findall(r"`([^`]+)`|'([^']+)'|\b(\w*[0-9_]\w*)\b", told)
    return next((word for word in (first, *("".join(groups) for groups in named)) if word in keys), None)
