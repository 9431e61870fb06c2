"""Small tables of the analyst, such as names of regions, joined by equality to the categories of a column.

A row of such a table describes a category. Records are grouped by it as by the category itself, and counted by the
weights of all categories that it describes. A randomised column is joined by the original category, never by the
released one.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from sqlglot import exp

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.counts.predicate import has_no_other_parts
from rrpolicy.estimate.expression import Expression, Member
from rrpolicy.estimate.query.aggregate import query_error
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.frozen import replace
from rrpolicy.safe_io.document import read_following_links

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

Given: TypeAlias = "str | os.PathLike[str] | Mapping[str, Iterable[Value]] | Any"
"""A CSV file, columns by name, or a data frame."""

LARGEST = 16 << 20
"""Bytes of a file."""


@dataclass(frozen=True)
class OwnTable:
    """A table of the analyst, with its name in the query, and columns of equally many cells."""

    name: str
    columns: Mapping[str, tuple[Value, ...]] = field(repr=False)


class Join(Struct, frozen=True):
    """One join of a released column `of` with the `key` of a table, whose columns are named by the alias."""

    table: OwnTable
    alias: str
    of: str
    key: str

    def name(self, column: str) -> str:
        """Return a column of the table with the table's name before it."""
        return f"{self.alias}.{column}"


def own_table(name: str, given: Given) -> OwnTable:
    """Return a table that a query may join (RR508 if it cannot be read, or is not a table)."""
    if isinstance(given, (str, os.PathLike)):
        return OwnTable(name, _read_table_file(name, Path(given)))
    try:
        columns = {str(c): tuple(map(_cell, given[c])) for c in getattr(given, "columns", given)}
    except (TypeError, KeyError) as error:
        raise _table_error(name, "it is not a file, a data frame or columns by name") from error
    if len({len(cells) for cells in columns.values()}) > 1:
        raise _table_error(name, "its columns are of different lengths")
    return OwnTable(name, columns)


def read_joins(select: exp.Expr, tables: Mapping[str, OwnTable]) -> tuple[Join, ...]:
    """Take the joins out of a query, and name columns of joined tables by alias and column (RR272, RR508)."""
    clauses = select.args.get("joins") or []
    joins = tuple(_join(clause, select, tables) for clause in clauses)
    select.set("joins", None)
    aliases = {join.alias.casefold(): join for join in joins}
    if len(aliases) < len(joins) or "release" in aliases:
        raise query_error("two of the tables that it reads have the same name")
    for node in select.find_all(exp.Column):
        join = aliases.get(node.text("table").casefold())
        if join is not None:
            node.set("table", None)
            node.set("this", exp.to_identifier(join.name(_column(join.table, node.name)), quoted=True))
    return joins


def join_tables(release: Release, joins: Iterable[Join]) -> tuple[Release, tuple[Expression, ...], tuple[str, ...]]:
    """Return a release with the columns of joined tables, the conditions of the joins, and the notes.

    RR272 for a column that cannot be joined; RR508 if a category has several rows, or none has any.
    """
    conditions: list[Expression] = []
    notes: list[str] = []
    for join in joins:
        columns = release.columns
        of = columns.name(join.of)
        axis = columns.axis(of)
        if isinstance(axis, AnatomyWeights) or of in columns.spread:
            hint = "in Python, release.mean(..., values={label: number}) takes a number for each label"
            raise query_error(f"{of!r} is released by groups, whose categories no table can be joined to", hint)
        keys = join.table.columns[join.key]
        rows = {category_text(key): row for row, key in enumerate(keys)}
        twice = next((key for row, key in enumerate(keys) if rows[category_text(key)] != row), None)
        if twice is not None:
            message = f"{join.key!r} has {visible(str(twice))!r} twice: one row for each category"
            raise _table_error(join.table.name, message)
        domain = columns.domain(of)
        matched = tuple(v for v in domain if category_text(v) in rows)
        if not matched:
            raise _table_error(join.table.name, f"no cell of {join.key!r} is a category of {of!r}")
        if len(matched) < len(domain):
            left = len(domain) - len(matched)
            conditions.append(Member(of, matched))
            notes.append(f"{left} of {len(domain)} categories of {of!r} have no row in “{join.table.name}”: left out")
        taken = {name.casefold() for name in (*columns.columns, *columns.labels)}
        described: dict[str, dict[Value, Value]] = {}
        for column, cells in join.table.columns.items():
            labels = {v: cells[rows[category_text(v)]] if v in matched else "" for v in domain}
            described |= {name: labels for name in (join.name(column), column) if name.casefold() not in taken}
        release = replace(release, columns=columns.labelled(of, described))
    return release, tuple(conditions), tuple(notes)


def _join(clause: exp.Expr, select: exp.Expr, tables: Mapping[str, OwnTable]) -> Join:
    table = clause.this
    named = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    inner = has_no_other_parts(clause, "this", "kind", "on", "using") and clause.text("kind") in {"", "INNER"}
    if not (named and inner and has_no_other_parts(table, "this", "alias")):
        raise query_error("it joins in another way than JOIN a table ON one of its columns = a released column")
    found = tables.get(table.name)
    if found is None:
        if table.name == "release":
            raise query_error(
                "it must read the table “release” once: a join on a randomised column pairs the wrong records"
            )
        raise query_error(f"it joins “{visible(table.name)}”, which is not one of the given tables",
                      f"hand the table over: --table {table.name}=FILE.csv")  # fmt: skip
    alias = table.alias or table.name
    of, key = _joined_columns(clause, select, alias)
    return Join(found, alias, of, _column(found, key))


def _joined_columns(clause: exp.Expr, select: exp.Expr, alias: str) -> tuple[str, str]:
    on, using = clause.args.get("on"), clause.args.get("using") or []
    if len(using) == 1:
        return using[0].name, using[0].name
    columns = [side.unnest() for side in (on.left, on.right)] if isinstance(on, exp.EQ) else []
    columns = [side for side in columns if isinstance(side, exp.Column)]
    own = [side for side in columns if side.text("table").casefold() == alias.casefold()]
    others = [side for side in columns if side not in own]
    tables = {"", "release", select.args["from_"].this.alias}
    if len(own) != 1 or len(others) != 1 or others[0].text("table") not in tables:
        raise query_error(f"a table is joined by one equality, such as ON release.column = {alias}.column")
    return others[0].name, own[0].name


def _column(table: OwnTable, name: str) -> str:
    exact = [c for c in table.columns if c == name] or [c for c in table.columns if c.casefold() == name.casefold()]
    if len(exact) != 1:
        listed = ", ".join(map(repr, table.columns))
        raise _table_error(table.name, f"it has no column {visible(name)!r}", f"its columns are {listed}")
    return exact[0]


def _read_table_file(name: str, path: Path) -> dict[str, tuple[Value, ...]]:
    try:
        text = read_following_links(path, LARGEST).decode("utf-8-sig")
        header, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except OSError as error:
        raise _table_error(name, f"'{path}' cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _table_error(name, f"'{path}' is not text in UTF-8") from error
    except (csv.Error, ValueError) as error:
        raise _table_error(name, f"'{path}' is not a CSV file with a header: {error}") from error
    if len(set(header)) < len(header):
        raise _table_error(name, f"'{path}' lists a column twice")
    odd = next((number for number, row in enumerate(rows, 1) if len(row) != len(header)), None)
    if odd is not None:
        raise _table_error(name, f"record {odd} of '{path}' has {len(rows[odd - 1])} fields, its header {len(header)}")
    return {column: tuple(row[i] for row in rows) for i, column in enumerate(header)}


def _cell(cell: Any) -> Value:
    value = cell.item() if hasattr(cell, "item") else cell
    return value if isinstance(value, (str, int, float, bool)) else "" if value is None else str(value)


def _table_error(name: str, message: str, hint: str | None = None) -> PolicyError:
    expected = "a small table with a header, and one row for each category of a released column"
    message = f"the table “{visible(name)}” cannot be joined: {message}"
    return PolicyError(Problem("RR508", message, None, expected, hint))
