"""Codes of missing values as nulls: the table is read through SQL that replaces such codes by null.

A code matches a value that is spelled like it. A number matches every spelling of it in text (`99`, `99.0`, `99,0`),
and in a column of numbers its value; a code that cannot occur in a column matches nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from rrpolicy.canonical_json import Value
from rrpolicy.engine.column_types import StoredColumn, TypeFamily
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.policy.model import Reading

_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)")


def with_missing_as_null(source: str, columns: Sequence[StoredColumn], reading: Reading) -> str:
    """Return SQL of a table with the codes of missing values as nulls; the table itself if no column has any."""
    conditions = {c.name: sql for c in columns if (sql := _missing_code_sql(c, reading.codes(c.name)))}
    return with_nulls_where(source, columns, conditions) if conditions else source


def with_nulls_where(source: str, columns: Sequence[StoredColumn], conditions: Mapping[str, str]) -> str:
    """Return SQL of a table in which a column is null where a condition on it is true."""
    selected = [
        f"CASE WHEN {conditions[c.name]} THEN NULL ELSE {sql} END AS {sql}" if c.name in conditions else sql
        for c in columns
        for sql in [identifier(c.name)]
    ]
    return f"(SELECT {', '.join(selected)} FROM {source})"


def _missing_code_sql(column: StoredColumn, codes: Sequence[Value]) -> str:
    """Return SQL that is true for a code in a column; empty if no code can occur there."""
    sql = identifier(column.name)
    if column.family is TypeFamily.TEXT:
        return _text_code_sql(f"{sql}::VARCHAR" if column.type != "VARCHAR" else column.text, codes)
    if column.family in {TypeFamily.INTEGER, TypeFamily.REAL}:
        numbers = [n for code in codes if (n := code_number(code)) is not None]
        return f"{sql}::DOUBLE IN ({', '.join(map(literal, numbers))})" if numbers else ""
    if column.family is TypeFamily.MOMENT:
        moments = [f"TRY_CAST({literal(code)} AS {column.type})" for code in codes if isinstance(code, str) and code]
        return f"coalesce({sql} IN ({', '.join(moments)}), false)" if moments else ""
    return ""


def _text_code_sql(sql: str, codes: Sequence[Value]) -> str:
    texts = [literal(code) for code in codes if isinstance(code, str)]
    numbers = [_number_spelling_pattern(code) for code in codes if not isinstance(code, str)]
    ways = [f"{sql} IN ({', '.join(texts)})"] if texts else []
    ways += [f"regexp_full_match({sql}, {literal('|'.join(numbers))})"] if numbers else []
    return " OR ".join(ways)


def code_number(code: Value) -> float | None:
    """Return the number that a code is or spells."""
    if isinstance(code, str):
        return float(code) if _NUMBER.fullmatch(code) else None
    return float(code)


def _number_spelling_pattern(code: float) -> str:
    """Return a regular expression of the texts that spell a number, with a decimal point or comma."""
    whole, _, fraction = f"{abs(Decimal(repr(code))):f}".partition(".")
    fraction = fraction.rstrip("0")
    sign = "-" if code < 0 else ""
    return f"{sign}{whole}[.,]{fraction}0*" if fraction else f"{sign}{whole}([.,]0+)?"
