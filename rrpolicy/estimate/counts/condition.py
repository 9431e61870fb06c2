"""A condition on a release: 0/1 vectors over randomised axes, and a filter over columns released unmodified."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from rrpolicy.canonical_json import Value
from rrpolicy.channels.decoders import Cell
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Bin, Columns, category, kind_of
from rrpolicy.estimate.expression import (
    And,
    ColumnComparison,
    Expression,
    Member,
    Null,
    columns_of,
    evaluate,
    leaves_of,
    resolve_nulls,
    rewrite,
    to_sql,
)
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.recode import RecodeWeights, by_category, inside_labels
from rrpolicy.numbers import exact_number


class Condition(Struct, frozen=True):
    """A condition, split by how its parts are counted.

    Attributes:
        masks: for each randomised axis (by identity), the original cells that satisfy all parts of the condition on
            it.
        filter: SQL over the other columns; "" for none.
        parameters: its constants.
        kept: for columns released unmodified with a list of categories (by identity of the axis), the cells that no
            part on that column alone excludes: others have no record.
    """

    masks: dict[int, tuple[AxisWeights, Mask]]
    filter: str
    parameters: tuple[Any, ...]
    kept: dict[int, Mask] = field(default_factory=dict)

    @property
    def axes(self) -> tuple[AxisWeights, ...]:
        """Return the randomised axes."""
        return tuple(axis for axis, _ in self.masks.values())

    def leaves(self, axis: AxisWeights) -> Mask:
        """Return (V,) the original cells of an axis that the condition leaves."""
        mask = self.masks[id(axis)][1] if id(axis) in self.masks else np.ones(len(axis.original), dtype=bool)
        return np.asarray(mask & self.kept.get(id(axis), np.True_))


Where: TypeAlias = "str | Sequence[Expression] | None"
"""A condition: text, conjuncts that were read already, or none."""


def read(where: Where) -> tuple[Expression, ...]:
    """Return the conjuncts of a condition that is text, or was read already; sqlglot is loaded for text alone.

    Raises:
        PolicyError: RR264 if it cannot be read.
    """
    if not isinstance(where, str):
        return tuple(where or ())
    from rrpolicy.estimate.counts.predicate import parse_condition

    return parse_condition(where)


def split(where: str | Sequence[Expression] | None, columns: Columns) -> Condition:
    """Read a condition, or take one that was read, and split it.

    Raises:
        PolicyError: RR262, RR264, RR265 for a part that cannot be read, RR266 where OR or NOT joins a randomised axis
            with anything else.
    """
    masks: dict[int, tuple[AxisWeights, Mask]] = {}
    filters: list[str] = []
    parameters: list[Any] = []
    kept: dict[int, Mask] = {}
    alone: dict[str, tuple[Expression, ...]] = {}
    for part in read(where):
        typed = rewrite(part, lambda leaf: _type_leaf(leaf, columns))
        expression, written = (
            _translate_own_columns(e, columns) for e in (resolve_nulls(typed, columns.missing), typed)
        )
        names = columns_of(expression)
        if len(set(names)) == 1 and names[0] in columns.axes:
            alone[names[0]] = (*alone.get(names[0], ()), written)
        inside = inside_labels(expression, columns.spread)
        if inside:
            expression = by_category(expression, inside)
        by_label = {n for n in names if n in columns.spread and n not in inside}
        undone = {n: inside.get(n, columns.axes[n]) for n in names if n in columns.axes and n not in by_label}
        randomised = {id(a): a for a in undone.values() if a.randomised}
        if not randomised:
            spelled = rewrite(expression, lambda leaf: _leaf_as_stored(leaf, columns))
            filters.append(f"({to_sql(spelled, identifier, parameters)})")
            if len(set(names)) == 1 and names[0] in columns.axes:
                plain = columns.axes[names[0]]
                kept[id(plain)] = _reachable_cells(plain, expression) & kept.get(id(plain), np.True_)
            continue
        axis = next(iter(randomised.values()))
        if not all(n in axis.columns for n in names):
            raise _mixed_columns_error(names)
        mask = _mask(axis, expression)
        masks[id(axis)] = (axis, mask & masks[id(axis)][1] if id(axis) in masks else mask)
    for name, parts in alone.items():
        ends = tuple(part for part in parts if _is_ordering(part))  # those of a BETWEEN are one condition
        for asked in (ends, *((part,) for part in parts if part not in ends)):
            domain = [v for v in columns.domain(name) if v != columns.missing.get(name)]
            _refuse_unsatisfiable(asked, name, domain)
    return Condition(masks, " AND ".join(filters), tuple(parameters), kept)


def narrow_condition(condition: Condition, released: Sequence[Expression], columns: Columns) -> Condition:
    """Return a condition with additional conjuncts on the released labels.

    `released`: the additional conjuncts, over exact names and released labels.
    """
    filters, parameters, kept = [condition.filter] * bool(condition.filter), [*condition.parameters], {**condition.kept}
    for part in released:
        spelled = rewrite(part, lambda leaf: _leaf_as_stored(leaf, columns))
        filters.append(f"({to_sql(spelled, identifier, parameters)})")
        axes = [columns.axes[name] for name in columns_of(part)]
        if len(axes) == 1:
            kept[id(axes[0])] = _mask(axes[0], part) & kept.get(id(axes[0]), np.True_)
    return Condition(condition.masks, " AND ".join(filters), tuple(parameters), kept)


def _mask(axis: AxisWeights, expression: Expression) -> Mask:
    return _satisfying(axis.columns, axis.original, expression)


def _reachable_cells(axis: AxisWeights, expression: Expression) -> Mask:
    """Return which original cells can have a record whose released value satisfies an expression."""
    if not isinstance(axis, RecodeWeights):
        return _mask(axis, expression)
    labels = _satisfying(axis.columns, axis.released, expression)
    kept = np.zeros(len(axis.original), dtype=bool)
    kept[[v for u in np.flatnonzero(labels) for v in axis.groups[u]]] = True
    return kept


def _satisfying(columns: Sequence[str], cells: Sequence[Cell], expression: Expression) -> Mask:
    values = [dict(zip(columns, cell, strict=True)) for cell in cells]
    return np.array([evaluate(expression, v) for v in values], dtype=bool)


def _type_leaf(leaf: ColumnComparison | Member | Null, columns: Columns) -> Expression:
    """Return a leaf with its column's exact name and constants of its column's type."""
    name = columns.name(leaf.column)
    if name in columns.labels:
        return _check_own_table_leaf(leaf, name, columns)
    match leaf:
        case ColumnComparison(operator=o, value=v):
            ordered = o not in {"=", "<>"}
            bins = columns.bins(name) if ordered and kind_of(v) == "number" else {}
            if bins:
                return Member(name, _bins_satisfying(name, o, float(v), bins))
            return ColumnComparison(name, o, columns.constant(name, v, ordered=ordered))
        case Member(values=vs):
            return Member(name, tuple(columns.constant(name, v, ordered=False) for v in vs))
        case _:
            return ColumnComparison(name, "=", columns.missing[name]) if name in columns.missing else Null(name)


def _bins_satisfying(name: str, operator: str, value: float, bins: Mapping[Value, Bin]) -> tuple[Value, ...]:
    """Return the bins whose values all satisfy a comparison.

    `bins`: label -> lower edge, which the bin includes, upper edge, and whether the bin includes it.
    """
    below = operator in {"<", "<="}
    lower, cut = [], []
    for label, (low, high, closed) in bins.items():
        if operator in {"<", ">="}:
            inside, beyond = high < value or (high == value and not closed), low >= value
        else:
            inside, beyond = high <= value, low > value
        lower += [label] * inside
        cut += [label] * (not inside and not beyond)
    edges = sorted({edge for low, high, _ in bins.values() for edge in (low, high)})
    if cut:
        near = {max(e for e in edges if e <= value), min(e for e in edges if e >= value)}
        _, high, closed = bins[cut[0]]
        exact = "`<=` or `>`" if closed and value == high else "`<` or `>=`"
        message = f"{name!r} was released in bins, and {operator} {exact_number(value)} applies to a part of {cut[0]!r}"
        named = " or ".join(exact_number(edge) for edge in sorted(near) if abs(edge) < np.inf)
        hint = f"compare by {exact} with an edge, such as {named}"
        raise PolicyError(Problem("RR265", message, hint=hint))
    found = tuple(lower) if below else tuple(label for label in bins if label not in lower)
    if not found:
        message = f"no bin of {name!r} is {operator} {exact_number(value)}"
        raise PolicyError(
            Problem("RR265", message, hint=f"they go from {exact_number(edges[0])} to {exact_number(edges[-1])}")
        )
    return found


def implicit_null_exclusions(
    where: Sequence[Expression], columns: Columns, nulls: Collection[str]
) -> Iterator[tuple[str, tuple[Expression, ...]]]:
    """Yield columns whose missing values a condition excludes silently, with a condition for such records."""
    typed = {part: rewrite(part, lambda leaf: _type_leaf(leaf, columns)) for part in where}
    for name in dict.fromkeys(column for part in typed.values() for column in columns_of(part)):
        own = {name: columns.missing.get(name, "")} if name in columns.missing or name in nulls else {}
        if any(resolve_nulls(part, own) != part for part in typed.values()):
            others = tuple(part for part, read_as in typed.items() if name not in columns_of(read_as))
            yield name, (*others, Null(name))


def _is_ordering(part: Expression) -> bool:
    """Return whether a part compares by < or >."""
    return isinstance(part, ColumnComparison) and part.operator not in {"=", "<>"}


def _refuse_unsatisfiable(asked: Sequence[Expression], name: str, domain: Sequence[Value]) -> None:
    """Refuse comparisons that no category satisfies: their count would be an exact 0, as if that had been found.

    `asked`: all conjuncts on one column, each as a whole: an operand of NOT or OR may well be satisfied by no
    category.
    """
    compared = any(_is_ordering(leaf) for part in asked for leaf in leaves_of(part))
    numbers = [v for v in domain if isinstance(v, int | float | Decimal)]
    if compared and numbers and not any(evaluate(And(tuple(asked)), {name: v}) for v in domain):
        ends = [f"{part.operator} {part.value}" for part in asked if isinstance(part, ColumnComparison)]
        told = f"is {' and '.join(ends)}" if len(ends) == len(asked) else "satisfies the condition"
        message = f"no category of {name!r} {told}"
        raise PolicyError(Problem("RR265", message, hint=f"they go from {min(numbers)} to {max(numbers)}"))


def _check_own_table_leaf(
    leaf: ColumnComparison | Member | Null, name: str, columns: Columns
) -> ColumnComparison | Member | Null:
    """Return a leaf on a column that an own table has for the categories of a released one, its constants checked."""
    labels = tuple(dict.fromkeys(columns.labels[name][1].values()))
    match leaf:
        case ColumnComparison(operator=operator, value=value):
            ordered = operator not in {"=", "<>"}
            return ColumnComparison(name, operator, category(name, labels, value, ordered=ordered))
        case Member(values=values):
            return Member(name, tuple(category(name, labels, value, ordered=False) for value in values))
        case _:
            return Null(name)


def _translate_own_columns(expression: Expression, columns: Columns) -> Expression:
    """Return an expression with the categories that satisfy it in place of columns of own tables."""

    def leaf(part: ColumnComparison | Member | Null) -> Expression:
        if part.column not in columns.labels:
            return part
        of, says = columns.labels[part.column]
        chosen = tuple(v for v, label in says.items() if evaluate(part, {part.column: label}))
        return Member(of, chosen) if chosen else Null(of)  # categories are never null

    return rewrite(expression, leaf)


def _leaf_as_stored(leaf: ColumnComparison | Member | Null, columns: Columns) -> Expression:
    """Return a leaf in the form that the data file can evaluate: numbers that are spelled as text there are listed."""
    column = columns.columns[leaf.column]
    if isinstance(leaf, Null) or leaf.column not in columns.axes or column.spelled == column.labels:
        return leaf
    found = [t for v, t in zip(column.labels, column.spelled, strict=True) if evaluate(leaf, {leaf.column: v})]
    return Member(leaf.column, tuple(found)) if found else Null(leaf.column)  # categories are never null


def _mixed_columns_error(names: tuple[str, ...]) -> PolicyError:
    message = f"OR and NOT may not mix {', '.join(map(repr, names))}: randomised columns are corrected one by one"
    hint = "join conditions on different columns by AND; add the counts of cases that exclude each other"
    return PolicyError(Problem("RR266", message, hint=hint))
