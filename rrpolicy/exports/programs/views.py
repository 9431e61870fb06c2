"""The views of estimate.sql in the SQL of other engines: constructs specific to DuckDB are replaced by common ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias, cast

import sqlglot
from msgspec import Struct
from sqlglot import exp

Sql: TypeAlias = exp.Expr
_STEPS = 100
"""Number of Newton's steps from (x + 1)/2 to the root of x; they halve large values, so that 2^190 works, too."""
_ROOT = f"""
(WITH RECURSIVE root(x, y, i) AS (
    SELECT argument, argument / 2.0 + 0.5, 0 UNION ALL SELECT x, (y + x / y) / 2.0, i + 1 FROM root WHERE i < {_STEPS}
) SELECT CASE WHEN x > 0 THEN y ELSE 0.0 END FROM root WHERE i = {_STEPS})"""  # noqa: S608 - a number of our own


class SqlDialect(Struct, frozen=True):
    """The SQL dialect of another engine for views.

    Attributes:
        roots: whether every build of it has SQRT.
    """

    writer: str
    extremes: bool = True
    roots: bool = True


def translated_views(
    text: str, engine: SqlDialect, loaded: Collection[str], held: Mapping[tuple[str, ...], str]
) -> Iterator[tuple[list[str], exp.Expr | None]]:
    """Yield the statements of an estimate.sql in common terms, each with the comments before it.

    A view has no order: the queries at the file's end have one.

    Views and tables of `loaded` are omitted; `held` maps columns of sets to their table of set members.
    """
    orders: dict[str, exp.Order] = {}
    for statement in sqlglot.parse(text, read="duckdb"):
        if statement is None or isinstance(statement, exp.Semicolon):
            continue
        comments = [comment.rstrip().removeprefix(" ") for comment in statement.comments or ()]
        if isinstance(statement, exp.Create) and statement.this.name in loaded:
            yield comments, None
            continue
        _expand_stars(statement)
        for node in [*statement.find_all(exp.Case, exp.Pow, exp.Greatest, exp.Least, exp.Sqrt)][::-1]:
            if (common := _portable_expression(node, engine, held)) is not node:
                node.replace(common)
        if isinstance(statement, exp.Create):
            statement.set("replace", None)
            statement.set("properties", None)  # TEMP
            if (order := statement.expression.args.get("order")) is not None:
                orders[statement.this.name] = order.pop()
        elif (table := statement.find(exp.Table)) is not None and table.name in orders:
            statement.set("order", orders[table.name].copy())
        for ordered in statement.find_all(exp.Ordered):  # the engine decides the position of nulls
            ordered.set("nulls_first", bool(ordered.args.get("desc")) != (engine.writer == "sqlite"))
        yield comments, statement


def _expand_stars(statement: Sql) -> None:
    """Name the columns that ALL and * refer to, and derived tables."""
    for select in statement.find_all(exp.Select):
        group, order = select.args.get("group"), select.args.get("order")
        if group is not None and group.args.get("all"):
            plain = [e.unalias().copy() for e in select.expressions if e.find(exp.AggFunc) is None]
            select.set("group", exp.Group(expressions=plain) if plain else None)
        if order is not None and order.expressions[0].this.name.upper() == "ALL":
            every = [exp.Ordered(this=exp.column(name, quoted=True)) for name in select.named_selects]
            select.set("order", exp.Order(expressions=every))
        source = select.args["from_"].this
        if isinstance(source, exp.Subquery) and not source.alias:
            source.set("alias", exp.TableAlias(this=exp.to_identifier("t")))
        if select.is_star and len(select.expressions) > 1 and isinstance(select.expressions[0], exp.Star):
            select.expressions[0].replace(exp.Column(this=exp.Star(), table=exp.to_identifier(source.alias_or_name)))


def _portable_expression(node: Sql, engine: SqlDialect, held: Mapping[tuple[str, ...], str]) -> Sql:
    """Return an expression without constructs that the engine lacks."""
    match node:
        case exp.Pow():
            return exp.Mul(this=exp.paren(node.this.copy()), expression=exp.paren(node.this.copy()))
        case exp.Greatest() | exp.Least() if not engine.extremes:
            first, second = node.this, node.expressions[0]
            compared = exp.GT if isinstance(node, exp.Greatest) else exp.LT
            larger = compared(this=exp.paren(first.copy()), expression=exp.paren(second.copy()))
            return exp.Case().when(larger, first.copy()).else_(second.copy())
        case exp.Sqrt() if not engine.roots:
            root = sqlglot.parse_one(_ROOT, read="sqlite")
            for place in [c for c in root.find_all(exp.Column) if c.name == "argument"]:
                place.replace(exp.paren(node.this.copy()))
            return root
        case exp.Case() if (each := node.find(exp.Lambda)) is not None:
            return _set_membership_case(node, [*each.find_all(exp.EQ)], held)
    return node


def _set_membership_case(case: exp.Case, equal: list[exp.EQ], held: Mapping[tuple[str, ...], str]) -> exp.Case:
    """Return the weight of a set by membership of the category in the table of set members: only DuckDB has lists."""
    columns = [cast("exp.Bracket", pair.this).this for pair in equal]
    members = exp.to_table(held[tuple(column.name for column in columns)], alias="h", quoted=True)
    several = len(equal) > 1
    pairs: list[Sql] = []
    for place, (column, pair) in enumerate(zip(columns, equal, strict=True), 1):
        end = f"_{place}" if several else ""
        for heading, other in ((f"released{end}", column), (f"original{end}", pair.expression)):
            pairs.append(exp.EQ(this=exp.column(heading, "h", quoted=True), expression=other.copy()))
    found = exp.select("1").from_(members).where(*pairs)
    branch = case.args["ifs"][0]
    return exp.Case().when(exp.Exists(this=found), branch.args["true"].copy()).else_(case.args["default"].copy())
