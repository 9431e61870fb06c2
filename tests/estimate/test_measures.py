"""Measures: values of textbooks and of Adult, gradients against finite differences."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.association.association import find_measure
from rrpolicy.estimate.association.measures import MEASURES, mutual_information

TEA = np.array([[20.0, 10.0], [5.0, 65.0]])
"""n_00, n_01, n_10, n_11 of 100: p_11 = .65, p_1+ = .7, p_+1 = .75."""

BY_HAND = {
    "phi": (0.65 * 0.2 - 0.1 * 0.05) / math.sqrt(0.7 * 0.75 * 0.3 * 0.25),
    "odds_ratio": 65 * 20 / (5 * 10),
    "log_odds_ratio": math.log(26),
    "jaccard": 65 / (70 + 75 - 65),
    "kappa": (0.85 - (0.7 * 0.75 + 0.3 * 0.25)) / (1 - (0.7 * 0.75 + 0.3 * 0.25)),
    "cosine": 0.65 / math.sqrt(0.7 * 0.75),
    "interest": 0.65 / (0.7 * 0.75),
    "ps": 0.65 - 0.7 * 0.75,
    "conviction": 0.7 * 0.25 / 0.05,
    "certainty": (0.65 / 0.7 - 0.75) / 0.25,
    "added_value": 0.65 / 0.7 - 0.75,
    "laplace": 66 / 72,
    "j_measure": 0.65 * math.log(0.65 / (0.7 * 0.75)) + 0.05 * math.log(0.05 / (0.7 * 0.25)),
    "risk_difference": 20 / 25 - 10 / 75,
    "collective_strength": 0.85 / 0.6 * 0.4 / 0.15,
    "support": 0.65,
    "confidence": 65 / 70,
}


def small(name, x):
    """Return a 2 x 2 table for measures of one, x else."""
    return x[:2, :2] if MEASURES[name].shape == "2x2" else x


@pytest.mark.parametrize("name", BY_HAND)
def test_a_two_by_two_table_by_hand(name):
    assert MEASURES[name].of(TEA)[0] == pytest.approx(BY_HAND[name], rel=1e-12)


def test_larger_tables_against_scipy_and_by_hand():
    from scipy.stats import chi2_contingency

    # party identification by gender (Agresti 2002, table 3.11): X^2 = 7.01 and G^2 = 7.00 for 2 x 3
    party = np.array([[279.0, 73.0, 225.0], [165.0, 47.0, 191.0]])
    assert MEASURES["chi2"].of(party)[0] == pytest.approx(7.01, abs=0.005)
    assert MEASURES["g2"].of(party)[0] == pytest.approx(7.00, abs=0.005)
    assert MEASURES["chi2"].of(party)[0] == pytest.approx(chi2_contingency(party, correction=False)[0], rel=1e-12)
    p = party / party.sum()
    guess = 1 - (p.sum(axis=0) ** 2).sum()
    knowing = 1 - (p**2 / p.sum(axis=1, keepdims=True)).sum()
    assert MEASURES["tau"].of(party)[0] == pytest.approx((guess - knowing) / guess, rel=1e-12)
    H = -(p.sum(axis=1) * np.log(p.sum(axis=1))).sum()
    assert MEASURES["m"].of(party)[0] == pytest.approx(mutual_information(party)[0] / H, rel=1e-12)
    assert MEASURES["u"].of(party)[0] == pytest.approx(MEASURES["m"].of(party.T)[0], rel=1e-12)


@given(x=st.lists(st.integers(1, 400), min_size=12, max_size=12), rows=st.integers(2, 4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_cramers_v_is_scipys(x, rows):
    from scipy.stats.contingency import association

    table = np.array(x).reshape(rows if 12 % rows == 0 else 2, -1)
    assert MEASURES["cramers_v"].of(table.astype(float))[0] == pytest.approx(association(table), rel=1e-9, abs=1e-9)


def test_cramers_v_of_many_tables_at_once_and_in_shares():
    tables = np.random.default_rng(8).uniform(1, 90, (5, 3, 4))
    values, gradients = MEASURES["cramers_v"].of(tables)
    assert values.shape == (5,)
    assert gradients.shape == tables.shape
    for table, value in zip(tables, values, strict=True):
        assert MEASURES["cramers_v"].of(table / table.sum())[0] == pytest.approx(value, rel=1e-12)
    two = tables[:, :2, :2]
    assert MEASURES["cramers_v"].of(two)[0] == pytest.approx(np.abs(MEASURES["phi"].of(two)[0]), rel=1e-12)


@pytest.mark.parametrize("name", MEASURES)
@given(
    x=st.lists(st.floats(3, 300), min_size=12, max_size=12),
)
@settings(max_examples=15, deadline=None, derandomize=True)
def test_gradients_are_those_of_finite_differences(name, x):
    table = small(name, np.array(x).reshape(3, 4))
    value, gradient = MEASURES[name].of(table)
    assume(name != "cramers_v" or value > 0.01)  # at independence it has a tip
    for cell in np.ndindex(table.shape):
        h = 1e-4 * table[cell]
        up, down = table.copy(), table.copy()
        up[cell] += h
        down[cell] -= h
        slope = (MEASURES[name].of(up)[0] - MEASURES[name].of(down)[0]) / (2 * h)
        assert gradient[cell] == pytest.approx(slope, rel=2e-4, abs=2e-7 * max(1, np.abs(gradient).max()))


DIRECTED = {"risk_difference", "confidence", "conviction", "certainty", "added_value", "laplace", "j_measure"}
DIRECTED |= {"m", "u", "tau"}


@pytest.mark.parametrize("name", MEASURES)
def test_measures_keep_their_range_and_symmetry(name):
    rng = np.random.default_rng(5)
    measure = MEASURES[name]
    for _ in range(50):
        x = small(name, rng.uniform(1, 40, (4, 3)))
        value = measure.of(x)[0]
        assert measure.low - 1e-12 <= value <= measure.high + 1e-12
        if name not in DIRECTED:
            assert measure.of(x.T)[0] == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", sorted(set(MEASURES) - {"support", "confidence", "jaccard", "cosine", "laplace"}))
def test_at_independence_nothing_is_left(name):
    x = small(name, np.outer([30.0, 50.0, 20.0], [0.2, 0.5, 0.1, 0.2]))
    neutral = 1.0 if name in {"odds_ratio", "interest", "conviction", "collective_strength"} else 0.0
    assert MEASURES[name].of(x)[0] == pytest.approx(neutral, abs=1e-9)


def test_names_are_forgiving_and_unknown_ones_are_refused():
    assert find_measure("U").name == "u"
    assert find_measure("Odds-Ratio").name == "odds_ratio"
    assert find_measure("lift").name == "interest"
    assert {find_measure(v).name for v in ("V", "Cramer's V", "Cramér's V", "cramers-v")} == {"cramers_v"}
    with pytest.raises(PolicyError, match="RR273"):
        find_measure("gini")


@pytest.fixture(scope="module")
def adult(adult_csv):
    import pandas as pd

    return pd.read_csv(adult_csv, nrows=30_162)


def test_uncertainty_coefficients_of_adult(adult, vectors):
    import pandas as pd

    reference = vectors["uncertainty_coefficient_x100_adult"]
    for pair, value in reference["values"].items():
        row, column = pair.split("|")
        table = pd.crosstab(adult[row], adult[column]).to_numpy(dtype=float)
        assert 100 * MEASURES["u"].of(table)[0] == pytest.approx(value, abs=1e-9)
    short = dict(zip("ESGRO", ("education", "salary_class", "sex", "race", "occupation"), strict=True))
    for pair, value in reference["published"].items():
        row, column = (short[k] for k in pair.split("-"))
        row, column = (column, row) if pair == "G-R" else (row, column)
        table = pd.crosstab(adult[row], adult[column]).to_numpy(dtype=float)
        assert 100 * MEASURES["u"].of(table)[0] == pytest.approx(value, abs=0.0055)


def test_cramers_v_of_columns_released_as_they_are_is_scipys(publish, made):
    from scipy.stats.contingency import association

    from rrpolicy.estimate.opening import open_release

    rng = np.random.default_rng(12)
    a = rng.choice(3, 500)
    b = np.where(rng.random(500) < 0.3, a, rng.choice(4, 500))
    axes = [made.identity("a", "xyz"), made.identity("b", "stuv")]
    rows = {"a": [*map("xyz".__getitem__, a)], "b": [*map("stuv".__getitem__, b)]}
    found = open_release(publish(axes, rows)).association("a", "b", "V")

    assert found["v"] == pytest.approx(association(np.histogram2d(a, b, (3, 4))[0].astype(int)), rel=1e-12)
    assert found.exact
    assert found.conf_int()[0] == pytest.approx([found["v"]] * 2)
    low, high = found.conf_int(target="population")[0]
    assert low < found["v"] < high


def test_statistics_of_a_table_with_cells_below_0_are_those_of_the_likeliest_one(publish, made):
    """A margin of a half and a cell of 40 in it: phi^2 of the corrected table itself would be 11, and V over 3."""
    from rrpolicy.estimate.opening import open_release

    corrected = np.array([[200.0, 100, 40], [180, 110, -39.5]])
    P, Q = ((p - q) * np.eye(k) + q for k, p, q in ((2, 0.6, 0.4), (3, 0.6, 0.2)))
    released = np.rint(P @ corrected @ Q.T).astype(int)
    axes = [made.retention("a", "xy", [((0, 1), "3/5")]), made.retention("b", "uvw", [((0, 1, 2), "3/5")])]
    cells = [(a, b) for i, a in enumerate("xy") for j, b in enumerate("uvw") for _ in range(released[i, j])]
    release = open_release(publish(axes, {"a": [a for a, _ in cells], "b": [b for _, b in cells]}))
    found = release.association("a", "b", ["V", "chi2"])

    assert release.crosstab(["a", "b"]).estimate.min() < 0
    assert found.estimator == ("EM", "EM")
    assert np.isnan(found.se()).all()
    assert 0 <= found["v"] < 0.6
    assert found["chi2"] == pytest.approx(release.records * found["v"] ** 2)
    low, high = found.conf_int()[0]
    assert low <= found["v"] <= high <= 1


def test_a_release_gives_the_same_coefficients(publish, made, adult, vectors):
    columns = ["education", "salary_class", "sex", "race", "occupation"]
    domains = {c: sorted(adult[c].unique()) for c in columns}
    axes = [made.identity(c, domains[c]) for c in columns]
    from rrpolicy.estimate.opening import open_release

    release = open_release(publish(axes, {c: adult[c].tolist() for c in columns}))
    for row, column in combinations(columns, 2):
        found = release.association(row, column, "U")
        value = vectors["uncertainty_coefficient_x100_adult"]["values"][f"{row}|{column}"]
        assert 100 * found["u"] == pytest.approx(value, abs=1e-9)
        assert found.se("table")[0] == 0
        assert found.se("population")[0] > 0
