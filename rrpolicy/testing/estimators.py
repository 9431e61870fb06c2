"""Checks of an estimator."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.estimate.invert.estimator import Estimator
from rrpolicy.estimate.release import Release
from rrpolicy.frozen import replace
from rrpolicy.numbers import plain_number
from rrpolicy.planning.policy_opening import OpenedPolicy
from rrpolicy.testing.assertions import convert_to_assertion, demand
from rrpolicy.testing.draws import draw_release, identity_channel, plan_kit_release
from rrpolicy.testing.memory import TableInMemory
from rrpolicy.testing.policies import open_policy, policy_of

if TYPE_CHECKING:
    from rrpolicy.counts import Array

DRAWS = 40
ERRORS = 8
"""Standard errors that the mean of so many draws may be off: a probability below 1e-9 for roughly normal numbers."""
CLOSE = 1e-4
"""Relative error in the number of records that iterations may leave."""
DOMAINS = {"a": ("x", "y", "z"), "b": (1, 2), "c": ("u", "v")}
RECORDS = 600
KEEP = Fraction(3, 5)


@convert_to_assertion("the arguments of the estimator")
def check_estimator(estimator: Estimator, *, unbiased: bool = False, exact: bool = True) -> None:
    """Check that an estimator estimates tables of releases that the kit makes.

    Args:
        estimator: the estimator to check.
        unbiased: whether it is declared unbiased: its average over draws is the true count.
        exact: without randomisation it returns the exact counts; False for one that shrinks them even then, whose
            estimates need not add up to the number of records either.

    Raises:
        AssertionError: with the violated requirement.
    """
    demand(bool(estimator.name) and estimator.name != "moment", "an estimator has its own name")
    demand(isinstance(estimator.told, str) and bool(estimator.told.strip()), "`told` describes it in a few words")
    policy, original = _policy(), TableInMemory.random(_policy().policy, RECORDS, 3)
    true = original.counts("a", "b").dense()
    plain = identity_channel(policy.policy)
    assert plain is not None
    for channel in (plain, _example_channel()):
        with draw_release(plan_kit_release(policy, original, channel), policy, original, 0) as made:
            release = replace(made.release, estimators={estimator.name: estimator})
            found = _estimate(estimator, release, ("a", "b"))
            demand(
                bool(np.array_equal(found, _estimate(estimator, release, ("a", "b")))),
                "a second call returns another result",
            )
            _check_sums(estimator, release, exact=exact)
            if channel is plain and exact:
                near = bool(np.allclose(found, true, atol=CLOSE * RECORDS))
                demand(near, "where nothing was randomised it does not give the counts")
    if unbiased:
        _check_mean(estimator, policy, original, true)


@cache
def _policy() -> OpenedPolicy:
    return open_policy(policy_of(DOMAINS))


def _example_channel() -> Product:
    """Return a channel with a retention, a matrix that releases other categories, and an unmodified column."""
    rows = [[Fraction(p, 10) for p in row] for row in ((7, 1), (1, 7), (2, 2))]
    a = Retention.uniform("a", DOMAINS["a"], KEEP)
    b = Matrix.explicit("b", DOMAINS["b"], (1, 2, 3), rows)
    c = Retention.uniform("c", DOMAINS["c"], Fraction(1))
    return Product((a, b, c), (), tuple(DOMAINS))


def _estimate(estimator: Estimator, release: Release, by: tuple[str, ...], where: str | None = None) -> Array:
    asked = ", ".join(by) + (f" where {where}" if where else "")
    with convert_to_assertion(f"counts() of {asked}"):
        table = release.crosstab(by, where, estimator=estimator.name)
    found = np.asarray(table.estimate)
    demand(
        found.dtype.kind in "fiu" and bool(np.isfinite(found).all()),
        f"counts() of {asked} contains something other than numbers",
    )
    return found


def _check_sums(estimator: Estimator, release: Release, *, exact: bool) -> None:
    """Estimate tables, a single count and parts of the table; over all groups they add up to the number of records."""
    for by in (("a",), ("a", "b"), ("b", "a", "c")):
        total = float(_estimate(estimator, release, by).sum())
        near = math.isclose(total, RECORDS, abs_tol=CLOSE * RECORDS)
        demand(
            near or not exact,
            f"estimates by {', '.join(by)} add up to {plain_number(total)}, and there are {RECORDS} records",
        )
    parts = [_estimate(estimator, release, ("b",), f"a = '{value}'") for value in DOMAINS["a"]]
    single = _estimate(estimator, release, (), "c = 'u'")
    demand(all(p.shape == (2,) for p in parts) and single.size == 1, "conditions change the shape of the result")


def _check_mean(estimator: Estimator, policy: OpenedPolicy, original: TableInMemory, true: Any) -> None:
    plan, found = plan_kit_release(policy, original, _example_channel()), []
    for seed in range(DRAWS):
        with draw_release(plan, policy, original, seed) as made:
            release = replace(made.release, estimators={estimator.name: estimator})
            found.append(_estimate(estimator, release, ("a", "b")))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(DRAWS)
    far = np.abs(mean - true) > ERRORS * error + CLOSE
    demand(not bool(far.any()), f"it is declared unbiased, but {DRAWS} draws give {mean.round(1)}, not {true}")
