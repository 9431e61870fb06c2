"""Queries of released sets, coupled columns and generalised ones: what crosstab gives, or its refusal."""

from __future__ import annotations

import numpy as np
import pytest

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import open_release

DISEASES = ("cold", "flu", "gout", "none")


@pytest.fixture
def sets(publish, made):
    """Diseases in sets of two, beside a randomised column and two that were randomised together."""
    rng = np.random.default_rng(11)
    decoder = made.decoder(
        ["disease"], "addition", {"columns": ["disease"], "labels": [[d] for d in DISEASES], "set_size": 2}
    )
    disease = made.Axis(decoder, (made.column("disease", DISEASES, "set", "VARCHAR[]"),), [])
    sex = made.retention("sex", ("F", "M"), [((0, 1), "4/5")])
    cells = [("x", "1"), ("x", "2"), ("y", "1")]
    both = made.coupled(["a", "b"], cells, [["4/5", "1/10", "1/10"], ["1/10", "4/5", "1/10"], ["1/10", "1/10", "4/5"]])
    own = rng.integers(0, 4, 400)
    held = [sorted([v, (v + 1 + rng.integers(0, 3)) % 4]) for v in own]
    rows = {"disease": [[DISEASES[i] for i in s] for s in held]}
    rows |= made.draw(sex, rng.integers(0, 2, 400), rng) | made.draw(both, rng.integers(0, 3, 400), rng)
    return open_release(publish([disease, sex, both], rows))


@pytest.fixture
def spread(publish, made):
    age = made.recoded("age", {"20-29": ["20", "25"], "30": ["30"], "*": ["20", "25", "30"]}, unbiased=True)
    sex = made.identity("sex", ("F", "M"))
    return open_release(publish([age, sex], {"age": ["20-29", "30", "*", "20-29"] * 5, "sex": list("FFMM") * 5}))


def same(found, expected) -> bool:
    return np.allclose(np.ravel(found), np.ravel(expected), rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize(
    ("sql", "by", "where"),
    [
        ("SELECT disease, sex, count(*) FROM release GROUP BY ALL", ["disease", "sex"], None),
        ("SELECT sex, count(*) FROM release WHERE disease IN ('cold', 'flu') GROUP BY sex", ["sex"], "disease IN ('cold', 'flu')"),
        ("SELECT b, disease, count(*) FROM release WHERE a = 'x' GROUP BY ALL", ["b", "disease"], "a = 'x'"),
        ("SELECT a, b, count(*) FROM release GROUP BY a, b", ["a", "b"], None),
    ],
)  # fmt: skip
def test_counts_from_sets_and_coupled_columns(sets, sql, by, where, target):
    found, expected = sets.query(sql, target), sets.crosstab(by, where, target)

    assert list(found.keys) == list(expected.group_values())
    assert same(found.estimate, expected.estimate)
    assert same(found.se(), expected.se())


@pytest.mark.parametrize("target", ["table", "population"])
def test_shares_of_sets_have_the_errors_of_their_covariance(sets, target):
    found = sets.query("SELECT disease, share() AS s FROM release WHERE a = 'x' GROUP BY disease", target)
    table = sets.crosstab("disease", "a = 'x'", target)
    n = table.estimate.reshape(-1)
    R = n / n.sum()
    gradient = (np.eye(len(n)) - R[:, None]) / n.sum()

    assert same(found.estimate, R)
    variance = np.diag(gradient @ table.covariance() @ gradient.T)
    assert found.se().reshape(-1) == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_a_rate_of_sets_within_a_group(sets):
    found = sets.query(
        "SELECT sex, count(*) FILTER (WHERE disease = 'flu') / count(*) AS rate FROM release GROUP BY sex"
    )
    whole = sets.crosstab("sex")
    flu = sets.crosstab("sex", "disease = 'flu'")

    assert same(found.estimate, np.ravel(flu.estimate) / np.ravel(whole.estimate))


def test_cubes_of_coupled_columns(sets):
    found = sets.query("SELECT a, b, count(*) AS n FROM release GROUP BY CUBE (a, b)")
    cube = sets.cube(["a", "b"])

    for by in (["a", "b"], ["a"], ["b"], []):
        at = [i for i, key in enumerate(found.keys) if {c for c, v in key.items() if v is not None} == set(by)]
        assert same(found.estimate[at], cube.table(*by).estimate)


def test_generalised_columns_have_bounds_in_place_of_intervals(spread):
    for by in (["age"], ["sex", "age"], []):
        listed = ", ".join([*by, "count(*)"])
        found = spread.disaggregate().query(f"SELECT {listed} FROM release GROUP BY ALL")
        expected = spread.crosstab(by, spread=True)
        assert same(found.estimate, expected.estimate)
        assert same(found.se(), expected.se())
        assert same(found.conf_int(), expected.conf_int())
        assert same(found.conf_int(target="population"), expected.conf_int(target="population"))
    told = spread.query("SELECT sex, count(*) FROM release WHERE age = '20' GROUP BY sex").summary()
    assert "certain bounds" in told


def test_shares_of_released_labels_are_exact(spread):
    found = spread.query("SELECT age, share() AS s FROM release GROUP BY age")
    counts = spread.crosstab("age").estimate.reshape(-1)

    assert same(found.estimate, counts / counts.sum())
    assert (found.se() == 0).all()
    assert "exact" in found.summary()
    assert "intervals" not in found.summary()


@pytest.mark.parametrize("item", ["share()", "count(*) FILTER (WHERE sex = 'F') / count(*)"])
def test_shares_of_what_lies_inside_labels_have_bounds_that_are_certain(spread, item):
    found = spread.disaggregate().query(f"SELECT age, {item} AS s FROM release GROUP BY age")
    bounds = found.conf_int()[:, 0]

    assert found.biased
    assert ((bounds[:, 0] <= found.estimate[:, 0]) & (found.estimate[:, 0] <= bounds[:, 1])).all()
    assert "certain bounds" in found.summary()


def test_association_of_generalised_columns_is_described_where_that_is_asked_for(spread):
    third = 5 / 3
    table = np.array([[2.5, 2.5 + third], [2.5, 2.5 + third], [5.0, third]])  # 20, 25, 30 by F, M
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    with pytest.raises(PolicyError, match="RR288"):
        spread.disaggregate().association("age", "sex")

    found = spread.association("age", "sex", "chi2", spread=True)

    assert found["chi2"] == pytest.approx(((table - expected) ** 2 / expected).sum())
    assert found.biased
    assert "no interval and no bounds" in found.summary()
