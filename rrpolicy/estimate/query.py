"""SQL on a release: counts by categories are answered by corrected ones, the rest is refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.predicate import read_condition, select_node

_REASONS: Mapping[str, str] = {
    "DISTINCT_MODIFIER": "DISTINCT lists released values, which are not the original ones",
    "ORDER_MODIFIER": "ORDER BY is not supported: rows come in the order of the domains",
    "LIMIT_MODIFIER": "LIMIT would pick rows by their random part",
}


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked.

    Attributes:
        by: names as written.
        where: the condition as DuckDB spells it; None for none.
        conjuncts: the same, read.
    """

    by: tuple[str, ...]
    where: str | None
    conjuncts: tuple[Expression, ...]


def parse_query(sql: str) -> Query:
    """Read `SELECT columns, count(*) FROM release WHERE … GROUP BY columns`.

    Raises:
        PolicyError: RR264 if it is not one SELECT, RR272 for what cannot be answered, with the reason.
    """
    import duckdb

    with duckdb.connect() as connection:
        node = select_node(connection, sql)
        _check(node)
        selected = [_column(item) for item in node["select_list"] if not _is_count(item)]
        if len(node["select_list"]) != len(selected) + 1:
            raise refused("a query asks for count(*), once, beside the columns it groups by")
        by = _grouped(node, selected)
        clause = node.get("where_clause")
        conjuncts = read_condition(connection, clause) if clause else ()
        return Query(by, _spelled(connection, node) if clause else None, conjuncts)


def refused(reason: str) -> PolicyError:
    """Return the error for a query that is not answered."""
    return PolicyError(
        Problem(
            "RR272",
            f"the query is not answered: {reason}",
            expected="SELECT columns, count(*) FROM release WHERE condition GROUP BY columns",
        )
    )


def _check(node: Mapping[str, Any]) -> None:
    """Refuse every part that counts by categories do not need."""
    if node["type"] != "SELECT_NODE":
        raise refused("UNION, INTERSECT and EXCEPT are not supported")
    table = node["from_table"]
    if table["type"] != "BASE_TABLE" or table["table_name"] != "release" or table["schema_name"]:
        raise refused("it must read the table “release” alone: a join on a randomised column pairs the wrong records")
    for modifier in node["modifiers"]:
        raise refused(_REASONS.get(modifier["type"], "it has a clause after its groups"))
    if node["having"]:
        raise refused("HAVING would choose groups by counts that are not corrected")
    if node["qualify"] or node["sample"] or table["sample"] or node["cte_map"]["map"]:
        raise refused("WITH, QUALIFY and SAMPLE are not supported")
    if len(node["group_sets"]) > 1:
        raise refused("CUBE, ROLLUP and GROUPING SETS are not supported: ask for each grouping by itself")


def _grouped(node: Mapping[str, Any], selected: Sequence[str]) -> tuple[str, ...]:
    """Return the grouping columns, which must be those selected."""
    if node["aggregate_handling"] == "FORCE_AGGREGATES":
        return tuple(selected)
    grouped = [
        _column(item) if item["class"] == "COLUMN_REF" else _numbered(item, selected)
        for item in node["group_expressions"]
    ]
    if {g.casefold() for g in grouped} != {s.casefold() for s in selected}:
        raise refused("the columns it shows must be those it groups by")
    return tuple(selected)


def _numbered(item: Mapping[str, Any], selected: Sequence[str]) -> str:
    text = str(item.get("literal", {}).get("text") or item.get("value", {}).get("value") or "")
    if item["class"] == "CONSTANT" and text.isdigit() and 1 <= int(text) <= len(selected):
        return selected[int(text) - 1]
    raise refused("it groups by an expression; name columns, or write GROUP BY ALL")


def _column(item: Mapping[str, Any]) -> str:
    if item["class"] == "COLUMN_REF":
        return str(item["column_names"][-1])
    if item["class"] == "FUNCTION":
        name = item["function_name"]
        raise refused(f"{name}() of released values does not estimate that of the original ones; count(*) is corrected")
    raise refused("it shows something other than columns and count(*)")


def _is_count(item: Mapping[str, Any]) -> bool:
    return item["class"] == "FUNCTION" and item["function_name"] == "count_star" and not item["filter"]


def _spelled(connection: Any, node: Mapping[str, Any]) -> str:
    """Return the condition as DuckDB writes it."""
    import json

    ((text,),) = connection.execute("SELECT json_serialize_sql('SELECT 1 FROM release WHERE true')").fetchall()
    document = json.loads(text)
    document["statements"][0]["node"]["where_clause"] = node["where_clause"]
    ((sql,),) = connection.execute("SELECT json_deserialize_sql(?)", [json.dumps(document)]).fetchall()
    return str(sql).partition(" WHERE ")[2]
