"""Released columns by name: how each is undone, its categories, and constants that are compared with it."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from rrpolicy.canonical_json import Value, same_category
from rrpolicy.channels.table import Column
from rrpolicy.declarations import interval_edges
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.frozen import replace

ValueKind: TypeAlias = Literal["text", "truth value", "number", "other"]
Bin: TypeAlias = tuple[float, float, bool]
"""Lower edge, which is part of the bin, upper edge, and whether that is."""
_SHOWN = 12
_ALIKE = 0.8
"""Similarity from which a category is suggested: `<12 yrs` and `12-18 yrs` are similar, but not a misspelling."""
_DAY = re.compile(r"[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})")
"""A date that does not sort as text."""


class Columns(Struct, frozen=True):
    """The columns of a release, as its manifest describes them.

    Attributes:
        columns: the released columns by name, in file order.
        axes: the weights of each category column; coupled columns share one axis. Generalised columns are counted by
            their released labels, which is exact.
        refused: columns whose form this version cannot count, with the error.
        missing: column -> its category of missing values, of those that have one.
        spread: generalised columns, with the categories that their labels cover.
        labels: columns of the analyst's own tables: the released column that they describe, and their value for each
            of its categories.
    """

    columns: Mapping[str, Column]
    axes: Mapping[str, AxisWeights]
    refused: Mapping[str, PolicyError]
    missing: Mapping[str, Value] = field(default_factory=dict)
    spread: Mapping[str, RecodeWeights] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, Mapping[Value, Value]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Column],
        axes: Mapping[str, AxisWeights],
        refused: Mapping[str, PolicyError],
        missing: Mapping[str, Value],
    ) -> Columns:
        """Return the columns of some decoders, generalised ones by their released labels."""
        spread = {name: a for name, a in axes.items() if isinstance(a, RecodeWeights)}
        level = {name: IdentityWeights(a.columns, a.released, a.released) for name, a in spread.items()}
        inside = {name: a for name, a in spread.items() if a.randomised}
        return cls(columns, {**axes, **level}, refused, missing, inside)

    def disaggregate(self, *names: str) -> Columns:
        """Return the same columns, generalised ones counted by the original categories inside their labels."""
        chosen = {name: axis for name, axis in self.spread.items() if not names or name in names}
        return replace(self, axes={**self.axes, **chosen})

    def labelled(self, of: str, told: Mapping[str, Mapping[Value, Value]]) -> Columns:
        """Return the same columns with others that describe the categories of one."""
        axis = self.axes[of]
        own = axis.labels_of(of)
        more = (*axis.more, *((name, tuple(labels[v] for v in own)) for name, labels in told.items()))
        replaced = replace(axis, more=more)
        axes = {name: replaced if known is axis else known for name, known in self.axes.items()}
        labels = {name: (of, says) for name, says in told.items()}
        spread = self.spread
        if isinstance(replaced, RecodeWeights) and spread.get(of) is axis:
            spread = {**spread, of: replaced}
        return replace(
            self, axes={**axes, **dict.fromkeys(told, replaced)}, labels={**self.labels, **labels}, spread=spread
        )

    def name(self, name: str) -> str:
        """Return the exact name of a released column; upper and lower case are equal if that is unambiguous.

        Raises:
            PolicyError: RR262 if it is unknown, RR270 if its form is not counted by this version.
        """
        folded = [c for c in (*self.columns, *self.labels) if c.casefold() == name.casefold()]
        found = name if name in self.columns or name in self.labels else folded[0] if len(folded) == 1 else None
        if found is None:
            released_as = [c.name for c in self.columns.values() if c.attribute == name]
            close = released_as or difflib.get_close_matches(name, self.columns, n=1, cutoff=_ALIKE)
            hint = f"did you mean {close[0]!r}?" if close else f"released are {', '.join(map(repr, self.columns))}"
            raise PolicyError(Problem("RR262", f"the release has no column {name!r}", hint=hint))
        if found in self.refused:
            raise self.refused[found]
        return found

    def axis(self, name: str) -> AxisWeights:
        """Return the weights of a category column.

        Raises:
            PolicyError: as for `name`; RR263 if the column has no categories.
        """
        found = self.name(name)
        if found not in self.axes:
            categories = ", ".join(map(repr, self.axes))
            message = f"{found!r} is released unchanged, without a list of categories: there is nothing to group by"
            hint = (f"group by {categories}; " if categories else "") + f"{found!r} may be used in a condition"
            raise PolicyError(Problem("RR263", message, hint=hint))
        return self.axes[found]

    def domain(self, name: str) -> tuple[Value, ...]:
        """Return the original categories of a column, in domain order; raises as `axis` does."""
        exact = self.name(name)
        axis = self.spread.get(exact) or self.axis(exact)
        j = axis.columns.index(exact)
        return tuple(dict.fromkeys(cell[j] for cell in axis.original))

    def bins(self, name: str) -> dict[Value, Bin]:
        """Return the bins of numbers among the categories of a column, by label; empty where it has none."""
        column = self.columns.get(name)
        if column is None or column.kind not in {"interval", "set"} or name not in self.axes:
            return {}
        edges = {label: interval_edges(label) for label in self.domain(name)}
        return {label: (*of, str(label).endswith("]")) for label, of in edges.items() if of is not None}

    def labelled_by_numbers(self, name: str) -> bool:
        """Return whether the labels of a column's bins all spell numbers, but for that of missing values."""
        column = self.columns.get(name)
        if column is None or column.kind != "interval" or name not in self.axes:
            return False
        absent = self.missing.get(name)
        return all(v == absent or parse_number(v) is not None for v in self.domain(name))

    def numberless(self, name: str) -> tuple[Value, ...]:
        """Return the categories that no average counts: missing values, and text for values outside the numbers.

        `name`: exact name of a column; for one that describes another's categories, those without a number.
        """
        if name in self.labels:
            return tuple(category for category, cell in self.labels[name][1].items() if parse_number(cell) is None)
        if name not in self.axes:
            return ()
        j = self.axes[name].columns.index(name)
        labels = tuple(dict.fromkeys(cell[j] for cell in self.axes[name].original))
        beside = any(kind_of(v) == "number" for v in labels)
        absent = self.missing.get(name)
        return tuple(
            v for v in labels if (absent is not None and same_category(v, absent)) or (beside and kind_of(v) == "text")
        )

    def labelled_column(self, name: str) -> str:
        """Return the released column whose categories a column describes: itself, unless it was joined."""
        return self.labels[name][0] if name in self.labels else name

    def constant(self, name: str, value: Any, *, ordered: bool) -> Any:
        """Check a constant that a column is compared with, and return it as the column's type needs it.

        Raises:
            PolicyError: RR265 if it is of another type or no category of the column.
        """
        if name in self.spread:
            labels = tuple(cell[0] for cell in self.spread[name].released)
            if not ordered and value in labels:
                return value
            return category(name, self.domain(name), value, ordered=ordered, labels=labels)
        if name in self.axes:
            return category(name, self.domain(name), value, ordered=ordered)
        kind, own = kind_of_type(self.columns[name].type), kind_of(value)
        if kind != own and not (kind == "other" and own in {"text", "other"}):
            held = f"value of type {self.columns[name].type}" if kind == "other" else kind
            message = f"{name!r} contains a {held}, and the condition compares it with a {own}"
            raise PolicyError(Problem("RR265", message))
        if ordered and isinstance(value, str) and _DAY.fullmatch(value):
            message = (
                f"{name!r} contains text, which < and > compare alphabetically: {value!r} is not ordered as a date"
            )
            hint = "list the values with IN; the publisher may release a column of dates, or dates as 2026-01-31"
            raise PolicyError(Problem("RR265", message, hint=hint))
        return float(value) if isinstance(value, Decimal) and self.columns[name].type in {"DOUBLE", "FLOAT"} else value


def category(name: str, domain: Sequence[Value], value: Any, *, ordered: bool, labels: Sequence[Value] = ()) -> Any:
    """Check a constant that is compared with a category column.

    `labels`: other valid constants: the released labels of a generalised column.

    Raises:
        PolicyError: RR265 if it is of another type, is not a category, or < or > compares categories without an order.
    """
    kinds = {kind_of(v) for v in (domain if ordered else (*labels, *domain))}
    value = _time_as_text(value) if kinds == {"text"} else value
    if kind_of(value) not in kinds:
        message = f"{name!r} has a {' or '.join(sorted(kinds))} for each category, not a {kind_of(value)}"
        raise PolicyError(Problem("RR265", message, hint=f"its categories are {_abbreviate_list((*labels, *domain))}"))
    if ordered and not (kind_of(value) == "number" and kinds <= {"number", "text"}):
        message = f"the categories of {name!r} are not numbers: < and > do not apply"
        raise PolicyError(Problem("RR265", message, hint="list the categories with IN"))
    if not ordered and value not in domain:
        spelled = {str(v): v for v in (*labels, *domain)}
        close = difflib.get_close_matches(str(value), spelled, n=1, cutoff=_ALIKE)
        hint = f"its categories are {_abbreviate_list(domain)}"
        if labels and set(labels) != set(domain):
            hint = f"released were {_abbreviate_list(labels)}; {hint}"
        if close:
            meant = spelled[close[0]]
            hint = (
                f"did you mean {'' if kind_of(meant) == kind_of(value) else f'the {kind_of(meant)} '}{meant!r}? {hint}"
            )
        raise PolicyError(Problem("RR265", f"{value!r} is not a category of {name!r}", hint=hint))
    return value


def parse_number(cell: Value) -> float | None:
    """Return the number that a cell of the analyst's own table is, or spells; None if not a finite number."""
    try:
        number = math.nan if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _abbreviate_list(values: Sequence[Value]) -> str:
    return ", ".join(map(repr, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")


def _time_as_text(value: Any) -> Any:
    """Return a date or time as text, as its category is spelled; any other value unchanged."""
    if not isinstance(value, (date, time)):
        return value
    return str(value).rstrip("0") if "." in str(value) else str(value)


def kind_of(value: Any) -> ValueKind:
    """Return the kind of a value, in a word for messages."""
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, (int, float, Decimal)) else "other"


def kind_of_type(name: str) -> ValueKind:
    """Return the kind of values of an engine type, in a word for messages."""
    if name == "VARCHAR":
        return "text"
    if name == "BOOLEAN":
        return "truth value"
    numbers = ("TINYINT", "SMALLINT", "INT", "BIGINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL")
    return "number" if name.removeprefix("U").startswith(numbers) and not name.startswith("INTERVAL") else "other"
