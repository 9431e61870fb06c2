"""estimate.sql for other databases: the same views, and the weights as statements, so that no file has to be read.

estimate.sql is written for DuckDB. sqlglot parses it and writes the dialect; what no dialect but DuckDB's knows is
spelled out before that: GROUP BY ALL by its columns, squares as products.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.opening import described
from rrpolicy.frozen import frozen
from rrpolicy.releasing.handout.contents import contents
from rrpolicy.releasing.handout.files import public_files
from rrpolicy.releasing.handout.weights import WeightFile, headings, typed, weight_files
from rrpolicy.untrusted.printable import visible

if TYPE_CHECKING:
    from rrpolicy.channel.table import Column
    from rrpolicy.estimate.release import Release

_ROWS = 500
"""Rows of weights in one INSERT."""


@frozen
class Target:
    """A database, as far as these statements differ in it.

    Attributes:
        name: in words.
        dialect: of sqlglot; "" for standard SQL.
        load: how the rows of a table come in from a CSV file, with {table} and {file}.
        temporary: whether it has views that end with the session.
        replace: whether a view can be made in the place of another one.
        text: types of columns, as DuckDB calls them, that it holds as text.
    """

    name: str
    dialect: str
    load: str
    temporary: bool = True
    replace: bool = True
    text: tuple[str, ...] = ()


_POSTGRES = Target("PostgreSQL", "postgres", "\\copy {table} FROM '{file}' WITH (FORMAT csv, HEADER)")
_SQLITE = Target(
    "SQLite",
    "sqlite",
    ".import --csv --skip 1 {file} {table}",
    replace=False,
    text=("BOOLEAN", "DATE", "TIME", "TIMESTAMP", "VARCHAR"),
)
_ANSI = Target("standard SQL", "", "-- load {file} into {table} as your database does", temporary=False, replace=False)


def postgres(release: Release) -> str:
    """Return the statements for PostgreSQL; errors as `_written`."""
    return _written(release, _POSTGRES)


def sqlite(release: Release) -> str:
    """Return the statements for SQLite with its mathematical functions; errors as `_written`."""
    return _written(release, _SQLITE)


def ansi(release: Release) -> str:
    """Return statements in standard SQL; errors as `_written`."""
    return _written(release, _ANSI)


def _written(release: Release, target: Target) -> str:
    """Return the tables, the weights and the views of estimate.sql.

    Raises:
        PolicyError: RR513 for columns that are released as sets, which only a database with lists holds.
    """
    manifest, form = release.manifest, release.data.form
    formats = {form.name: form, manifest.data.format: form}
    tables = {table.name: tuple(map(described, table.columns)) for table in manifest.tables}
    sets = [c.name for columns in tables.values() for c in columns if (c.type or "").endswith("[]")]
    if sets:
        message = f"{visible(', '.join(sets))}: released as sets, which {target.name} has no type for"
        raise PolicyError(Problem("RR513", message, hint="estimate.sql in public/ counts them in DuckDB"))
    kept = {"data": "release"} if set(tables) == {"data"} else {name: name for name in tables}
    filled = contents(manifest, form)
    lines = [*_head(target, kept)]
    for name, columns in tables.items():
        lines += [
            "",
            _table(kept[name], columns, target),
            target.load.format(table=kept[name], file=f"{kept[name]}.csv"),
        ]
    every = [column for columns in tables.values() for column in columns]
    for file in filled["weights"]:
        lines += ["", *_weights(file, every, target)]
    for statement in _views(public_files(manifest, formats)["estimate.sql"].decode(), set(kept.values()), filled):
        lines += ["", *_spelled(statement, target)]
    return "\n".join(lines) + "\n"


def _head(target: Target, tables: Mapping[str, str]) -> Iterator[str]:
    yield f"-- Counts from this release in {target.name}: the views of estimate.sql, with its weights as statements."
    yield "-- README.md in public/ says what the columns of the views mean, and what must not be counted."
    yield "-- First, in public/, let DuckDB write the released rows:"
    copies = "; ".join(f"COPY {name} TO '{name}.csv' (HEADER)" for name in tables.values())
    yield f'--   duckdb -init estimate.sql -c "{copies}"'


def _table(name: str, columns: tuple[Column, ...], target: Target) -> str:
    """Return the statement that makes a table for the released rows."""
    kinds = ((column.name, column.type or "VARCHAR") for column in columns)
    return _create(name, kinds, target)


def _create(name: str, columns: Iterator[tuple[str, str]], target: Target) -> str:
    held = [
        exp.ColumnDef(this=exp.to_identifier(c, quoted=True), kind=exp.DataType.build(_kind(kind, target), "duckdb"))
        for c, kind in columns
    ]
    schema = exp.Schema(this=exp.Table(this=exp.to_identifier(name, quoted=True)), expressions=held)
    return exp.Create(this=schema, kind="TABLE").sql(target.dialect) + ";"


def _kind(kind: str, target: Target) -> str:
    return "VARCHAR" if kind in target.text else kind


def _weights(file: WeightFile, columns: list[Column], target: Target) -> Iterator[str]:
    """Yield the statements that make a table of weights."""
    kinds = dict(typed(file, columns))
    yield _create(file.view, iter(kinds.items()), target)
    names = headings(file.axis)
    (bare,) = weight_files([file.axis], "keep")  # a file escapes text that a spreadsheet would run
    rows = list(csv.reader(io.StringIO(bare.text)))[1:]
    for start in range(0, len(rows), _ROWS):
        values = [
            exp.Tuple(expressions=[_value(text, kinds[h], target) for h, text in zip(names, row, strict=True)])
            for row in rows[start : start + _ROWS]
        ]
        into = exp.Table(this=exp.to_identifier(file.view, quoted=True))
        yield exp.Insert(this=into, expression=exp.Values(expressions=values)).sql(target.dialect) + ";"


def _value(text: str, kind: str, target: Target) -> exp.Expr:
    """Return a field of a weight table as SQL."""
    if kind in target.text or kind == "VARCHAR":
        return exp.Literal.string(text)
    if kind == "BOOLEAN":
        return exp.Boolean(this=text == "true")
    if kind in {"DATE", "TIME", "TIMESTAMP"}:
        return exp.cast(exp.Literal.string(text), kind)
    return exp.Literal.number(text)


def _views(text: str, tables: set[str], filled: Mapping[str, object]) -> Iterator[exp.Expr]:
    """Yield the statements of estimate.sql but for those that read files."""
    read = tables | {file.view for file in filled["weights"]}  # type: ignore[attr-defined]
    for statement in sqlglot.parse(text, dialect="duckdb"):
        if not isinstance(statement, (exp.Create, exp.Select)):
            continue
        if isinstance(statement, exp.Create) and statement.this.name in read:
            continue
        yield _plain(statement)


def _plain(statement: exp.Expr) -> exp.Expr:
    """Return a statement without what only DuckDB knows."""
    for select in statement.find_all(exp.Select):
        group, order = select.args.get("group"), select.args.get("order")
        if group is not None and group.args.get("all"):
            select.set("group", exp.Group(expressions=[_own(one) for one in _keys(select)]))
        if order is not None and [one.name.upper() for one in order.find_all(exp.Column, exp.Var)] == ["ALL"]:
            select.set("order", exp.Order(expressions=[exp.Ordered(this=_own(one)) for one in _keys(select)]))
    for number, inner in enumerate(statement.find_all(exp.Subquery)):
        if not inner.alias and isinstance(inner.parent, exp.From):
            inner.set("alias", exp.TableAlias(this=exp.to_identifier(f"part_{number}")))
    return statement.transform(_square)


def _keys(select: exp.Select) -> list[exp.Expr]:
    """Return what GROUP BY ALL groups by: the columns that are no aggregate."""
    return [one for one in select.expressions if one.find(exp.AggFunc) is None]


def _own(column: exp.Expr) -> exp.Expr:
    return column.unalias().copy()


def _square(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Pow) and node.expression.name == "2":
        return exp.paren(exp.Mul(this=exp.paren(node.this.copy()), expression=exp.paren(node.this.copy())))
    return node


def _case(name: Callable[[exp.Expr, exp.Expr], exp.Expr], one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=name(one, other), true=one.copy())], default=other.copy())


def _spelled(statement: exp.Expr, target: Target) -> Iterator[str]:
    """Yield a statement in a dialect."""
    if not isinstance(statement, exp.Create):
        yield statement.sql(target.dialect, pretty=True, comments=False) + ";"
        return
    if not target.replace:
        statement.set("replace", None)
        yield f"DROP VIEW IF EXISTS {statement.this.sql(target.dialect)};"
    if not target.temporary:
        statement.set("properties", None)
        while statement.find(exp.Greatest, exp.Least) is not None:
            statement = statement.transform(_extreme)
    yield statement.sql(target.dialect, pretty=True, comments=False) + ";"


def _extreme(node: exp.Expr) -> exp.Expr:
    """Return the greater or the lesser of two as standard SQL of any year has it."""
    if isinstance(node, (exp.Greatest, exp.Least)):
        kind = exp.GTE if isinstance(node, exp.Greatest) else exp.LTE
        (other,) = node.expressions
        return _case(lambda a, b: kind(this=a.copy(), expression=b.copy()), node.this, other)
    return node
