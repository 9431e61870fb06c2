"""The released columns and tables of a channel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.escaping import formulas

if TYPE_CHECKING:
    from rrpolicy.policy.model import Attribute

_TEXT = frozenset({"VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR"})
"""The engine's names of text."""


def engine_type_of(labels: tuple[Value, ...]) -> str:
    """Return the engine's type (DuckDB's name) for a column of these labels; "" if there are none."""
    if not labels:
        return ""
    if all(isinstance(v, bool) for v in labels):
        return "BOOLEAN"
    if any(isinstance(v, (str, bool)) for v in labels):
        return "VARCHAR"
    return "BIGINT" if all(isinstance(v, int) for v in labels) else "DOUBLE"


class Column(Struct, frozen=True):
    """One released column.

    Attributes:
        name: its released name.
        kind: category (labels listed), interval, set (a list of labels), group (an id), count, or carried (unmodified
            values, no domain).
        labels: the released categories in domain order; empty for carried, group and count.
        type: the engine type (DuckDB's name): VARCHAR, BIGINT, DOUBLE, BOOLEAN, VARCHAR[], …; "" if still unknown.
        attribute: the original attribute.
        assume_unlinkable: the steward's reason for leaving it out of record scope; None if not assumed.
    """

    name: str
    kind: Literal["category", "interval", "set", "group", "count", "carried"]
    labels: tuple[Value, ...]
    type: str
    attribute: str
    assume_unlinkable: str | None = None

    @property
    def spelled(self) -> tuple[Value, ...]:
        """Return the labels as in data files: a domain that mixes numbers and text is text there."""
        return tuple(map(category_text, self.labels)) if self.type.removesuffix("[]") == "VARCHAR" else self.labels

    @property
    def escapable(self) -> bool:
        """Return whether it may contain text that CSV escapes; see `rrpolicy.escaping.formulas`."""
        if self.kind in {"set", "group", "count"} or (self.type and self.type.partition("(")[0] not in _TEXT):
            return False
        if not self.labels:
            return True
        known = self.type or any(isinstance(label, str) for label in self.labels)
        return bool(known) and any(formulas.escape_formula(label) != label for label in map(category_text, self.labels))


def attribute_column(attribute: Attribute, labels: tuple[Value, ...] | None = None) -> Column:
    """Return the released column of an attribute with these labels, by default its categories; carried without any.

    Raises ValueError if its domain is unknown.
    """
    name, reason = attribute.release_as or attribute.name, attribute.assume_unlinkable
    if not attribute.categorical:
        return Column(name, "carried", (), "", attribute.name, reason)
    labels = attribute.domain if labels is None else labels
    if labels is None:
        raise ValueError(f"the domain of '{attribute.name}' is not known")
    return Column(name, "category" if attribute.bins is None else "interval", labels, "", attribute.name, reason)


def carried_first(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return the columns' names in the order in which rows of one table are sorted: carried columns first.

    Carried columns keep their values in the draw, so that sorted records stay sorted except for ties in these
    columns.
    """
    return tuple(c.name for c in sorted(columns, key=lambda c: c.kind != "carried"))


class TableSpec(Struct, frozen=True):
    """One released table.

    Attributes:
        name: name of the file without its suffix: `data`, or `qit` and `st`.
        columns: columns in file order.
        sort: names of the columns that rows are sorted by (values ascending, text by code points, nulls last).
        joins: column -> (other table, its column).
    """

    name: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...]
    joins: Mapping[str, tuple[str, str]] = field(default_factory=dict)
