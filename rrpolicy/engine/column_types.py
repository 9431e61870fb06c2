"""An engine's column: its type's family, and the SQL that reads it as text, as a number, or unmodified."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from rrpolicy.engine.quoting import identifier


class TypeFamily(StrEnum):
    """The families of engine types; domains and bins are checked against them."""

    TEXT = "text"
    INTEGER = "whole numbers"
    REAL = "numbers"
    BOOLEAN = "true or false"
    MOMENT = "dates or times"
    OTHER = "values that no release can carry"


_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
_NOTHING = '"NULL"'  # the type of a column that contains only nulls
_REALS = {"FLOAT", "DOUBLE"}
_WIDE = {"HUGEINT": "DECIMAL(38,0)", "UBIGINT": "DECIMAL(20,0)"}
MOMENTS = {"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}


def family(kind: str) -> TypeFamily:
    """Return the family of an engine type, by DuckDB's name of it."""
    if kind.endswith("]"):
        return TypeFamily.OTHER
    if kind in {"VARCHAR", _NOTHING} or kind.startswith("ENUM("):
        return TypeFamily.TEXT
    if kind in _INTEGERS:
        return TypeFamily.INTEGER
    if kind in _REALS or kind.startswith("DECIMAL("):
        return TypeFamily.REAL
    if kind == "BOOLEAN":
        return TypeFamily.BOOLEAN
    return TypeFamily.MOMENT if kind in MOMENTS else TypeFamily.OTHER


class StoredColumn(Struct, frozen=True):
    """A column as the engine stores it.

    Attributes:
        type: DuckDB's name of its type; for text that spells values of another type (CSV), that type.
        spelled: whether it is stored as text, whatever its type (CSV).
        collated: whether a comparison might treat different texts as equal.
        comma: whether its numbers are spelled with a decimal comma (CSV).
        odd: for a column of numbers, the number of records whose text is not a number (CSV); 0 elsewhere.
        other_mark: the number of those that would spell one with the other decimal separator.
        padded: the number of those that are digits with a leading 0, like codes.
    """

    name: str
    type: str
    spelled: bool = False
    collated: bool = False
    comma: bool = False
    odd: int = 0
    other_mark: int = 0
    padded: int = 0

    @property
    def family(self) -> TypeFamily:
        """Return the family of its type."""
        return family(self.type)

    @property
    def text(self) -> str:
        """Return SQL for its text, compared by code points."""
        sql = identifier(self.name)
        if self.type != "VARCHAR" and not self.spelled:
            return f"{sql}::VARCHAR"
        return f"decode(encode({sql}))" if self.collated else sql

    @property
    def typed(self) -> str:
        """Return SQL for its values in its type; NaN is null and there is no negative zero."""
        if self.family is TypeFamily.TEXT:
            return self.text
        sql = identifier(self.name)
        if self.spelled:
            point = f"replace({sql}, ',', '.')" if self.comma and self.type == "DOUBLE" else sql
            sql = f"{point}::{self.type}"
        if self.type in _REALS:
            # DuckDB 2.0 takes isnan() for false where a file's statistics, which NaN is not in, have a zero
            return f"(CASE WHEN isfinite({sql}) OR isinf({sql}) THEN {sql} + 0 END)"
        return sql

    @property
    def released_type(self) -> str:
        """Return the engine type of its values when released unmodified; integers beyond 64 bits are decimals."""
        return "VARCHAR" if self.family is TypeFamily.TEXT else _WIDE.get(self.type, self.type)

    @property
    def released(self) -> str:
        """Return SQL for its values in their released type."""
        return f"({self.typed})::{_WIDE[self.type]}" if self.type in _WIDE else self.typed

    @property
    def observed(self) -> str:
        """Return SQL for its values as an observed domain lists them."""
        if self.family is TypeFamily.MOMENT:
            return f"({self.typed})::VARCHAR"
        if self.family is TypeFamily.REAL and self.type != "FLOAT":
            return f"({self.typed})::DOUBLE"
        return self.released
