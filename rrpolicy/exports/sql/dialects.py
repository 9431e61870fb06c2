"""Differences between engines beyond sqlglot's dialects: NaN, truth values, dates, texts that compare equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, time
from typing import Literal, TypeAlias

from msgspec import Struct
from sqlglot import exp

from rrpolicy.canonical_json import Value
from rrpolicy.exports.sql.representative_values import Point

Sql = exp.Expr
Kind: TypeAlias = Literal["number", "text", "truth", "moment"]
_EVERY_MOMENT = frozenset({"date", "time", "timestamp"})
SPELLED = r"^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$"
"""Notation of numbers in MySQL and by people: text that is read as one."""


def _equals_nan(x: Sql) -> Sql:
    return exp.EQ(this=x, expression=exp.cast(exp.Literal.string("NaN"), "double"))


class Dialect(Struct, frozen=True):
    """An engine's SQL.

    Attributes:
        nan: SQL that is true for NaN; None if there is no NaN.
        spelled_booleans: whether true and false are written as text, unlike in its exports.
        collation: a collation that distinguishes all texts; "" if texts are always compared by their characters.
        pads: whether texts may compare equal although they differ, at least in trailing blanks.
        empty: whether an empty text is a text; if not, it is null.
        iso: whether a date or time in a column is compared with text as a date, not in the notation of a session or
            type.
        dual: the table of a query without data; "" if unnecessary.
    """

    name: str
    nan: Callable[[Sql], Sql] | None = _equals_nan
    spelled_booleans: bool = False
    booleans: bool = True
    collation: str = ""
    pads: bool = False
    moments: frozenset[str] = _EVERY_MOMENT
    empty: bool = True
    iso: bool = True
    unnamed: str = ""
    dual: str = ""

    def text(self, text: str) -> Sql:
        """Return SQL of a text."""
        return exp.Literal.string(text)

    def as_text(self, x: Sql) -> Sql:
        """Return SQL of a value as text."""
        return exp.cast(x, "text")

    def double(self, x: Sql) -> Sql:
        """Return SQL of a value as a double."""
        return exp.cast(x, "double")

    def moment(self, value: Point) -> Sql:
        """Return SQL of a date, a time of day, or both."""
        return exp.cast(exp.Literal.string(str(value)), moment_type(value))

    def same(self, x: Sql, text: str) -> Sql:
        """Return SQL that is true for a text in a column, and false for others that a collation treats as equal."""
        if not self.pads:
            return exp.EQ(this=self.category(x), expression=self.text(text))
        ended = self.ended(x)  # trailing blanks count, too
        return exp.EQ(this=self.category(ended), expression=self.text(f"{text}|"))

    def ended(self, x: Sql) -> Sql:
        """Return SQL of a text with a non-blank character appended."""
        return exp.DPipe(this=x, expression=self.text("|"))

    def category(self, x: Sql) -> Sql:
        """Return SQL of recoded text for grouping."""
        return exp.Collate(this=exp.paren(x), expression=exp.var(self.collation)) if self.collation else x

    def stranger(self, x: Sql, kind: Kind, message: str) -> tuple[Sql, Sql] | None:
        """Return a condition that is true for a value of another kind, and SQL that then ends the statement."""
        del x, kind, message
        return None


class _Spark(Dialect, frozen=True):
    """Spark 3.4 and later, and Databricks, whose plain timestamps are instants in a session's time zone."""

    def moment(self, value: Point) -> Sql:
        kind = moment_type(value)
        return exp.cast(exp.Literal.string(str(value)), "timestamp_ntz" if kind == "timestamp" else kind)

    def stranger(self, x: Sql, kind: Kind, message: str) -> tuple[Sql, Sql] | None:
        if kind != "number":
            return None
        fails = exp.Anonymous(this="RAISE_ERROR", expressions=[exp.Literal.string(message)])
        return self.double(x).is_(exp.null()), fails


class _SqlServer(Dialect, frozen=True):
    def text(self, text: str) -> Sql:
        return exp.National(this=text)

    def ended(self, x: Sql) -> Sql:
        return exp.Add(this=x, expression=self.text("|"))


class _MySql(Dialect, frozen=True):
    """MySQL 8, which makes any text a number or a date, compares by the collation of a column, and rounds seconds."""

    def moment(self, value: Point) -> Sql:
        kind = moment_type(value)
        return exp.cast(exp.Literal.string(str(value)), kind if kind == "date" else f"{kind}(6)")

    def ended(self, x: Sql) -> Sql:
        every = exp.DataType(this=exp.DType.CHARACTER_SET, kind=exp.var("utf8mb4"))
        return exp.Cast(this=exp.Concat(expressions=[x, self.text("|")], safe=True), to=every)

    def stranger(self, x: Sql, kind: Kind, message: str) -> tuple[Sql, Sql] | None:
        """Return a condition, and a subquery of two rows, which is not a valid value: no message can be given."""
        del message
        told: Sql
        match kind:
            case "number":
                # spelled out: other libraries change for a whole process how sqlglot writes RegexpLike
                matches = exp.Anonymous(this="REGEXP_LIKE", expressions=[self.as_text(x), exp.Literal.string(SPELLED)])
                told = exp.not_(matches)
            case "truth":
                told = exp.not_(exp.In(this=self.as_text(x), expressions=[self.text("0"), self.text("1")]))
            case "moment":
                told = exp.cast(x, "timestamp(6)").is_(exp.null())
            case _:  # numbers are compared by their notation
                return None
        return told, exp.union(exp.select(x.copy()), exp.select(x.copy()), distinct=False).subquery()


class _Oracle(Dialect, frozen=True):
    """Oracle 12.2 and later, where an empty text is null, and the notation of dates depends on the session."""

    def as_text(self, x: Sql) -> Sql:
        return exp.cast(x, "varchar(4000)")

    def double(self, x: Sql) -> Sql:
        return exp.Anonymous(this="TO_BINARY_DOUBLE", expressions=[x])

    def moment(self, value: Point) -> Sql:
        text, form, called = str(value), "YYYY-MM-DD", "TO_DATE"
        if isinstance(value, datetime):
            text = value.isoformat(" ", "microseconds")
            form, called = f"{form} HH24:MI:SS.FF6", "TO_TIMESTAMP"
        return exp.Anonymous(this=called, expressions=[exp.Literal.string(text), exp.Literal.string(form)])


class _Sqlite(Dialect, frozen=True):
    """SQLite, where any column may contain values of any type."""

    def stranger(self, x: Sql, kind: Kind, message: str) -> tuple[Sql, Sql] | None:
        """Return a condition, and an invalid JSON path: the engine's error repeats it."""
        fails = exp.Anonymous(this="JSON_TYPE", expressions=[exp.Literal.string("{}"), exp.Literal.string(message)])
        if kind == "truth":
            return exp.not_(exp.In(this=x, expressions=[exp.Literal.number(0), exp.Literal.number(1)])), fails
        types = [exp.Literal.string(name) for name in (("text",) if kind == "text" else ("integer", "real"))]
        return exp.not_(exp.In(this=exp.Anonymous(this="TYPEOF", expressions=[x]), expressions=types)), fails


def _is_nan(x: Sql) -> Sql:
    return exp.IsNan(this=x)


def _nan_anyhow(x: Sql) -> Sql:
    """Return SQL that is true for NaN whether it equals itself or not."""
    return exp.paren(exp.or_(_equals_nan(x), exp.NEQ(this=x.copy(), expression=x.copy())))


def _oracle_nan(x: Sql) -> Sql:
    return exp.EQ(this=x, expression=exp.Anonymous(this="TO_BINARY_DOUBLE", expressions=[exp.Literal.string("NaN")]))


_DATES = _EVERY_MOMENT - {"time"}
DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb"),
        Dialect("postgres", spelled_booleans=True),
        _Spark("spark", moments=_DATES),
        _Spark("databricks", moments=_DATES),
        Dialect("bigquery", nan=_is_nan),
        Dialect("snowflake"),
        Dialect("redshift", nan=_nan_anyhow, spelled_booleans=True, pads=True, iso=False),
        Dialect("trino", nan=_is_nan),
        _SqlServer("tsql", nan=None, spelled_booleans=True, collation="Latin1_General_BIN2", pads=True),
        _MySql(
            "mysql",
            nan=None,
            spelled_booleans=True,
            collation="utf8mb4_bin",
            pads=True,
            iso=False,
        ),
        _Oracle(
            "oracle",
            nan=_oracle_nan,
            booleans=False,
            collation="BINARY",
            pads=True,
            moments=_DATES,
            empty=False,
            iso=False,
            unnamed='"',
            dual="DUAL",
        ),
        _Sqlite("sqlite", nan=None, spelled_booleans=True, collation="BINARY", moments=frozenset()),
    )
}


def number(value: Point) -> Sql:
    """Return SQL of a number: whole ones as such, others as a double."""
    assert isinstance(value, (int, float))
    if isinstance(value, int):
        return exp.Literal.number(str(value))
    if math.isinf(value):
        return exp.cast(exp.Literal.string("Infinity" if value > 0 else "-Infinity"), "double")
    if value.is_integer() and abs(value) < 2**53:
        return exp.Literal.number(str(int(value)))
    return exp.cast(exp.Literal.number(repr(value)), "double")


def moment_type(value: Point) -> str:
    """Return the type of a date, a time of day, or both."""
    return "time" if isinstance(value, time) else "timestamp" if isinstance(value, datetime) else "date"


def boolean(value: Value) -> Sql:
    """Return SQL of true or false."""
    return exp.Boolean(this=bool(value))
