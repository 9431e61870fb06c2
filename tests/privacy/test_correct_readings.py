"""How likely a value is read correctly, held against a limit: verdicts, derivatives, classes, and what optimisers find."""

from __future__ import annotations

import itertools
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.errors import RequirementError
from rrpolicy.finding import Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.mechanism import Task
from rrpolicy.optimize.retention.allocate import allocation_problem
from rrpolicy.optimize.retention.optimizer import minimise_error, solve_common_retention
from rrpolicy.optimize.retention.template import ChannelTemplate
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.anatomy.assessors import assessors as of_groups
from rrpolicy.privacy.disclosure.minimum_risk import with_common_retention
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.models import attribute_disclosure as attribute
from rrpolicy.testing import check_assessor, open_policy

SEEDS = st.integers(0, 2**32)
TINY = 1e-12
(PRODUCT,) = attribute.AttributeDisclosure().assessors()


def asked(threshold: Any = "1/2", measure: str = "correct-reading", **options: Any) -> Requirement:
    where = options.pop("where", {})
    return Requirement(
        attribute.NAME, attribute.AttributeDisclosureOptions(measure=measure, threshold=threshold, **options), where
    )


def truth(world: Any, brute: Any, sensitive: str, *, others: bool = False) -> dict[Any, Fraction]:
    other = {"s": "t", "t": "s"}[sensitive]
    names = {"a", "b", "x", *([other] if others else [])}
    laws = [(attributes, law) for attributes, law in world.laws if set(attributes) & names]
    return brute.Table(world.rows, laws, world.carried, sensitive, world.law(sensitive)).success()


@pytest.mark.slow
@settings(deadline=None, max_examples=80, derandomize=True)
@given(seed=SEEDS, tau=st.fractions(Fraction(1, 20), 1, max_denominator=20), tie=st.booleans(), both=st.booleans())
def test_the_verdict_is_exact_for_every_entry(  # noqa: PLR0917
    worlds: Any, brute: Any, seed: int, tau: Fraction, tie: bool, both: bool
) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    every = [
        (name, key, chance)
        for name in "st"
        for others in ((False, True) if both else (False,))
        for key, chance in truth(world, brute, name, others=others).items()
    ]
    if tie:
        tau = rng.choice(every)[2]
    special = rng.choice([{}, {"s0": Fraction(1, 3)}])
    limits = {(n, u): special.get(f"{n}{u}", tau) for n in "st" for u in range(3)}
    entry = asked(tau, thresholds=special, known_sensitive=both)
    finding = PRODUCT.finding(entry, world.channel, world.original)
    over = [1 for n, key, chance in every if chance > limits[n, key[1]]]
    assert finding.verdict is (Verdict.FAILED if over else Verdict.SATISFIED)
    assert PRODUCT.accepts(entry, world.channel, world.original) is not bool(over)
    ratio = max(chance / limits[n, key[1]] for n, key, chance in every)
    assert finding.achieved is not None
    assert finding.limit is not None
    assert finding.achieved.value == pytest.approx(float(ratio * finding.limit), abs=TINY)
    assert finding.model == "attribute-disclosure/correct-reading"
    assert "whosever record he drew" in finding.adversary


@pytest.mark.slow
@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=SEEDS)
def test_values_are_the_assessors_and_slopes_their_differences(worlds: Any, seed: int) -> None:
    world, rng = worlds.world(Random(seed)), Random(seed + 1)
    free = [axis for axis in world.channel.axes if isinstance(axis, Retention)]
    channel, keep = world.channel, []
    for axis in free:
        rho = Fraction(rng.randint(10, 90), 100)
        channel = with_common_retention(channel, rho, (axis.attributes[0],))
        keep.append(float(rho + (1 - rho) / axis.largest.size))
    entry = asked("1/3", known_sensitive=True)
    smooth = PRODUCT.smooth(entry, world.channel, world.original)
    achieved = PRODUCT.finding(entry, channel, world.original).achieved
    assert achieved is not None
    assert not smooth.monotone
    at = np.array(keep)
    assert smooth.value(at).max() == pytest.approx(achieved.value * 3 - 1, abs=1e-9)
    jacobian, h = smooth.jacobian(at), 1e-6
    for i, axis in enumerate(free):
        if axis.largest.size > 1:
            step = np.eye(len(at))[i] * h
            difference = (smooth.value(at + step) - smooth.value(at - step)) / (2 * h)
            np.testing.assert_allclose(
                jacobian[:, i], difference, rtol=2e-5, atol=2e-5 * max(1, np.abs(jacobian).max())
            )


def planned(worlds: Any, seed: int, limit: Any, *more: Requirement) -> tuple[Any, Any]:
    """Return a world with every axis open, and the problem of its entries."""
    world = worlds.world(Random(seed), ("retention",))
    entries = (asked(limit, sensitive=("s",)), *more)
    policy = replace(world.policy, requirements=entries)
    task = Task(policy, world.original, tuple((entry, PRODUCT) for entry in entries))
    names = [axis.attributes[0] for axis in world.channel.axes if isinstance(axis, Retention)]
    return world, allocation_problem(ChannelTemplate(world.channel, names), task)


def least_by_grid(problem: Any, steps: int = 5) -> float:
    """Return the least objective over a grid of retentions at which the assessors accept."""
    levels = [Fraction(1, 1000), *(Fraction(i, steps) for i in range(1, steps + 1))]
    best = np.inf
    for rho in itertools.product(levels, repeat=len(problem.variables)):
        keep = tuple(r + (1 - r) / v.size for r, v in zip(rho, problem.variables, strict=True))
        if problem.feasible(keep):
            best = min(best, problem.objective.value(np.array([float(r) for r in rho])))
    return best


@pytest.mark.slow
def test_optimisers_find_what_holds_where_it_is_no_interval(worlds: Any) -> None:
    """Below the largest share something holds only where the value itself is hardly randomised, and others are."""
    solved = inside = 0
    for seed in range(14):
        world, problem = planned(worlds, seed, 1)
        drawn, kept = (
            with_common_retention(world.channel, Fraction(r), names) for r, names in ((1, None), (0, ("a", "b")))
        )
        shares = PRODUCT.finding(asked(1, sensitive=("s",)), drawn, world.original).achieved
        low = PRODUCT.finding(
            asked(1, sensitive=("s",)), with_common_retention(kept, Fraction(1), ("s", "t")), world.original
        )
        assert shares is not None
        assert low.achieved is not None
        limit = Fraction(round(1000 * (shares.value + 2 * low.achieved.value) / 3), 1000)
        world, problem = planned(worlds, seed, limit)
        grid = least_by_grid(problem, 3)
        try:
            solution = minimise_error(problem)
        except RequirementError:
            assert grid == np.inf
            continue
        solved += 1
        inside += low.achieved.value < limit < shares.value
        assert problem.feasible(solution.keep)
        assert solution.objective <= grid + 1e-6
    assert solved > 4
    assert inside > 2


def test_a_second_requirement_counts_too(worlds: Any) -> None:
    done = 0
    for seed in range(8):
        _, problem = planned(worlds, seed, "9/10", asked("3/5", "risk", sensitive=("s",)))
        try:
            solution = minimise_error(problem)
        except RequirementError:
            continue
        done += 1
        assert problem.feasible(solution.keep)
    assert done


def test_equal_allocation_finds_the_largest_level_that_holds(worlds: Any) -> None:
    done = 0
    for seed in range(10):
        _, problem = planned(worlds, seed, "4/5")
        held = [
            rho
            for rho in (Fraction(i, 50) for i in range(1, 50))
            if problem.feasible(tuple(rho + (1 - rho) / v.size for v in problem.variables))
        ]
        try:
            solution = solve_common_retention(problem)
        except RequirementError:
            assert not held
            continue
        done += 1
        assert problem.feasible(solution.keep)
        assert not held or max(solution.retention) >= float(max(held)) - 1e-9
    assert done


def test_classes_share_their_values_among_all_of_them(worlds: Any) -> None:
    world = worlds.world(Random(5))
    (test,) = PRODUCT.sufficient(asked("1/2", thresholds={"s0": "1/4"}, sensitive=("s",)), world.policy)
    values = len(world.policy.attributes["s"].domain)
    histograms = np.zeros((3, values), dtype=np.int64)
    histograms[0, :2], histograms[1, :2], histograms[2, :2] = (1, 3), (1, 1), (0, 2)
    histograms[1, -1] += 2
    assert test.holds(histograms).tolist() == [False, True, False]


def test_of_groups_it_is_the_share_exactly() -> None:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from tests.privacy.test_best_guess import table_of

    attributes, original = table_of(((2, 1, 1), (1, 2, 1)))
    assessor, *_ = of_groups()
    channel = AnatomyChannel.of(attributes, "s", 2)
    finding = assessor.finding(asked("1/2"), channel, original)
    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved is not None
    assert (finding.achieved.value, finding.achieved.standing) == (0.5, Standing.EXACT)
    assert assessor.finding(asked("49/100"), channel, original).verdict is Verdict.FAILED


def test_it_is_incomparable_with_the_other_limits() -> None:
    compare = attribute.AttributeDisclosure().compare
    one = attribute.AttributeDisclosureOptions(measure="correct-reading", threshold="1/2")
    for measure in ("risk", "gain", "best-guess"):
        for limit in ("1/3", "1/2", "2/3"):
            other = attribute.AttributeDisclosureOptions(measure=measure, threshold=limit)
            assert compare(one, other) is Order.INCOMPARABLE
            assert compare(other, one) is Order.INCOMPARABLE
    assert (
        compare(one, attribute.AttributeDisclosureOptions(measure="correct-reading", threshold="1/3")) is Order.STRONGER
    )


def test_hiding_more_may_raise_it(worlds: Any) -> None:
    """So that no planner may prune by it."""
    assert not asked().monotone
    raised = 0
    for seed in range(40):
        world = worlds.world(Random(seed), ("retention",))
        whole, part = (
            PRODUCT.finding(
                asked(1, sensitive=("s",)), with_common_retention(world.channel, rho, ("s",)), world.original
            )
            for rho in (Fraction(1), Fraction(1, 10))
        )
        assert whole.achieved is not None
        assert part.achieved is not None
        raised += part.achieved.value > whole.achieved.value + 1e-6
    assert raised


@pytest.mark.parametrize("seed", range(3))
def test_the_assessor_keeps_its_promises(worlds: Any, seed: int) -> None:
    world = worlds.world(Random(seed), ("identity", "retention", "blocks"))
    channels = [with_common_retention(world.channel, rho) for rho in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))]
    policy = open_policy(replace(world.policy, requirements=(asked("2/3"),)))
    assert len(check_assessor(PRODUCT, policy, channels, [world.original])) == len(channels)
