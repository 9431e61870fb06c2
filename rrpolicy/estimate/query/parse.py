"""SQL on a release, read: groups, conditions and aggregates that can be corrected; the rest is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rrpolicy.engine.asking import asking
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.predicate import read_condition, read_constant, select_node
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.query.aggregate import Aggregate, Node, Reader, column, refused

MOST_SETS = 4096


@dataclass(frozen=True, slots=True)
class Item:
    """What a column of the result shows.

    Attributes:
        of: a grouping column as written, or an aggregate.
        alias: its name in the result; "" for none.
    """

    of: str | Aggregate
    alias: str


@dataclass(frozen=True, slots=True)
class Order:
    """One key of ORDER BY.

    Attributes:
        of: the position of an item, or the name of a column of the result.
        descending: from the largest.
        nulls_first: rows without a value before the others.
    """

    of: int | str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked.

    Attributes:
        items: the columns of the result.
        sets: the columns of each set of groups, as written; one set unless GROUPING SETS, CUBE or ROLLUP ask for more.
        where: the condition as DuckDB spells it; None for none.
        conjuncts: the same, read.
        order: keys, the first decides.
        limit: how many rows; None for all.
        offset: how many rows are left out before them.
    """

    items: tuple[Item, ...]
    sets: tuple[tuple[str, ...], ...]
    where: str | None
    conjuncts: tuple[Expression, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int

    @property
    def by(self) -> tuple[str, ...]:
        """Return every grouping column, those that are shown first."""
        grouped = {c.casefold(): c for s in self.sets for c in s}
        shown = [i.of.casefold() for i in self.items if isinstance(i.of, str)]
        return tuple(grouped[c] for c in dict.fromkeys([*shown, *grouped]))


def parse_query(sql: str) -> Query:
    """Read `SELECT columns, aggregates FROM release WHERE … GROUP BY … ORDER BY … LIMIT …`.

    Raises:
        PolicyError: RR264 if it is not one SELECT, or its condition cannot be read; RR268 for too many sets of groups;
            RR272 for what cannot be answered, with the reason.
    """
    with asking() as connection:
        node = select_node(connection, sql)
        _check(node)
        reader = Reader(connection, whole=len(node["group_sets"]) <= 1)
        items = tuple(_item(part, reader) for part in node["select_list"])
        if all(isinstance(i.of, str) for i in items):
            raise refused("a query asks for count(*), or another aggregate, beside the columns it groups by")
        sets = _sets(node, items)
        clause = node.get("where_clause")
        conjuncts = read_condition(connection, clause) if clause else ()
        where = _spelled(connection, node) if clause else None
        order, limit, offset = _modifiers(node, items, reader)
        return Query(items, sets, where, conjuncts, order, limit, offset)


def _check(node: Node) -> None:
    """Refuse every part of a SELECT that has no corrected answer."""
    if node["type"] != "SELECT_NODE":
        raise refused("UNION, INTERSECT and EXCEPT are not supported")
    table = node["from_table"]
    if table["type"] == "SUBQUERY":
        raise refused("it must read the table “release” itself: subqueries are not supported")
    if table["type"] != "BASE_TABLE" or table["table_name"] != "release" or table["schema_name"]:
        raise refused("it must read the table “release” alone: a join on a randomised column pairs the wrong records")
    if node["having"]:
        raise refused(
            "HAVING would choose groups by counts that are not corrected",
            "put conditions on columns into WHERE; order by the estimates to see the largest first",
        )
    if node["qualify"] or node["sample"] or table["sample"] or node["cte_map"]["map"]:
        raise refused("WITH, QUALIFY and SAMPLE are not supported")
    if len(node["group_sets"]) > MOST_SETS:
        message = f"the query asks for {len(node['group_sets']):,} tables"
        raise PolicyError(Problem("RR268", message, hint=f"at most {MOST_SETS:,} GROUPING SETS"))


def _item(node: Node, reader: Reader) -> Item:
    alias = str(node.get("alias") or "")
    return Item(column(node) if node["class"] == "COLUMN_REF" else reader.read(node), alias)


def _sets(node: Node, items: Sequence[Item]) -> tuple[tuple[str, ...], ...]:
    """Return the sets of grouping columns; what is shown must be grouped by."""
    shown = [i.of for i in items if isinstance(i.of, str)]
    if node["aggregate_handling"] == "FORCE_AGGREGATES":
        return (_once(shown),)
    grouped = [_group(part, items) for part in node["group_expressions"]]
    sets = tuple(_once([grouped[i] for i in chosen]) for chosen in node["group_sets"]) or ((),)
    if not {s.casefold() for s in shown} <= {g.casefold() for s in sets for g in s}:
        raise refused("the columns it shows must be those it groups by")
    return sets


def _group(node: Node, items: Sequence[Item]) -> str:
    """Return the column that is grouped by: by its name, by an alias, or by its place in the list."""
    if node["class"] == "COLUMN_REF":
        name = column(node)
        aliases = {i.alias.casefold(): i.of for i in items if isinstance(i.of, str) and i.alias}
        shown = {i.of.casefold() for i in items if isinstance(i.of, str)}
        return name if name.casefold() in shown else aliases.get(name.casefold(), name)
    place = _place(node, len(items))
    of = None if place is None else items[place].of
    if not isinstance(of, str):
        raise refused("it groups by an expression; name columns, or write GROUP BY ALL")
    return of


def _place(node: Node, count: int) -> int | None:
    """Return the position that a number in GROUP BY or ORDER BY stands for."""
    text = str((node.get("literal") or {}).get("text") or (node.get("value") or {}).get("value") or "")
    found = node["class"] == "CONSTANT" and text.isdecimal() and 1 <= int(text) <= count
    return int(text) - 1 if found else None


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple({n.casefold(): n for n in names}.values())


def _modifiers(node: Node, items: Sequence[Item], reader: Reader) -> tuple[tuple[Order, ...], int | None, int]:
    order: tuple[Order, ...] = ()
    limit, offset = None, 0
    for modifier in node["modifiers"]:
        match modifier["type"]:
            case "ORDER_MODIFIER":
                order = tuple(o for part in modifier["orders"] for o in _orders(part, items, reader))
            case "LIMIT_MODIFIER" if modifier.get("limit_type", "ROW_COUNT") == "ROW_COUNT":
                limit = _rows(modifier.get("limit"), reader)
                offset = _rows(modifier.get("offset"), reader) or 0
            case "DISTINCT_MODIFIER":
                raise refused("DISTINCT lists released values, which are not the original ones")
            case _:
                raise refused("LIMIT takes a number of rows")
    return order, limit, offset


def _rows(node: Node | None, reader: Reader) -> int | None:
    if node is None:
        return None
    value = read_constant(reader.connection, node) if node["class"] == "CONSTANT" else None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise refused("LIMIT and OFFSET take a number of rows")
    return value


def _orders(part: Mapping[str, Any], items: Sequence[Item], reader: Reader) -> list[Order]:
    node = part["expression"]
    descending = part["type"] == "DESCENDING"
    first = str(part["null_order"]).replace("_", " ").endswith("NULLS FIRST")
    keys: list[int | str]
    if node["class"] == "STAR":
        keys = list(range(len(items)))
    elif node["class"] == "COLUMN_REF":
        keys = [column(node)]
    elif (place := _place(node, len(items))) is not None:
        keys = [place]
    else:
        wanted = reader.read(node) if node["class"] != "CONSTANT" else None
        keys = list[int | str](i for i, item in enumerate(items) if item.of == wanted)[:1]
    if not keys:
        raise refused("ORDER BY takes the columns of the result: select what it orders by")
    return [Order(key, descending, first) for key in keys]


def _spelled(connection: Any, node: Node) -> str:
    """Return the condition as DuckDB writes it."""
    import json

    ((text,),) = connection.execute("SELECT json_serialize_sql('SELECT 1 FROM release WHERE true')").fetchall()
    document = json.loads(text)
    document["statements"][0]["node"]["where_clause"] = node["where_clause"]
    ((sql,),) = connection.execute("SELECT json_deserialize_sql(?)", [json.dumps(document)]).fetchall()
    return str(sql).partition(" WHERE ")[2]
