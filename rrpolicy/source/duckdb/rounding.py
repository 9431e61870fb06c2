"""Weights rounded where the table is read, so that nothing after it sees them as they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rrpolicy.engine.column_types import StoredColumn, TypeFamily
from rrpolicy.engine.quoting import identifier
from rrpolicy.policy.model import Reading

_WHOLE = 1 << 52
"""From here on doubles are whole numbers: such a weight, or an infinite one, is a multiple already."""


def with_rounded_weights(
    source: str, columns: Sequence[StoredColumn], reading: Reading
) -> tuple[str, list[StoredColumn]]:
    """Return SQL of a table with rounded columns, which are doubles then, and its columns; text stays as it is.

    Args:
        source: SQL that stands after FROM.
        columns: the table's columns, in order.
        reading: says which are rounded, and to multiples of what.
    """
    found = [_rounded_weight_sql(column, reading) for column in columns]
    if all(sql is None for sql in found):
        return source, [*columns]
    selected = [
        name if sql is None else f"{sql} AS {name}"
        for column, sql in zip(columns, found, strict=True)
        for name in [identifier(column.name)]
    ]
    kept = [
        column if sql is None else replace(column, type="DOUBLE", spelled=False, comma=False)
        for column, sql in zip(columns, found, strict=True)
    ]
    return f"(SELECT {', '.join(selected)} FROM {source})", kept


def _rounded_weight_sql(column: StoredColumn, reading: Reading) -> str | None:
    step = reading.rounding.get(column.name)
    if step is None or column.family not in {TypeFamily.INTEGER, TypeFamily.REAL}:
        return None
    return rounding(f"({column.typed})::DOUBLE", step)


def rounding(x: str, step: float) -> str:
    """Return SQL of the multiple that is nearest to a double; of what is above 0 the least is `step`.

    What is no weight stays as it is, and is refused as such: numbers below 0, infinite ones, nulls. In words that every
    engine reads alike: no engine's own way of rounding halves.

    Args:
        x: SQL of a double.
        step: above 0.
    """
    told = f"CAST({step!r} AS DOUBLE)"
    nearest = f"floor({x} / {told} + 0.5) * {told}"
    return (
        f"(CASE WHEN {x} > 0 AND {x} < {told} THEN {told} WHEN {x} > 0 AND {x} / {told} < {_WHOLE} THEN {nearest} "
        f"ELSE {x} END)"
    )
