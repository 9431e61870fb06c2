"""The common retention probability and its rounding."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.probability import keep_probability, retention_probability
from rrpolicy.optimize.retention.common_retention import largest_common_retention, round_keep_down


def retention_epsilon(sizes, retention):
    """Return sum_a log(p_a/q_a)."""
    varied = [d for d in sizes if d > 1]
    if retention >= 1:
        return math.inf if varied else 0.0
    return math.fsum(math.log1p(d * retention / (1 - retention)) for d in varied)


def common_retention_for_epsilon(sizes, epsilon):
    return largest_common_retention(lambda rho: retention_epsilon(sizes, rho) <= epsilon)


def test_retention_for_epsilon_matches_the_reference(vectors):
    for case in vectors["pk_anonymity"]["retention_for_epsilon"]:
        found = common_retention_for_epsilon(case["domain_sizes"], case["epsilon"])

        assert found == pytest.approx(case["retention"], abs=1e-9)


def test_warner_is_the_closed_form():
    # One binary attribute: keep e^epsilon/(1 + e^epsilon).
    for epsilon in (0.1, 1.0, 3.0):
        rho = common_retention_for_epsilon([2], epsilon)

        assert (1 + rho) / 2 == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), rel=1e-14)


def test_attributes_of_one_category_have_no_effect():
    assert common_retention_for_epsilon([1, 4, 1], 2.0) == common_retention_for_epsilon([4], 2.0)
    assert common_retention_for_epsilon([1], 0.5) == 1.0
    assert round_keep_down(0.3, 1) == 1


def test_nothing_holds():
    assert largest_common_retention(lambda _: False) == 0.0


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6).filter(lambda s: max(s) > 1),
    epsilon=st.floats(1e-3, 30),
)
def test_the_bisection_stops_at_the_last_double(sizes, epsilon):
    rho = common_retention_for_epsilon(sizes, epsilon)

    assert retention_epsilon(sizes, rho) <= epsilon
    assert retention_epsilon(sizes, math.nextafter(rho, 2)) > epsilon


@settings(deadline=None)
@given(size=st.integers(2, 400), share=st.fractions(0, 1), digits=st.integers(1, 9))
def test_rounding_goes_down_and_stays_above_uniform(size, share, digits):
    keep = keep_probability(max(share, Fraction(1, 10**12)), size)

    rounded = round_keep_down(keep, size, digits)

    assert Fraction(1, size) < rounded <= keep
    if keep - Fraction(1, size) > Fraction(1, 10 ** max(digits, 5)):
        assert keep - rounded < Fraction(1, 10 ** max(digits, 5))


@pytest.mark.parametrize("keep", [0.25, 0.2, 1.0000001, math.nextafter(0.25, 0)])
def test_rounding_refuses_what_is_no_keep_probability(keep):
    with pytest.raises(ValueError, match=r"\(1/4, 1\]"):
        round_keep_down(keep, 4)


@settings(deadline=None)
@given(size=st.integers(2, 50), rho=st.fractions(0, 1))
def test_keep_and_retention_are_one_parameter(size, rho):
    assert retention_probability(keep_probability(rho, size), size) == rho


def test_no_numpy_is_loaded():
    code = "import sys, rrpolicy.optimize.retention.common_retention; sys.exit('numpy' in sys.modules or 'scipy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
