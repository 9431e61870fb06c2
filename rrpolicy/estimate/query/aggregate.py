"""The aggregates of a query that can be corrected, read from sqlglot's syntax tree; all others are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from sqlglot import exp

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import kind_of
from rrpolicy.estimate.counts.predicate import (
    COMPARISONS,
    as_sql,
    column_name,
    has_no_other_parts,
    is_constant,
    read_condition,
    read_constants,
)
from rrpolicy.estimate.expression import Expression, Not, Null
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXPECTED = (
    "SELECT columns, count(*), count(*) FILTER (WHERE condition) / count(*) FROM release "
    "WHERE condition GROUP BY columns"
)
"""The form that RR272 expects, with the form that its hints advise."""
AggregateKind: TypeAlias = Literal["count", "share", "avg", "sum", "min", "max"]
EXTREMES = ("min", "max")

_OTHER = "{}() of released values does not estimate that of the original ones; counts, sums and averages are corrected"
_OF_FUNCTIONS = {
    **dict.fromkeys(
        ["avg", "mean", "sum", "min", "max"],
        "{}() takes one column, without an expression; count(*) FILTER (WHERE condition) / count(*) is the share "
        "of a condition",
    ),
    "grouping": "GROUPING is not needed: a column is null where a row sums over it, and nowhere else",
    "share": "share() takes nothing, and no FILTER; divide a count with FILTER by count(*)",
}
_CONDITIONS = (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is)
_OF_CLASSES: dict[type[exp.Expr], str] = {
    **dict.fromkeys(
        [exp.Add, exp.Sub],
        "estimates are not added up; request their groups: --pairwise, or release.pairwise, compares them",
    ),
    exp.Window: "window functions compute with released rows; only sum(count(*)) OVER (), below a count, is corrected",
    exp.Select: "subqueries are not supported: send one query at a time",
    exp.Star: "released rows are not original records: request counts by columns",
    exp.Case: "CASE is not supported: write count(*) FILTER (WHERE …)",
    **dict.fromkeys(_CONDITIONS, "a condition is not a column: count the records that satisfy it, and count(*) of all"),
}


class Aggregate(Struct, frozen=True):
    """An estimate for every group; a `share` is of the records of a larger group that are in this one.

    `min` and `max` are of a column that is released unchanged.
    """

    kind: AggregateKind
    value: str | None = None  # the column of numbers, or the column whose nulls a count leaves out
    condition: tuple[Expression, ...] = ()  # of FILTER
    within: tuple[str, ...] | None = ()  # the columns whose categories the larger group shares; None for all
    scale: float = 1.0  # the factor of the result


def query_error(reason: str, hint: str | None = None, instead: str = "") -> PolicyError:
    """Return the error (RR272) for a query without a corrected result; `instead` is one with the same meaning."""
    message = f"the query is not supported: {reason}"
    return PolicyError(Problem("RR272", message, expected=instead or EXPECTED, hint=hint))


def count_replacement(node: exp.Expr) -> str:
    """Return the count with the meaning of a condition, or of CASE WHEN condition THEN 1 ELSE 0; else ""."""
    asked = node
    if isinstance(node, exp.Case) and node.this is None and len(node.args["ifs"]) == 1:
        (branch,), other = node.args["ifs"], node.args.get("default")
        if branch.args["true"] == exp.Literal.number(1) and other in {None, exp.Literal.number(0)}:
            asked = branch.this
    if not isinstance(asked.unnest(), _CONDITIONS):
        return ""
    return f"count(*) FILTER (WHERE {as_sql(asked)})"


class Reader(Struct, frozen=True):
    """Reads the items of a SELECT list; constants are evaluated by the connection.

    `whole` is whether the query has one set of groups, so that sums over its rows are sums over records.
    """

    connection: DuckDBPyConnection
    whole: bool = True

    def read(self, node: exp.Expr) -> Aggregate:
        """Return the aggregate that an expression is (RR272 with the reason if it cannot be corrected)."""
        match node.unnest():
            case exp.Mul(left=left, right=right):
                if is_constant(left):
                    left, right = right, left
                found = _check_scalable(self.read(left))
                return replace(found, scale=found.scale * self._factor(right))
            case exp.Div(left=left, right=right):
                return self._quotient(left, right)
            case exp.Cast(this=inner, to=exp.DataType(this=exp.DType.DOUBLE | exp.DType.FLOAT)):
                return self.read(inner)
            case exp.Filter(this=inner, expression=exp.Where(this=condition)):
                return self._function(inner, read_condition(self.connection, condition))
            case other:
                return self._function(other)

    def _quotient(self, top: exp.Expr, bottom: exp.Expr) -> Aggregate:
        part = self.read(top)
        if is_constant(bottom):
            return replace(_check_scalable(part), scale=part.scale / self._factor(bottom))
        below = bottom.unnest()
        within = self._window(below) if isinstance(below, exp.Window) else None
        if within is None:
            whole = self.read(below)
            if whole != Aggregate("count"):
                raise query_error(
                    "a count is divided by count(*), or by sum(count(*)) OVER (), and by no other estimate"
                )
        elif part.condition:
            raise query_error("of a count with FILTER it would divide by all that is counted; divide by count(*)")
        if part.kind != "count" or part.value is not None:
            raise query_error(
                "only count(*), with or without FILTER, is divided by a count", "averages are written avg(…)"
            )
        return Aggregate("share", condition=part.condition, within=within, scale=part.scale)

    def _window(self, node: exp.Window) -> tuple[str, ...]:
        """Return the partition of `sum(count(*)) OVER (PARTITION BY …)`, the only window that is a sum of records."""
        match node.this:
            case exp.Anonymous(expressions=[exp.Anonymous() as inner]) as total if total.name.lower() == "sum":
                plain = has_no_other_parts(node, "this", "partition_by", "over") and self._function(inner) == Aggregate(
                    "count"
                )
            case _:
                plain = False
        if not plain:
            raise query_error(_reason(node))
        if not self.whole:
            raise query_error(
                "sum(count(*)) OVER () adds the rows of all GROUPING SETS up, each record several times",
                "write share(), the share of all records that satisfy the condition",
            )
        return tuple(column(part) for part in node.args.get("partition_by") or ())

    def _function(self, node: exp.Expr, condition: tuple[Expression, ...] = ()) -> Aggregate:
        if not isinstance(node, exp.Anonymous):
            raise query_error(_reason(node), instead=count_replacement(node))
        inner = [part.unnest() for part in node.expressions]
        if any(isinstance(part, exp.Distinct) for part in inner):
            raise query_error("DISTINCT counts released values, which are not the original ones")
        if any(isinstance(part, exp.Order) for part in inner):
            raise query_error(f"ORDER BY inside {node.name}() has no meaning for a count")
        match node.name.lower(), inner:
            case "count", [] | [_] if all(
                has_no_other_parts(part) if isinstance(part, exp.Star) else is_constant(part) for part in inner
            ):
                return Aggregate("count", condition=condition)
            case "count", [exp.Column()]:
                value = column(inner[0])
                return Aggregate("count", value, (*condition, Not(Null(value))))
            case "count_if" | "countif", [asked]:
                return Aggregate("count", condition=(*condition, *read_condition(self.connection, asked)))
            case "avg" | "mean" | "sum" as name, [exp.Column()]:
                return Aggregate("sum" if name == "sum" else "avg", column(inner[0]), condition)
            case "min" | "max" as name, [exp.Column()]:
                return Aggregate("min" if name == "min" else "max", column(inner[0]), condition)
            case "share", [] | [exp.Star()] if not condition and all(map(has_no_other_parts, inner)):
                return Aggregate("share")
        raise query_error(_reason(node), instead=count_replacement(inner[0]) if len(inner) == 1 else "")

    def _factor(self, node: exp.Expr) -> float:
        if not is_constant(node):
            raise query_error("an estimate is multiplied by a constant only")
        (value,) = read_constants(self.connection, [node])
        if kind_of(value) != "number" or not float(value) > 0:
            raise query_error("an estimate is multiplied by a positive number only")
        return float(value)


def _check_scalable(found: Aggregate) -> Aggregate:
    if found.kind in EXTREMES:
        raise query_error(f"{found.kind}() is shown unchanged: it cannot be part of an expression")
    return found


def column(node: exp.Expr) -> str:
    """Return the column that an expression names (RR272 if it is not a column)."""
    name = column_name(node)
    if name is None:
        named = isinstance(node.unnest(), exp.Column) and not isinstance(node.unnest().this, exp.Star)
        raise query_error("a column is named by itself, without a table" if named else _reason(node.unnest()))
    return name


def _reason(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return _OF_FUNCTIONS.get(node.name.lower(), _OTHER).format(node.name)
    return _OF_CLASSES.get(type(node), f"{as_sql(node)} is something other than columns and what can be corrected")
