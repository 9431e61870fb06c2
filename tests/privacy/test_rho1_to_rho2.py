"""Breaches from rho1 to rho2 against enumeration over priors, and the prior that attains the bound."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.finding import Verdict
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.model import Order
from rrpolicy.privacy.models import rho1_to_rho2
from rrpolicy.privacy.models.local_dp import LocalDP
from rrpolicy.privacy.models.rho1_to_rho2 import Rho1ToRho2, Rho1ToRho2Options, largest_posterior
from tests.privacy.test_pk_and_local_dp import dp, letters

F = Fraction
(ASSESSOR,) = rho1_to_rho2.Rho1ToRho2().assessors()
RHO = st.fractions(F(1, 20), F(19, 20), max_denominator=20)


def asked(rho1: Any, rho2: Any, scope: str = "attribute") -> Requirement:
    return Requirement("rho1-to-rho2", Rho1ToRho2Options(rho1=rho1, rho2=rho2, scope=scope))


def channel(rows: list[list[Fraction]]) -> Product:
    axis = Matrix.explicit("a", letters(len(rows[0])), letters(len(rows)), rows)
    return Product((axis,), (), tuple(c.name for c in axis.columns()))


@st.composite
def matrices(draw: Any) -> list[list[Fraction]]:
    """Return rows of a column-stochastic matrix, some of it zero, some of it rectangular."""
    released, size = draw(st.integers(2, 3)), draw(st.integers(2, 3))
    columns = [draw(st.lists(st.integers(0, 4), min_size=released, max_size=released).filter(any)) for _ in range(size)]
    return [[F(column[u], sum(column)) for column in columns] for u in range(released)]


def properties(size: int) -> list[tuple[int, ...]]:
    """Return all sets of originals."""
    return [q for n in range(1, size) for q in itertools.combinations(range(size), n)]


def posteriors(rows: list[list[Fraction]], prior: tuple[Fraction, ...], holds: tuple[int, ...]) -> list[Fraction]:
    found = []
    for row in rows:
        seen = sum((p * chance for p, chance in zip(prior, row, strict=True)), F(0))
        if seen:
            found.append(sum((prior[v] * row[v] for v in holds), F(0)) / seen)
    return found


def extremes(rows: list[list[Fraction]], rho1: Fraction, rho2: Fraction) -> tuple[Fraction, Fraction]:
    """Return the largest posterior after at most rho1, and the smallest after at least rho2, over many priors."""
    size = len(rows[0])
    grid = [p for p in itertools.product(range(5), repeat=size) if sum(p)]
    priors = {tuple(F(x, sum(p)) for x in p) for p in grid}
    for one, other in itertools.permutations(range(size), 2):  # where the statement's bound is attained
        for weight in (rho1, rho2):
            priors.add(tuple(weight if v == one else 1 - weight if v == other else F(0) for v in range(size)))
    most, least = F(0), F(1)
    for prior in priors:
        for holds in properties(size):
            before = sum((prior[v] for v in holds), F(0))
            after = posteriors(rows, prior, holds)
            if before <= rho1:
                most = max([most, *after])
            if before >= rho2:
                least = min([least, *after])
    return most, least


@pytest.mark.slow
@settings(deadline=None, max_examples=80, derandomize=True)
@given(rows=matrices(), one=RHO, other=RHO)
def test_no_prior_exceeds_it_and_one_attains_it_in_both_directions(
    rows: list[list[Fraction]], one: Fraction, other: Fraction
) -> None:
    rho1, rho2 = min(one, other), max(one, other)
    if rho1 == rho2:
        return
    most, least = extremes(rows, rho1, rho2)
    finding = ASSESSOR.finding(asked(rho1, rho2), channel(rows), 10)

    assert finding.verdict is (Verdict.SATISFIED if most <= rho2 else Verdict.FAILED)
    assert finding.verdict is (Verdict.SATISFIED if least >= rho1 else Verdict.FAILED)
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(most), abs=1e-15)
    beside = {c.name: c.measure.value for c in finding.companions}
    assert beside["smallest posterior"] == pytest.approx(float(least), abs=1e-15)


def test_a_wrong_amplification_is_found() -> None:
    """The ratio within a column, in place of a row, is another number: the enumeration tells them apart."""
    rows = [[F(7, 10), F(1, 10), F(1, 10)], [F(3, 10), F(9, 10), F(9, 10)]]
    wrong = max(max(column) / min(column) for column in zip(*rows, strict=True))
    most, _ = extremes(rows, F(1, 5), F(1, 2))
    assert most == largest_posterior(F(7), F(1, 5))
    assert largest_posterior(wrong, F(1, 5)) != most


def test_at_its_limit_it_holds_and_a_hair_above_it_does_not() -> None:
    keep, size = F(3, 5), 3
    gamma = keep / ((1 - keep) / 2)
    axis = Retention.uniform("a", letters(size), keep)
    product = Product((axis,), (), tuple(c.name for c in axis.columns()))
    rho1 = F(1, 4)
    rho2 = largest_posterior(gamma, rho1)
    finding = ASSESSOR.finding(asked(rho1, rho2), product, 10)
    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved is not None
    assert finding.achieved.value == float(rho2)
    assert ASSESSOR.finding(asked(rho1, rho2 - F(1, 10**30)), product, 10).verdict is Verdict.FAILED


@settings(deadline=None, max_examples=40, derandomize=True)
@given(keep=st.lists(st.floats(0.4, 0.99), min_size=2, max_size=2), one=RHO, other=RHO)
def test_optimisers_see_it_as_a_cap_on_epsilon(keep: list[float], one: Fraction, other: Fraction) -> None:
    rho1, rho2 = min(one, other), max(one, other)
    if rho1 == rho2:
        return
    axes = tuple(Retention.uniform(n, letters(3), F(p)) for n, p in zip("ab", keep, strict=True))
    product = Product(axes, (), tuple(c.name for a in axes for c in a.columns()))
    smooth = ASSESSOR.smooth(asked(rho1, rho2), product, 10)
    value = smooth.value(np.array(keep))
    if abs(value[0]) > 1e-9:
        assert ASSESSOR.accepts(asked(rho1, rho2), product, 10) is bool(value[0] < 0)
    gamma = asked(rho1, rho2).options.amplification
    (by_epsilon,) = LocalDP().assessors()
    log = F(float(np.log(float(gamma))))
    if abs(value[0]) > 1e-9:
        assert by_epsilon.accepts(dp(log, "attribute"), product, 10) is bool(value[0] < 0)


def test_several_records_of_a_unit_amplify_as_often() -> None:
    axis = Retention.uniform("a", letters(3), F(3, 5))
    product = Product((axis,), (), tuple(c.name for c in axis.columns()))
    entry = Requirement("rho1-to-rho2", Rho1ToRho2Options(rho1="1/4", rho2="9/10", scope="attribute"), max_records=2)
    finding = ASSESSOR.finding(entry, product, 10)
    assert finding.achieved is not None
    assert finding.achieved.value == pytest.approx(float(largest_posterior(F(9), F(1, 4))))


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        (("1/10", "1/2"), ("1/10", "2/5"), Order.STRONGER),
        (("1/10", "1/2"), ("1/5", "1/2"), Order.STRONGER),
        (("1/10", "1/2"), ("1/2", "9/10"), Order.EQUAL),
        (("1/10", "1/2"), ("1/10", "3/5"), Order.WEAKER),
        (("1/10", "1/2", "record"), ("1/10", "1/2"), Order.WEAKER),
        (("1/10", "1/2"), ("1/10", "1/2", "record"), Order.STRONGER),
        (("1/10", "1/2", "record"), ("1/10", "2/5"), Order.INCOMPARABLE),
    ],
)
def test_what_is_asked_is_compared(old: Any, new: Any, order: Order) -> None:
    assert Rho1ToRho2().compare(asked(*old).options, asked(*new).options) is order


@pytest.mark.parametrize("wrong", [("1/2", "1/2"), ("1/2", "1/3"), (0, "1/2"), ("1/2", 1)])
def test_what_says_nothing_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="rho1 < rho2"):
        Rho1ToRho2Options(rho1=wrong[0], rho2=wrong[1])
