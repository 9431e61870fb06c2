"""Doubles as whole numbers that sort alike: an engine sorts what its keys spell without a second copy of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.engine.arrays import as_numpy, number_array

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 2**63 - 1


def double_bits_sql(sql: str) -> str:
    """Return SQL of a double's bits as a 64-bit integer; null of null."""
    return f"({sql})::BIT::BIGINT"


def sortable_integer_sql(name: str) -> str:
    """Return SQL of the whole number that sorts as the double does whose bits a column holds: IEEE 754, 5.10."""
    return f"CASE WHEN {name} < 0 THEN xor({name}, {_MOST}) ELSE {name} END"


def doubles_from_sortable(whole: pa.Array) -> pa.Array:
    """Return the doubles that (n,) whole numbers stand for, each by its `sortable`; null of null."""
    import numpy as np

    held = as_numpy(whole, absent=0)
    absent = as_numpy(whole.is_null()) if whole.null_count else None
    return number_array((held ^ ((held >> 63) & _MOST)).view(np.float64), absent)
