"""Conditions on released names, read by sqlglot; nothing of the user's text reaches a query.

A condition is a conjunction. Each of its parts is either on columns released unmodified, and becomes a filter, or on
one randomised axis, and becomes a 0/1 vector over its original categories. DuckDB decides whether the text is SQL,
and the values of its constants. Only known nodes of sqlglot's syntax tree are read: an unknown part is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser

from rrpolicy.engine.connect import query_connection
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.expression import And, ColumnComparison, Constant, Expression, Member, Not, Null, Or

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COMPARISONS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.GT: ">", exp.LTE: "<=", exp.GTE: ">="}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NAME = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+\.?\d*(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_TYPE = re.compile(r"[A-Z][A-Z0-9_ ]*(\(\d+(, \d+)?\))?", re.ASCII)


class _Parser(DuckDBParser):
    """Parses SELECT alone, and all functions by their names, as written."""

    STATEMENT_PARSERS: ClassVar[dict[Any, Callable[..., exp.Expr | None]]] = {}
    FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., exp.Expr | None]]] = {
        name: read for name, read in DuckDBParser.FUNCTION_PARSERS.items() if name.endswith("CAST")
    }


class _Dialect(DuckDB):
    """DuckDB's SQL; its reader distinguishes ORDER BY ALL from a column of that name."""

    SUPPORTS_ORDER_BY_ALL = False
    Parser = _Parser


def parse_condition(text: str) -> tuple[Expression, ...]:
    """Read a condition and return its conjuncts.

    Raises:
        PolicyError: RR264 if it cannot be parsed, or contains more than comparisons, IN, BETWEEN, IS NULL, AND, OR
            and NOT between columns and constants.
    """
    with parse_select(f"SELECT 1 FROM release WHERE {text}\n") as (connection, select):  # noqa: S608 - parsed, never executed
        where = select.args.get("where")
        if where is None or not has_no_other_parts(select, "expressions", "from_", "where"):
            raise condition_error("it contains more than a condition")
        return read_condition(connection, where.this)


@contextmanager
def parse_select(query: str, *, whole: bool = False) -> Iterator[tuple[DuckDBPyConnection, exp.Expr]]:
    """Yield a connection that evaluates constants, and the syntax tree of a single SELECT; nothing is executed.

    `whole`: the text is a whole query, not a condition alone; errors name it so.

    Raises:
        PolicyError: RR264 if it is not a single SELECT, or the tree is too deep to be read.
    """
    import duckdb

    refused = _query_error if whole else condition_error
    with query_connection() as connection:
        try:
            query.encode()  # lone surrogates are not text
            alone = [s.type for s in connection.extract_statements(query)] == [duckdb.StatementType.SELECT]
            trees = [t for t in _Dialect().parse(query) if not isinstance(t, exp.Semicolon | None)] if alone else []
            if len(trees) != 1:
                raise refused("it is more than one statement, or none that selects")
            odd = [n.name for n in trees[0].find_all(exp.Identifier) if not n.quoted and not _NAME.fullmatch(n.name)]
            if odd:
                raise refused(f"{odd[0]!r} is not a name without double quotes")
            yield connection, trees[0]
        except duckdb.Error as error:
            raise refused(str(error).partition("\n")[0].removeprefix("Parser Error: ")) from error
        except UnicodeError as error:
            raise refused("it contains bytes that are not text") from error
        except SqlglotError as error:
            near = [f" near “{found['highlight']}”" for found in getattr(error, "errors", ())][:1]
            raise refused(f"it is not understood{''.join(near)}; a word of SQL needs quotes as a name") from error
        except RecursionError as error:
            raise refused("it is nested too deeply") from error


def has_no_other_parts(node: exp.Expr, *read: str) -> bool:
    """Return whether a node has no other parts than those that are read."""
    return not any(value for name, value in node.args.items() if name not in read)


def read_condition(connection: DuckDBPyConnection, node: exp.Expr) -> tuple[Expression, ...]:
    """Return the conjuncts of a condition's syntax tree; raises as `parse_condition` does."""
    return _conjuncts(_read(connection, node))


def read_constants(connection: DuckDBPyConnection, nodes: Sequence[exp.Expr]) -> list[Constant]:
    """Return the values of constants as DuckDB understands them; raises as `parse_condition` does."""
    import duckdb

    parameters: list[str] = []
    spelled = ", ".join(_constant_sql(node.unnest(), parameters) for node in nodes)
    try:
        (values,) = connection.execute(f"SELECT {spelled}", parameters).fetchall()
    except duckdb.Error as error:
        raise condition_error("a constant is not of the type that is written before it") from error
    if any(v is None for v in values):
        raise condition_error("nothing equals NULL: write IS NULL")
    return list(values)


def is_constant(node: exp.Expr) -> bool:
    """Return whether an expression is a number, text, TRUE or FALSE, or one of them with a type."""
    inner = node.unnest()
    inner = inner.this.unnest() if isinstance(inner, exp.Cast | exp.Neg) else inner
    return isinstance(inner, exp.Literal | exp.Boolean)


def column_name(node: exp.Expr) -> str | None:
    """Return the column that an expression names, as it is written; None if the expression is not a column.

    Only `release` is a table: other words before a point are part of the name, as in `sample.yr`.
    """
    inner = node.unnest()
    if not isinstance(inner, exp.Column) or not has_no_other_parts(inner, "this", "table", "db", "catalog"):
        return None
    if not all(isinstance(part, exp.Identifier) for part in inner.parts):
        return None
    named = [part.name for part in inner.parts]
    return ".".join(named[1:] if named[0] == "release" and len(named) > 1 else named)


def as_sql(node: exp.Expr) -> str:
    """Return the spelling of an expression, for people."""
    return node.sql(dialect=_Dialect, comments=False, normalize_functions=False)


_QUOTES = "single quotes for text, double quotes for names with spaces and for words of SQL"


def condition_error(message: str) -> PolicyError:
    """Return the error for a condition that is not one."""
    return PolicyError(
        Problem(
            "RR264",
            f"the condition cannot be read: {message}",
            expected="comparisons of columns with constants, IN, BETWEEN, IS NULL, joined by AND, OR, NOT",
            hint=f"{_QUOTES}, such as age_group = '65+' AND \"my col\" = 1",
        )
    )


def _query_error(message: str) -> PolicyError:
    return PolicyError(
        Problem(
            "RR264",
            f"the query cannot be read: {message}",
            expected="one SELECT columns, count(*) FROM release WHERE condition GROUP BY columns",
            hint=f'{_QUOTES}, such as "my col"',
        )
    )


def _conjuncts(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case And(parts=parts):
            return tuple(c for p in parts for c in _conjuncts(p))
        case _:
            return (expression,)


def _read(connection: DuckDBPyConnection, node: exp.Expr) -> Expression:
    match node.unnest():
        case exp.And() | exp.Or() as joined:
            parts = tuple(_read(connection, part) for part in joined.flatten())
            found: Expression = And(parts) if isinstance(joined, exp.And) else Or(parts)
        case exp.Not(this=part):
            found = Not(_read(connection, part))
        case exp.Between(this=of, args={"low": low, "high": high}) as between if has_no_other_parts(
            between, "this", "low", "high"
        ):
            ends = read_constants(connection, [low, high])
            found = And((ColumnComparison(_column(of), ">=", ends[0]), ColumnComparison(_column(of), "<=", ends[1])))
        case exp.In(this=of, expressions=values) as member if values and has_no_other_parts(
            member, "this", "expressions"
        ):
            found = Member(_column(of), tuple(read_constants(connection, values)))
        case exp.Is(this=of, expression=exp.Null()):
            found = Null(_column(of))
        case exp.Binary() as compared if type(compared) in COMPARISONS:
            found = _comparison(connection, compared)
        case exp.Column() as column:
            found = ColumnComparison(_column(column), "=", True)  # noqa: FBT003 - the constant TRUE
        case other:
            raise condition_error(f"{as_sql(other)} is not supported here")
    return found


def _comparison(connection: DuckDBPyConnection, node: exp.Binary) -> ColumnComparison:
    left, right, operator = node.left.unnest(), node.right.unnest(), COMPARISONS[type(node)]
    if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
        left, right, operator = right, left, MIRRORED[operator]
    (value,) = read_constants(connection, [right])
    return ColumnComparison(_column(left), operator, value)


def _column(node: exp.Expr) -> str:
    name = column_name(node)
    if name is None:
        raise condition_error(
            f"one side of each comparison must be a column, named without a table, not {as_sql(node)}"
        )
    return name


def _constant_sql(node: exp.Expr, parameters: list[str]) -> str:
    """Write a constant anew: numbers and types of known forms, text as a parameter."""
    match node:
        case exp.Literal(is_string=True, this=text):
            parameters.append(text)
            return "?"
        case exp.Literal(this=number) if _NUMBER.fullmatch(number):
            return str(number)
        case exp.Boolean(this=value):
            return str(value)
        case exp.Null():
            return "NULL"
        case exp.Neg(this=part) if isinstance(part.unnest(), exp.Literal | exp.Neg) and not part.unnest().is_string:
            return f"(-{_constant_sql(part.unnest(), parameters)})"
        case exp.Cast(this=part) if has_no_other_parts(node, "this", "to") and _TYPE.fullmatch(
            kind := as_sql(node.args["to"])
        ):
            return f"CAST({_constant_sql(part.unnest(), parameters)} AS {kind})"
        case _:
            raise condition_error(f"a column is compared with constants only, not with {as_sql(node)}")
