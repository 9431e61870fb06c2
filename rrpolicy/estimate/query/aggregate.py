"""The aggregates of a query that can be corrected, read from DuckDB's syntax tree; all others are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import kind_of
from rrpolicy.estimate.counts.predicate import read_condition, read_constant
from rrpolicy.estimate.expression import Expression, Not, Null

Kind: TypeAlias = Literal["count", "share", "avg", "sum"]
Node: TypeAlias = Mapping[str, Any]

_BINARY = 2
_EXTREME = "{}() of released values is not that of the original ones, and no weights make it so"
_ONE_COLUMN = "{}() takes one column, as it is"
_OF_FUNCTIONS = {
    **dict.fromkeys(["min", "max"], _EXTREME),
    **dict.fromkeys(["avg", "mean", "sum"], _ONE_COLUMN),
    **dict.fromkeys(["+", "-"], "estimates are not added up: their errors would not be known; ask for their groups"),
}
_OF_CLASSES = {
    "WINDOW": "window functions compute with released rows; only sum(count(*)) OVER (), below a count, is corrected",
    "SUBQUERY": "subqueries are not supported: ask one question at a time",
    "STAR": "released rows are not original records: ask for counts by columns",
    "CASE": "CASE is not supported: write count(*) FILTER (WHERE …)",
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What is estimated for every group.

    Attributes:
        kind: `count`; `share` of the records of a larger group that lie in this one; `avg` or `sum` of a column.
        value: the column of numbers, or the column that a count leaves nulls of out.
        condition: what FILTER asks for, beside the query's own condition.
        within: the columns whose categories the larger group shares with this one; None for those grouped by.
        scale: what the result is multiplied by.
    """

    kind: Kind
    value: str | None = None
    condition: tuple[Expression, ...] = ()
    within: tuple[str, ...] | None = ()
    scale: float = 1.0


def refused(reason: str, hint: str | None = None) -> PolicyError:
    """Return the error for a query that is not answered."""
    return PolicyError(
        Problem(
            "RR272",
            f"the query is not answered: {reason}",
            expected="SELECT columns, count(*) FROM release WHERE condition GROUP BY columns",
            hint=hint,
        )
    )


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the items of a SELECT list.

    Attributes:
        connection: evaluates constants.
        whole: whether the query has one set of groups, so that sums over its rows are sums over records.
    """

    connection: Any
    whole: bool = True

    def read(self, node: Node) -> Aggregate:
        """Return the aggregate that an expression is.

        Raises:
            PolicyError: RR272 for what cannot be corrected, with the reason.
        """
        kind, name = node["class"], node.get("function_name")
        if kind == "FUNCTION" and name in {"*", "/"} and len(arguments(node)) == _BINARY:
            left, right = arguments(node)
            return self._product(left, right) if name == "*" else self._quotient(left, right)
        if kind == "FUNCTION":
            return self._function(node)
        if kind == "CAST" and _type_name(node) in {"double", "float", "real"}:
            return self.read(node["child"])
        raise refused(_reason(node))

    def _product(self, left: Node, right: Node) -> Aggregate:
        if _is_constant(left):
            left, right = right, left
        found = self.read(left)
        return replace(found, scale=found.scale * self._factor(right))

    def _quotient(self, top: Node, bottom: Node) -> Aggregate:
        part = self.read(top)
        if _is_constant(bottom):
            return replace(part, scale=part.scale / self._factor(bottom))
        within = self._window(bottom) if bottom["class"] == "WINDOW" else None
        if within is None:
            whole = self.read(bottom)
            if whole != Aggregate("count"):
                raise refused("a count is divided by count(*), or by sum(count(*)) OVER (), and by no other estimate")
        elif part.condition:
            raise refused("of a count with FILTER it would divide by all that is counted; divide by count(*)")
        if part.kind != "count" or part.value is not None:
            raise refused("only count(*), with or without FILTER, is divided by a count", "averages are written avg(…)")
        return Aggregate("share", condition=part.condition, within=within, scale=part.scale)

    def _window(self, node: Node) -> tuple[str, ...]:
        """Return the partition of `sum(count(*)) OVER (PARTITION BY …)`, the only window that is a sum of records."""
        frame = (node["start"], node["end"], node.get("exclude_clause", "NO_OTHER"))
        plain = frame == ("UNBOUNDED_PRECEDING", "CURRENT_ROW_RANGE", "NO_OTHER")
        inner = arguments(node)
        over = not node.get("orders") and not node.get("filter_expr") and not node.get("distinct")
        if node["function_name"] != "sum" or len(inner) != 1 or not plain or not over:
            raise refused(_reason(node))
        if inner[0]["class"] != "FUNCTION" or self._function(inner[0]) != Aggregate("count"):
            raise refused(_reason(node))
        if not self.whole:
            raise refused("sum(count(*)) OVER () adds the rows of all GROUPING SETS up, each record several times",
                          "write share(), the share of all records that satisfy the condition")  # fmt: skip
        return tuple(column(part) for part in node.get("partitions", ()))

    def _function(self, node: Node) -> Aggregate:
        name, inner = node["function_name"], arguments(node)
        if node.get("distinct"):
            raise refused("DISTINCT counts released values, which are not the original ones")
        if (node.get("order_bys") or {}).get("orders"):
            raise refused(f"ORDER BY inside {name}() has no meaning for a count")
        condition = read_condition(self.connection, node["filter"]) if node.get("filter") else ()
        match name:
            case "count_star":
                return Aggregate("count", condition=condition)
            case "count" if not inner or _is_constant(inner[0]):
                return Aggregate("count", condition=condition)
            case "count" if len(inner) == 1 and inner[0]["class"] == "COLUMN_REF":
                value = column(inner[0])
                return Aggregate("count", value, (*condition, Not(Null(value))))
            case "count_if" | "countif" if len(inner) == 1:
                return Aggregate("count", condition=(*condition, *read_condition(self.connection, inner[0])))
            case "avg" | "mean" | "sum" if len(inner) == 1 and inner[0]["class"] == "COLUMN_REF":
                return Aggregate("sum" if name == "sum" else "avg", column(inner[0]), condition)
            case "share" if not condition and all(part["class"] == "STAR" for part in inner):
                return Aggregate("share")
            case "share":
                raise refused("share() takes nothing, and no FILTER; divide a count with FILTER by count(*)")
            case _:
                raise refused(_reason(node))

    def _factor(self, node: Node) -> float:
        if not _is_constant(node):
            raise refused("an estimate is multiplied by a constant only")
        value = read_constant(self.connection, node)
        if kind_of(value) != "number" or not float(value) > 0:
            raise refused("an estimate is multiplied by a positive number only")
        return float(value)


def arguments(node: Node) -> list[Node]:
    """Return what a function is called with; DuckDB 2 names its arguments."""
    if "arguments" in node:
        return [part["expression"] for part in node["arguments"]]
    return list(node.get("children", ()))


def column(node: Node) -> str:
    """Return the column that an expression is.

    Raises:
        PolicyError: RR272 if it is none.
    """
    if node["class"] != "COLUMN_REF":
        raise refused(_reason(node))
    names: Sequence[str] = node["column_names"]
    if len(names) > 1 and list(names[:-1]) != ["release"]:
        raise refused("a column is named by itself, without a table")
    return str(names[-1])


def _is_constant(node: Node) -> bool:
    return bool((node["child"] if node["class"] == "CAST" else node)["class"] == "CONSTANT")


def _type_name(node: Node) -> str:
    """Return the type that a CAST names, as both layouts of DuckDB write it."""
    named = node.get("type_expr") or {}
    return str(named.get("type_name") or (node.get("cast_type") or {}).get("id") or "").lower()


def _reason(node: Node) -> str:
    """Return why an expression is not answered."""
    kind, name = node["class"], node.get("function_name")
    if kind == "FUNCTION":
        return _OF_FUNCTIONS.get(
            name or "",
            f"{name}() of released values does not estimate that of the original ones; counts, sums and averages are "
            "corrected",
        ).format(name)
    if kind == "OPERATOR" and node["type"] == "GROUPING_FUNCTION":
        return "GROUPING is not needed: a column is null where a row sums over it, and nowhere else"
    return _OF_CLASSES.get(kind, "it shows something other than columns and what can be corrected")
