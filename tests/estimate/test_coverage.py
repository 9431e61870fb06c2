"""Intervals cover the target they name, at 90, 95 and 99 %: simulated releases, fixed seeds.

Each bound allows 5.4 standard errors of a binomial share (false alarm below 1e-6 over all comparisons) and a little for
what the normal approximation itself misses at these sizes.
"""

from __future__ import annotations

from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.estimate import release as release_module
from rrpolicy.estimate.association.association import find_measure
from rrpolicy.estimate.association.measures import MEASURES
from rrpolicy.estimate.counts import scan as scan_module
from rrpolicy.estimate.counts.predicate import parse_condition
from rrpolicy.estimate.counts.scan import Sums
from rrpolicy.estimate.invert import simplex as simplex_module
from rrpolicy.estimate.opening import open_release
from rrpolicy.estimate.rules import transactions as transactions_module
from rrpolicy.estimate.sums import numeric_sums as numbers_module
from rrpolicy.estimate.sums import shares as shares_module
from rrpolicy.estimate.sums import uniform_within_sums as spread_module
from rrpolicy.estimate.sums.shares import shares

pytestmark = pytest.mark.slow

LEVELS = (0.9, 0.95, 0.99)
SOUND = ("phi", "risk_difference", "kappa", "jaccard", "cosine", "interest", "confidence", "added_value", "u", "tau")
SOUND += ("odds_ratio", "log_odds_ratio", "certainty", "j_measure", "chi2", "g2", "laplace", "collective_strength")
PI = np.array([[0.36, 0.12], [0.14, 0.38]])


def designs(made):
    return {
        "retention": [made.retention("a", "xy", [((0, 1), "9/10")]), made.retention("b", "uv", [((0, 1), "4/5")])],
        "blocks": [
            made.retention("a", "xyzw", [((0, 1), "3/4"), ((2, 3), "9/10")]),
            made.retention("b", "uvt", [((0, 2), "4/5"), ((1,), "1")]),
        ],
        "matrices": [
            made.matrix("a", "xy", "xy", [["9/10", "1/4"], ["1/10", "3/4"]]),
            made.matrix("b", "rst", "uv", [["7/10", "1/10"], ["1/5", "1/5"], ["1/10", "7/10"]]),
        ],
    }


class Drawing:
    """Draws releases of a two-way table without writing files."""

    def __init__(self, made, publish, monkeypatch, axes, *, pi, records, seed, name="bundle"):
        self.axes, self.pi, self.records = axes, pi, records
        self.rng = np.random.default_rng(seed)
        rows = {k: v for a in axes for k, v in made.labels(a, [0] * records).items()}
        rows["y"] = [0.0] * records
        self.release = open_release(publish(axes, rows, carried=[made.column("y", (), "carried", "DOUBLE")], name=name))
        self.P = np.kron(axes[0].array, axes[1].array)
        self.counts = self.rng.multinomial(records, pi.reshape(-1))
        U, V = (len(a.P) for a in axes)
        self.cells = [np.repeat(np.arange(U), V), np.tile(np.arange(V), U)]
        self.labels = pa.table(
            {k: v for a, c in zip(axes, self.cells, strict=True) for k, v in made.labels(a, c).items()}
        )
        self.n = np.zeros(U * V, dtype=np.int64)
        for module in (release_module, shares_module, spread_module, scan_module, simplex_module):
            monkeypatch.setattr(module, "count", self._count)
        monkeypatch.setattr(transactions_module, "iterate_batches", self._each)

    def _count(self, _data, axes, condition="", parameters=()):
        names = [a.columns[0]["name"] for a in self.axes]
        kept = self._kept(condition, tuple(parameters))
        return [self.cells[names.index(axis.columns[0])][kept] for axis in axes], self.n[kept]

    def _each(self, data, axes, condition="", parameters=()):
        codes, n = self._count(data, axes, condition, parameters)
        yield [np.repeat(code, n) for code in codes], int(n.sum())

    @cache  # noqa: B019 - it lives as long as its test
    def _kept(self, condition, parameters):
        """Return the cells that a filter over columns released as they are keeps, by the engine that reads files."""
        with duckdb.connect() as connection:
            connection.register("cells", self.labels.append_column("cell", pa.array(range(len(self.n)))))
            query = f"SELECT cell FROM cells WHERE {condition or 'true'} ORDER BY cell"
            return connection.execute(query, list(parameters)).fetchnumpy()["cell"]

    def draw(self, target):
        original = self.counts if target == "table" else self.rng.multinomial(self.records, self.pi.reshape(-1))
        self.n = sum(self.rng.multinomial(k, self.P[:, v]) for v, k in enumerate(original))

    def truth(self, target):
        x = self.counts if target == "table" else self.pi.reshape(-1) * self.records
        return x.reshape(self.pi.shape).astype(float)


def tolerance(level, draws, slack):
    return 5.4 * np.sqrt(level * (1 - level) / draws) + slack


def confidences(found, then):
    """Return the confidences of rules, and the places of those with a column that follows, in the order of a table."""
    possible = found.possible
    rows = [i for i, item in enumerate(possible.then) if possible.names[item][0] == then]
    return possible.confidences, np.array(sorted(rows, key=lambda i: tuple(possible.members[i])))


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("design", ["retention", "blocks", "matrices"])
def test_counts_shares_and_two_way_tables(made, publish, monkeypatch, design, target):
    axes = designs(made)[design]
    shape = tuple(len(a.P[0]) for a in axes)
    pi = np.random.default_rng(4).dirichlet(np.full(np.prod(shape), 6.0)).reshape(shape)
    drawing = Drawing(made, publish, monkeypatch, axes, pi=pi, records=2000, seed=31)
    draws = 1200
    cells, margin = (np.zeros((3, k)) for k in (pi.size, shape[0]))
    share, fieller = np.zeros((2, 3, shape[1]))
    truth = drawing.truth(target)
    for _ in range(draws):
        drawing.draw(target)
        cube = drawing.release.cube(["a", "b"], target=target)
        found = drawing.release.rules(1e-9, 1e-9, ["a", "b"], target=target)
        ratios, chosen = confidences(found, "b")
        share_of_b, share_se = ratios.estimate[chosen].reshape(shape), ratios.errors()[target][chosen].reshape(shape)
        for i, level in enumerate(LEVELS):
            for hits, table, true in ((cells, cube.tables[3], truth), (margin, cube.tables[1], truth.sum(axis=1))):
                ends = table.conf_int(level)
                hits[i] += (ends[:, 0] <= true.reshape(-1)) & (true.reshape(-1) <= ends[:, 1])
            # the shares of b among those with the first category of a
            z = {0.9: 1.6449, 0.95: 1.96, 0.99: 2.5758}[level]
            true_share = truth / truth.sum(axis=1, keepdims=True)
            share[i] += (np.abs(share_of_b - true_share) <= z * share_se)[0]
            low, high = np.moveaxis(ratios.ends(level, target)[chosen].reshape(*shape, 2), -1, 0)
            fieller[i] += ((low <= true_share) & (true_share <= high))[0]

    for i, level in enumerate(LEVELS):
        for hits in (cells, margin, share, fieller):
            assert np.abs(hits[i] / draws - level).max() <= tolerance(level, draws, 0.008)


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("design", ["retention", "matrices"])
def test_common_measures(made, publish, monkeypatch, design, target):
    drawing = Drawing(made, publish, monkeypatch, designs(made)[design], pi=PI, records=6000, seed=77)
    draws = 450
    truth = [find_measure(m).of(drawing.truth(target))[0] for m in SOUND]
    normal, chebyshev, flagged = np.zeros((3, len(SOUND))), np.zeros((3, len(SOUND))), 0
    for _ in range(draws):
        drawing.draw(target)
        found = drawing.release.association("a", "b", SOUND, target=target)
        flagged += any(found.flags)
        for i, level in enumerate(LEVELS):
            for hits, kind in ((normal, "normal"), (chebyshev, "chebyshev")):
                ends = found.conf_int(level, interval=kind)
                hits[i] += (ends[:, 0] <= truth) & (truth <= ends[:, 1])

    assert flagged == 0
    for i, level in enumerate(LEVELS):
        assert np.abs(normal[i] / draws - level).max() <= tolerance(level, draws, 0.012)
        assert (chebyshev[i] / draws).min() >= level


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("design", ["retention", "blocks", "matrices"])
def test_means(made, publish, monkeypatch, design, target):
    axes = designs(made)[design]
    shape = tuple(len(a.P[0]) for a in axes)
    rng = np.random.default_rng(6)
    drawing = Drawing(made, publish, monkeypatch, axes, pi=np.full(shape, 1 / np.prod(shape)), records=2500, seed=3)
    centres = rng.uniform(10, 30, shape[0])
    first = np.repeat(np.arange(shape[0]), 2500 // shape[0] + 1)[:2500]
    numbers = centres[first] + rng.gamma(2, 3, 2500)
    truth = np.array([numbers[first == k].mean() for k in range(shape[0])]) if target == "table" else centres + 6
    cumulative = axes[0].array.cumsum(axis=0)
    seen = {}

    def total(*_):
        u, y = seen["released"], seen["y"]
        sums = [np.bincount(u, w, len(axes[0].P)) for w in (None, y, y**2)]
        return Sums([np.arange(len(axes[0].P))], sums[0].astype(np.int64), 0.0, sums[1], sums[2], 0)

    monkeypatch.setattr(numbers_module, "total", total)
    draws, hits = 1200, np.zeros((3, shape[0]))
    for _ in range(draws):
        original, y = first, numbers
        if target == "population":
            original = rng.integers(0, shape[0], 2500)
            y = centres[original] + rng.gamma(2, 3, 2500)
        seen["y"] = y
        seen["released"] = (cumulative[:, original] < rng.random(2500)).sum(axis=0).clip(max=len(axes[0].P) - 1)
        found = drawing.release.mean("y", "a", target=target)
        for i, level in enumerate(LEVELS):
            ends = found.conf_int(level)
            hits[i] += (ends[:, 0] <= truth) & (truth <= ends[:, 1])

    for i, level in enumerate(LEVELS):
        assert np.abs(hits[i] / draws - level).max() <= tolerance(level, draws, 0.012)


def test_at_independence_the_interval_begins_at_0_without_a_flag(made, publish, monkeypatch):
    """The derivative of U vanishes there, and with it what a normal interval rests on."""
    pi = np.outer([0.6, 0.4], [0.3, 0.7])
    drawing = Drawing(made, publish, monkeypatch, designs(made)["retention"], pi=pi, records=4000, seed=9)
    draws, held = 60, 0
    for _ in range(draws):
        drawing.draw("population")
        found = drawing.release.association("a", "b", "u", target="population")
        assert found.flags == ((),)
        held += found.conf_int()[0, 0] == 0

    assert held / draws >= 0.95 - 5.4 * np.sqrt(0.95 * 0.05 / draws)


def _holds(ends, truth):
    return (ends[:, 0] <= truth + 1e-9) & (truth <= ends[:, 1] + 1e-9)


STRONG = np.array([[0.85, 0.025], [0.025, 0.10]])


def _least(draws):
    """Return the share that 95 % fall short of once in more than 10 million times (5.4 standard errors)."""
    return 0.95 - 5.4 * np.sqrt(0.95 * 0.05 / draws)


@pytest.mark.parametrize("target", ["population", "table"])
def test_unmarked_intervals_of_all_measures_hold_in_400_records(made, publish, monkeypatch, target):
    """Normal intervals fail the same test, even when only those that there are are counted."""
    axes = [made.retention(c, v, [((0, 1), "3/4")]) for c, v in zip("ab", ("xy", "uv"), strict=True)]
    drawing = Drawing(made, publish, monkeypatch, axes, pi=STRONG, records=400, seed=23)
    draws, names = 200, list(MEASURES)
    truth = np.array([find_measure(m).of(drawing.truth(target))[0] for m in names])
    tested, normal, there, flagged = *(np.zeros(len(names)) for _ in range(3)), 0
    for _ in range(draws):
        drawing.draw(target)
        found = drawing.release.association("a", "b", target=target)
        flagged += any(found.flags)
        tested += _holds(found.conf_int(), truth)
        plain = found.conf_int(interval="normal")
        normal += _holds(plain, truth)
        there += np.isfinite(plain).all(axis=1)

    assert tested.min() / draws >= _least(draws)
    assert flagged <= 0.05 * draws
    assert there.min() >= draws / 4
    assert (normal / there < _least(there)).any()


@pytest.mark.parametrize(("keep", "seed"), [("3/4", 1), ("9/10", 2), ("1", 3)])
def test_rates_of_small_groups_hold(made, publish, monkeypatch, keep, seed):
    """40 of 400 in the group and 5 counted; where nothing is randomised, too."""
    axes = [made.retention(c, v, [((0, 1), keep)]) for c, v in zip("ab", ("xy", "uv"), strict=True)]
    pi = np.array([[0.0875, 0.0125], [0.63, 0.27]])
    drawing = Drawing(made, publish, monkeypatch, axes, pi=pi, records=400, seed=seed)
    draws, held, flagged = 400, 0, 0
    for _ in range(draws):
        drawing.draw("population")
        found = shares(drawing.release, ["a"], ["a"], part=parse_condition("b = 'v'"), target="population")
        flagged += any(found.flags)
        low, high = found.conf_int()[0]
        held += low <= 0.125 <= high
    assert held / draws >= _least(draws)
    assert flagged <= 0.1 * draws


MARGINS = (np.array([0.3, 0.4, 0.3]), np.array([0.5, 0.3, 0.2]))
TABLES = {
    "independent": np.outer(*MARGINS),
    "weak": np.outer(*MARGINS) + 0.03 * np.outer([1, 0, -1], [1, 0, -1]),
    "strong": np.diag([0.28, 0.28, 0.20]) + 0.04 * (1 - np.eye(3)),
}


@pytest.mark.parametrize("target", ["population", "table"])
@pytest.mark.parametrize("design", TABLES)
def test_cramers_v_holds_and_is_too_large_on_average(made, publish, monkeypatch, design, target):
    """The corrected V is drawn upwards, by much at independence; V of the released table is drawn downwards."""
    pi = TABLES[design]
    axes = [made.retention(c, v, [((0, 1, 2), "4/5")]) for c, v in zip("ab", ("xyz", "uvw"), strict=True)]
    drawing = Drawing(made, publish, monkeypatch, axes, pi=pi, records=1000, seed=41)
    V, draws = MEASURES["cramers_v"].of, 80
    truth = V(drawing.truth(target))[0]
    held, uncorrected, estimates, flagged = 0, 0, [], 0
    for _ in range(draws):
        drawing.draw(target)
        found = drawing.release.association("a", "b", "cramers_v", target=target)
        low, high = found.conf_int()[0]
        held += low <= truth <= high
        estimates.append(found["cramers_v"])
        flagged += any(found.flags)
        # what is wrong: the same interval around V of the table as it was released
        half, released = (high - low) / 2, V(drawing.n.reshape(3, 3).astype(float))[0]
        uncorrected += abs(released - truth) <= half

    assert held / draws >= _least(draws)
    assert flagged <= 0.05 * draws
    error = np.std(estimates) / np.sqrt(draws)
    assert np.mean(estimates) - truth > -5 * error
    if design == "strong":
        assert uncorrected / draws < _least(draws)
    if design == "independent":
        assert np.mean(estimates) - truth > 0.03
