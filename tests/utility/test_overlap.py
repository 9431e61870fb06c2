"""Overlap of intervals: against every release there can be, and as a gate of which larger is better."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.finding import Measure, Standing
from rrpolicy.planning.plan_result import plan_and_assess
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, open_policy, policy_of, policy_text
from rrpolicy.testing.draws import draw_release, plan_kit_release
from rrpolicy.utility.interval_overlap import IntervalOverlap, OverlapOptions, overlap_shares

SEX, REGION = ("f", "m"), ("n", "e", "s")
POLICY = policy_of(
    [
        Attribute("sex", Role.QUASI_IDENTIFIER, SEX, release_as="SEX"),
        Attribute("region", Role.QUASI_IDENTIFIER, REGION, release_as="region"),
    ]
)
ATTRIBUTES = tuple(POLICY.attributes.values())
TINY = TableInMemory.of(POLICY, {"sex": [0, 0, 1, 1], "region": [0, 1, 1, 0]})
CELLS = [(s, r) for s in range(2) for r in range(3)]
OWN = [*zip(TINY.codes["sex"].tolist(), TINY.codes["region"].tolist(), strict=True)]
OPTIONS = OverlapOptions(attributes=("sex", "region"), level=Fraction(4, 5), draws=1000)
Z = NormalDist().inv_cdf(0.9)


def retained(size: int, keep: float) -> np.ndarray:
    """Return a retention matrix."""
    matrix = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(matrix, keep)
    return matrix


def interval(weights: list[float], slip: float = 1.0) -> tuple[float, float]:
    """Return the normal interval of a mean from what each of four records adds to it."""
    mean = sum(weights) / 4
    half = slip * Z * math.sqrt(sum((w - mean) ** 2 for w in weights) / 3 / 4)
    return mean - half, mean + half


def shared(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Return the overlap of two intervals by its definition."""
    both = min(one[1], other[1]) - max(one[0], other[0])
    parts = [max(both, 0) / (high - low) if high > low else both >= 0 for low, high in (one, other)]
    return sum(parts) / 2


def by_enumeration(keeps: tuple[float, float], slip: float = 1.0) -> float:
    """Return the mean over all releases of the mean overlap over the cells that occur."""
    matrices = [retained(2, keeps[0]), retained(3, keeps[1])]
    weights = [np.linalg.inv(m) for m in matrices]
    true = {cell: interval([float(own == cell) for own in OWN]) for cell in set(OWN)}
    total = 0.0
    for released in product(CELLS, repeat=4):
        chance = math.prod(matrices[i][u[i], o[i]] for u, o in zip(released, OWN, strict=True) for i in range(2))
        each = [
            shared(
                true[cell],
                interval([float(weights[0][cell[0], u] * weights[1][cell[1], v]) for u, v in released], slip),
            )
            for cell in true
        ]
        total += chance * sum(each) / len(each)
    return total


CHANNEL = Product.of(
    ATTRIBUTES, [Retention.uniform("sex", SEX, Fraction(9, 10)), Retention.uniform("region", REGION, Fraction(4, 5))]
)


def agrees(measure: Measure, truth: float) -> bool:
    """Return whether a mean of simulated draws is the truth, at a false-alarm rate below 1e-6."""
    return abs(measure.value - truth) <= 5 * measure.error


def test_what_is_expected_is_the_mean_over_every_release():
    found = IntervalOverlap().expected(OPTIONS, CHANNEL, TINY)

    assert found.standing is Standing.ESTIMATE
    assert agrees(found, by_enumeration((0.9, 0.8)))


@pytest.mark.slow
@pytest.mark.parametrize(("keeps", "slip"), [((0.85, 0.7), 1.0), ((0.9, 0.8), 0.7)])
def test_another_channel_and_another_variance_are_caught(keeps, slip):
    found = IntervalOverlap().expected(OPTIONS, CHANNEL, TINY)

    assert not agrees(found, by_enumeration(keeps, slip))


def test_a_release_that_is_the_table_overlaps_whole():
    as_it_is = Product.of(ATTRIBUTES, [])

    assert IntervalOverlap().expected(OPTIONS, as_it_is, TINY) == Measure(1.0)


def test_spread_counts_have_the_intervals_of_a_table_that_has_them():
    recode = Recode.by_levels([Domain("region", REGION)], [["n or e", "n or e", "s"]])
    uneven = TableInMemory.of(POLICY, {"sex": [0, 0, 0, 1], "region": [0, 0, 0, 1]})

    found = IntervalOverlap().expected(
        OverlapOptions(attributes=("region",), level=Fraction(4, 5)), Product.of(ATTRIBUTES, [recode]), uneven
    )

    half = interval([1, 1, 0, 0])  # the four of "n or e", spread evenly over both
    each = [shared(interval([1, 1, 1, 0]), half), shared(interval([1, 0, 0, 0]), half)]
    assert found.standing is Standing.EXACT
    assert found.value == pytest.approx(sum(each) / 2)


def test_intervals_without_width():
    low, high = np.array([0.0, 0.0, 0.5, 0.5]), np.array([1.0, 1.0, 0.5, 0.5])
    other = np.array([0.5, 2.0, 0.5, 0.6]), np.array([0.5, 2.0, 0.5, 0.6])

    assert overlap_shares((low, high), other).tolist() == [0.5, 0.0, 1.0, 0.0]


TEXT = """\
[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
region = { role = "quasi-identifier", domain = ["n", "e", "s"] }
[mechanism]
name = "pram"
keep_probability = { sex = "9/10", region = "4/5" }
[release]
accept = ["released"]
[[privacy]]
model = "local-dp"
epsilon = 8
[[utility]]
metric = "interval-overlap"
"""


@pytest.mark.parametrize(("least", "passes"), [("min = 0.3", True), ("min = 0.999", False)])
def test_it_gates_by_its_lower_end(least, passes):
    policy = open_policy(policy_text(TEXT + least))
    table = TableInMemory.random(policy.policy, 300, 1)

    outlook = plan_and_assess(policy.policy, policy.registry, table)

    assert outlook.passed is passes
    if not passes:
        assert "lower end" in outlook.problems[0].message
        assert "`min = 0." in outlook.problems[0].hint


def test_what_a_draw_attained_is_computed_from_its_files():
    policy = open_policy(policy_text(TEXT + "min = 0.3"))
    table = TableInMemory.random(policy.policy, 300, 1)
    plan = plan_kit_release(policy, table)
    options = OverlapOptions()

    with draw_release(plan, policy, table, 3) as made:
        found = IntervalOverlap().realised(options, made.release, table)
        cells = made.release.crosstab(["sex", "region"], target="population").to_frame()

    p = table.counts("sex", "region").dense() / 300
    each = []
    for i, row in enumerate(cells.itertuples()):
        share = p[i // 3, i % 3]
        half = NormalDist().inv_cdf(0.975) * math.sqrt(share * (1 - share) / 299)
        wide = NormalDist().inv_cdf(0.975) * row.se / 300
        each.append(shared((share - half, share + half), (row.estimate / 300 - wide, row.estimate / 300 + wide)))
    assert found.value == pytest.approx(sum(each) / 6)
