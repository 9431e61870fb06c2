"""Parses SQL on a release: groups, conditions and aggregates that can be corrected; the rest is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import chain, combinations, product
from math import prod
from typing import TYPE_CHECKING

from msgspec import Struct
from sqlglot import exp

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.counts.predicate import (
    COMPARISONS,
    MIRRORED,
    as_sql,
    has_no_other_parts,
    is_constant,
    parse_select,
    read_condition,
    read_constants,
)
from rrpolicy.estimate.expression import And, ColumnComparison, Expression, Not, Or
from rrpolicy.estimate.query.aggregate import Aggregate, Reader, column, count_replacement, query_error
from rrpolicy.estimate.query.join import Join, OwnTable, read_joins

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from rrpolicy.canonical_json import Value


class Having(Struct, frozen=True):
    """A condition on the rows of a result."""

    expression: Expression  # over `of`, each named by its place
    of: tuple[str | Aggregate, ...]  # aggregates, and columns of the result by name


def read_having(node: exp.Expr, reader: Reader, named: Sequence[tuple[str, str | Aggregate]]) -> Having:
    """Read a condition of aggregates and columns of the result, compared with constants (RR272, RR264).

    Aliases are `named` with the item of the SELECT list that they denote.
    """
    rows = _Rows(reader, {alias.casefold(): item for alias, item in named if alias}, [])
    return Having(rows.read(node), tuple(rows.of))


class _Rows(Struct, frozen=True):
    """Reads conditions on rows, and collects their operands."""

    reader: Reader
    aliases: Mapping[str, str | Aggregate]
    of: list[str | Aggregate]

    def read(self, node: exp.Expr) -> Expression:
        match node.unnest():
            case exp.And() | exp.Or() as joined:
                parts = tuple(map(self.read, joined.flatten()))
                return And(parts) if isinstance(joined, exp.And) else Or(parts)
            case exp.Not(this=inner):
                return Not(self.read(inner))
            case exp.Between(this=of, args={"low": low, "high": high}) as ends if has_no_other_parts(
                ends, "this", "low", "high"
            ):
                place = self._operand(of)
                least, most = (self._constant(end) for end in (low, high))
                return And((ColumnComparison(place, ">=", least), ColumnComparison(place, "<=", most)))
            case exp.Binary(left=left, right=right) as compared if type(compared) in COMPARISONS:
                operator = COMPARISONS[type(compared)]
                if is_constant(left):
                    left, right, operator = right, left, MIRRORED[operator]
                if is_constant(right):
                    return ColumnComparison(self._operand(left), operator, self._constant(right))
        raise query_error(f"HAVING compares what is estimated with constants: {as_sql(node)} is something else")

    def _operand(self, node: exp.Expr) -> str:
        """Return the place of an operand, as a name."""
        inner = node.unnest()
        found: str | Aggregate
        if isinstance(inner, exp.Column):
            found = self.aliases.get(column(inner).casefold(), column(inner))
        else:
            found = self.reader.read(node)
        if found not in self.of:
            self.of.append(found)
        return str(self.of.index(found))

    def _constant(self, node: exp.Expr) -> Value:
        """Return a constant in a form that is comparable with estimates."""
        value = read_constants(self.reader.connection, [node])[0]
        if isinstance(value, Decimal):
            return float(value)
        return value if isinstance(value, (str, int, float, bool)) else str(value)


MOST_SETS = 4096
_CLAUSES = ("where", "group", "having", "order", "limit", "offset")


class SelectItem(Struct, frozen=True):
    """A column of the result: a grouping column as written, or an aggregate; its alias is "" for none."""

    of: str | Aggregate
    alias: str


class SortKey(Struct, frozen=True):
    """One key of ORDER BY: the position of an item, or the name of a column of the result."""

    of: int | str
    descending: bool
    nulls_first: bool


class Query(Struct, frozen=True):
    """A parsed query; it has one set of groups unless GROUPING SETS, CUBE or ROLLUP require more."""

    items: tuple[SelectItem, ...]
    sets: tuple[tuple[str, ...], ...]  # as written
    where: str | None  # the condition, spelled anew
    conjuncts: tuple[Expression, ...]  # the condition, parsed
    order: tuple[SortKey, ...]  # the first decides
    limit: int | None
    offset: int
    having: Having | None = None
    joins: tuple[Join, ...] = ()

    @property
    def by(self) -> tuple[str, ...]:
        """Return every grouping column, those that are shown first."""
        grouped = {c.casefold(): c for s in self.sets for c in s}
        shown = [i.of.casefold() for i in self.items if isinstance(i.of, str)]
        return tuple(grouped[c] for c in dict.fromkeys([*shown, *grouped]))


def parse_query(sql: str, tables: Mapping[str, OwnTable] | None = None) -> Query:
    """Parse `SELECT columns, aggregates FROM release JOIN … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT …`.

    Raises:
        PolicyError: RR264 if it is not one SELECT, or its condition cannot be read; RR268 for too many sets of groups;
            RR272 for a query without a corrected result, with the reason.
    """
    with parse_select(sql, whole=True) as (connection, select):
        grouped, joins = _check(select, tables or {})
        reader = Reader(connection, whole=grouped.find(exp.Cube, exp.Rollup, exp.GroupingSets) is None)
        shown = [(part.unalias(), part.alias) for part in select.expressions]
        items = tuple(
            SelectItem(column(part) if isinstance(part.unnest(), exp.Column) else reader.read(part), alias)
            for part, alias in shown
        )
        if all(isinstance(i.of, str) for i in items):
            raise query_error("a query needs count(*) or another aggregate, besides the columns it groups by")
        sets = _sets(grouped, items)
        clause, having = select.args.get("where"), select.args.get("having")
        conjuncts = read_condition(connection, clause.this) if clause else ()
        where = as_sql(clause.this) if clause else None
        ordered = select.args["order"].expressions if select.args.get("order") else ()
        order = tuple(o for part in ordered for o in _orders(part, items, reader))
        limit, offset = (_rows(select.args.get(name), connection) for name in ("limit", "offset"))
        kept = read_having(having.this, reader, [(i.alias, i.of) for i in items]) if having else None
        return Query(items, sets, where, conjuncts, order, limit, offset or 0, kept, joins)


def _check(select: exp.Expr, tables: Mapping[str, OwnTable]) -> tuple[exp.Group, tuple[Join, ...]]:
    """Return the groups and joins of a SELECT; refuse every part of it that has no corrected result."""
    if not isinstance(select, exp.Select):
        raise query_error("UNION, INTERSECT and EXCEPT are not supported, nor is anything else around a SELECT")
    table = select.args["from_"].this if select.args.get("from_") else exp.Table()
    if isinstance(table, exp.Subquery):
        raise query_error("it must read the table “release” itself: subqueries are not supported")
    alias, another = table.args.get("alias"), bool(table.name) and table.name != "release"
    if another and not select.args.get("joins"):
        raise query_error(f"it reads “{visible(table.name)}”; the one table to read is called “release”")
    plain = (
        isinstance(table.this, exp.Identifier)
        and table.name == "release"
        and has_no_other_parts(table, "this", "alias", "sample")
    )
    if not plain or (alias and not has_no_other_parts(alias, "this")):
        raise query_error("it must read the table “release”: other tables are joined to it, by name")
    joins = read_joins(select, tables)
    if select.args.get("distinct"):
        raise query_error("DISTINCT lists released values, which are not the original ones")
    group: exp.Group = select.args.get("group") or exp.Group()
    plain = has_no_other_parts(select, "expressions", "from_", *_CLAUSES)
    if table.args.get("sample") or not plain or not has_no_other_parts(group, "expressions", "all"):
        raise query_error("WITH, QUALIFY, SAMPLE, WINDOW and hints are not supported")
    return group, joins


def _sets(group: exp.Group, items: Sequence[SelectItem]) -> tuple[tuple[str, ...], ...]:
    """Return the sets of grouping columns; all shown columns must be in one."""
    shown = [i.of for i in items if isinstance(i.of, str)]
    if group.args.get("all"):
        return (_unique_names(shown),)
    elements = [_element(part, items) for part in group.expressions]
    _check_number_of_sets(prod(map(len, elements)))
    sets = tuple(_unique_names(list(chain(*chosen))) for chosen in product(*elements))
    if not {s.casefold() for s in shown} <= {g.casefold() for s in sets for g in s}:
        raise query_error("the columns it shows must be those it groups by")
    return sets


def _element(node: exp.Expr, items: Sequence[SelectItem]) -> list[tuple[str, ...]]:
    """Return the sets of columns of an element of GROUP BY, in DuckDB's order."""
    parts = node.expressions
    match node:
        case exp.GroupingSets():
            return [chosen for part in parts for chosen in _element(part, items)]
        case exp.Cube() | exp.Rollup():
            listed = [_element(part, items)[0] for part in parts]
            if isinstance(node, exp.Rollup):
                return [tuple(chain(*listed[:size])) for size in range(len(listed) + 1)]
            _check_number_of_sets(2 ** len(listed))
            places = sorted(c for size in range(len(listed) + 1) for c in combinations(range(len(listed)), size))
            return [tuple(chain(*(listed[i] for i in chosen))) for chosen in places]
        case _:
            return [tuple(_group(part.unnest(), items) for part in (parts if isinstance(node, exp.Tuple) else [node]))]


def _check_number_of_sets(sets: int) -> None:
    if sets > MOST_SETS:
        message = f"the query contains {sets:,} tables"
        raise PolicyError(Problem("RR268", message, hint=f"at most {MOST_SETS:,} GROUPING SETS"))


def _group(node: exp.Expr, items: Sequence[SelectItem]) -> str:
    """Return the grouping column: by its name, by an alias, or by its place in the list."""
    if isinstance(node, exp.Column):
        name = column(node)
        aliases = {i.alias.casefold(): i.of for i in items if isinstance(i.of, str) and i.alias}
        shown = {i.of.casefold() for i in items if isinstance(i.of, str)}
        return name if name.casefold() in shown else aliases.get(name.casefold(), name)
    place = _place(node, len(items))
    of = None if place is None else items[place].of
    if not isinstance(of, str):
        instead = count_replacement(node.unnest())
        raise query_error("it groups by an expression; name columns, or write GROUP BY ALL", instead=instead)
    return of


def _place(node: exp.Expr, count: int) -> int | None:
    """Return the position that a number in GROUP BY or ORDER BY denotes."""
    found = isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()
    return int(node.name) - 1 if found and 1 <= int(node.name) <= count else None


def _unique_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple({n.casefold(): n for n in names}.values())


def _rows(node: exp.Expr | None, connection: DuckDBPyConnection) -> int | None:
    if node is None:
        return None
    number, value = node.args.get("expression"), None
    if isinstance(number, exp.Literal) and has_no_other_parts(node, "expression"):
        value = read_constants(connection, [number])[0]
    if not isinstance(value, int):
        raise query_error("LIMIT and OFFSET take a number of rows")
    return value


def _orders(part: exp.Expr, items: Sequence[SelectItem], reader: Reader) -> list[SortKey]:
    node = part.this.unnest()
    keys: list[int | str]
    if isinstance(node, exp.Column) and node.name.upper() == "ALL" and not node.this.quoted:
        keys = list(range(len(items)))
    elif isinstance(node, exp.Column):
        keys = [column(node)]
    elif (place := _place(node, len(items))) is not None:
        keys = [place]
    else:
        wanted = None if is_constant(node) else reader.read(node)
        keys = list[int | str](i for i, item in enumerate(items) if item.of == wanted)[:1]
    if not keys or not has_no_other_parts(part, "this", "desc", "nulls_first"):
        raise query_error("ORDER BY takes the columns of the result: select what it orders by")
    return [SortKey(key, bool(part.args.get("desc")), bool(part.args.get("nulls_first"))) for key in keys]
