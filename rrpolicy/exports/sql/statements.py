"""The SQL statements of a policy: count a table, test its units of protection, expand counts into records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.exports.sql.columns import SqlColumn, quoted_column
from rrpolicy.exports.sql.dialects import DIALECTS, Dialect, Sql
from rrpolicy.numbers import exact_number
from rrpolicy.policy.model import Attribute, Policy

_PART = re.compile(r'"((?:[^"\0]|"")+)"|`([^`\0]+)`|\[([^\]\0]+)\]|([\w$-]+)')
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern})){{0,2}}")
LEVELS = (10**9, 10**6, 10**3, 1)
"""Decomposition of a count below 10^12 in steps of a thousand."""


class SqlStatements(Struct, frozen=True):
    """The statements of a policy in one dialect.

    Attributes:
        dialect: such as `postgres`.
        multiplicity: the column with the number of records that a row represents.
        counts: recodes every released column by the policy, and counts; one row per combination. It names no dropped
            column.
        units: tests the number of records per person: one row of four numbers, of which the last two must be 0; None if
            the policy names no column that identifies people. No other statement names that column.
        expansion: expands a table of released rows with counts into records.
    """

    dialect: str
    multiplicity: str
    counts: str
    units: str | None
    expansion: str


def build_statements(policy: Policy, dialect: str, table: str) -> SqlStatements:
    """Return the statements of a policy.

    The parts of the table's name have dots between: `survey.people`.

    Raises:
        PolicyError: RR246 if one record of each unit is read; RR250 if the dialect is unknown; RR590 with every column
            that cannot be recoded in it; RR591 if the name of the table, or of a column, cannot be written in it.
    """
    if dialect not in DIALECTS:
        raise PolicyError(Problem("RR250", f"there is no dialect '{dialect}'", expected=", ".join(DIALECTS)))
    if policy.selection is not None:
        message = "the statements count every record, and the policy reads one of each unit"
        hint = "count a view that holds one record of each unit, without `one_record_per_unit`"
        place = policy.place("source.one_record_per_unit")
        raise PolicyError(Problem("RR246", message, place, "a policy that reads every record", hint))
    engine, source = DIALECTS[dialect], _table_sql(table, dialect)
    names = {a.name.lower() for a in policy.released} | {a.release_as.lower() for a in policy.released}
    multiplicity = next(n for n in ("n", "records", *(f"n{i}" for i in range(len(names) + 1))) if n not in names)
    _check_column_names([*(a.name for a in policy.released), *(a.release_as for a in policy.released)], policy, dialect)
    made = (
        _count_statement(policy, engine, source, multiplicity),
        _unit_test_statement(policy, engine, source),
        _expansion_statement(policy.released, source, multiplicity, engine),
    )
    counts, units, expansion = (s if s is None else s.sql(dialect, pretty=True, comments=False) + ";" for s in made)
    assert counts is not None
    assert expansion is not None
    return SqlStatements(dialect, multiplicity, counts, units, expansion)


def _table_sql(name: str, dialect: str) -> exp.Table:
    """Return a table's name, each part of it quoted unchanged."""
    if not _NAME.fullmatch(name):
        expected = "a name such as people or survey.people"
        raise PolicyError(Problem("RR591", f"{name!r} is not a name of a table in {dialect}", expected=expected))
    parts = ["".join(groups).replace('""', '"') for groups in _PART.findall(name)]
    *catalog, db = [*([None] * (3 - len(parts))), *parts][:-1]
    return exp.table_(parts[-1], db=db, catalog=catalog[0], quoted=True)


def _check_column_names(names: Iterable[str], policy: Policy, dialect: str) -> None:
    """Refuse names of columns that the dialect would read differently."""
    for name in names:
        said = quoted_column(name).sql(dialect)
        try:
            found = exp.column(exp.maybe_parse(said, dialect=dialect).name).name
        except SqlglotError:
            found = None
        if found != name or any(character in name for character in DIALECTS[dialect].unnamed):
            attribute = policy.attributes.get(name)
            message = f"no column can have the name {name!r} in {dialect}"
            raise PolicyError(Problem("RR591", message, attribute.place if attribute else None))


def _count_statement(policy: Policy, dialect: Dialect, source: exp.Table, multiplicity: str) -> exp.Select:
    recoded: list[Sql] = []
    problems: list[Problem] = []
    for attribute in policy.released:
        try:
            sql = SqlColumn(attribute, policy.reading.codes(attribute.name), dialect).recoded
            recoded.append(exp.alias_(sql, attribute.name, quoted=True))
        except PolicyError as error:
            problems += error.problems
    if problems:
        raise PolicyError(problems)
    names = [quoted_column(a.name) for a in policy.released]
    inner = exp.select(*recoded).from_(source.copy()).subquery("recoded")
    return exp.select(*names, _count_column(multiplicity)).from_(inner).group_by(*(name.copy() for name in names))


def _count_column(name: str) -> Sql:
    return exp.alias_(exp.Count(this=exp.Star(), big_int=True), name, quoted=True)


def _unit_test_statement(policy: Policy, dialect: Dialect, source: exp.Table) -> exp.Select | None:
    """Return the statement that tests the number of records per unit of protection."""
    if policy.unit is None:
        return None
    unit = quoted_column(policy.unit)
    told = [_is_missing_code(unit, code, dialect) for code in policy.reading.codes(policy.unit)]
    absent = exp.or_(unit.is_(exp.null()), *told)
    most = exp.Literal.number(str(policy.source.max_records))
    each = exp.select(_count_column("records")).from_(source.copy()).where(exp.not_(exp.paren(absent.copy())))
    sizes = each.group_by(unit.copy()).subquery("units")
    records = quoted_column("records")
    excess = exp.Case().when(
        exp.GT(this=records, expression=most), exp.Sub(this=records.copy(), expression=most.copy())
    )
    without = exp.select(_count_column("records_without_unit")).from_(source.copy()).where(absent)
    people = exp.select(
        _count_column("units"),
        exp.alias_(exp.Max(this=records.copy()), "most_records", quoted=True),
        exp.alias_(exp.Sum(this=excess.else_(exp.Literal.number("0"))), "records_too_many", quoted=True),
    ).from_(sizes)
    names = ("units", "most_records", "records_too_many", "records_without_unit")
    return (
        exp.select(*(quoted_column(name) for name in names))
        .from_(people.subquery("people"))
        .join(without.subquery("others"), join_type="cross")
    )


def _is_missing_code(x: Sql, code: Value, dialect: Dialect) -> Sql:
    """Return SQL that is true if a column contains a code of missing values."""
    text = code if isinstance(code, str) else exact_number(float(code))
    return dialect.same(dialect.as_text(x.copy()), text)


def _expansion_statement(
    released: Sequence[Attribute], source: exp.Table, multiplicity: str, dialect: Dialect
) -> exp.Select:
    """Return the statement that repeats each row of released counts.

    A number below a count is decomposed into thousands of millions, millions, thousands and ones. Each is joined only
    if such numbers begin below the count, so that almost every generated row is a record.
    """
    cells = exp.alias_(source.copy(), exp.to_identifier("cells", quoted=True), table=True)
    each = [exp.select(exp.alias_(exp.Literal.number(str(d)), "d")) for d in range(10)]
    digits = exp.union(*(digit.from_(dialect.dual) if dialect.dual else digit for digit in each), distinct=False)
    weights = (("a", 1), ("b", 10), ("c", 100))
    parts = [exp.Mul(this=exp.column("d", name), expression=exp.Literal.number(str(w))) for name, w in weights]
    number = exp.cast(exp.Add(this=exp.Add(this=parts[0], expression=parts[1]), expression=parts[2]), "bigint")
    thousand = exp.select(exp.alias_(number, "i")).from_(exp.alias_(exp.to_table("digits"), "a", table=True))
    for name in ("b", "c"):
        thousand = thousand.join(exp.alias_(exp.to_table("digits"), name, table=True), join_type="cross")
    found = exp.select(*(exp.column(a.release_as, "cells", quoted=True) for a in released)).from_(cells)
    begun: Sql | None = None
    for place, unit in enumerate(LEVELS):
        part: Sql = exp.column("i", f"t{place}")
        part = part if unit == 1 else exp.Mul(this=part, expression=exp.Literal.number(str(unit)))
        begun = part if begun is None else exp.Add(this=begun.copy(), expression=part)
        below = exp.LT(this=begun.copy(), expression=exp.column(multiplicity, "cells", quoted=True))
        found = found.join(exp.alias_(exp.to_table("thousand"), f"t{place}", table=True), on=below)
    return found.with_("digits", as_=digits).with_("thousand", as_=thousand)
