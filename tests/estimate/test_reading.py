"""How SQL is read: other spellings of the same question, what looks alike and is not, and what no text gets past."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.counts.predicate import parse_condition
from rrpolicy.estimate.expression import (
    And,
    ColumnComparison,
    Expression,
    Member,
    Not,
    Null,
    Or,
)
from rrpolicy.estimate.query.parse import parse_query
from rrpolicy.frozen import replace


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a = 1 -- AND b = 2", "a = 1"),
        ("/* x */ a /* -- */ = 1 /* /* AND b */ OR c */", "a = 1"),
        ("a = 1 --\nAND b = 2", "a = 1 AND b = 2"),
        ("a = '--' AND b = '/*'", "\"a\" = '--' AND \"b\" = '/*'"),
        ("NOT a = 1 AND b = 2", "(NOT (a = 1)) AND b = 2"),
        ("NOT a IN (1, 2) OR b", "(a NOT IN (1, 2)) OR b = TRUE"),
        ("a = 1 OR b = 2 AND c = 3", "a = 1 OR (b = 2 AND c = 3)"),
        ("a BETWEEN 1 AND 2 AND b = 3", "a >= 1 AND a <= 2 AND b = 3"),
        ("a NOT BETWEEN 1 AND 2 OR b", "NOT (a BETWEEN 1 AND 2) OR b"),
        ("a ISNULL OR a NOTNULL", "a IS NULL OR a IS NOT NULL"),
        ("1 <= a AND 2 > a AND 3 <> a", "a >= 1 AND a < 2 AND a != 3"),
        ("a == - 1 AND b > +1", "a = -1 AND b > 1"),
        ("release.a = 1 AND ((b)) = ((2))", "a = 1 AND b = 2"),
        ("a=1AND b=2", "a = 1 AND b = 2"),
        ("名 = '値' AND straße <> 'ß'", "\"名\" = '値' AND \"straße\" <> 'ß'"),
        ("a = 1_000 AND b = .5 AND c = 1E3", "a = 1000 AND b = 0.5 AND c = 1e+3"),
        ("a = 1;", "a = 1"),
    ],
)
def test_conditions_that_are_spelled_otherwise_are_read_alike(one, other):
    assert parse_condition(one) == parse_condition(other)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-9223372036854775809", -9223372036854775809),
        ("1.50", Decimal("1.50")),
        ("1e3", 1000.0),
        ("0.1::REAL", 0.10000000149011612),
        ("'1.25'::DECIMAL(4, 1)", Decimal("1.3")),
        ("'1'::NUMERIC", Decimal("1.000")),
        ("DATE '2020-01-31'", date(2020, 1, 31)),
        ("'2020-01-31 10:00'::TIMESTAMP", datetime.fromisoformat("2020-01-31 10:00")),
        ("TIMESTAMP '2020-01-31'", datetime.fromisoformat("2020-01-31")),
        ("'t'::BOOLEAN", True),
        ("'a''b\\n\"--'", "a'b\\n\"--"),
        ("12::VARCHAR", "12"),
        ("2.5::INTEGER", 3),
    ],
)
def test_constants_mean_what_duckdb_says(text, value):
    (found,) = parse_condition(f"a = {text}")

    assert found == ColumnComparison("a", "=", value)
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "a = b = 1",
        "a = 1 = TRUE",
        "(a = 1) IS NULL",
        "a IS TRUE",
        "a IS DISTINCT FROM 1",
        "a BETWEEN SYMMETRIC 2 AND 1",
        "a IN (1, NULL)",
        "a IN (b)",
        "a IN ((1, 2))",
        "(a, b) IN ((1, 2))",
        "a = E'x'",
        "a = 'x'\n'y'",
        "a = X'AB'",
        "a = 'x'::ENUM('x', 'y')",
        "a = '{}'::STRUCT(\"y\" INT)",
        "a = '1'::\"odd; type\"",
        "a = INTERVAL 1 DAY",
        "a = '300'::TINYINT",
        "a = TRY_CAST('x' AS INT)",
        "a = [1]",
        "a[1] = 1",
        "#1 = 1",
        "a = $1",
        "a COLLATE nocase = 'x'",
        "a = 'x' || 'y'",
        "EXISTS (SELECT 1)",
        "a = ANY (SELECT 1)",
        "a = current_date",
        "list_contains(a, x -> x)",
        "a = 1 WINDOW w AS ()",
        "a = 1 FETCH FIRST 1 ROWS ONLY",
        "a = 1 UNION ALL SELECT 1 FROM release WHERE b = 2",
        "a = 1; ; SELECT 1",
        "a\u200bb = 1",
        "b'ß'",
        "a = '\udc80'",
        "a = 1\0 OR b",
        "a AND\u200bb",
        "(" * 3000 + "a = 1" + ")" * 3000,
        "NOT " * 900 + "a",
        "a = " + "- " * 900 + "1",
    ],
)
def test_conditions_that_could_be_misread_are_refused(text):
    with pytest.raises(PolicyError, match="RR264") as caught:
        parse_condition(text)

    assert caught.value.problems[0].hint


def test_unicode_spaces_hide_no_clause():
    for space in "\u00a0\u2003\u202f\u3000":
        assert parse_condition(f"a{space}= 1 AND{space}b") == parse_condition("a = 1 AND b")
        assert parse_query(f"SELECT count(*) FROM release WHERE{space}flag").conjuncts == parse_condition("flag")
    for hidden in "\u200b\u2060\ufeff":
        with pytest.raises(PolicyError, match="RR264"):
            parse_query(f"SELECT count(*) FROM release WHERE{hidden}flag")


def test_a_condition_of_thousands_of_parts_is_read():
    (found,) = parse_condition(" OR ".join(f"a = {i}" for i in range(3000)))

    assert isinstance(found, Or)
    assert [part.value for part in found.parts] == list(range(3000))


SELECT = "SELECT a, b, count(*) AS n FROM release WHERE c = 'x' GROUP BY a, b ORDER BY n DESC NULLS FIRST LIMIT 3"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("FROM release SELECT a, b, n: count(*) WHERE c = 'x' GROUP BY ALL ORDER BY 3 DESC NULLS FIRST LIMIT 3", None),
        (SELECT.replace("GROUP BY a, b", "GROUP BY 1, (2)"), None),
        (SELECT.replace("GROUP BY a, b", "GROUP BY (a, b)"), None),
        (SELECT.replace("GROUP BY a, b", "GROUP BY GROUPING SETS ((a, b))"), None),
        (SELECT.replace("count(*)", '"COUNT"(1)').replace("release", '"release" r') + ";", None),
        (SELECT.replace("LIMIT 3", "OFFSET 0 LIMIT 3 -- LIMIT 4"), None),
        ("SELECT count(*) FILTER (WHERE a = 1)", "SELECT count_if(a = 1)"),
        ("SELECT 100 * (count(*) FILTER (WHERE a)) / count(*)", "SELECT count(*) FILTER (a = TRUE) / (count()) * 1e2"),
        ("SELECT CAST(count(*) AS DOUBLE) / sum(count(*)) OVER ()", "SELECT count(*) / (SUM(COUNT(1)) OVER ())"),
        ("SELECT mean(release.a)", "SELECT avg((a))"),
    ],
)
def test_queries_that_are_spelled_otherwise_are_read_alike(one, other):
    if other is not None:
        one, other = f"{one} FROM release", f"{other} FROM release"
    found, expected = parse_query(one), parse_query(other or SELECT)

    def plain(query):
        of = [i.of if isinstance(i.of, str) else replace(i.of, scale=round(i.of.scale, 9)) for i in query.items]
        keys = [
            (query.items[o.of].alias if isinstance(o.of, int) else o.of, o.descending, o.nulls_first)
            for o in query.order
        ]
        return of, query.sets, query.conjuncts, keys, query.limit, query.offset

    assert plain(found) == plain(expected)


@pytest.mark.parametrize(
    ("clause", "sets"),
    [
        ("CUBE (a, b), c", [("c",), ("a", "c"), ("a", "b", "c"), ("b", "c")]),
        ("CUBE ((a, b), c)", [(), ("a", "b"), ("a", "b", "c"), ("c",)]),
        ("ROLLUP (a, (b, c))", [(), ("a",), ("a", "b", "c")]),
        ("a, ROLLUP (b), CUBE (c)", [("a",), ("a", "c"), ("a", "b"), ("a", "b", "c")]),
        ("GROUPING SETS (CUBE (a), (b), ROLLUP (c), ())", [(), ("a",), ("b",), (), ("c",), ()]),
        ("GROUPING SETS ((a), (a)), b, 3", [("a", "b", "c"), ("a", "b", "c")]),
    ],
)
def test_grouping_sets_are_those_of_duckdb(clause, sets):
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE release AS SELECT 1 AS a, 2 AS b, 3 AS c")
        sql = f"SELECT a, b, c, count(*) FROM release GROUP BY {clause}"
        rows = connection.execute(sql).fetchall()

    assert list(parse_query(sql).sets) == sets
    told = sorted(tuple("abc"[v - 1] for v in row[:3] if v) for row in rows)
    assert told == sorted(tuple(sorted(s)) for s in sets)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT a, count(*) FROM release r(b, a) GROUP BY a", "RR272"),
        ("SELECT count(*) FROM release AT (VERSION => 1)", "RR272"),
        ("SELECT count(*) FROM main.release", "RR272"),
        ("SELECT count(*) FROM release r, release s", "RR272"),
        ("SELECT count(*) FROM release, LATERAL (SELECT 1)", "RR272"),
        ("SELECT count(*) FROM release PIVOT (count(*) FOR a IN ('x'))", "RR272"),
        ("PIVOT release ON a USING count(*)", "RR264"),
        ("PIVOT release ON a IN ('x') USING count(*)", "RR264"),
        ("WITH release AS (SELECT * FROM release) SELECT count(*) FROM release", "RR272"),
        ("SELECT count(*) FROM release UNION ALL BY NAME SELECT 1", "RR272"),
        ("(SELECT count(*) FROM release) LIMIT 1", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY a HAVING true", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY a QUALIFY true", "RR272"),
        ("SELECT DISTINCT ON (a) a, count(*) FROM release GROUP BY a", "RR272"),
        ("SELECT count(* EXCLUDE (a)) FROM release", "RR272"),
        ("SELECT count(release.*) FROM release", "RR272"),
        ("SELECT count(NULL) FROM release", "RR272"),
        ("SELECT count(a, b) FROM release", "RR272"),
        ("SELECT count(a ORDER BY b) FROM release", "RR272"),
        ("SELECT share(* EXCLUDE (a)) FROM release", "RR272"),
        ("SELECT count(*) WITHIN GROUP (ORDER BY a) FROM release", "RR264"),
        ("SELECT sum(a IGNORE NULLS) FROM release", "RR264"),
        ("SELECT count(*) / sum(count(*)) FILTER (WHERE a) OVER () FROM release", "RR272"),
        ("SELECT count(*) / sum(DISTINCT count(*)) OVER () FROM release", "RR272"),
        ("SELECT count(*) / sum(count(*)) OVER (ROWS UNBOUNDED PRECEDING) FROM release", "RR272"),
        ("SELECT count(*) / sum(count(*)) OVER w FROM release WINDOW w AS (ORDER BY a)", "RR272"),
        ("SELECT 2 / count(*) FROM release", "RR272"),
        ("SELECT count(*) // 2 FROM release", "RR272"),
        ("SELECT count(*) * 0x2 FROM release", "RR272"),
        ("SELECT count(*) * 'nan'::DOUBLE FROM release", "RR272"),
        ("SELECT list_transform([1], x -> x), count(*) FROM release", "RR272"),
        ("SELECT COLUMNS('a'), count(*) FROM release GROUP BY ALL", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY a ORDER BY a COLLATE nocase", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY a ORDER BY #1", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY a ORDER BY 3", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY 3", "RR272"),
        ("SELECT a, count(*) FROM release GROUP BY '1'", "RR272"),
        ("SELECT count(*) FROM release LIMIT 1.5", "RR272"),
        ("SELECT count(*) FROM release LIMIT NULL", "RR272"),
        ("SELECT count(*) FROM release FETCH FIRST 2 ROWS WITH TIES", "RR264"),
        ("SELECT a, count(*) FROM release GROUP BY CUBE (" + ", ".join(f"c{i}" for i in range(13)) + ")", "RR268"),
        ("SELECT a, count(*) FROM release GROUP BY CUBE (a, b, c, d, e, f, g), CUBE (h, i, j, k, l, m)", "RR268"),
        ("COPY release TO '/tmp/x.csv'", "RR264"),
        ("DESCRIBE release", "RR272"),
        ("SUMMARIZE release", "RR272"),
        ("SHOW release", "RR272"),
        ("VALUES (1)", "RR272"),
        ("EXPLAIN SELECT count(*) FROM release", "RR264"),
        ("CALL pragma_version()", "RR264"),
        ("PREPARE v AS SELECT count(*) FROM release", "RR264"),
        (";", "RR264"),
    ],
)
def test_queries_that_could_be_misread_are_refused(sql, code, capfd):
    with pytest.raises(PolicyError, match=code):
        parse_query(sql)

    assert capfd.readouterr() == ("", "")


def test_all_is_told_from_a_column_of_that_name():
    sql = 'SELECT a AS "all", count(*) FROM release GROUP BY 1 ORDER BY {} DESC'

    assert [o.of for o in parse_query(sql.format('"all"')).order] == ["all"]
    assert [o.of for o in parse_query(sql.format("ALL")).order] == [0, 1]


names = st.sampled_from(["a", "B", "e f", 'q"q', "group", "all", "名", "x;--", "'"])
values = st.one_of(
    st.integers(), st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=9), st.booleans()
)
leaves = st.one_of(
    st.builds(ColumnComparison, names, st.sampled_from(["=", "<>", "<", ">", "<=", ">="]), values),
    st.builds(Member, names, st.lists(values, min_size=1, max_size=3).map(tuple)),
    st.builds(Null, names),
)


def joined(parts):
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(Not, parts), st.builds(And, several), st.builds(Or, several))


def spelled(e: Expression, between: str) -> str:
    def constant(v: object) -> str:
        return "'" + v.replace("'", "''") + "'" if isinstance(v, str) else str(v)

    def name(n: str) -> str:
        return '"' + n.replace('"', '""') + '"'

    match e:
        case ColumnComparison(c, o, v):
            return f"{name(c)}{between}{o}{between}{constant(v)}"
        case Member(c, vs):
            return f"{name(c)}{between}IN{between}({','.join(map(constant, vs))})"
        case Null(c):
            return f"{name(c)}{between}is{between}null"
        case Not(part):
            return f"not{between}({spelled(part, between)})"
        case And(parts) | Or(parts):
            word = "AND" if isinstance(e, And) else "or"
            return f"{between}{word}{between}".join(f"({spelled(p, between)})" for p in parts)


def flat(e: Expression) -> Expression:
    """Return an expression without an AND right inside an AND, or an OR right inside an OR."""
    match e:
        case Not(part):
            return Not(flat(part))
        case And(parts) | Or(parts):
            listed = [q for p in map(flat, parts) for q in (p.parts if type(p) is type(e) else (p,))]
            return type(e)(tuple(listed))
        case _:
            return e


@settings(max_examples=60, deadline=None)
@given(st.recursive(leaves, joined, max_leaves=8), st.sampled_from([" ", "\n\t", " /* ' \" */ ", " -- ') OR (\n"]))
def test_what_is_written_comes_back(expression, between):
    found = parse_condition(spelled(expression, between))

    assert flat(And(found) if len(found) > 1 else found[0]) == flat(expression)


def test_sqlglot_loads_for_text_alone():
    code = (
        "import sys, rrpolicy.estimate.release, rrpolicy.estimate.sums.means, rrpolicy.estimate.counts.condition as c;"
        "c.read(None); assert 'sqlglot' not in sys.modules; c.read('a = 1'); assert 'sqlglot' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
