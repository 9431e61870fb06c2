"""Expressions over released names: their columns, their truth for a category, and their SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

Constant: TypeAlias = Any
"""A constant as DuckDB reads it: str, int, Decimal, float, bool, date, …"""

_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "<>": lambda a, b: bool(a != b),
    "<": lambda a, b: not _texts_differ(a, b) and bool(a < b),
    ">": lambda a, b: not _texts_differ(a, b) and bool(a > b),
    "<=": lambda a, b: not _texts_differ(a, b) and bool(a <= b),
    ">=": lambda a, b: not _texts_differ(a, b) and bool(a >= b),
}


def _texts_differ(a: Any, b: Any) -> bool:
    """Return whether exactly one is text, such as the category of missing values next to a number."""
    return isinstance(a, str) != isinstance(b, str)


class ColumnComparison(Struct, frozen=True):
    """`column operator value`."""

    column: str
    operator: str
    value: Constant


class Member(Struct, frozen=True):
    """`column IN (values)`."""

    column: str
    values: tuple[Constant, ...]


class Null(Struct, frozen=True):
    """`column IS NULL`."""

    column: str


class Not(Struct, frozen=True):
    """`NOT part`."""

    part: Expression


class And(Struct, frozen=True):
    """`part AND part …`."""

    parts: tuple[Expression, ...]


class Or(Struct, frozen=True):
    """`part OR part …`."""

    parts: tuple[Expression, ...]


Expression: TypeAlias = ColumnComparison | Member | Null | Not | And | Or


def columns_of(expression: Expression) -> tuple[str, ...]:
    """Return the columns of an expression, once each, in order."""
    return tuple(dict.fromkeys(leaf.column for leaf in leaves_of(expression)))


def leaves_of(expression: Expression) -> tuple[ColumnComparison | Member | Null, ...]:
    """Return the parts that compare a column with constants, in order."""
    match expression:
        case And(parts=parts) | Or(parts=parts):
            return tuple(leaf for p in parts for leaf in leaves_of(p))
        case Not(part=part):
            return leaves_of(part)
        case _:
            return (expression,)


def evaluate(expression: Expression, values: Mapping[str, Any]) -> bool:
    """Evaluate an expression for one original category; categories are never null."""
    match expression:
        case ColumnComparison(column=c, operator=o, value=v):
            return _TESTS[o](values[c], v)
        case Member(column=c, values=vs):
            return values[c] in vs
        case Not(part=part):
            return not evaluate(part, values)
        case And(parts=parts):
            return all(evaluate(p, values) for p in parts)
        case Or(parts=parts):
            return any(evaluate(p, values) for p in parts)
        case _:
            return False


def resolve_nulls(expression: Expression, missing: Mapping[str, Any]) -> Expression:
    """Return an expression that is true where SQL's three-valued logic makes another one true.

    No comparison is true of a missing value, nor is its negation, unless it names the category of missing values.
    """
    if not any(column in missing for column in columns_of(expression)):
        return expression
    match expression:
        case And(parts=parts) | Or(parts=parts):
            return type(expression)(tuple(resolve_nulls(p, missing) for p in parts))
        case Not(part=(And(parts=parts) | Or(parts=parts)) as joined):
            opposite = Or if isinstance(joined, And) else And
            return opposite(tuple(resolve_nulls(Not(p), missing) for p in parts))
        case Not(part=Not(part=part)):
            return resolve_nulls(part, missing)
    (leaf,) = leaves_of(expression)
    absent = missing[leaf.column]
    if _mentions_value(leaf, absent) or not evaluate(expression, {leaf.column: absent}):
        return expression
    return And((expression, ColumnComparison(leaf.column, "<>", absent)))


def _mentions_value(leaf: ColumnComparison | Member | Null, value: Any) -> bool:
    match leaf:
        case ColumnComparison(operator=operator, value=own):
            return operator in {"=", "<>"} and bool(own == value)
        case Member(values=values):
            return value in values
        case _:
            return True


def to_sql(expression: Expression, quote: Callable[[str], str], parameters: list[Constant]) -> str:
    """Write an expression as SQL anew, with its constants as parameters."""
    match expression:
        case ColumnComparison(column=c, operator=o, value=v):
            parameters.append(v)
            return f"{quote(c)} {o} ?"
        case Member(column=c, values=vs):
            parameters.extend(vs)
            return f"{quote(c)} IN ({', '.join('?' for _ in vs)})"
        case Not(part=part):
            return f"NOT ({to_sql(part, quote, parameters)})"
        case And(parts=parts):
            return " AND ".join(f"({to_sql(p, quote, parameters)})" for p in parts)
        case Or(parts=parts):
            return " OR ".join(f"({to_sql(p, quote, parameters)})" for p in parts)
        case _:
            return f"{quote(expression.column)} IS NULL"


def rewrite(expression: Expression, leaf: Callable[[ColumnComparison | Member | Null], Expression]) -> Expression:
    """Return the expression with every leaf replaced, such as by one with the column's exact name."""
    match expression:
        case And(parts=parts) | Or(parts=parts):
            return type(expression)(tuple(rewrite(p, leaf) for p in parts))
        case Not(part=part):
            return Not(rewrite(part, leaf))
        case _:
            return leaf(expression)
