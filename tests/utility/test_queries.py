"""Relative errors of counts: against sums cell by cell, and random queries against what they are said to be."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.policy.model import Attribute
from rrpolicy.testing import TableInMemory, policy_of
from rrpolicy.utility.query_metrics import (
    CubeError,
    GroupByError,
    QueryOptions,
    RandomQueryError,
    cube_sums,
    query_shares,
    random_queries,
    relative_error,
    values_per_dimension,
)
from rrpolicy.utility.simulation import DrawSettings

SHAPE = (2, 3, 4)
GENERATOR = np.random.default_rng(7)


def tables():
    p = GENERATOR.integers(0, 5, SHAPE).astype(float)
    p[0, 0] = 0
    q = p + GENERATOR.normal(size=SHAPE)
    return p / p.sum(), q / q.sum()


def test_a_cube_has_the_groups_of_every_subset():
    p, q = tables()
    errors = []
    for many in range(4):
        for kept in combinations(range(3), many):
            for group in product(*(range(SHAPE[a]) for a in kept)):
                chosen = [cell for cell in product(*map(range, SHAPE)) if tuple(cell[a] for a in kept) == group]
                act, est = (sum(x[cell] for cell in chosen) for x in (p, q))
                errors += [abs(act - est) / act] if act else []

    assert CubeError().of(p, q) == pytest.approx(np.mean(errors), rel=1e-12)
    assert cube_sums(p).shape == (3, 4, 5)


def test_a_group_by_leaves_out_what_nobody_is_in():
    p, q = tables()
    errors = [abs(a - b) / a for a, b in zip(p.ravel(), q.ravel(), strict=True) if a]

    assert GroupByError().of(p, q) == pytest.approx(np.mean(errors), rel=1e-12)
    assert relative_error(np.zeros(3), np.ones(3)) == 0


@pytest.mark.parametrize("size", [1, 2, 7, 16, 1000])
@pytest.mark.parametrize("share", ["1", "1/20", "1/8", "1/1000"])
def test_as_many_values_are_asked_for_as_the_paper_says(size, share):
    b = values_per_dimension(size, 3, Fraction(share))

    assert b**3 >= size**3 * Fraction(share)
    assert (b - 1) ** 3 < size**3 * Fraction(share)
    assert b <= size


def test_queries_are_conjunctions_over_the_sensitive_attribute_and_others():
    p, q = tables()
    options = QueryOptions(queries=600, dimensions=1, selectivity="1/4")
    asked = [*random_queries(options, [1], SHAPE, DrawSettings(20, 1).streams(0).stream("queries"))]

    assert sorted(places for places, _ in asked) == [(0, 1), (2, 1)]
    assert sum(len(masks[0]) for _, masks in asked) == 600
    by_hand = []
    for places, masks in asked:
        for mask in masks:
            assert set(mask.sum(axis=1)) == {values_per_dimension(mask.shape[1], 2, Fraction(1, 4))}
        for row in range(len(masks[0])):
            held = np.ones(SHAPE, bool)
            for place, mask in zip(places, masks, strict=True):
                held &= mask[row].reshape([-1 if a == place else 1 for a in range(3)])
            by_hand.append((p[held].sum(), q[held].sum()))
    true, estimated = np.array(by_hand).T
    assert query_shares(asked, p) == pytest.approx(true, abs=1e-12)
    assert query_shares(asked, q) == pytest.approx(estimated, abs=1e-12)


def test_queries_ask_for_every_attribute_and_value_alike():
    """Each count is binomial: five and a half standard errors, at a false-alarm rate below 1e-6 for all of them."""
    options = QueryOptions(queries=20_000, dimensions=1, selectivity="1/16")
    asked = [*random_queries(options, [1], SHAPE, DrawSettings(20, 1).streams(0).stream("queries"))]

    for _, masks in asked:
        many = len(masks[0])
        assert abs(many - 10_000) < 5.5 * math.sqrt(5_000)
        for mask in masks:
            share = mask[0].sum() / mask.shape[1]
            assert np.abs(mask.sum(axis=0) - many * share).max() < 5.5 * math.sqrt(many * share * (1 - share)) + 1e-9


SEX, REGION, FLU = ("f", "m"), ("n", "e", "s"), ("none", "flu", "cold")
POLICY = policy_of(
    [
        Attribute("sex", Role.QUASI_IDENTIFIER, SEX, release_as="sex"),
        Attribute("region", Role.QUASI_IDENTIFIER, REGION, release_as="region"),
        Attribute("disease", Role.SENSITIVE, FLU, release_as="disease"),
    ]
)


def test_a_stricter_channel_answers_worse_and_an_untouched_table_rightly():
    table = TableInMemory.random(POLICY, 2000, 1)
    for metric in (GroupByError(), CubeError(), RandomQueryError()):
        options = metric.options(draws=20)
        kept = [
            metric.expected(
                options,
                Product.of(
                    [*POLICY.attributes.values()], [Retention.uniform(n, d, Fraction(keep)) for n, d in RANDOMISED]
                ),
                table,
            )
            for keep in ("3/5", "4/5", "1")
        ]
        assert kept[0].value - 5 * kept[0].error > kept[1].value + 5 * kept[1].error > kept[2].value
        assert kept[2].value == pytest.approx(0, abs=1e-12)


RANDOMISED = [("region", REGION), ("disease", FLU)]


def test_queries_that_a_policy_has_not_are_refused():
    metric = RandomQueryError()

    assert metric.refuses(QueryOptions(), POLICY) is None
    assert "contains no sensitive attribute" in metric.refuses(QueryOptions(attributes=("sex", "region")), POLICY)
    assert "fewer than 3" in metric.refuses(QueryOptions(dimensions=3), POLICY)
    for wrong in ({"selectivity": 0}, {"selectivity": "3/2"}, {"queries": 0}, {"dimensions": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            QueryOptions.model_validate(wrong)
