"""Names, texts and classes of columns in R."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.canonical_json import Value
from rrpolicy.channels.table import Column
from rrpolicy.exports.weights import WeightFile, cell_columns


def r_string(value: str) -> str:
    """Return an R string literal."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else _escaped_character(c) for c in value)
    return f'"{escaped}"'


def r_column_class(column: Column) -> str:
    """Return R's class for a released column in CSV, as R; NA to let R choose."""
    if column.kind == "set":
        return r_string("character")
    return r_string(_label_class(column.labels)) if column.labels else "NA"


def r_column_classes(file: WeightFile) -> list[str]:
    """Return R's classes for the columns of the weight table of one column, as R."""
    cells = [_label_class(tuple(value for (value,) in side)) for side in cell_columns(file.axis)]
    return [r_string(name) for name in [*cells, "numeric", "numeric"][:3]]


def _label_class(labels: Sequence[Value]) -> str:
    """Return R's class for a column of these labels, so that released values and weights have the same notation."""
    if all(isinstance(v, bool) for v in labels):
        return "logical"
    return "character" if any(isinstance(v, (str, bool)) for v in labels) else "numeric"


def _escaped_character(character: str) -> str:
    return "\\" + character if character in '"\\' else f"\\U{{{ord(character):x}}}"
