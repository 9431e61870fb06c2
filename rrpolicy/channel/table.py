"""What a channel releases: columns, tables, and the decoders that undo an axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rrpolicy.canonical import Json, Value
from rrpolicy.untrusted import formulas

Form: TypeAlias = Literal["identity", "retention", "matrix", "membership", "share", "spread"]
_TEXT = frozenset({"VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR"})
"""The engine's names of text."""


def text(label: Value) -> str:
    """Return a label as an engine spells it in text."""
    return str(label).lower() if isinstance(label, bool) else str(label)


@dataclass(frozen=True, slots=True)
class Column:
    """One released column.

    Attributes:
        name: its released name.
        kind: category (labels listed), interval, set (a list of labels), group (an id), count, or carried (values as
            they are, no domain).
        labels: the released categories in domain order; empty for carried, group and count.
        type: the engine type (DuckDB's name): VARCHAR, BIGINT, DOUBLE, BOOLEAN, VARCHAR[], …; "" if not known yet.
        attribute: the original attribute it tells of.
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
        """Return the labels as data files hold them: a domain that mixes numbers and text is text there."""
        return tuple(map(text, self.labels)) if self.type.removesuffix("[]") == "VARCHAR" else self.labels

    @property
    def escapable(self) -> bool:
        """Whether it may hold text that CSV escapes; see `rrpolicy.untrusted.formulas`."""
        if self.kind in {"set", "group", "count"} or (self.type and self.type.partition("(")[0] not in _TEXT):
            return False
        if not self.labels:
            return True
        known = self.type or any(isinstance(label, str) for label in self.labels)
        return bool(known) and any(formulas.escaped(label) != label for label in map(text, self.labels))

    def to_json(self) -> Json:
        """Return the column as plain data."""
        return {
            "name": self.name,
            "kind": self.kind,
            "labels": list(self.labels),
            "type": self.type,
            "attribute": self.attribute,
            "assume_unlinkable": self.assume_unlinkable,
        }


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One released table.

    Attributes:
        name: of the file without its suffix: `data`, or `qit` and `st`.
        columns: in file order.
        sort: the column names that rows are sorted by (values ascending, text by code points, nulls last).
        joins: column -> (other table, its column).
    """

    name: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...]
    joins: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def to_json(self) -> Json:
        """Return the table's description as plain data."""
        return {
            "name": self.name,
            "columns": [c.to_json() for c in self.columns],
            "sort": list(self.sort),
            "joins": {k: list(v) for k, v in self.joins.items()},
        }


@dataclass(frozen=True, slots=True)
class Decoder:
    """How to undo an axis. The weight of a released record is the product over decoders of the axis' weight.

    Attributes:
        attributes: the original attributes it tells of.
        form: one of six.
        parameters: plain data of the form; exact rationals as text.
            identity: {"columns": […], "labels": [[…], …]}
            retention: {"column": c, "labels": […], "blocks": [{"members": [i, …], "keep_probability": "4/5"}, …]}
            matrix: {"column": c, "released": […], "original": […], "rows": [["4/5", …], …]}, column-stochastic;
                coupled attributes: "columns" in place of "column", labels are lists.
            membership: {"column": c, "labels": […], "set_size": l}; attributes taken together: "columns" in place of
                "column", labels are lists, and the i-th entries of the released lists belong together.
            share: {"table": st, "of": qit, "key": g, "column": c, "count": n, "labels": […], "size": l}: a record of
                the table `of` has a value with the share that the value has in the record's group, in `table`.
            spread: {"columns": [c, …], "released": [labels of each column], "original": [labels of each attribute],
                "groups": [for each column, for each of its labels, the positions of what it stands for]}: a record
                counts in equal shares for every original category that its label stands for, column by column.
        unbiased: whether sums of weights are unbiased for counts.
        independent: whether the weights of records are independent given the original.
    """

    attributes: tuple[str, ...]
    form: Form
    parameters: Mapping[str, Json]
    unbiased: bool = True
    independent: bool = True

    def to_json(self) -> Json:
        """Return the decoder as plain data."""
        return {
            "attributes": list(self.attributes),
            "form": self.form,
            "parameters": dict(self.parameters),
            "unbiased": self.unbiased,
            "independent": self.independent,
        }
