"""Shares, means and totals of generalised and dealt releases, held to every table that the release leaves open."""

from __future__ import annotations

import itertools
import math

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.errors import PolicyError

TOWNS = {"A": "A", "B": "B", "A or B": "AB", "B or C": "BC", "*": "ABC"}
AGES = {"young": [20, 30], "old": [60, 70], "any": [20, 30, 60, 70]}


def generalised(made, publish, records, name):
    axes = [
        made.recoded("town", TOWNS),
        made.recoded("age", AGES),
        made.identity("ill", ["no", "yes"]),
    ]
    carried = {"form": "identity", "attributes": ["hours"], "unbiased": True, "independent": True, "column": "hours",
               "labels": []}  # fmt: skip
    axes.append(made.Axis(carried, (made.column("hours", [], "carried", "DOUBLE"),), []))
    columns = {c: [row[i] for row in records] for i, c in enumerate(("town", "age", "ill", "hours"))}
    columns["hours"] = [None if h is None else float(h) for h in columns["hours"]]
    return rrpolicy.open_release(publish(axes, columns, name=name)).disaggregate()


def tables(records):
    """Yield every original table that the released records leave open."""
    for towns in itertools.product(*(TOWNS[town] for town, *_ in records)):
        for ages in itertools.product(*(AGES[age] for _, age, *_ in records)):
            yield [(t, a, ill, h) for t, a, (_, _, ill, h) in zip(towns, ages, records, strict=True)]


def share(part, whole):
    def of(table):
        inside = [row for row in table if whole(*row)]
        return sum(part(*row) for row in inside) / len(inside) if inside else None

    return of


def mean(value, where):
    def of(table):
        values = [value(*row) for row in table if where(*row) and value(*row) is not None]
        return sum(values) / len(values) if values else None

    return of


def total(value, where):
    return lambda table: sum(value(*row) for row in table if where(*row) and value(*row) is not None)


ASKED = {
    "SELECT count(*) FILTER (WHERE town = 'A') / count(*) AS s FROM release":
        share(lambda t, *_: t == "A", lambda *_: True),
    "SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) AS s FROM release WHERE town = 'B'":
        share(lambda t, a, i, h: i == "yes", lambda t, *_: t == "B"),
    "SELECT count(*) FILTER (WHERE age >= 60) / count(*) AS s FROM release WHERE town IN ('A', 'C')":
        share(lambda t, a, *_: a >= 60, lambda t, *_: t in "AC"),
    "SELECT count(*) FILTER (WHERE town = 'A') / count(*) AS s FROM release WHERE town IN ('A', 'B') AND age <= 60":
        share(lambda t, *_: t == "A", lambda t, a, *_: t in "AB" and a <= 60),
    "SELECT count(*) FILTER (WHERE hours > 3) / count(*) AS s FROM release WHERE town = 'B' AND ill = 'no'":
        share(lambda t, a, i, h: h is not None and h > 3, lambda t, a, i, h: t == "B" and i == "no"),
    "SELECT count(*) FILTER (WHERE hours > 3 AND age = 20) / count(*) AS s FROM release WHERE age <= 30":
        share(lambda t, a, i, h: h is not None and h > 3 and a == 20, lambda t, a, *_: a <= 30),
    "SELECT avg(hours) AS s FROM release WHERE town = 'B'":
        mean(lambda t, a, i, h: h, lambda t, *_: t == "B"),
    "SELECT avg(hours) AS s FROM release WHERE town IN ('A', 'C') AND age = 70":
        mean(lambda t, a, i, h: h, lambda t, a, *_: t in "AC" and a == 70),
    "SELECT avg(age) AS s FROM release": mean(lambda t, a, *_: a, lambda *_: True),
    "SELECT avg(age) AS s FROM release WHERE town = 'C' AND ill = 'yes'":
        mean(lambda t, a, *_: a, lambda t, a, i, h: t == "C" and i == "yes"),
    "SELECT sum(hours) AS s FROM release WHERE town = 'B'": total(lambda t, a, i, h: h, lambda t, *_: t == "B"),
    "SELECT sum(age) AS s FROM release WHERE town <> 'A'": total(lambda t, a, *_: a, lambda t, *_: t != "A"),
}  # fmt: skip

RECORDS = st.lists(
    st.tuples(st.sampled_from(list(TOWNS)), st.sampled_from(list(AGES)), st.sampled_from(["no", "yes"]),
              st.sampled_from([None, -2, 0, 3, 4, 10])),
    min_size=1, max_size=3,
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=RECORDS, number=st.integers(0, 10**9))
def test_bounds_are_the_ends_of_all_tables_that_are_open(made, publish, tmp_path_factory, records, number):
    release = generalised(
        made, publish, records, f"r{number}-{len(list(tmp_path_factory.getbasetemp().iterdir()))}-{id(records)}"
    )
    every = list(tables(records))
    for sql, truth in ASKED.items():
        values = [v for v in map(truth, every) if v is not None]
        frame = release.query(sql).to_frame()
        estimate, se, low, high = (float(frame[c][0]) for c in ("s", "s_se", "s_low", "s_high"))
        if not values:
            assert math.isnan(estimate), sql
            assert math.isnan(low), sql
            continue
        assert (low, high) == pytest.approx((min(values), max(values)), rel=1e-12, abs=1e-12), sql
        assert low <= estimate <= high, sql
        assert (se == 0) if low == high else math.isnan(se), sql


def test_groups_inside_labels_have_bounds_of_their_own(made, publish):
    records = [("A or B", "young", "yes", 1), ("A", "old", "no", 2), ("*", "any", "no", 5), ("B", "young", "yes", None)]
    release, every = generalised(made, publish, records, "groups"), list(tables(records))

    found = release.query("SELECT town, ill, share() AS s, avg(hours) AS m FROM release GROUP BY town, ill").to_frame()
    for row in found.to_dict("records"):
        town, ill = row["town"], row["ill"]
        shares = [sum(r[0] == town and r[2] == ill for r in t) / len(t) for t in every]
        assert (row["s_low"], row["s_high"]) == pytest.approx((min(shares), max(shares)))
        means = [
            v
            for t in every
            if (v := mean(lambda t, a, i, h: h, lambda t, a, i, h, at=(town, ill): (t, i) == at)(t)) is not None
        ]
        expected = (min(means), max(means)) if means else (np.nan, np.nan)
        assert (row["m_low"], row["m_high"]) == pytest.approx(expected, nan_ok=True)
    within = release.query(
        "SELECT town, ill, count(*) / sum(count(*)) OVER (PARTITION BY town) AS s FROM release GROUP BY town, ill"
    )
    for row in within.to_frame().to_dict("records"):
        values = [
            share(lambda t, a, i, h, row=row: i == row["ill"], lambda t, *_, row=row: t == row["town"])(t)
            for t in every
        ]
        values = [v for v in values if v is not None]
        assert (row["s_low"], row["s_high"]) == pytest.approx((min(values), max(values)))


def test_what_is_certain_is_told_as_such(made, publish):
    records = [("A or B", "young", "yes", 1), ("A", "old", "no", 2)]
    release = generalised(made, publish, records, "told")
    shares = release.query("SELECT count(*) FILTER (WHERE town = 'A') / count(*) FROM release")
    means = release.mean("hours", where="town = 'A'")
    for found in (shares, means):
        assert found.biased
        assert "certain" in found.summary()
        assert "no value of this table can lie outside them" in found.summary()
        assert "95 %" not in found.summary()
    assert means.flags == (("spread",),)
    assert np.isnan(means.conf_int(target="population")).all()
    assert (means.conf_int(level=0.5) == means.conf_int(level=0.99)).all()
    exact = release.query("SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release WHERE age <= 70")
    assert exact.exact
    assert exact.to_frame()["estimate"][0] == 0.5


def test_what_was_exchanged_beside_makes_nothing_certain(made, publish):
    axes = [made.recoded("town", TOWNS), made.retention("ill", ["no", "yes"], [([0, 1], "3/4")])]
    release = rrpolicy.open_release(publish(axes, {"town": ["A", "*"], "ill": ["no", "yes"]}))
    for sql in (
        "SELECT count(*) FILTER (WHERE ill = 'yes') / count(*) FROM release WHERE town = 'A'",
        "SELECT count(*) FILTER (WHERE town = 'A') / count(*) FROM release WHERE ill = 'yes'",
    ):
        with pytest.raises(PolicyError, match="RR288"):
            release.query(sql)
    assert np.isfinite(
        release.query(
            "SELECT town, count(*) FILTER (WHERE ill = 'yes') / count(*) AS s FROM release GROUP BY town"
        ).estimate
    ).any()


POLICY = """schema = 1
[policy]
name = "dealt"
version = "1.0.0"
owner = "o"
purpose = "a test"
[source]
uri = "people.csv"
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
score = { role = "sensitive", domain = [1, 2, 3, 7] }
hours = { role = "insensitive", nulls = "keep", assume_unlinkable = "told to the interviewer only, and hardly known to others" }
[[privacy]]
model = "l-diversity"
kind = "distinct"
l = 3
[mechanism]
name = "anatomy"
"""
DEALT = {
    "SELECT avg(hours) AS s FROM release WHERE score IN (1, 2)":
        mean(lambda sex, h, v: h, lambda sex, h, v: v in {1, 2}),
    "SELECT avg(hours) AS s FROM release WHERE score = 3 AND sex = 'f'":
        mean(lambda sex, h, v: h, lambda sex, h, v: v == 3 and sex == "f"),
    "SELECT sum(hours) AS s FROM release WHERE score = 7 AND sex = 'm'":
        total(lambda sex, h, v: h, lambda sex, h, v: v == 7 and sex == "m"),
    "SELECT avg(score) AS s FROM release WHERE sex = 'f'": mean(lambda sex, h, v: v, lambda sex, h, v: sex == "f"),
    "SELECT sum(score) AS s FROM release WHERE sex = 'm' AND hours > 0":
        total(lambda sex, h, v: v, lambda sex, h, v: sex == "m" and h is not None and h > 0),
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_means_and_totals_of_dealt_groups_are_bounded_by_every_matching(tmp_path, seed):
    rng = np.random.default_rng(seed)
    people = [("fm"[rng.integers(2)], rng.choice([None, -2.5, 0.0, 1.0, 4.0]), int(v)) for v in [1, 2, 3, 7, 1, 2, 3]]
    lines = [f"{sex},{score},{'' if h is None else h}" for sex, h, score in people]
    (tmp_path / "people.csv").write_text("\n".join(["sex,score,hours", *lines]) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out")
    public = tmp_path / "out" / "public"
    qit = duckdb.sql(f"SELECT group_id, sex, hours FROM '{public}/qit.parquet'").fetchall()
    st_ = duckdb.sql(f"SELECT group_id, score, count FROM '{public}/st.parquet'").fetchall()
    groups = sorted({g for g, *_ in qit})
    members = [[row[1:] for row in qit if row[0] == g] for g in groups]
    held = [[v for own, v, n in st_ if own == g for _ in range(n)] for g in groups]
    every = [
        [(*p, v) for g, m in zip(members, matching, strict=True) for p, v in zip(g, m, strict=True)]
        for matching in itertools.product(*(itertools.permutations(values) for values in held))
    ]
    assert len(every) > 6
    release = rrpolicy.open_release(public)
    for sql, truth in DEALT.items():
        values = [v for v in map(truth, every) if v is not None]
        frame = release.query(sql).to_frame()
        estimate, low, high = (float(frame[c][0]) for c in ("s", "s_low", "s_high"))
        if not values:
            assert math.isnan(estimate)
            continue
        assert (low, high) == pytest.approx((min(values), max(values))), sql
        assert low <= estimate <= high
        own = truth(people)
        assert own is None or low - 1e-12 <= own <= high + 1e-12


def test_by_dealt_values_every_row_has_its_own_bounds(tmp_path):
    people = [("f", 1.0, 1), ("m", 2.0, 2), ("f", 5.0, 3), ("m", 7.0, 1), ("f", 3.0, 2), ("m", 4.0, 7)]
    (tmp_path / "people.csv").write_text("sex,score,hours\n" + "".join(f"{s},{v},{h}\n" for s, h, v in people))
    (tmp_path / "policy.toml").write_text(POLICY)
    rrpolicy.release(tmp_path / "policy.toml", tmp_path / "out")
    release = rrpolicy.open_release(tmp_path / "out")
    both = release.mean("hours", ["sex", "score"])
    for key, (low, high) in zip(both.keys, both.conf_int().tolist(), strict=True):
        (one,) = release.mean("hours", where=f"sex = '{key['sex']}' AND score = {key['score']}").conf_int().tolist()
        assert (low, high) == pytest.approx(tuple(one), nan_ok=True)
    with pytest.raises(PolicyError, match="RR274"):
        release.mean("score", "score", "sex = 'f'")
