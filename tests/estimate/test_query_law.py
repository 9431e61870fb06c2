"""Random queries of conjunctions, groups and shares agree with crosstab, whatever columns they name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.release import Release

DOMAINS = {"a": ("x", "y", "z"), "b": ("0", "1"), "c": ("p", "q", "r"), "d": ("u", "v")}


@pytest.fixture
def release(publish, made):
    rng = np.random.default_rng(5)
    third = ["4/5", "1/10", "1/10"], ["1/10", "7/10", "1/5"], ["1/10", "1/5", "7/10"]
    axes = [
        made.retention("a", DOMAINS["a"], [((0, 1), "3/4"), ((2,), "1")]),
        made.retention("b", DOMAINS["b"], [((0, 1), "9/10")]),
        made.matrix("c", DOMAINS["c"], DOMAINS["c"], third),
        made.identity("d", DOMAINS["d"]),
    ]
    rows = {}
    for axis in axes:
        rows |= made.draw(axis, rng.integers(0, len(axis.P), 500), rng)
    return open_release(publish(axes, rows))


columns = st.lists(st.sampled_from(sorted(DOMAINS)), unique=True, max_size=3)
parts = st.sampled_from(sorted(DOMAINS)).flatmap(
    lambda c: st.tuples(
        st.just(c),
        st.booleans(),
        st.lists(st.sampled_from(DOMAINS[c]), unique=True, min_size=1, max_size=len(DOMAINS[c]) - 1),
    )
)
conditions = st.lists(parts, max_size=3, unique_by=lambda part: part[0])


def written(condition) -> str:
    inside = (f"{c} {'NOT ' if negated else ''}IN ({', '.join(map(repr, vs))})" for c, negated, vs in condition)
    return " AND ".join(inside)


def sql(items: str, by: list[str], where: str) -> str:
    shown = "".join(f"{c}, " for c in by)
    return f"SELECT {shown}{items} FROM release{f' WHERE {where}' if where else ''} GROUP BY ALL"


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    return np.allclose(found, expected.reshape(-1), rtol=1e-12, atol=1e-12)


def check(release: Release, by: list[str], condition, extra, target) -> None:
    where, more = written(condition), written(extra)
    both = " AND ".join(filter(None, (where, more)))
    filtered = f", count(*) FILTER (WHERE {more}) AS f, count(*) FILTER (WHERE {more}) / count(*) AS r" if more else ""
    found = release.query(sql(f"count(*) AS n, share() AS s{filtered}", by, where), target)
    whole = release.crosstab(by, where or None, target)
    n = whole.estimate.reshape(-1)

    assert list(found.keys) == list(whole.group_values())
    assert same(found.estimate[:, 0], whole.estimate)
    assert same(found.se()[:, 0], whole.se())
    total = release.crosstab((), where or None).estimate.item()
    R = n / total
    assert np.allclose(found.estimate[:, 1], R, rtol=1e-9, atol=1e-12)
    covariance = whole.covariance()
    gradient = (np.eye(len(n)) - R[:, None]) / total
    variance = np.einsum("ij,jk,ik->i", gradient, covariance, gradient)
    if (variance > 0).all():
        assert np.allclose(found.se()[:, 1] ** 2, variance, rtol=1e-6, atol=1e-12)
    if more:
        part = release.crosstab(by, both, target)
        counts = {tuple(k.values()): v for k, v in zip(part.group_values(), part.estimate.reshape(-1), strict=True)}
        expected = np.array([counts.get(tuple(key.values()), 0.0) for key in found.keys])
        assert same(found.estimate[:, 2], expected)
        assert np.allclose(found.estimate[n > 0, 3], expected[n > 0] / n[n > 0], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_random_conjunctive_queries_are_crosstabs(release):
    @settings(max_examples=25, deadline=None, derandomize=True)
    @given(columns, conditions, conditions, st.sampled_from(["table", "population"]))
    def agrees(by, condition, extra, target):
        check(release, by, condition, extra, target)

    agrees()
