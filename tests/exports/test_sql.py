"""The statements that count in somebody else's engine make the same categories as reading the records does."""

from __future__ import annotations

import datetime as dt
import math
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

import rrpolicy
from rrpolicy.declarations import Role
from rrpolicy.errors import DataError, PolicyError
from rrpolicy.exports.programs.views import SqlDialect, translated_views
from rrpolicy.exports.sql.columns import category_sql
from rrpolicy.exports.sql.dialects import DIALECTS, SPELLED, number
from rrpolicy.exports.sql.representative_values import value_inside, value_outside_bins
from rrpolicy.exports.sql.statements import build_statements
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Bins, Policy, SourceSettings
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.opening import open_original
from rrpolicy.testing import policy_of

from .conftest import (
    Case,
    Engine,
    people,
    public_bytes,
)
from .test_counts_in import MECHANISMS

D, T = dt.date, dt.datetime
INF = math.inf
TRUTHS = (True, False)
SOURCES = dict.fromkeys(DuckDBSource.schemes, DuckDBSource())


def qi(name: str, *domain: Any, **keys: Any) -> Attribute:
    return Attribute(name, Role.QUASI_IDENTIFIER, domain or None, observed=not domain, release_as=name, **keys)


def binned(name: str, edges: tuple[Any, ...], *extra: str, **keys: Any) -> Attribute:
    labels = tuple(f"bin {i}" for i in range(len(edges) - 1))
    return qi(name, *labels, *extra, bins=Bins(edges, labels), **keys)


KINDS: dict[str, tuple[Attribute, pa.DataType, tuple[Any, ...]]] = {
    "text": (qi("x", "a", "b'\"\\", "é"), pa.string(), ("a", "b'\"\\", "é")),
    "text, outside and nulls": (
        qi("x", "a", "b", "Other", "none", outside="Other", nulls="none"), pa.string(), ("a", "b", "A", "a ", "", None),
    ),
    "text, codes": (
        qi("x", "a", "NA", "rest", outside="NA", nulls="rest", missing=("NA", "-")), pa.string(), ("a", "NA", "-", "z", None),
    ),
    "whole": (qi("x", 1, 2, -3), pa.int16(), (1, 2, -3)),
    "whole, all else": (
        qi("x", 0, 1, 2, "Other", "none", outside="Other", nulls="none", missing=(99, "98", "NA")),
        pa.int32(), (0, 1, 2, 3, 98, 99, None),
    ),
    "whole as real": (qi("x", 1, 2, 9, outside=9, nulls=9), pa.float64(), (1.0, 2.0, 2.5, math.nan, INF, None)),
    "large": (qi("x", 10**17, 10**17 + 1, "o", outside="o"), pa.int64(), (10**17, 10**17 + 1, 10**17 + 2)),
    "fractions": (qi("x", 0.1, 2.0), pa.float64(), (0.1, 2.0)),
    "decimals": (qi("x", 0.5, 2.25, "o", outside="o"), pa.decimal128(9, 2), (Decimal("0.50"), Decimal("2.25"), Decimal("0.51"))),
    "small fractions": (qi("x", 0.5, 1.25, "o", "none", outside="o", nulls="none"), pa.float32(), (0.5, 1.25, 0.75, math.nan)),
    "boolean": (qi("x", *TRUTHS, "none", nulls="none"), pa.bool_(), (True, False, None)),
    "true alone": (qi("x", *TRUTHS[:1], "o", outside="o"), pa.bool_(), (True, False)),
    "bins": (binned("x", (0.0, 18.0, 65.5, 100.0)), pa.int64(), (0, 17, 18, 65, 66, 100)),
    "bins, all else": (
        binned("x", (0.0, 18.0, 65.0), "o", "none", outside="o", nulls="none", missing=(0, 18, 19, -1, "77")),
        pa.float64(), (0.0, 0.5, 17.9, 18.0, 19.0, 64.0, 65.0, 65.1, -1.0, -2.0, 77.0, math.nan, INF, -INF, None),
    ),
    "open bins": (binned("x", (-INF, 0.0, 10.0, INF)), pa.float64(), (-1e300, -0.0, 0.0, 9.99, 10.0, 1e300, INF, -INF)),
    "one bin": (binned("x", (-INF, INF), "none", nulls="none", missing=(0,)), pa.float64(), (0.0, 1.0, INF, None)),
    "date bins": (
        binned("x", ("2000-01-01", "2010-01-01", "2020-01-01"), "o", "none", outside="o", nulls="none", missing=("1999-12-31", "2000-01-01", "NA")),
        pa.date32(), (D(1999, 12, 30), D(2000, 1, 1), D(2000, 1, 2), D(2010, 1, 1), D(2020, 1, 1), D(2020, 1, 2)),
    ),
    "open date bins": (
        binned("x", (-INF, "2010-01-01", INF), "none", nulls="none"), pa.date32(), (D(1, 1, 1), D(2010, 1, 1), D(2020, 1, 1), None),
    ),
    "timestamp bins": (
        binned("x", ("2000-01-01", "2010-01-01 12:30:00", "2020-01-01")), pa.timestamp("us"),
        (T(2000, 1, 1), T(2010, 1, 1, 12, 29, 59, 999999), T(2010, 1, 1, 12, 30), T(2020, 1, 1)),
    ),
    "dates": (
        qi("x", "2020-01-01", "2020-07-01", "o", "none", outside="o", nulls="none", missing=("NA", "1900-01-01")),
        pa.date32(), (D(2020, 1, 1), D(2020, 7, 1), D(2021, 1, 1), D(1900, 1, 1), None),
    ),
    "dates as text": (
        qi("x", "2020-01-01", "2020-07-01", "o", "none", outside="o", nulls="none", missing=("NA", "1900-01-01")),
        pa.string(), ("2020-01-01", "2020-07-01", "2021-01-01", "1900-01-01", "NA", "o", "none", "??", None),
    ),
    "observed": (qi("x"), pa.string(), ("a", "b", "c d")),
    "observed numbers": (qi("x", nulls="none"), pa.int64(), (1, 5, None)),
}  # fmt: skip


def policy(attribute: Attribute, uri: object) -> Policy:
    return policy_of((attribute,), source=SourceSettings(str(uri)))


def read(attribute: Attribute, uri: object, scratch: Path) -> Any:
    """Return the categories with how many records each has; of a table that is refused, why."""
    try:
        with open_original(policy(attribute, uri), SOURCES, scratch) as original:
            domain = original.categorical[0].domain
            assert domain is not None
            counts = original.counts("x")
            return {domain[code]: n for (code,), n in zip(counts.codes.tolist(), counts.n.tolist(), strict=True)}
    except DataError as error:
        return [(problem.code, problem.message) for problem in error.problems]


def agree(engine: Engine, attribute: Attribute, column: pa.Array, folder: Path) -> Any:
    """Hold the categories that an engine counts to those that the records are read as, and return them."""
    table = pa.table({"x": column})
    pq.write_table(table, folder / "rows.parquet")
    engine.load("rows", table)
    made = build_statements(policy(attribute, "rows.parquet"), engine.dialect, "rows")
    counts = engine.save(made.counts, folder / "counts")

    of_rows = read(attribute, folder / "rows.parquet", folder / "scratch")
    assert read(attribute, f"counts:{made.multiplicity}:{counts}", folder / "scratch") == of_rows
    return of_rows


def nearly(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    return pa.array([v for i, v in enumerate(values) for _ in range(i + 1)], kind)


@pytest.mark.parametrize("kind", KINDS)
def test_duckdb_makes_the_categories_of_every_kind_of_column(in_duckdb: Engine, tmp_path: Path, kind: str) -> None:
    attribute, arrow, values = KINDS[kind]
    found = agree(in_duckdb, attribute, nearly(values, arrow), tmp_path)
    assert isinstance(found, dict), found
    assert sum(found.values()) == len(nearly(values, arrow))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_postgres_makes_the_categories_of_every_kind_of_column(in_postgres: Engine, tmp_path: Path, kind: str) -> None:
    attribute, arrow, values = KINDS[kind]
    if "" in values:  # which a file of CSV does not tell from no value
        values = tuple(v for v in values if v != "")
    found = agree(in_postgres, attribute, nearly(values, arrow), tmp_path)
    assert isinstance(found, dict), found


@pytest.mark.parametrize("kind", KINDS)
def test_sqlite_makes_the_categories_of_every_kind_of_column_that_it_has(
    in_sqlite: Engine, tmp_path: Path, kind: str
) -> None:
    attribute, arrow, values = KINDS[kind]
    values = tuple(v for v in values if v != "")
    if any(isinstance(v, dt.date) for v in values) and attribute.bins is not None:
        with pytest.raises(PolicyError, match="RR590.*binned by dates"):
            agree(in_sqlite, attribute, nearly(values, arrow), tmp_path)
        return
    assert isinstance(agree(in_sqlite, attribute, nearly(values, arrow), tmp_path), dict)


@pytest.mark.parametrize(
    ("attribute", "values", "said"),
    [
        (qi("x", 1, 2, "o", outside="o"), (1, "one"), "a value of x is not a valid number"),
        (binned("x", (0.0, 1.0, 2.0), missing=(0,)), (1, "zero"), "a value of x is not a valid number"),
        (qi("x", "a", "b", "o", outside="o"), ("a", 5), "a value of x is not a valid text"),
        (qi("x", *TRUTHS), (1, 7), "a value of x is not a valid truth value"),
        (qi("x", *TRUTHS), (1, "true"), "a value of x is not a valid truth value"),
    ],
)
def test_a_value_of_another_kind_ends_the_statement_in_sqlite(
    attribute: Attribute, values: tuple[Any, ...], said: str
) -> None:
    made = build_statements(policy(attribute, "rows.parquet"), "sqlite", "rows").counts
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (x)")
    connection.execute("INSERT INTO rows VALUES (?)", values[:1])
    assert len(connection.execute(made).fetchall()) == 1
    connection.execute("INSERT INTO rows VALUES (?)", values[1:])
    with pytest.raises(sqlite3.OperationalError, match=said):
        connection.execute(made)
    connection.close()


def test_sqlite_tells_texts_apart_whatever_the_collation_of_their_column_is() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (x TEXT COLLATE NOCASE)")
    connection.executemany("INSERT INTO rows VALUES (?)", ["a", "A", "b"])
    for attribute in (qi("x", "a", "A", "b"), qi("x")):
        made = build_statements(policy(attribute, "rows.parquet"), "sqlite", "rows").counts
        assert sorted(connection.execute(made)) == [("A", 1), ("a", 1), ("b", 1)]
    connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in KINDS if "observed" not in k and not k.startswith("dates")])
def test_what_is_written_for_redshift_makes_these_categories_in_postgres(
    in_postgres: Engine, tmp_path: Path, kind: str
) -> None:
    """The nearest engine there is, told to read backslashes in texts as Redshift does."""
    attribute, arrow, values = KINDS[kind]
    escapes = "SET standard_conforming_strings = off; SET escape_string_warning = off;\n"
    engine = replace(in_postgres, dialect="redshift", save=lambda s, path: in_postgres.save(escapes + s, path))
    assert isinstance(agree(engine, attribute, nearly([v for v in values if v != ""], arrow), tmp_path), dict)


REFUSED_KINDS = {
    "tsql": {"observed", "observed numbers"},
    "spark": set(),
    "mysql": {"observed", "observed numbers", "dates", "dates as text"},
    "redshift": {"observed", "observed numbers", "dates", "dates as text"},
    "oracle": {"observed", "observed numbers", "dates", "dates as text", "boolean", "true alone"},
    "sqlite": {"date bins", "open date bins", "timestamp bins"},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_column_of_every_kind_is_read_back_or_refused(dialect: str) -> None:
    for kind, (attribute, _, _) in KINDS.items():
        if kind in REFUSED_KINDS.get(dialect, set()):
            with pytest.raises(PolicyError, match="RR590"):
                build_statements(policy(attribute, "t.parquet"), dialect, "t")
            continue
        made = build_statements(policy(attribute, "t.parquet"), dialect, "t")
        for text in (made.counts, made.expansion):
            assert sqlglot.parse_one(text.rstrip(";"), dialect=dialect).sql(dialect, pretty=True) == text.rstrip(";")


def test_databricks_is_asked_as_spark_is() -> None:
    for attribute, _, _ in KINDS.values():
        asked = [build_statements(policy(attribute, "t.parquet"), dialect, "t") for dialect in ("spark", "databricks")]
        assert asked[0].counts == asked[1].counts


def test_what_mysql_and_oracle_would_take_otherwise_is_written_out() -> None:
    def of(kind: str, dialect: str) -> str:
        return category_sql(KINDS[kind][0], KINDS[kind][0].missing or (), dialect)

    same = "(CAST(CONCAT(`x`, '|') AS CHAR CHARACTER SET utf8mb4)) COLLATE utf8mb4_bin = 'a|'"
    assert same in of("text", "mysql")
    for kind, told in (
        ("bins", "NOT REGEXP_LIKE(CAST(`x` AS CHAR), "),
        ("boolean", "NOT CAST(`x` AS CHAR) IN ('0', '1')"),
        ("timestamp bins", "CAST(`x` AS DATETIME(6)) IS NULL"),
    ):
        assert f"WHEN {told}" in (text := of(kind, "mysql"))
        assert "THEN (SELECT `x` UNION ALL SELECT `x`)" in text
    assert "CAST('2010-01-01 12:30:00' AS DATETIME(6))" in of("timestamp bins", "mysql")

    assert "(\"x\" || '|') COLLATE BINARY = 'a|' THEN 'a'" in of("text", "oracle")
    assert "TO_BINARY_DOUBLE(\"x\") = TO_BINARY_DOUBLE('NaN')" in of("bins, all else", "oracle")
    assert "\"x\" < TO_DATE('2000-01-01', 'YYYY-MM-DD')" in of("date bins", "oracle")
    exact = "TO_TIMESTAMP('2010-01-01 12:30:00.000000', 'YYYY-MM-DD HH24:MI:SS.FF6')"
    assert exact in of("timestamp bins", "oracle")
    assert build_statements(policy(qi("x", "a"), "t.parquet"), "oracle", "t").expansion.count("FROM DUAL") == 10
    assert "x <> " not in of("bins", "postgres")
    assert 'CAST("x" AS DOUBLE PRECISION) <> CAST("x" AS DOUBLE PRECISION)' in of("bins", "redshift")


@pytest.mark.parametrize("spelled", ["1", "-1", "+1.5", ".5", "2.", "1e300", "-1.5E-7"])
def test_numbers_are_told_from_other_texts_in_mysql(spelled: str) -> None:
    assert re.search(SPELLED, spelled)
    for other in ("", "one", "1a", f"{spelled} ", f"{spelled},5", "e5", ".", "--1"):
        assert not re.search(SPELLED, other)


@pytest.mark.parametrize("kind", [k for k in KINDS if "observed" not in k])
def test_what_records_are_refused_for_counts_are_refused_for(in_duckdb: Engine, tmp_path: Path, kind: str) -> None:
    attribute, arrow, values = KINDS[kind]
    categories = tuple(v for v in attribute.domain or () if v not in (attribute.outside, attribute.nulls) or v == 9)
    bare = replace(attribute, outside=None, nulls=None, domain=categories)
    strange = {"string": "??", "bool": None, "date32[day]": D(1066, 1, 1), "timestamp[us]": T(1066, 1, 1)}.get(
        str(arrow), -7
    )
    strange = Decimal(-7) if pa.types.is_decimal(arrow) else strange
    found = agree(in_duckdb, bare, pa.array([*values, None, strange, strange], arrow), tmp_path)

    assert isinstance(found, list), found
    assert {code for code, _ in found} <= {"RR313", "RR314"}
    assert all(re.match(r"\d+ records? ha(s|ve) ", message) for _, message in found)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_bins_and_codes_agree(in_duckdb: Engine, tmp_path: Path, data: st.DataObject) -> None:
    number = st.integers(-4, 4).map(float) | st.sampled_from([0.5, -0.25, 1e-3])
    edges = sorted(data.draw(st.sets(number, min_size=2, max_size=5)))
    edges = [-INF, *edges] if data.draw(st.booleans()) else edges
    edges = [*edges, INF] if data.draw(st.booleans()) else edges
    codes = tuple(data.draw(st.lists(number, max_size=4)))
    attribute = binned("x", tuple(edges), "o", "none", outside="o", nulls="none", missing=codes)
    values = data.draw(
        st.lists(number | st.floats(-5, 5) | st.sampled_from([INF, math.nan, None]), min_size=1, max_size=30)
    )

    agree(in_duckdb, attribute, pa.array(values, pa.float64()), tmp_path)


def test_values_for_a_check_are_found_at_the_ends_of_time_and_of_a_day() -> None:
    early, late = dt.time(0, 0, 1), dt.time(23, 59, 59)
    assert value_inside(late, None, ()) == late
    assert value_inside(late, None, {late}) is None
    assert value_outside_bins((early, late), {dt.time(0, 0)}) is None
    assert value_outside_bins((early, None), ()) == dt.time(0, 0)
    assert value_outside_bins((None, dt.time(23, 59, 58)), ()) == late
    assert value_outside_bins((dt.date.min, dt.date.max), ()) is None
    assert value_outside_bins((dt.date.min, dt.date(2020, 1, 1)), {dt.date(2020, 1, 2)}) == dt.date(2020, 1, 3)
    codes = {dt.date(2020, 1, 1) + dt.timedelta(days=n) for n in range(1000)}
    assert value_inside(dt.date(2020, 1, 1), None, codes) is None


def test_infinite_numbers_are_written_as_casts() -> None:
    ends = [number(math.inf).sql("postgres"), number(-math.inf).sql("duckdb")]
    assert ends == ["CAST('Infinity' AS DOUBLE PRECISION)", "CAST('-Infinity' AS DOUBLE)"]


def test_empty_statements_of_a_file_are_no_views() -> None:
    found = [*translated_views("SELECT a FROM release;; -- the end\n;", SqlDialect("postgres"), (), {})]
    assert [statement.sql() for _, statement in found if statement is not None] == ["SELECT a FROM release"]


def test_a_wrong_statement_is_told_from_the_right_one(in_duckdb: Engine, tmp_path: Path) -> None:
    """Bins closed on the other side: the comparison of categories notices."""
    attribute, arrow, values = KINDS["bins"]
    right = build_statements(policy(attribute, "rows.parquet"), "duckdb", "rows").counts
    wrong = Engine(
        "duckdb", in_duckdb.load, lambda s, path: in_duckdb.save(s.replace(") < 18", ") <= 18"), path), in_duckdb.fetch
    )
    assert ") < 18" in right
    with pytest.raises(AssertionError):
        agree(wrong, attribute, nearly(values, arrow), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["in_duckdb", "in_postgres", "in_sqlite"])
def test_what_a_warehouse_counts_is_released_as_its_records_are(case: Case, engine: str, request: Any) -> None:
    there: Engine = request.getfixturevalue(engine)
    there.load("people", people())
    for name in ("pram", "anatomy", "carried"):
        at = case.path(name)
        at.mkdir()
        policy, rows = case.policy(MECHANISMS[name.replace("carried", "pram")], carried=name == "carried"), None
        if name == "carried":  # such a column has the type that it has in the file, and codes of a type that is told
            text = policy.read_text().replace('missing = ["n/a"]', "")
            policy.write_text(text.replace('domain = ["north"', 'missing = ["n/a"], domain = ["north"'))
            rows = there.save('SELECT * FROM "people"', at / "people")
        made = rrpolicy.sql(policy, there.dialect)
        counts = there.save(made.counts, at / "counts")

        of_rows = rrpolicy.release(policy, at / "rows", source=rows, key=at / "key")
        of_counts = rrpolicy.release(policy, at / "cells", source=rrpolicy.counted(counts), key=at / "key")

        assert public_bytes(of_counts.bundle) == public_bytes(of_rows.bundle)
        assert rrpolicy.verify(of_rows.bundle, source=rrpolicy.counted(counts), key=at / "key").passed
        assert b"SECRET" not in counts.read_bytes()
    with pytest.raises(PolicyError, match="RR590.*'hours'"):
        rrpolicy.sql(case.policy(MECHANISMS["pram"], carried=True), there.dialect)


@pytest.mark.parametrize("engine", ["in_duckdb", "in_postgres", "in_sqlite"])
def test_the_unit_check_counts_what_reading_the_records_refuses(case: Case, engine: str, request: Any) -> None:
    there: Engine = request.getfixturevalue(engine)
    made = rrpolicy.sql(case.policy(MECHANISMS["pram"]), there.dialect)
    assert made.units is not None
    table = people()
    there.load("people", table)
    assert there.fetch(made.units) == [("700", "1", "0", "0")]

    ids = ["a", "a", "a", "b", "b", "c", None, "n/a"]
    there.load("people", table.slice(0, 8).set_column(0, "person_id", pa.array(ids)))
    assert there.fetch(made.units) == [("3", "3", "3", "2")]


@pytest.mark.parametrize("engine", ["in_duckdb", "in_postgres", "in_sqlite"])
def test_released_counts_are_made_records_again(case: Case, engine: str, request: Any) -> None:
    there: Engine = request.getfixturevalue(engine)
    made = rrpolicy.sql(case.policy(MECHANISMS["pram"]), there.dialect, table="released")
    n = [0, 1, 9, 10, 999, 1000, 1001, 12_345, 100_000]
    cells = pa.table({
        "sex": ["F"] * len(n), "age_group": [f"g{i}" for i in range(len(n))],
        "grade": ["1"] * len(n), "region": [None] * len(n), "n": n,
    }, schema=pa.schema([(c, pa.string()) for c in ("sex", "age_group", "grade", "region")] + [("n", pa.int64())]))  # fmt: skip
    there.load("released", cells)

    rows = there.fetch(made.expansion)

    assert Counter(row[1] for row in rows) == {f"g{i}": k for i, k in enumerate(n) if k}
    assert {(len(row), row[0]) for row in rows} == {(4, "F")}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_its_statements_and_no_other_touches_an_identifier(case: Case, dialect: str) -> None:
    made = rrpolicy.sql(case.policy(MECHANISMS["pram"]), dialect, table="survey.people")
    for text in (made.counts, made.units, made.expansion):
        assert text is not None
        (parsed,) = sqlglot.parse(text.rstrip(";"), dialect=dialect)
        assert parsed is not None
        assert parsed.sql(dialect, pretty=True) == text.rstrip(";")
        assert all(node.quoted for t in parsed.find_all(exp.Table) if t.db for node in t.parts)
    assert "person_id" in str(made.units)
    for text in (made.counts, made.expansion):
        assert not re.search("person_id|note|hours", text)
    names = {c.name for c in sqlglot.parse_one(made.counts.rstrip(";"), dialect=dialect).find_all(exp.Column)}
    assert names == {"sex", "age", "grade", "region"}


STATEMENTS = """
import sys
import rrpolicy
if sys.argv[2]:
    import ibis.backends.sql.dialects  # gives sqlglot's own dialects other spellings, for the whole process
for dialect in sys.argv[3:]:
    made = rrpolicy.sql(sys.argv[1], dialect, table="survey.people")
    print(made.counts, made.units, made.expansion)
"""


def test_statements_do_not_depend_on_what_else_was_imported(case: Case) -> None:
    policy = case.policy(MECHANISMS["pram"])
    alone, besides = (
        subprocess.run(
            [sys.executable, "-c", STATEMENTS, policy, ibis, *DIALECTS], capture_output=True, check=True, text=True
        )
        for ibis in ("", "ibis")
    )
    assert "REGEXP_LIKE" in alone.stdout
    assert besides.stdout == alone.stdout


HOSTILE = ('a"b', "a`b", "a]b", "a'b", "a\\b", "a b", "select", "a;--", "é", "a.b", "%s", "$$", "n")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_and_categories_stay_what_they_are_in_every_dialect(dialect: str) -> None:
    for name in HOSTILE:
        attribute = Attribute(name, Role.QUASI_IDENTIFIER, (*HOSTILE, "a\nb"), release_as=name)
        policy = policy_of((attribute,), source=SourceSettings("t.parquet"))
        if (dialect, name) in {("bigquery", "a.b"), ("oracle", 'a"b')}:  # a dot parts names, between backticks, too
            with pytest.raises(PolicyError, match="RR591"):
                build_statements(policy, dialect, "t")
            continue
        made = build_statements(policy, dialect, "t")
        parsed = sqlglot.parse_one(made.counts.rstrip(";"), dialect=dialect)
        assert {c.name for c in parsed.find_all(exp.Column)} == {name}
        texts = {
            str(x.this).removesuffix("|") for x in parsed.find_all(exp.National if dialect == "tsql" else exp.Literal)
        }
        assert texts >= {*HOSTILE, "a\nb"}
        assert made.multiplicity == ("records" if name == "n" else "n")


@pytest.mark.slow
def test_hostile_names_and_categories_are_counted_as_they_are(
    in_duckdb: Engine, in_postgres: Engine, in_sqlite: Engine, tmp_path: Path
) -> None:
    for engine in (in_duckdb, in_postgres, in_sqlite):
        for name in HOSTILE:
            attribute = Attribute(name, Role.QUASI_IDENTIFIER, (*HOSTILE, "a\nb"), release_as=name)
            table = pa.table({name: [*HOSTILE, *HOSTILE, "a\nb"]})
            engine.load("t", table)
            made = build_statements(policy_of((attribute,), source=SourceSettings("t.parquet")), engine.dialect, "t")
            path = engine.save(made.counts, tmp_path / "counts")
            policy = policy_of((attribute,), source=SourceSettings(f"counts:{made.multiplicity}:{path}"))
            with open_original(policy, SOURCES, tmp_path / "scratch") as original:
                assert original.counts(name).n.tolist() == [2] * len(HOSTILE) + [1]


@pytest.mark.parametrize(
    ("attribute", "dialect", "said"),
    [
        (qi("x", "a", "b", missing=(9,)), "duckdb", "a number is a code of missing values in a column of text"),
        (qi("x", missing=("NA",)), "duckdb", "codes of missing values, and no `domain`"),
        (qi("x"), "tsql", "its values are not declared"),
        (qi("x", "a", "a "), "tsql", "differ in blanks at their end alone"),
        (qi("x", 0.1, "o", outside="o"), "postgres", "32-bit numbers"),
        (qi("x", 1, 10**18), "duckdb", "more than 18 digits"),
        (qi("x", 1, "a"), "trino", "values of several kinds"),
        (binned("x", ("08:00:00", "12:00:00", "18:00:00")), "spark", "no such type"),
        (binned("x", (0.0, 5e-324, 1.0), missing=(0,)), "duckdb", "must lie outside its bins"),
        (KINDS["boolean"][0], "oracle", "true and false, and this engine has no such values"),
        (qi("x", "a", ""), "oracle", "the empty text, which this engine takes for no value"),
        (KINDS["dates"][0], "oracle", "compares as a column spells them"),
        (KINDS["dates"][0], "redshift", "compares as a column spells them"),
        (KINDS["dates"][0], "mysql", "compares as a column spells them"),
        (binned("x", ("08:00:00", "12:00:00")), "oracle", "binned by times of day"),
        (KINDS["date bins"][0], "sqlite", "binned by dates or times"),
        (qi("x", "a", "a "), "redshift", "differ in blanks at their end alone"),
        (qi("x"), "redshift", "its values are not declared"),
        (qi("x"), "mysql", "its values are not declared"),
        (qi("x"), "oracle", "its values are not declared"),
    ],
)
def test_what_an_engine_may_take_otherwise_is_refused(attribute: Attribute, dialect: str, said: str) -> None:
    with pytest.raises(PolicyError, match="RR590") as caught:
        build_statements(policy(attribute, "t.parquet"), dialect, "t")
    (problem,) = caught.value.problems
    assert said in problem.message
    assert "'x' cannot be recoded" in problem.message


@pytest.mark.parametrize("table", ["", "a.b.c.d.e", "a;b", "(SELECT 1)", "a b c", "a,b", "f(x)"])
def test_a_table_needs_a_name(case: Case, table: str) -> None:
    policy = case.policy(MECHANISMS["pram"])
    if not table:
        assert '"people"' in rrpolicy.sql(policy, "duckdb", table=table).counts  # what its file is called
        return
    with pytest.raises(PolicyError, match="RR591"):
        rrpolicy.sql(policy, "duckdb", table=table)


def test_the_command_prints_one_statement(case: Case, capsys: Any) -> None:
    from rrpolicy.cli.main import main

    policy = case.policy(MECHANISMS["pram"])
    for statement in ("counts", "units", "expansion"):
        assert main(["export", "sql", str(policy), "--dialect", "postgres", "--statement", statement]) == 0
        assert capsys.readouterr().out == getattr(rrpolicy.sql(policy, "postgres"), statement) + "\n"
    policy.write_text(policy.read_text().replace('"identifier"', '"excluded"'))
    assert main(["export", "sql", str(policy), "--dialect", "postgres", "--statement", "units"]) == 2
    assert "RR592" in capsys.readouterr().err
    assert main(["export", "sql", str(policy), "--dialect", "teradata"]) == 2
    with pytest.raises(PolicyError, match="RR250"):
        rrpolicy.sql(policy, "teradata")
    for dialect in DIALECTS:
        assert main(["export", "sql", str(policy), "--dialect", dialect]) == 0
