"""What engines differ in beyond what sqlglot knows of their dialects: NaN, truth values, texts taken for one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, time

from sqlglot import exp

from rrpolicy.canonical import Value
from rrpolicy.frozen import frozen
from rrpolicy.warehouse.stand_ins import Point

Sql = exp.Expr


def _equals_nan(x: Sql) -> Sql:
    return exp.EQ(this=x, expression=exp.cast(exp.Literal.string("NaN"), "double"))


@frozen
class Dialect:
    """An engine's SQL.

    Attributes:
        name: as sqlglot has it.
        nan: SQL that is true where a number is NaN; None if there is no NaN.
        spelled_booleans: whether true and false are written as text, which its exports do not spell so.
        collation: that tells all texts apart; "" if texts are compared by their characters anyhow.
        times: whether it has a type of times of day.
        fails: makes SQL that ends the statement where it is computed; None if a cast of text that is no number does.
    """

    name: str
    nan: Callable[[Sql], Sql] | None = _equals_nan
    spelled_booleans: bool = False
    collation: str = ""
    times: bool = True
    fails: Callable[[str], Sql] | None = None

    def text(self, text: str) -> Sql:
        """Return SQL of a text."""
        return exp.National(this=text) if self.collation else exp.Literal.string(text)

    def same(self, x: Sql, text: str) -> Sql:
        """Return SQL that is true where a column holds a text, and no other that some collation takes for it."""
        if not self.collation:
            return exp.EQ(this=x, expression=self.text(text))
        ended = exp.Add(this=x, expression=self.text("|"))  # blanks at the end count, too
        return exp.EQ(this=self._collated(exp.paren(ended)), expression=self.text(f"{text}|"))

    def category(self, x: Sql) -> Sql:
        """Return SQL of recoded text, which is grouped as it stands."""
        return self._collated(exp.paren(x)) if self.collation else x

    def _collated(self, x: Sql) -> Sql:
        return exp.Collate(this=x, expression=exp.var(self.collation))


def _raise(message: str) -> Sql:
    return exp.Anonymous(this="RAISE_ERROR", expressions=[exp.Literal.string(message)])


def _is_nan(x: Sql) -> Sql:
    return exp.IsNan(this=x)


DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb"),
        Dialect("postgres", spelled_booleans=True),
        Dialect("redshift", spelled_booleans=True),
        Dialect("spark", times=False, fails=_raise),
        Dialect("databricks", times=False, fails=_raise),
        Dialect("bigquery", nan=_is_nan),
        Dialect("snowflake"),
        Dialect("trino", nan=_is_nan),
        Dialect("tsql", nan=None, spelled_booleans=True, collation="Latin1_General_BIN2"),
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


def moment(value: Point) -> Sql:
    """Return SQL of a date, a time of day, or both."""
    kind = "time" if isinstance(value, time) else "timestamp" if isinstance(value, datetime) else "date"
    return exp.cast(exp.Literal.string(str(value)), kind)


def boolean(value: Value) -> Sql:
    """Return SQL of true or false."""
    return exp.Boolean(this=bool(value))
