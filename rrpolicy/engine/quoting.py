"""The one place where names and values become SQL. No other code puts external text into a statement."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.canonical_json import Value
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.errors import DataError, Problem

if TYPE_CHECKING:
    import pyarrow as pa


_TYPE = re.compile(r"[A-Z][A-Z0-9_ ]*(\(\d+(, ?\d+)?\))?(\[\])?")


def identifier(name: str) -> str:
    """Return a column's or table's name as SQL, with any characters."""
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
    return DataError(Problem("RR304", f"{what} contains a NUL character", expected="text without NULs", hint=hint))


def type_name(kind: str) -> str:
    """Return a plain type's name, unmodified, as SQL."""
    if not _TYPE.fullmatch(kind):
        raise ValueError("not a type's name")
    return kind


def sql_list(values: Sequence[Value], kind: str) -> str:
    """Return values as an SQL list of one engine type, such as `[1, 2]::BIGINT[]`."""
    return "[" + ", ".join(literal(v) for v in values) + f"]::{kind}[]"


_MOST = 2**63 - 1


def double_bits_sql(sql: str) -> str:
    """Return SQL of a double's bits as a 64-bit integer; null of null."""
    return f"({sql})::BIT::BIGINT"


def sortable_integer_sql(name: str) -> str:
    """Return SQL of a whole number that sorts as the double with the bits in a column: IEEE 754, 5.10."""
    return f"CASE WHEN {name} < 0 THEN xor({name}, {_MOST}) ELSE {name} END"


def doubles_from_sortable(whole: pa.Array) -> pa.Array:
    """Return the doubles encoded by (n,) whole numbers of `sortable_integer_sql`; null of null."""
    import numpy as np

    held = as_numpy(whole, absent=0)
    absent = as_numpy(whole.is_null()) if whole.null_count else None
    return number_array((held ^ ((held >> 63) & _MOST)).view(np.float64), absent)


def literal_path(path: str | Path) -> str:
    """Return a path that the engine does not interpret as a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def read_csv(path: str, columns: Mapping[str, str], delimiter: str = ",", quote: str = '"', **options: str) -> str:
    """Return the SQL that reads a CSV file with a header; an empty cell is null.

    `path` is as the engine opens it; `options` are further ones of `read_csv`, as SQL.
    """
    told = {"delim": literal(delimiter), "quote": literal(quote), "escape": literal(quote), "nullstr": "''", **options}
    typed = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in columns.items())
    more = "".join(f"{name} = {value}, " for name, value in told.items())
    return f"read_csv({literal(path)}, auto_detect = false, header = true, {more}columns = {{{typed}}})"
