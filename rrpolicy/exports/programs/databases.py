"""Programs for databases: the released rows, the weights and the views of estimate.sql, in the SQL of other engines.

A program contains everything that the counts of a release need, as statements that any client of the engine runs. No
client has to read a file, and text, nulls and sets are those of the release, in any format.
"""

from __future__ import annotations

import json
import math
import re
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlglot import exp

from rrpolicy.canonical_json import category_text
from rrpolicy.engine.connect import query_connection
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.counts.scan import manifest_mismatch_error, relation, sql_of
from rrpolicy.exports.jinja_environment import export_environment
from rrpolicy.exports.programs.views import SqlDialect, translated_views
from rrpolicy.exports.template_context import template_context
from rrpolicy.exports.weights import WeightFile, typed_headings, weight_table_rows
from rrpolicy.formats.column_types import engine_type
from rrpolicy.formats.format import CORE_FORMATS
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.channels.table import Column
    from rrpolicy.estimate.counts.scan import DataFile
    from rrpolicy.estimate.release import Release

_VALUES = 3_000_000
"""Maximum number of values in a program; larger releases are better read as files."""
_BATCH = 500
"""Number of rows per INSERT: SQL Server takes a thousand."""
_WHOLE = re.compile(r"(TINY|SMALL|BIG)INT|INTEGER|U(TINY|SMALL)INT|UINTEGER")
_LARGE = re.compile(r"U?HUGEINT|UBIGINT")
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_MOMENTS = {"DATE": "DATE", "TIME": "TIME"} | dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), "TIMESTAMP")
_DIGITS = 15
"""Number of decimal digits that a double always represents."""


class SqlEngine(Struct, frozen=True):
    """An engine that a program is written for.

    Attributes:
        run: instructions for running the program, as comments.
        begin: statement that opens a transaction; "" if the client does.
        text: its type of text; "" if text needs a length.
        typed: whether it has truth values, dates, infinite numbers and NaN; if not, the first two are text.
        exact: whether it stores decimal numbers of any length.
        longest: maximum number of bytes of a name.
        numbered: whether rows have an engine-assigned number, so that no row can be inserted twice.
        collates: whether texts that differ in case, accents or trailing blanks may compare equal.
    """

    name: str
    engine: SqlDialect
    run: tuple[str, ...]
    begin: str = ""
    text: str = ""
    typed: bool = False
    exact: bool = True
    longest: int = 128
    numbered: bool = False
    collates: bool = False


_POSTGRES = SqlEngine(
    "PostgreSQL",
    SqlDialect("postgres"),
    ("psql --set ON_ERROR_STOP=1 --file FILE", "It makes tables and views in the first schema of search_path."),
    "SET client_encoding = 'UTF8';\nBEGIN;",
    text="TEXT",
    typed=True,
    longest=63,
)
_SQLITE = SqlEngine(
    "SQLite",
    SqlDialect("sqlite", extremes=False, roots=False),
    ("sqlite3 NEW.db < FILE", "It makes tables and views, and needs no extension; SQLite 3.8.8 or later."),
    "BEGIN;",
    text="TEXT",
    exact=False,
    longest=1_000_000,
    numbered=True,
)
_ANSI = SqlEngine(
    "engines with standard SQL",
    SqlDialect("postgres", extremes=False),
    (
        "run it in an empty schema, and stop at the first error",
        "It uses WITH, SQRT, INSERT of several rows, and names in double quotes. Truth values and dates are text.",
        "Released text must be compared exactly: no collation of the schema may ignore differences.",
    ),
    collates=True,
)


class ScriptTable(Struct, frozen=True):
    """A table of a program.

    Attributes:
        rows: rows as Python values: numbers, truth values, and text for everything else.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[Any]]


def postgres(release: Release) -> str:
    """Return the program for PostgreSQL; it raises as `_program` does."""
    return _sql_script(release, _POSTGRES)


def sqlite(release: Release) -> str:
    """Return the program for SQLite; it raises as `_program` does."""
    return _sql_script(release, _SQLITE)


def ansi(release: Release) -> str:
    """Return the program for any other engine with standard SQL; it raises as `_program` does."""
    return _sql_script(release, _ANSI)


def _sql_script(release: Release, database: SqlEngine) -> str:
    """Return the program: tables with their rows, views, and the queries of estimate.sql.

    Raises:
        PolicyError: RR512 for values that the engine cannot represent or distinguish; RR513 for a release of too many
            values.
    """
    data = replace(release.manifest.data, format="parquet")  # estimate.sql without its instructions on reading CSV
    filled = template_context(replace(release.manifest, data=data), CORE_FORMATS["parquet"])
    text = str(export_environment().get_template(f"{filled['kind']}.sql").render(filled))
    weights: Sequence[WeightFile] = filled["weights"]
    tables, held = _released_tables(release, [file for file in weights if file.sets])
    tables += [_weight_table(file, release.data.columns) for file in weights]
    for table in tables:
        _require_representable(table, database)
    statements = [*translated_views(text, database.engine, {table.name for table in tables}, held)]
    views_made = [s.this.name for _, s in statements if isinstance(s, exp.Create)]
    names = dict(_engine_names([*(table.name for table in tables), *views_made], database.longest))
    lines = [f"-- A release for {database.name}: {database.run[0]}", *(f"-- {line}" for line in database.run[1:])]
    lines += [f"-- {visible(line)}".rstrip() for line in statements[0][0][1:]]  # the first is specific to DuckDB
    lines += ["", *([database.begin, ""] * bool(database.begin))]
    for table in tables:
        lines += _insert_statements(table, names[table.name], database)
    made_here = [entry for entry in statements if not isinstance(entry[1], exp.Select)]
    for comments, statement in made_here[1:]:
        lines += _commented_statement(comments, statement, names, database)
    lines += ["COMMIT;", ""] * bool(database.begin)
    for comments, query in statements[len(made_here) :]:
        lines += _commented_statement(comments, query, names, database)
    return "\n".join(lines)


def _commented_statement(
    comments: Iterable[str], statement: exp.Expr | None, names: Mapping[str, str], database: SqlEngine
) -> Iterator[str]:
    """Yield a statement with the comments before it, with the names of tables and views in the engine."""
    yield from (f"-- {visible(line)}" for line in comments)
    if statement is not None:
        for node in statement.find_all(exp.Table):
            node.this.set("this", names.get(node.name, node.name))
        yield statement.sql(database.engine.writer, pretty=True, identify=True, comments=False) + ";"
        yield ""


def _released_tables(
    release: Release, sets: Sequence[WeightFile]
) -> tuple[list[ScriptTable], dict[tuple[str, ...], str]]:
    """Return the released tables, one table of set members per set column, and the names of the latter by columns.

    Raises:
        PolicyError: RR513 for too many values.
    """
    files = release.files
    size = sum(release.manifest.data.tables[file.table].rows * len(file.columns) for file in files)
    if size > _VALUES:
        message = f"the release holds {size:,} values, and such a program at most {_VALUES:,}"
        hint = "estimate.sql in public/ counts in DuckDB, which reads the files directly"
        raise PolicyError(Problem("RR513", message, hint=hint))
    tables = [ScriptTable("release" if len(files) == 1 else f.table, _script_columns(f), _table_rows(f)) for f in files]
    held: dict[tuple[str, ...], str] = {}
    for file in sets:
        names = file.axis.columns
        places = [[c.name for c in release.data.columns].index(name) for name in names]
        found = {tuple(row[place] for place in places) for row in tables[0].rows}
        members = [(*cell, *one) for cell in sorted(found) for one in zip(*map(json.loads, cell), strict=True)]
        ends = [""] if len(names) == 1 else [f"_{i}" for i in range(1, len(names) + 1)]
        headings = [f"{kind}{end}" for kind in ("released", "original") for end in ends]
        kinds = ["VARCHAR"] * len(names) + [
            kind for _, kind in typed_headings(file, release.data.columns)[: len(names)]
        ]
        held[names] = "_".join(["held", *names])
        tables.append(ScriptTable(held[names], tuple(zip(headings, kinds, strict=True)), members))
    return tables, held


def _script_columns(file: DataFile) -> tuple[tuple[str, str], ...]:
    kinds = ((column.name, engine_type(column)) for column in file.columns)
    return tuple((name, "VARCHAR" if kind.endswith("[]") else kind) for name, kind in kinds)


def _table_rows(file: DataFile) -> list[Sequence[Any]]:
    """Return a released table's rows: sets as JSON, all but numbers and truth values as text.

    Raises:
        PolicyError: RR269 if the data do not match the manifest.
    """
    import duckdb

    asked = []
    for column in file.columns:
        kind = engine_type(column)
        own = sql_of(column, file.form) if column.labels and not kind.endswith("[]") else identifier(column.name)
        plain = _WHOLE.fullmatch(kind) or kind in {"DOUBLE", "FLOAT", "BOOLEAN"} or kind.endswith("[]")
        asked.append(f"CAST({own} AS {kind if plain else 'VARCHAR'})")
    with query_connection(alone=file.form.alone) as connection:
        try:
            found = connection.execute(f"SELECT {', '.join(asked)} FROM {relation(connection, file)}").fetchall()  # noqa: S608 - names quoted
        except duckdb.Error as error:
            raise manifest_mismatch_error(str(error).splitlines()[0]) from error
    if not any(engine_type(column).endswith("[]") for column in file.columns):
        return [*found]
    return [[json.dumps(v, ensure_ascii=False) if isinstance(v, list) else v for v in row] for row in found]


def _weight_table(file: WeightFile, columns: Sequence[Column]) -> ScriptTable:
    return ScriptTable(
        file.view, typed_headings(file, columns), [(*cell, *weights) for cell, weights in weight_table_rows(file.axis)]
    )


def _engine_names(names: Iterable[str], longest: int) -> Iterator[tuple[str, str]]:
    """Yield each name with its name in an engine: a long one is truncated, and numbered."""
    taken: set[str] = set()
    for name in names:
        found = name
        tried = count(2)
        while len(found.encode()) > longest or found.casefold() in taken:
            end = f"_{next(tried)}"
            found = name.encode()[: longest - len(end)].decode(errors="ignore") + end
        taken.add(found.casefold())
        yield name, found


def _require_representable(table: ScriptTable, database: SqlEngine) -> None:
    """Refuse names, numbers and texts that the engine cannot represent or distinguish.

    Raises:
        PolicyError: RR512.
    """
    for place, (name, kind) in enumerate(table.columns):
        why = ""
        decimal = _DECIMAL.fullmatch(kind)
        if len(name.encode()) > database.longest:
            why = f"has a name of more than {database.longest} bytes"
        elif not database.exact and (_LARGE.fullmatch(kind) or (decimal and int(decimal[1]) > _DIGITS)):
            why = f"contains numbers of more than {_DIGITS} digits"
        values = {row[place] for row in table.rows}
        if not database.typed and any(isinstance(v, float) and not math.isfinite(v) for v in values):
            why = "contains infinite numbers or nulls"
        texts = {v for v in values if isinstance(v, str)} if kind == "VARCHAR" else set()
        if database.collates and len({_collation_key(v) for v in texts}) < len(texts):
            why = "contains texts that differ in case, accents or blanks at their end alone"
        if why:
            message = f"{visible(repr(name))} of {visible(table.name)} {why}, and {database.name} cannot take that"
            hint = "recode it in the policy, or use estimate.sql in public/, which runs in DuckDB"
            raise PolicyError(Problem("RR512", message, hint=hint))


def _collation_key(text: str) -> str:
    """Return the common form of texts that a collation may take as equal."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c)).rstrip(" ")


def _insert_statements(table: ScriptTable, name: str, database: SqlEngine) -> Iterator[str]:
    """Yield the statements that create a table and insert its rows."""
    columns = [identifier(column) for column, _ in table.columns]
    cells = [
        [_sql_literal(row[place], kind, database) for row in table.rows]
        for place, (_, kind) in enumerate(table.columns)
    ]
    types = [_engine_type_name(kind, part, database) for (_, kind), part in zip(table.columns, cells, strict=True)]
    yield f"CREATE TABLE {identifier(name)} ("
    yield ",\n".join(f"  {column} {kind}" for column, kind in zip(columns, types, strict=True)) + "\n);"
    if database.numbered:
        taken = {column.casefold() for column, _ in table.columns}
        columns.insert(0, next(c for c in ("rowid", "oid", "_rowid_") if c not in taken))
        cells.insert(0, [str(place) for place in range(1, len(table.rows) + 1)])
    rows = [f"({', '.join(row)})" for row in zip(*cells, strict=True)]
    for start in range(0, len(rows), _BATCH):
        yield f"INSERT INTO {identifier(name)} ({', '.join(columns)}) VALUES"
        yield ",\n".join(rows[start : start + _BATCH]) + ";"
    yield ""


def _engine_type_name(kind: str, cells: Sequence[str], database: SqlEngine) -> str:
    if _WHOLE.fullmatch(kind):
        return "BIGINT"
    if kind in {"DOUBLE", "FLOAT"}:
        return "DOUBLE PRECISION"
    if _LARGE.fullmatch(kind) or _DECIMAL.fullmatch(kind):
        return kind.replace("DECIMAL", "NUMERIC") if kind.startswith("DECIMAL") else "NUMERIC(39, 0)"
    if database.typed and kind in {"BOOLEAN", *_MOMENTS}:
        return _MOMENTS.get(kind, kind)
    return database.text or f"VARCHAR({max((len(cell.encode()) for cell in cells), default=1)})"


def _sql_literal(value: Any, kind: str, database: SqlEngine) -> str:
    if value is None:
        return "NULL"
    if _LARGE.fullmatch(kind) or _DECIMAL.fullmatch(kind):
        return str(value)
    if kind == "FLOAT":
        value = struct.unpack("f", struct.pack("f", value))[0]
    if kind in {"DOUBLE", "FLOAT"}:
        return repr(float(value)) if math.isfinite(value) else f"'{value!r}'"
    if _WHOLE.fullmatch(kind) or (kind == "BOOLEAN" and database.typed):
        return category_text(value)
    return literal(category_text(value))
