"""Reading files: paths taken literally, and CSV without any guess."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.engine.quoting import literal

if TYPE_CHECKING:
    import pyarrow as pa


_MOST = 2**63 - 1


def double_bits_sql(sql: str) -> str:
    """Return SQL of a double's bits as a 64-bit integer; null of null."""
    return f"({sql})::BIT::BIGINT"


def sortable_integer_sql(name: str) -> str:
    """Return SQL of a whole number that sorts as the double whose bits a column holds: IEEE 754, 5.10."""
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
