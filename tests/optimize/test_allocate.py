"""Open axes filled in: the objective is the error formula, rounding asks the assessors, a bound is left for the limit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import expected_squared_error
from rrpolicy.counts import tabulate
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.frozen import replace
from rrpolicy.optimize.retention.optimizer import (
    RAISES,
    minimise_error,
    pull_back,
    raise_to_limit,
    solve_common_retention,
)
from rrpolicy.optimize.retention.problem import Allocation, ExpectedError, RetentionVariable
from rrpolicy.optimize.retention.template import ChannelTemplate, expected_error_objective, needs_data
from rrpolicy.optimize.retention.workload import Marginal
from rrpolicy.policy.model import Attribute, Bins
from rrpolicy.privacy.model import Smooth
from tests.optimize.test_optimal import marginal_error_term

SIZES = {"a": 4, "b": 6, "x": 2, "y": 3, "z": 2}
LABELS = {name: tuple(f"{name}{i}" for i in range(size)) for name, size in SIZES.items()}


def attribute(name, **more):
    return Attribute(name, Role.QUASI_IDENTIFIER, LABELS[name], release_as=more.pop("release_as", name), **more)


@pytest.fixture(scope="module")
def coupled():
    """x and y randomised together: stays with 7/10, else goes to the next of the six pairs."""
    rows = [[Fraction(0)] * 6 for _ in range(6)]
    for v in range(6):
        rows[v][v], rows[(v + 1) % 6][v] = Fraction(7, 10), Fraction(3, 10)
    domains = tuple(Domain(n, LABELS[n]) for n in "xy")
    return Matrix(domains, tuple(category_column(n, LABELS[n]) for n in "xy"), tuple(map(tuple, rows)))


@pytest.fixture(scope="module")
def channel(coupled):
    blocks = [(LABELS["b"][:4], Fraction(1)), (LABELS["b"][4:], Fraction(1))]
    axes = [
        Retention.uniform("a", LABELS["a"], Fraction(1)),
        Retention.in_blocks("b", LABELS["b"], blocks),
        coupled,
    ]
    return Product.of([attribute(n) for n in SIZES], axes)


@pytest.fixture(scope="module")
def counts():
    generator = np.random.default_rng(4)
    codes = np.stack([generator.integers(0, d, 900) ** 2 % d for d in SIZES.values()], axis=1).astype(np.int32)
    return tabulate(tuple(SIZES), tuple(SIZES.values()), codes, np.ones(900, dtype=np.int64))


class Table:
    def __init__(self, counts):
        self._counts, self.records = counts, counts.records

    def counts(self, *attributes):
        return self._counts.marginal(*attributes)


@pytest.mark.parametrize(
    "workload",
    [(), (("a", "b"),), (("b", "y"), ("a",)), (("x", "y", "b", "z"), ("a", "x")), (("z",),)],
    ids=lambda w: "+".join("".join(m) for m in w) or "whole",
)
def test_the_objective_is_the_error_formula(channel, counts, workload):
    template = ChannelTemplate(channel, {"a", "b"})
    marginals = [Marginal(marginal=names, weight=Fraction(i + 1)) for i, names in enumerate(workload)]
    rho = np.array([0.35, 0.8])
    keep = [Fraction(35, 100) + Fraction(65, 400), Fraction(8, 10) + Fraction(2, 40)]

    goal = expected_error_objective(template, marginals, Table(counts))
    found = sum(t.weight for t in goal.terms) * math.expm1(goal.value(rho) - goal.offset) / counts.records

    filled = template.filled(keep)
    wanted = [(m.weight, m.marginal) for m in marginals] or [(1, ("a", "b", "x", "y"))]
    expected = sum(w * expected_squared_error(filled, counts, names) for w, names in wanted)
    assert found == pytest.approx(float(expected), rel=1e-10, abs=1e-15)


def test_what_is_least_needs_data_only_where_it_depends_on_them(channel):
    one, other = Marginal(marginal=("a",)), Marginal(marginal=("x",))

    assert needs_data(ChannelTemplate(channel, {"b"}), ())  # unequal blocks
    assert not needs_data(ChannelTemplate(channel, {"a"}), ())
    assert not needs_data(ChannelTemplate(channel, {"a"}), (other,))
    assert not needs_data(ChannelTemplate(channel, {"a"}), (one,))
    both = needs_data(ChannelTemplate(channel, {"a"}), (one, Marginal(marginal=("a", "b"))))
    assert not both  # b is given with keep 1: no category costs more than another


def test_a_filled_template_shares_one_retention_between_blocks(channel):
    filled = ChannelTemplate(channel, {"b"}).filled([Fraction(1, 2) + Fraction(1, 8)])

    axis = filled.axes[1]
    assert [(b.size, b.retention) for b in axis.blocks] == [(4, Fraction(1, 2)), (2, Fraction(1, 2))]
    assert filled.axes[0] == channel.axes[0]
    assert filled.axes[2] == channel.axes[2]


def test_a_channel_covers_what_is_released_in_the_policys_order(coupled):
    attributes = [
        Attribute("n", Role.INSENSITIVE, None, release_as="number"),
        attribute("x"),
        replace(attribute("a", release_as="alpha"), bins=Bins((0, 1, 2, 3, 4), LABELS["a"])),
        attribute("y"),
        attribute("z", assume_unlinkable="of the office"),
    ]

    made = Product.of(attributes, [coupled, Retention.uniform("a", LABELS["a"], Fraction(1, 2))])

    assert made.order == ("number", "x", "alpha", "y", "z")
    assert [type(axis) for axis in made.axes] == [Matrix, Retention, Identity]
    assert made.axes[1].released[0].kind == "interval"
    assert made.axes[2].released.assume_unlinkable == "of the office"
    assert [c.name for c in made.carried] == ["number"]
    with pytest.raises(ValueError, match="domain of 'q' is not known"):
        Product.of([Attribute("q", Role.QUASI_IDENTIFIER, None, observed=True)], [])


def capped(limit, seen=None, bound=False):
    """Return a problem whose requirement is rho_a rho_b <= limit, as the assessors see it; the search sees `seen`."""
    sizes = (4, 4)

    def feasible(keep):
        asked.append(keep)
        a, b = ((4 * p - 1) / 3 for p in keep)
        return a * b <= limit

    asked = []
    cap = float(seen or limit)
    smooth = Smooth(
        lambda p: np.array([np.prod((4 * p - 1) / 3) / cap - 1]),
        lambda p: np.array([[(4 * p[1] - 1) / 3 * 4 / 3 / cap, (4 * p[0] - 1) / 3 * 4 / 3 / cap]]),
        "product",
        bound,
    )
    task = Allocation(
        (RetentionVariable("a", (4,)), RetentionVariable("b", (4,))),
        ExpectedError((marginal_error_term(1.0, (0, 1), sizes),)),
        (smooth,),
        feasible,
    )
    return task, asked


@pytest.mark.parametrize("solve", [minimise_error, solve_common_retention])
def test_a_search_on_a_bound_goes_on_to_the_exact_limit_with_few_assessments(solve):
    task, asked = capped(Fraction(1, 2), seen=Fraction(1, 5), bound=True)

    solution = solve(task)

    a, b = ((4 * p - 1) / 3 for p in solution.keep)
    assert 0.49 < a * b <= Fraction(1, 2)
    assert solution.raised < 1
    assert len(asked) <= RAISES + 2
    assert task.bounded


def test_what_is_raised_stays_accepted_and_what_cannot_be_raised_stays():
    task, _ = capped(Fraction(1, 5), bound=True)
    rho = np.array([0.4, 0.4])
    keep, scale = pull_back(task, rho)
    assert scale == 1

    moved, raised, factor = raise_to_limit(task, rho, keep)

    assert task.feasible(raised)
    assert np.all(moved >= rho)
    assert 0 < factor <= 1
    at_the_limit, _ = capped(Fraction(16, 100), bound=True)
    assert raise_to_limit(at_the_limit, rho, keep)[2] == 1
    assert raise_to_limit(at_the_limit, rho, keep)[1] == keep


def test_a_refused_point_is_pulled_back_just_enough_or_refused():
    task, _ = capped(Fraction(1, 10))
    keep, scale = pull_back(task, np.array([0.6, 0.6]))
    assert 0.3 < scale < 1
    a, b = ((4 * p - 1) / 3 for p in keep)
    assert 0.09 < a * b <= Fraction(1, 10)

    never = replace(task, feasible=lambda _: False)
    with pytest.raises(RequirementError, match="RR102"):
        pull_back(never, np.array([0.6, 0.6]))
