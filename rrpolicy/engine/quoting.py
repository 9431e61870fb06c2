"""The one place where names and values become SQL. No other code puts external text into a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rrpolicy.canonical_json import Value
from rrpolicy.errors import DataError, Problem

_TYPE = re.compile(r"[A-Z][A-Z0-9_ ]*(\(\d+(, ?\d+)?\))?(\[\])?")


def identifier(name: str) -> str:
    """Return a column's or table's name as SQL, whatever characters it holds."""
    if "\0" in name:
        raise _nul_error("a name of the table")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value | None) -> str:
    """Return a value as an SQL literal of its type: VARCHAR, BOOLEAN, an integer or DOUBLE."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) + "::DOUBLE" if math.isfinite(value) else f"'{value!r}'::DOUBLE"
    if "\0" in value:
        raise _nul_error("a value of the table")
    return "'" + value.replace("'", "''") + "'"


def _nul_error(what: str) -> DataError:
    hint = "take the NUL characters out of the table; UTF-16 text has one in every letter: write it as UTF-8"
    return DataError(Problem("RR304", f"{what} holds a NUL character", expected="text without NULs", hint=hint))


def type_name(kind: str) -> str:
    """Return a plain type's name, unmodified, as SQL."""
    if not _TYPE.fullmatch(kind):
        raise ValueError("not a type's name")
    return kind


def sql_list(values: Sequence[Value], kind: str) -> str:
    """Return values as an SQL list of one engine type, such as `[1, 2]::BIGINT[]`."""
    return "[" + ", ".join(literal(v) for v in values) + f"]::{kind}[]"
