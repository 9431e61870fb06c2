"""The one place where names and values become SQL. Nothing else puts text from outside into a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rrpolicy.canonical import Value

_TYPE = re.compile(r"[A-Z][A-Z0-9_ ]*(\(\d+(, ?\d+)?\))?(\[\])?")


def identifier(name: str) -> str:
    """Return a column's or table's name as SQL, whatever characters it holds.

    Raises:
        ValueError: if the name holds a NUL character, which no engine can store.
    """
    if "\0" in name:
        raise ValueError("a name with a NUL character")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value | None) -> str:
    """Return a value as an SQL literal of its own type: VARCHAR, BOOLEAN, an integer or DOUBLE.

    Raises:
        ValueError: if a text holds a NUL character.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) + "::DOUBLE" if math.isfinite(value) else f"'{value!r}'::DOUBLE"
    if "\0" in value:
        raise ValueError("a text with a NUL character")
    return "'" + value.replace("'", "''") + "'"


def type_name(kind: str) -> str:
    """Return a plain type's name as SQL, as it is.

    Raises:
        ValueError: if it is none.
    """
    if not _TYPE.fullmatch(kind):
        raise ValueError("not a type's name")
    return kind


def listed(values: Sequence[Value], kind: str) -> str:
    """Return values as an SQL list of one engine type, such as `[1, 2]::BIGINT[]`."""
    return "[" + ", ".join(literal(v) for v in values) + f"]::{kind}[]"
