"""Fieller's sets, and regions of tables: against closed forms, enumeration and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom, norm

from rrpolicy.channels.decoders import Block
from rrpolicy.estimate.association import measure_ranges
from rrpolicy.estimate.association.measure_ranges import distance_to_independence, range_over_region, score_region
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.association.two_way_table import products
from rrpolicy.estimate.results.intervals import FiellerRatios, count_ends
from rrpolicy.estimate.weights.base import MatrixWeights, RetentionWeights
from rrpolicy.estimate.weights.sets import SetWeights

Z = 1.959963984540054


def retention(name, keep, size=2):
    cells = tuple((str(k),) for k in range(size))
    return RetentionWeights((name,), cells, cells, (Block(tuple(range(size)), Fraction(keep)),))


def ratio(n, d, v, within=(-math.inf, math.inf)):
    """One ratio with a variance of n - r d of v0 - 2 r v1 + r^2 v2, the same for both targets."""
    quadratic = tuple(np.array([x]) for x in v)
    none = (np.zeros(1),) * 3
    return FiellerRatios.of(np.array([n]), np.array([d]), square=quadratic, own=none, sampled=quadratic, within=within)


def test_a_share_that_nothing_is_randomised_in_has_wilsons_interval_with_continuity_correction():
    """Newcombe 1998, method 4, in his closed form."""
    N, d = 10**9, 30.0

    for part in (0.0, 3.0, 15.0, 30.0):
        sums = (np.array([part]), np.array([part]), np.array([d]))
        found = FiellerRatios.shares(np.array([part]), np.array([d]), sums, N)
        share = part / d
        root = [Z * math.sqrt(Z**2 + s * 2 - 1 / d + 4 * share * (d * (1 - share) - s)) for s in (-1, 1)]
        low, high = (
            (2 * d * share + Z**2 + s * (1 + r)) / (2 * (d + Z**2)) for s, r in zip((-1, 1), root, strict=True)
        )
        expected = [0.0 if part == 0 else low, 1.0 if part == d else high]
        assert found.ends(0.95, "population")[0] == pytest.approx(expected, abs=1e-7)
        assert found.ends(0.95, "table")[0] == pytest.approx([share, share])


def test_fiellers_set_is_an_interval_unbounded_or_a_complement():
    assert ratio(20, 10, (4, 0, 1)).ends(0.95, "table")[0] == pytest.approx(
        [(200 - math.sqrt(200**2 - (100 - Z**2) * (400 - 4 * Z**2))) / (100 - Z**2),
         (200 + math.sqrt(200**2 - (100 - Z**2) * (400 - 4 * Z**2))) / (100 - Z**2)]
    )  # fmt: skip
    # the denominator cannot be told from 0: everything, or everything outside of an interval around other values
    assert ratio(1, 1, (4, 0, 1)).ends(0.95, "table")[0].tolist() == [-math.inf, math.inf]
    assert ratio(20, 1, (4, 0, 1)).ends(0.95, "table")[0].tolist() == [-math.inf, math.inf]
    low, high = ratio(20, 1, (4, 0, 1), (0, 1000)).ends(0.95, "table")[0]
    assert 5 < low < 20
    assert high == 1000
    assert ratio(5, -3, (1, 0, 1), (0, 1)).ends(0.95, "table")[0].tolist() == [0, 1]
    assert np.isnan(ratio(5, -3, (1, 0, 1), (0, 1)).estimate[0])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    n=st.floats(-50, 250), d=st.floats(1, 300), spread=st.floats(0.1, 50), tilt=st.floats(-0.9, 0.9),
    other=st.floats(0.1, 50),
)  # fmt: skip
def test_a_set_is_what_the_test_does_not_reject(n, d, spread, tilt, other):
    variances = (spread**2, tilt * spread * other, other**2)
    found = ratio(n, d, variances, (0.0, 1.0))
    low, high = found.ends(0.95, "table")[0]

    assert 0 <= low <= high <= 1
    grid = np.linspace(0, 1, 401)
    distance = (n - grid * d) ** 2 / (variances[0] - 2 * grid * variances[1] + grid**2 * variances[2])
    kept = grid[distance <= Z**2 + (0 if 0 <= n / d <= 1 else min(distance[0], distance[-1])) * (1 - 1e-9)]
    assert len(kept) == 0 or (low <= kept[0] + 1e-9 and kept[-1] <= high + 1e-9)
    assert low - 1e-9 <= min(max(n / d, 0), 1) <= high + 1e-9


def test_products_are_those_of_enumeration():
    sets = SetWeights(("s",), tuple((k,) for k in "abcde"), tuple((k,) for k in "abcde"), 3)
    coins = MatrixWeights(
        ("m",), (("u",), ("v",), ("w",)), (("x",), ("y",)),
        ((Fraction(7, 10), Fraction(1, 10)), (Fraction(1, 5), Fraction(1, 5)), (Fraction(1, 10), Fraction(7, 10))),
    )  # fmt: skip
    targets = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 1]], dtype=bool)
    found = products([(coins, None), (sets, targets)])

    table, P = coins.table, np.array([[float(v) for v in row] for row in coins.rows])
    for v, g in product(range(2), range(2)):
        expected, members = np.zeros((4, 4)), np.flatnonzero(targets[:, g])
        for own in members:
            others = [k for k in range(5) if k != own]
            chosen = list(combinations(others, 2))
            for pair in chosen:
                held = np.isin(np.arange(5), [own, *pair])
                weight = np.where(held, sets.held, sets.not_held) @ targets
                for u in range(3):
                    w = np.kron(table[u], weight)
                    expected += P[u, v] * np.outer(w, w) / len(chosen) / len(members)
        np.testing.assert_allclose(found[2 * v + g], expected, atol=1e-12)


def region_of(y, keeps, population, *, where=None, size=2, shape=None):
    shape = shape or (size, size)
    axes = [(retention(c, k, n), None) for c, k, n in zip("ab", keeps, shape, strict=True)]
    W = np.kron(axes[0][0].table, axes[1][0].table)
    x = W.T @ y
    return score_region(
        x.reshape(shape), products(axes), W.T @ np.diag(y) @ W, known=np.zeros(shape, dtype=bool),
        records=float(y.sum() if where is None else where), everybody=where is None, population=population,
    )  # fmt: skip


def test_the_distance_is_pearsons_statistic_of_the_released_counts():
    y = np.array([210.0, 80, 60, 50])
    region = region_of(y, ("4/5", "9/10"), population=True)
    P = np.kron([[0.8, 0.2], [0.2, 0.8]], [[0.9, 0.1], [0.1, 0.9]])
    for x in ([100.0, 100, 100, 100], [250, 50, 60, 40], [390, 4, 4, 2]):
        expected = P @ np.array(x)
        assert region.distance(np.array([x]))[0] == pytest.approx(((y - expected) ** 2 / expected).sum())


def test_the_error_at_a_table_is_that_of_all_its_releases():
    """Two records with known originals, all releases, in fractions' stead by doubles."""
    keeps = ("4/5", "3/5")
    axes = [retention(c, k) for c, k in zip("ab", keeps, strict=True)]
    W = np.kron(axes[0].table, axes[1].table)
    P = np.kron([[0.8, 0.2], [0.2, 0.8]], [[0.6, 0.4], [0.4, 0.6]])
    original = (0, 3)
    covariance = np.zeros((4, 4))
    for released in product(range(4), repeat=2):
        chance = math.prod(P[u, v] for u, v in zip(released, original, strict=True))
        error = sum(W[u] for u in released) - np.bincount(original, minlength=4)
        covariance += chance * np.outer(error, error)
    region = region_of(np.array([1.0, 0, 0, 1]), keeps, population=False)

    np.testing.assert_allclose(np.tensordot(np.bincount(original, minlength=4), region.parts, axes=1), covariance)


@pytest.mark.parametrize("population", [True, False])
@pytest.mark.parametrize("counts", [(300, 40, 35, 25), (180, 70, 70, 80), (230, 60, 62, 48), (150, 50, 50, 150)])
def test_ends_are_those_of_brute_force(counts, population):
    region = region_of(np.array(counts, dtype=float), ("9/10", "3/4"), population)
    measures = list(MEASURES.values())
    ends = range_over_region(region, measures, 0.95)

    rng = np.random.default_rng(1)
    start = region.nearest[0]
    moves = region.moves(start)
    points = start + 1.2 * rng.standard_normal((100_000, moves.shape[1])) @ moves.T
    points = points[(points >= 0).all(axis=1)]
    inside = points[region.distance(points) - region.nearest[1] <= Z**2]
    assert len(inside) > 200
    with np.errstate(all="ignore"):
        for (low, high), measure in zip(ends, measures, strict=True):
            values = measure.of(inside.reshape(-1, 2, 2))[0]
            if not math.isfinite(high - low):
                continue
            # random points stay inside of the region
            assert values.min() >= low - 0.01 * (high - low), measure.name
            assert values.max() <= high + 0.01 * (high - low), measure.name
            if math.isfinite(measure.high):
                assert values.max() >= high - 0.25 * (high - low), measure.name
                assert values.min() <= low + 0.25 * (high - low), measure.name


def test_ends_are_not_left_while_they_still_rise(monkeypatch):
    """Five rounds left the largest value of a measure 2 % of its interval too low."""
    y = [161, 179, 271, 104, 141, 170, 121, 178, 186, 124, 177, 201, 135, 164, 248, 113, 139, 189]
    region = region_of(np.array(y, dtype=float), ("7/20", "11/20"), population=True, shape=(6, 3))
    measures = [measure for measure in MEASURES.values() if measure.shape == "rxc"]
    ends = range_over_region(region, measures, 0.95)
    monkeypatch.setattr(measure_ranges, "_ROUNDS", 400)
    monkeypatch.setattr(measure_ranges, "_GAIN", 1e-7)
    highest = range_over_region(region, measures, 0.95)
    length = highest[:, 1] - highest[:, 0]
    finite = np.isfinite(length)
    assert finite.sum() >= 5
    assert (np.abs(ends - highest)[finite] <= 0.01 * length[finite, None]).all()


FAR = [
    # corrected counts of a cell are far below 0, up to five times as far as there are records
    ((300, 40, 35, 25), ("9/10", "3/4")),
    ((350, 10, 10, 30), ("9/10", "9/10")),
    ((350, 10, 10, 30), ("3/5", "3/5")),
    ((20, 10, 6, 4), ("3/4", "3/4")),
    ((160, 20, 10, 15, 40, 20, 10, 25, 100), ("9/10", "3/4")),
    ((220, 10, 5, 10, 30, 10, 5, 10, 100), ("3/4", "3/4")),
]


def greatest(region, of, starts):
    """Return the greatest value of a function over a region that sequential quadratic programming comes upon.

    `of` takes (1, rows, columns) counts, and returns values and gradients.
    """
    N, limit, shape = region.records, region.nearest[1] + Z**2, (1, *region.shape)

    def inside(x):
        return limit - region.distance(np.maximum(N * x, 0)[None])[0]

    def less(x):
        with np.errstate(all="ignore"):
            value, gradient = of((N * np.maximum(x, 1e-9)).reshape(shape))
        return -value[0], -N * gradient.reshape(-1)

    constraints = [
        {"type": "ineq", "fun": inside, "jac": lambda x: -N * region.sloping(np.maximum(N * x, 0)[None])[1][0]},
        {"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
    ]
    found = [
        minimize(less, x / N, jac=True, method="SLSQP", bounds=[(0, 1)] * len(x), constraints=constraints)
        for x in starts
    ]
    proper = [-f.fun for f in found if inside(f.x) >= -1e-3 * limit and abs(f.x.sum() - 1) < 1e-6]
    return max(proper, default=-math.inf)


@pytest.mark.parametrize("population", [True, False])
@pytest.mark.parametrize(("counts", "keeps"), FAR)
def test_no_other_method_of_search_goes_beyond_the_ends(counts, keeps, population):
    size = math.isqrt(len(counts))
    region = region_of(np.array(counts, dtype=float), keeps, population, size=size)
    measures = [m for m in MEASURES.values() if size == 2 or m.shape == "rxc"]
    ends = range_over_region(region, measures, 0.95)
    starts = [region.nearest[0], region.records * np.random.default_rng(3).dirichlet(np.ones(len(counts)))]
    compared = 0
    for (low, high), measure in zip(ends, measures, strict=True):
        if not math.isfinite(high - low):
            continue
        length = high - low
        most = greatest(region, lambda x, m=measure, c=length: tuple(v / c for v in m.of(x)), starts)
        assert most <= high / length + 0.03, measure.name
        compared += most >= high / length - 0.03
        # the lower end of a measure of dependence is that of another law
        if not measure.kind.dependence:
            least = -greatest(region, lambda x, m=measure, c=length: tuple(-v / c for v in m.of(x)), starts)
            assert least >= low / length - 0.03, measure.name
            compared += least <= low / length + 0.03
    # and it does come as far
    assert compared >= len(measures) / 2


def test_where_everything_is_known_an_interval_is_a_point_and_a_rest_widens_it():
    y = np.array([210.0, 80, 60, 50])
    exact = range_over_region(region_of(y, ("1", "1"), population=False), [MEASURES["phi"]], 0.95)
    assert exact[0, 0] == exact[0, 1] == pytest.approx(float(MEASURES["phi"].of(y.reshape(2, 2))[0]))
    alone, beside = (
        range_over_region(region_of(y, ("9/10", "9/10"), population=True, where=N), [MEASURES["support"]], 0.95)[0]
        for N in (None, 4000)
    )
    assert (beside[1] - beside[0]) == pytest.approx(alone[1] - alone[0], rel=0.1)


def test_the_distance_from_independence_is_its_own_minimum():
    region = region_of(np.array([150.0, 50, 50, 150]), ("9/10", "9/10"), population=True)
    found, freedom = distance_to_independence(region)
    r, c = np.meshgrid(np.linspace(0.2, 0.8, 241), np.linspace(0.2, 0.8, 241))
    tables = np.stack([(1 - r) * (1 - c), (1 - r) * c, r * (1 - c), r * c], axis=-1).reshape(-1, 4) * 400

    assert freedom == 1
    assert found == pytest.approx(region.distance(tables).min(), rel=0.02)
    assert found <= region.distance(tables).min() * (1 + 1e-6)


COUNTS = (0, 1, 2, 3, 5, 8, 12, 20, 30, 100)
KEPT = ((5, 0.999), (5, 0.97), (5, 0.9), (5, 0.6), (2, 0.9), (2, 0.55), (8, 0.99), (8, 0.5))


def drawn(N, d, keep, n=None, share=None):
    """Return T and its randomisation variance for every number X of released records of a cell, and the law of X.

    Of this table with n records in the cell X is the sum of two binomials; of a sample, one binomial.
    """
    other = (1 - keep) / (d - 1)
    if n is None:
        law = binom.pmf(np.arange(N + 1), N, share * keep + (1 - share) * other)
    else:
        law = np.convolve(binom.pmf(np.arange(n + 1), n, keep), binom.pmf(np.arange(N - n + 1), N - n, other))
    X, inside, outside = np.arange(N + 1), (1 - other) / (keep - other), -other / (keep - other)
    T = X * inside + (N - X) * outside
    return T, X * (inside**2 - inside) + (N - X) * (outside**2 - outside), law


def held(ends, law, truth):
    return float(law[(ends[:, 0] <= truth + 1e-9) & (truth <= ends[:, 1] + 1e-9)].sum())


@pytest.mark.parametrize("N", [100, 400, 3000])
@pytest.mark.parametrize(("d", "keep"), KEPT)
def test_intervals_of_rare_counts_hold_over_all_draws(N, d, keep):
    """The share of draws whose interval holds, computed from the law of the released count: nothing is simulated."""
    for n in (n for n in COUNTS if n < N):
        T, noise, law = drawn(N, d, keep, n=n)
        assert held(count_ends(T, noise, Z, N, sampled=False), law, n) >= 0.93
    for n in (0.0, 0.2, 0.5, 1.0, 1.5, *COUNTS[2:-1]):
        T, noise, law = drawn(N, d, keep, share=n / N)
        assert held(count_ends(T, noise, Z, N, sampled=True), law, n) >= 0.93


def test_normal_intervals_of_rare_counts_do_not_hold_and_a_flag_by_the_draw_makes_it_worse():
    """What the intervals are held against: of half a person expected, those released five times or more."""
    T, noise, law = drawn(300, 5, 0.999, share=0.5 / 300)
    half = Z * np.sqrt(np.maximum((noise + T - T**2 / 300) * 300 / 299, 0))
    ends = np.clip(np.stack([T - half, T + half], axis=1), 0, 300)

    many = np.arange(301) >= 5

    assert held(ends, law, 0.5) < 0.6
    assert held(ends[many], law[many] / law[many].sum(), 0.5) < 0.1


def test_a_count_that_is_not_random_has_its_own_value_as_interval():
    assert count_ends(np.array([0.0, 7.0, 20.0]), np.zeros(3), Z, 20, sampled=False).tolist() == [
        [0, 0],
        [7, 7],
        [20, 20],
    ]


@given(
    st.floats(-50, 250),
    st.floats(0, 1e4),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
    st.integers(1, 200),
    st.booleans(),
)
def test_intervals_of_counts_are_in_order_and_hold_what_is_possible_of_the_estimate(T, noise, level, N, sampled):
    T = min(max(T, -N), 2 * N)
    (low, high) = count_ends(np.array([T]), np.array([noise]), norm.ppf((1 + level) / 2), N, sampled=sampled)[0]
    wider = count_ends(np.array([T]), np.array([noise + 1]), norm.ppf((1 + level) / 2), N, sampled=sampled)[0]

    assert 0 <= low <= high <= N
    assert low - 1e-6 <= min(max(T, 0), N) <= high + 1e-6
    if 0 <= T <= N:
        assert wider[0] <= low + 1e-6
        assert high - 1e-6 <= wider[1]
