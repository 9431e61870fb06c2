"""Measures of association without what randomisation puts into them: against truth, draws and written releases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.declarations import Role
from rrpolicy.estimate.association.deflation import coupled_residuals, deflate_table, residuals
from rrpolicy.estimate.weights.decoder_weights import axis_weights
from rrpolicy.finding import Measure
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, policy_of
from rrpolicy.utility.association_tables import (
    _draw_table,
    cramers_v,
    mutual_information,
    uncertainty_coefficients,
)
from rrpolicy.utility.associations import CramersVChange, MutualInformationChange, UncertaintyCoefficientChange
from rrpolicy.utility.distances import clip_shares
from rrpolicy.utility.draw_counts import CountedRowSink
from rrpolicy.utility.simulation import EstimatedMarginal

METRICS = (MutualInformationChange(), UncertaintyCoefficientChange(), CramersVChange())
WIDE, WIDER = tuple(range(16)), tuple(range(14))
POLICY = policy_of(
    [
        Attribute("a", Role.QUASI_IDENTIFIER, WIDE, release_as="a"),
        Attribute("b", Role.SENSITIVE, WIDER, release_as="b"),
    ]
)
ATTRIBUTES = tuple(POLICY.attributes.values())


def dependent(strength: float, records: int = 30_000) -> TableInMemory:
    """Return a table like Adult's education and occupation: uneven margins, and association of a given strength."""
    generator = np.random.default_rng(1)
    z = generator.normal(size=records)
    columns = {}
    for name, size, share in (("a", 16, 1.0), ("b", 14, strength)):
        score = share * z + generator.normal(size=records)
        columns[name] = np.clip(np.floor(score * size / 5 + size / 2), 0, size - 1).astype(int)
    return TableInMemory.of(POLICY, columns)


def test_measures_are_what_they_are_called():
    table = np.array([[0.2, 0.1, 0.1], [0.05, 0.25, 0.3]])
    r, c = table.sum(axis=1), table.sum(axis=0)
    cells = [*product(range(2), range(3))]
    known = sum(table[i, j] * math.log(table[i, j] / (r[i] * c[j])) for i, j in cells)

    assert mutual_information(table) == pytest.approx(known)
    assert uncertainty_coefficients(table) == pytest.approx(
        (known / -sum(x * math.log(x) for x in c), known / -sum(x * math.log(x) for x in r))
    )
    assert cramers_v(table) == pytest.approx(
        math.sqrt(sum((table[i, j] - r[i] * c[j]) ** 2 / (r[i] * c[j]) for i, j in cells))
    )
    assert cramers_v(np.eye(3) / 3) == pytest.approx(1)
    assert cramers_v(np.array([[0.5, 0.5]])) == mutual_information(np.array([[0.5, 0.5]])) == 0
    assert uncertainty_coefficients(np.array([[1.0]])) == (0, 0)


def draws_of(table, keeps, number):
    channel = Product.of(
        ATTRIBUTES,
        [Retention.uniform("a", WIDE, Fraction(keeps[0])), Retention.uniform("b", WIDER, Fraction(keeps[1]))],
    )
    pair = EstimatedMarginal.of(channel, table, ("a", "b"))
    for seed in range(number):
        sink = CountedRowSink()
        pair.channel.draw(table, Streams.for_tests(seed), sink)
        yield deflate_table(pair.counted(sink), *pair.axes), pair.estimate(sink, table.records).shares


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.15, 0.5, 1.5])
def test_the_inflation_of_randomised_tables_is_taken_out(strength):
    """Uncorrected, U of sixteen by fourteen categories is up to fifteen times the original's; here it is near it."""
    table = dependent(strength)
    p = table.counts("a", "b").dense() / table.records
    for measure in (mutual_information, lambda x: uncertainty_coefficients(x)[0], cramers_v):
        own, raw = (
            np.array(x)
            for x in zip(*((measure(d), measure(q)) for d, q in draws_of(table, ("2/5", "1/2"), 40)), strict=True)
        )
        true, error = measure(p), own.std() / math.sqrt(len(own))

        assert raw.mean() > 1.25 * true
        assert abs(own.mean() - true) < 0.1 * true + 6 * error
        assert abs(own - true).mean() < 0.5 * abs(raw - true).mean()


@pytest.mark.slow
def test_the_variance_is_that_of_the_residuals():
    """Of 200 draws, cell by cell: the ratio of what is said to what is seen has mean 1 and a spread of (2/199)^(1/2)."""
    table = dependent(1.5, 4_000)
    channel = Product.of(
        ATTRIBUTES, [Retention.uniform("a", WIDE, Fraction(4, 5)), Retention.uniform("b", WIDER, Fraction(4, 5))]
    )
    pair = EstimatedMarginal.of(channel, table, ("a", "b"))
    seen, said = [], []
    for seed in range(200):
        sink = CountedRowSink()
        pair.channel.draw(table, Streams.for_tests(seed), sink)
        _, residual, variance = residuals(pair.counted(sink), *pair.axes)
        seen.append(residual)
        said.append(variance)

    ratio = np.var(seen, axis=0, ddof=1) / np.mean(said, axis=0)

    assert ratio.mean() == pytest.approx(1, abs=0.04)
    assert np.abs(ratio - 1).max() < 0.6


def together(keep):
    """Return the channel of both attributes as one, each kept with a retention probability."""
    size = len(WIDE) * len(WIDER)
    axis = Retention.of([Domain("a", WIDE), Domain("b", WIDER)], [(range(size), keep + (1 - keep) / size)])
    return Product.of(ATTRIBUTES, [axis])


@pytest.mark.slow
def test_the_variance_of_a_pair_that_is_randomised_as_one_is_that_of_the_residuals():
    table = dependent(1.5, 4_000)
    pair = EstimatedMarginal.of(together(Fraction(3, 4)), table, ("a", "b"))
    seen, said = [], []
    for seed in range(200):
        sink = CountedRowSink()
        pair.channel.draw(table, Streams.for_tests(seed), sink)
        _, residual, variance = coupled_residuals(pair.counted(sink), pair.axes[0], pair.shape)
        seen.append(residual)
        said.append(variance)

    ratio = np.var(seen, axis=0, ddof=1) / np.mean(said, axis=0)

    assert ratio.mean() == pytest.approx(1, abs=0.04)
    assert np.abs(ratio - 1).max() < 0.6


def test_one_matrix_for_both_says_the_same_as_one_for_each():
    """The Kronecker product of both matrices, undone as one axis: the same residuals and variances."""
    table = dependent(0.5, 2_000)
    axes = [Retention.uniform("a", WIDE, Fraction(3, 5)), Retention.uniform("b", WIDER, Fraction(1, 2))]
    pair = EstimatedMarginal.of(Product.of(ATTRIBUTES, axes), table, ("a", "b"))
    sink = CountedRowSink()
    pair.channel.draw(table, Streams.for_tests(4), sink)
    counted = pair.counted(sink)
    (row, _), (column, _) = pair.axes
    kron = np.kron(row.table, column.table)

    class Kron:
        @staticmethod
        def factors(targets):
            return kron

    apart = residuals(counted, *pair.axes)
    as_one = coupled_residuals(counted.ravel(), (Kron, None), pair.shape)

    for one, other in zip(apart, as_one, strict=True):
        assert np.allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a")])
def test_inflation_is_taken_out_of_a_pair_that_is_randomised_as_one(pair):
    table = dependent(0.5)
    p = table.counts("a", "b").dense() / table.records
    made = EstimatedMarginal.of(together(Fraction(2, 5)), table, pair)
    raw, own = [], []
    for seed in range(20):
        sink = CountedRowSink()
        made.channel.draw(table, Streams.for_tests(seed), sink)
        raw.append(cramers_v(made.estimate(sink, table.records).shares))
        own.append(cramers_v(_draw_table(made, sink, table.records)))

    assert np.mean(raw) > 1.2 * cramers_v(p)
    assert np.mean(own) == pytest.approx(cramers_v(p), rel=0.1)


def test_a_certain_table_is_not_deflated():
    table = dependent(0.5, 3_000)
    p = table.counts("a", "b").dense()
    untouched = Product.of(ATTRIBUTES, [Retention.uniform("a", WIDE, Fraction(1))])
    axes = [(weights, None) for d in untouched.decoders() for weights in axis_weights(d)]

    assert deflate_table(p, *axes) == pytest.approx(p / p.sum(), abs=1e-12)
    for metric in METRICS:
        found = metric.expected(metric.options(), untouched, table)
        assert found.value == pytest.approx(0, abs=1e-12)


def test_sets_are_deflated_by_their_own_variance():
    table = dependent(1.0, 20_000)
    channel = Product.of(ATTRIBUTES, [Sets.of("b", WIDER, 6)])
    pair = EstimatedMarginal.of(channel, table, ("a", "b"))
    p = table.counts("a", "b").dense() / table.records
    own, raw = [], []
    for seed in range(10):
        sink = CountedRowSink()
        pair.channel.draw(table, Streams.for_tests(seed), sink)
        own.append(mutual_information(deflate_table(pair.counted(sink), *pair.axes)))
        raw.append(mutual_information(clip_shares(pair.estimate(sink, table.records).shares, 0.0)))

    assert np.mean(raw) > 1.1 * mutual_information(p)
    assert np.mean(own) == pytest.approx(mutual_information(p), rel=0.08)


def test_the_largest_change_is_no_less_than_the_mean():
    table = dependent(0.5, 3_000)
    channel = Product.of(ATTRIBUTES, [Retention.uniform("a", WIDE, Fraction(3, 5))])
    for metric in METRICS:
        mean, largest = (metric.expected(metric.options(over=o, draws=20), channel, table) for o in ("mean", "largest"))
        assert isinstance(mean, Measure)
        assert largest.value >= mean.value
        assert (largest.value > mean.value) == (metric.name == "uncertainty-coefficient-change")


def test_pairs_that_a_policy_has_not_are_refused():
    metric = CramersVChange()

    assert metric.refuses(metric.options(), POLICY) is None
    assert "'c' is not" in metric.refuses(metric.options(attributes=("a", "c")), POLICY)
    assert "two different attributes or more" in metric.refuses(metric.options(attributes=("a", "a")), POLICY)
