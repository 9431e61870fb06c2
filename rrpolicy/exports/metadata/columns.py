"""The type of a released column, in the vocabulary of data packages."""

from __future__ import annotations

from rrpolicy.channels.table import Column, engine_type_of

_TYPES = {
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "DOUBLE": "number",
    "FLOAT": "number",
    "DECIMAL": "number",
    "DATE": "date",
    "TIME": "time",
    "UUID": "string",
}


def holds_lists(column: Column) -> bool:
    """Return whether a value of the column is a list."""
    return column.kind == "set" or column.type.endswith("[]")


def value_type(column: Column) -> str:
    """Return the type of a column's values, or of the entries of its lists."""
    kind = (column.type or engine_type_of(column.labels)).removesuffix("[]").partition("(")[0]
    if kind.startswith("TIMESTAMP"):
        return "datetime"
    return _TYPES.get(kind, "integer" if kind.endswith(("INT", "INTEGER")) else "string")
