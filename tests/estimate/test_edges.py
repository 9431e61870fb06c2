"""Every estimate at the edges, through the public door: of one record, of none, of all, and where nothing is known.

Whatever is asked for: an error with a code or a result; ends that are numbers, in order, or not bounded; and where an
estimate stands outside of its interval, a mark that says why.
"""

from __future__ import annotations

import json
import math
import re
from datetime import date

import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.rules.rules import Rules

TABLES = {
    "one record": ([0], [0]),
    "one category only": ([0] * 12, [0, 1] * 6),
    "against one another": ([0, 1] * 20, [0, 1] * 19 + [2, 2]),
}
DESIGNS = {
    "nothing randomised": ("1", "1"),
    "one column randomised": ("1", "3/4"),
    "both randomised": ("3/4", "4/5"),
    "next to singular": ("501/1000", "334/1000"),
}
SQL = (
    "SELECT a, count(*) FROM release GROUP BY a",
    "SELECT a, sum(y), avg(y) FROM release GROUP BY a",
    "SELECT a, count(*) FILTER (WHERE b = 'u') * 1.0 / count(*) FROM release GROUP BY a",
    "SELECT count(*) FROM release WHERE a = 'x' AND b = 'u'",
    "SELECT avg(y) FROM release WHERE b = 'w'",
    "SELECT a, b, count(*) FROM release WHERE y > 100 GROUP BY CUBE (a, b)",
)


def questions(release, target):
    yield lambda: release.crosstab(["a", "b"], target=target)
    yield lambda: release.crosstab("a", "b = 'w'", target)
    yield lambda: release.crosstab("b", "y > 100", target)
    for estimator in ("em", "projection"):
        yield lambda estimator=estimator: release.crosstab(["a", "b"], target=target, estimator=estimator)
    yield lambda: release.cube(["a", "b"], target=target)
    yield lambda: release.mean("y", "a", target=target)
    yield lambda: release.mean("y", "b", "a = 'x'", target=target)
    yield lambda: release.mean("y", where="y > 100", target=target)
    yield lambda: release.association("a", "b", target=target)
    yield lambda: release.association("a", "b", present=(["z"], ["u"]), target=target)
    yield lambda: release.association("a", "b", where="y > 2", present=(["z"], ["u"]), target=target)
    yield lambda: release.independence("a", "b")
    yield lambda: release.rules(0.05, 0.1, ["a", "b"], target=target)
    yield lambda: release.loglinear("a + b")
    yield lambda: release.loglinear("a*b")
    for sql in SQL:
        yield lambda sql=sql: release.query(sql, target)


def answer(question):
    """Return a result; None where it is refused with a code."""
    try:
        return question()
    except PolicyError:
        return None


def rows_of(found):
    """Return (estimate, low, high, what is possible, marks) of every row of a result."""
    if isinstance(found, Estimates):
        return list(zip(found.estimate, *found.conf_int().T, found.range, found.flags, strict=True))
    if hasattr(found, "tables"):
        return [row for table in found.tables for row in rows_of(table)]
    if isinstance(found, Rules):
        return [
            (estimate, *ends, (0, 1), ())
            for rule in found.rules
            for estimate, ends in (
                (rule.support, rule.support_interval),
                (rule.confidence, rule.confidence_interval),
            )
        ]
    if hasattr(found, "rows") and callable(found.rows):
        return [(r.estimate, r.low, r.high, (0, found.records), r.flags) for r in found.rows()]
    return []


@pytest.mark.parametrize(
    ("table", "design"),
    [
        ("one record", "nothing randomised"),
        ("one record", "both randomised"),
        ("one category only", "one column randomised"),
        ("against one another", "next to singular"),
    ],
)
def test_every_estimate_has_ends_in_order_or_an_error_with_a_code(publish, made, table, design):
    first, second = TABLES[table]
    a, b = (
        made.retention(name, values, [(range(len(values)), keep)])
        for name, values, keep in zip("ab", ("xz", "uvw"), DESIGNS[design], strict=True)
    )
    rows = made.labels(a, first) | made.labels(b, second) | {"y": [float(i % 5) for i in range(len(first))]}
    release = open_release(publish([a, b], rows, carried=[made.column("y", (), "carried", "DOUBLE")]))
    answered = 0
    for target in ("table", "population"):
        for question in questions(release, target):
            found = answer(question)
            if found is None:
                continue
            answered += 1
            shown, ends = found.summary(), rows_of(found)
            json.dumps(found.to_dict(), allow_nan=False)
            assert not re.search(r"\b(nan|inf)\b", shown), shown
            for estimate, low, high, possible, marks in ends:
                assert math.isnan(low) == math.isnan(high), shown
                assert not low > high, shown
                room = 1e-9 * max(1.0, abs(estimate))
                if low - room > estimate or estimate > high + room:
                    # all that is printed says that intervals keep to the possible, and estimates do not
                    assert marks or not possible[0] <= estimate <= possible[1], shown
                    assert marks or "outside" in shown or isinstance(found, Rules), shown
    assert answered >= 20


@pytest.fixture
def many(publish, made):
    """A release with a column of every kind, and numbers that nothing can sum."""
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    rows = ["8/10", "1/10", "1/10"], ["1/10", "8/10", "1/10"], ["1/10", "1/10", "8/10"]
    pq = made.coupled(["p", "q"], [["u", 1], ["u", 2], ["w", 1]], rows)
    wide = made.recoded("r", {"a": ["x"], "b": ["y", "z"], "*": ["x", "y", "z"]})
    values = {
        "sex": list("FM") * 12,
        "p": ["u", "u", "w"] * 8,
        "q": [1, 2, 1] * 8,
        "r": ["a", "b", "*"] * 8,
        "y": [math.inf, *map(float, range(23))],
        "debt": [-1.0] + [2.0] * 23,
        "v": [1.0, 2.0] * 12,
        "c": ["c1", "c2", "c3"] * 8,
        "born": [date(2020, 1, 1)] * 24,
        "ever": [True, False] * 12,
    }
    types = {"y": "DOUBLE", "debt": "DOUBLE", "v": "DOUBLE", "c": "VARCHAR", "born": "DATE", "ever": "BOOLEAN"}
    carried = [made.column(name, (), "carried", kind) for name, kind in types.items()]
    return open_release(publish([sex, pq, wide], values, carried=carried))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (lambda r: r.mean("y"), "RR274: 'y' contains infinite numbers"),
        (lambda r: r.with_design(weight="v").mean("y"), "RR274: 'y' contains infinite numbers"),
        (lambda r: r.with_design(weight="debt").crosstab("sex"), "RR545: 'debt' is not a number of at least 0"),
        (lambda r: r.with_design(weight="c"), "RR545: 'c' contains no numbers"),
        (lambda r: r.with_design(weight="v", alone="x"), "RR271: no such treatment: alone='x'"),
        (
            lambda r: r.with_design(weight="v").shares("sex", ["sex"], part="r = 'x'"),
            "RR288: shares of people of a population cannot be estimated from 'r'",
        ),
        (lambda r: r.bootstrap(lambda s: s.with_design(weight="v").crosstab("sex")), "RR509: .*its design"),
        (lambda r: r.query("SELECT min(r) FROM release"), "RR272: .*released unchanged, which 'r' is not"),
        (lambda r: r.crosstab("sex", "born > 'never'"), "RR265: a constant of the condition does not fit"),
        (lambda r: r.crosstab("sex", "born > 4"), "RR265: 'born' contains a value of type DATE, and .* with a number"),
        (lambda r: r.crosstab("sex", "born = TRUE"), "RR265: 'born' contains a value of type DATE"),
        (lambda r: r.crosstab("sex", "ever = 'yes'"), "RR265: 'ever' contains a truth value, and .* with a text"),
        (lambda r: r.crosstab("sex", "sex = DATE '2020-01-01'"), "RR265: '2020-01-01' is not a category of 'sex'"),
        (lambda r: r.crosstab("sex", "sex = TIME '10:00:00.50'"), "RR265: '10:00:00.5' is not a category of 'sex'"),
        (lambda r: r.loglinear("p*q"), "RR275: 'p', 'q' were randomised together"),
        (lambda r: r.rule([]), "RR277: no rule is named"),
        (lambda r: r.mean("v", "sex").conf_int(interval="odd"), "RR278: no such interval: 'odd'"),
    ],
)
def test_what_has_no_answer_is_refused_with_a_code(many, question, told):
    with pytest.raises(PolicyError, match=told):
        question(many)


def test_a_cube_has_no_table_by_other_columns(many):
    cube = many.cube(["sex", "p"])
    assert cube.table("p", "sex").by == ("sex", "p")
    with pytest.raises(KeyError, match="q"):
        cube.table("q")
