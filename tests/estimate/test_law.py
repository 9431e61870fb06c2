"""The estimator's law over all releases of a three-record table, and its coverage: what catches a transposed matrix."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from rrpolicy.estimate import release as release_module
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.weights.base import minimum_variance

DESIGNS = {
    "retention": [("r", 2, [((0, 1), "3/4")]), ("r", 3, [((0, 1, 2), "3/5")])],
    "blocks": [("r", 2, [((0, 1), "9/10")]), ("r", 3, [((0, 2), "2/3"), ((1,), "1")])],
    "asymmetric": [
        ("r", 2, [((0, 1), "3/4")]),
        ("m", [["4/5", "1/10", "1/20"], ["1/10", "7/10", "1/4"], ["1/10", "1/5", "7/10"]]),
    ],
    "rectangular": [("m", [["1/2", "1/5"], ["2/5", "1/5"], ["1/10", "3/5"]]), ("r", 2, [((0, 1), "4/5")])],
}
RECORDS = [(0, 0), (0, 1), (1, 1)]


def axes_of(made, design):
    axes = []
    for i, (kind, *rest) in enumerate(DESIGNS[design]):
        if kind == "r":
            axes.append(made.retention(f"a{i}", [f"c{v}" for v in range(rest[0])], rest[1]))
        else:
            rows = rest[0]
            axes.append(
                made.matrix(f"a{i}", [f"u{u}" for u in range(len(rows))], [f"c{v}" for v in range(len(rows[0]))], rows)
            )
    return axes


def all_releases(axes):
    """Yield each release of the three records (released cells) with its exact probability."""
    cells = [list(range(len(a.P))) for a in axes]
    for released in product(product(*cells), repeat=len(RECORDS)):
        chance = prod(
            (axes[j].P[u[j]][v[j]] for u, v in zip(released, RECORDS, strict=True) for j in range(len(axes))),
            start=Fraction(1),
        )
        if chance:
            yield released, chance


@pytest.mark.parametrize("design", DESIGNS)
def test_in_fractions_the_estimator_is_unbiased_and_so_is_its_variance(made, design):
    axes = axes_of(made, design)
    weights = []
    for axis in axes:
        V = len(axis.P[0])
        w, solved = minimum_variance(axis.P, [[Fraction(int(u == v)) for v in range(V)] for u in range(V)])
        assert all(solved)
        weights.append(w)
    for cell in product(*(range(len(w[0])) for w in weights)):
        truth = sum(v == cell for v in RECORDS)
        mean = square = mean_of_variance = Fraction(0)
        for released, chance in all_releases(axes):
            w = [prod((weights[j][u[j]][cell[j]] for j in range(len(axes))), start=Fraction(1)) for u in released]
            mean += chance * sum(w)
            square += chance * sum(w) ** 2
            mean_of_variance += chance * (sum(v * v for v in w) - sum(w))

        assert mean == truth
        assert mean_of_variance == square - mean**2


@pytest.mark.parametrize("design", DESIGNS)
def test_a_release_in_hand_follows_that_law(publish, made, design, monkeypatch):
    axes = axes_of(made, design)
    first = [made.labels(a, [0] * len(RECORDS)) for a in axes]
    opened = open_release(publish(axes, {k: v for part in first for k, v in part.items()}))
    seen = {}
    monkeypatch.setattr(release_module, "count", lambda *_: (seen["codes"], np.ones(len(RECORDS), dtype=np.int64)))
    shape = tuple(len(a.P[0]) for a in axes)
    mean, square, covariance = np.zeros(shape), np.zeros((prod(shape),) * 2), np.zeros((prod(shape),) * 2)
    for released, chance in all_releases(axes):
        seen["codes"] = [np.array(c) for c in zip(*released, strict=True)]
        table = opened.crosstab([c["name"] for a in axes for c in a.columns])
        flat = table.estimate.reshape(-1)
        mean += float(chance) * table.estimate
        square += float(chance) * np.outer(flat, flat)
        covariance += float(chance) * table.covariance("table")
        np.testing.assert_allclose(table.covariance("population").sum(axis=0), 0, atol=1e-9)
        negative = table.variance("table")[1].reshape(-1)
        here = np.diag(table.covariance("table"))[~negative]
        np.testing.assert_allclose(table.variance("table")[0].reshape(-1)[~negative], here, atol=1e-9)

    truth = np.zeros(shape)
    np.add.at(truth, tuple(np.array(RECORDS).T), 1)
    np.testing.assert_allclose(mean, truth, atol=1e-11)
    np.testing.assert_allclose(covariance, square - np.outer(mean, mean), atol=1e-10)


def test_warner_of_two_attributes(publish, made, vectors):
    vector = vectors["warner_2x2"]
    # the published proportions add up to 0.999: counts in their ratio, scaled to N, give the published figures
    shares = np.array(vector["lambda"])
    axes = [made.retention(n, ["0", "1"], [((0, 1), str(p))]) for n, p in zip("ab", ["9/10", "9/10"], strict=True)]
    counts = np.round(shares * 1000).astype(int)
    data = {
        "a": [a for (a, _), n in zip(product("01", "01"), counts, strict=True) for _ in range(n)],
        "b": [b for (_, b), n in zip(product("01", "01"), counts, strict=True) for _ in range(n)],
    }
    table = open_release(publish(axes, data)).crosstab(["a", "b"])
    n, N = int(counts.sum()), vector["N"]

    pi = table.estimate.reshape(-1) / n
    covariance = table.covariance("population") / n**2 * (n - 1) / (N - 1)

    W = np.kron(np.linalg.inv(axes[0].array), np.linalg.inv(axes[1].array))
    released = counts / n
    np.testing.assert_allclose(pi, W @ released, atol=1e-12)
    expected = (W @ np.diag(released) @ W.T - np.outer(pi, pi)) / (N - 1)
    np.testing.assert_allclose(covariance, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(pi, vector["pi_hat_published"], rtol=0, atol=1.5e-3)
    np.testing.assert_allclose(
        np.diag(covariance), np.array(vector["cov_diag_published_1e5"]) * 1e-5, rtol=0, atol=2e-7
    )
    half = 1.959963984540054 * np.sqrt(covariance[3, 3])
    np.testing.assert_allclose([pi[3] - half, pi[3] + half], vector["support_interval_95_published"], atol=1.5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["table", "population"])
def test_intervals_cover_their_target(publish, made, target, monkeypatch):
    """At 95 %, over 3,000 draws; the bound on each cell's miscount has a false-alarm rate below 1e-6."""
    rng = np.random.default_rng(20_240_601)
    axes = [
        made.matrix("d", "xyz", "xyz", [["4/5", "1/10", "1/20"], ["1/10", "7/10", "1/4"], ["1/10", "1/5", "7/10"]]),
        made.retention("s", "abcd", [((0, 1), "3/4"), ((2, 3), "4/5")]),
    ]
    n, draws = 1500, 3000
    pi = rng.dirichlet(np.full(12, 4.0))
    counts = rng.multinomial(n, pi)
    P = np.kron(axes[0].array, axes[1].array)
    start = {k: v for a in axes for k, v in made.labels(a, [0] * n).items()}
    opened = open_release(publish(axes, start))
    cells = [np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)]
    seen = {}
    monkeypatch.setattr(release_module, "count", lambda *_: (cells, seen["n"]))
    covered, truth = np.zeros(12), counts if target == "table" else n * pi
    for _ in range(draws):
        original = counts if target == "table" else rng.multinomial(n, pi)
        seen["n"] = sum(rng.multinomial(k, P[:, v]) for v, k in enumerate(original))
        ends = opened.crosstab(["d", "s"], target=target).conf_int()
        covered += (ends[:, 0] <= truth) & (truth <= ends[:, 1])

    # 5.4 standard errors of a binomial share, and 0.6 % for the normal approximation
    assert np.abs(covered / draws - 0.95).max() <= 5.4 * np.sqrt(0.95 * 0.05 / draws) + 0.006
    assert abs(covered.mean() / draws - 0.95) <= 0.01


def test_the_wrong_target_loses_coverage(publish, made, monkeypatch):
    """The two variances must not be mixed: the table's interval misses the population far more often."""
    rng = np.random.default_rng(7)
    axis = made.retention("s", "ab", [((0, 1), "95/100")])
    n, pi = 2000, np.array([0.4, 0.6])
    opened = open_release(publish([axis], {"s": ["a"] * n}))
    seen = {}
    monkeypatch.setattr(release_module, "count", lambda *_: ([np.arange(2)], seen["n"]))
    covered = {"table": 0, "population": 0}
    for _ in range(600):
        seen["n"] = rng.multinomial(n, axis.array @ pi)
        table = opened.crosstab("s")
        for target in covered:
            low, high = table.conf_int(target=target)[0]
            covered[target] += low <= n * pi[0] <= high

    assert covered["population"] / 600 > 0.9
    assert covered["table"] / 600 < 0.75
