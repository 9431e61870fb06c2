"""l-diversity of sets: the bound, one attribute of several, and measured again on what was written."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.declarations import Role
from rrpolicy.finding import Verdict
from rrpolicy.policy.model import Attribute, Requirement
from rrpolicy.privacy.addition.diversity import assess, assessors, measure, single_attribute_diversity
from rrpolicy.privacy.models.l_diversity import LDiversityOptions
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import check_assessor, open_policy, policy_of

LABELS = ("a", "b", "c", "d")


def channel_of(set_size: int = 3) -> Product:
    return Product((Identity.of("sex", ("f", "m")), Sets.of("s", LABELS, set_size)), (), ("sex", "s"))


def asked(l: Any, *sensitive: str) -> Requirement:
    return Requirement("l-diversity", LDiversityOptions(kind="frequency", l=str(l), sensitive=sensitive))


class Rows:
    """Written tables, held in memory."""

    def __init__(self, **columns: Any) -> None:
        self._table = pa.table({**columns, MULTIPLICITY: [1] * len(next(iter(columns.values())))})

    def distinct(self, table: str) -> pa.RecordBatchReader:
        assert table == "data"
        return self._table.to_reader()


@pytest.mark.parametrize(
    ("l", "verdict"), [("2", "satisfied"), ("3", "satisfied"), ("5/2", "satisfied"), ("7/2", "failed"), ("4", "failed")]
)
def test_the_bound_is_the_size_of_the_sets(l: str, verdict: str) -> None:
    finding = assess(asked(l), channel_of(), 100)

    assert finding.verdict == verdict
    assert finding.achieved is not None
    assert finding.achieved.value == 3


def test_an_attribute_that_is_not_released_as_sets_reaches_one() -> None:
    plain = Product((Identity.of("t", LABELS), Sets.of("s", LABELS, 3)), (), ("t", "s"))

    finding = assess(asked(2, "s", "t"), plain, 100)

    assert finding.verdict is Verdict.FAILED
    assert finding.achieved is not None
    assert finding.achieved.value == 1


@given(st.integers(2, 4), st.integers(2, 4), st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_one_of_two_attributes_is_bounded_by_what_sets_of_combinations_can_repeat(a: int, b: int, data: Any) -> None:
    l = data.draw(st.integers(2, a * b - 1))
    domains = (Domain("a", tuple(range(a))), Domain("b", tuple(range(b))))
    axis = Sets(domains, tuple(Column(d.attribute, "set", d.labels, "", d.attribute) for d in domains), l)

    most = min(l, b)

    assert single_attribute_diversity(axis, "a") == Fraction(l, most)


def test_the_written_sets_are_measured_again() -> None:
    channel = channel_of()
    stream = Streams.for_tests(3).stream("axis")
    axis = channel.axes[1]
    _, released, _ = axis.split(np.array([0, 1, 3]), np.array([20, 20, 20]), stream)
    (lists,) = axis.values(released)
    written = Rows(sex=["f"] * 60, s=lists)

    finding = measure(asked(3), None, channel, written)  # type: ignore[arg-type]

    assert finding == assess(asked(3), channel, 60)


@pytest.mark.parametrize(
    ("odd", "achieved"), [(["a", "b"], 2), (["a", "a", "b"], 2), (["a", "b", "z"], 2), (["c", "c", "c"], 1), ([], 0)]
)
def test_a_set_that_holds_less_is_found(odd: list[str], achieved: int) -> None:
    lists = pa.array([["a", "b", "c"], odd, ["b", "c", "d"]], pa.list_(pa.string()))

    finding = measure(asked(3), None, channel_of(), Rows(sex=["f", "m", "m"], s=lists))  # type: ignore[arg-type]

    assert finding.verdict is Verdict.FAILED
    assert finding.achieved is not None
    assert finding.achieved.value == achieved


def test_combinations_that_repeat_are_found() -> None:
    domains = (Domain("a", ("x", "y")), Domain("b", ("p", "q")))
    axis = Sets(domains, tuple(Column(d.attribute, "set", d.labels, "", d.attribute) for d in domains), 2)
    channel = Product((axis,), (), ("a", "b"))
    right = Rows(a=[["x", "x"], ["x", "y"]], b=[["p", "q"], ["p", "p"]])
    wrong = Rows(a=[["x", "x"], ["x", "x"]], b=[["p", "q"], ["p", "p"]])
    out_of_step = Rows(a=[["x", "x"], ["x", "y"]], b=[["p", "q"], ["p"]])

    assert measure(asked(2), None, channel, right).verdict is Verdict.SATISFIED  # type: ignore[arg-type]
    assert measure(asked(2), None, channel, wrong).verdict is Verdict.FAILED  # type: ignore[arg-type]
    assert measure(asked(2), None, channel, out_of_step).verdict is Verdict.FAILED  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(2, 3), st.integers(0, 1000))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_group_of_released_sets_satisfies_the_bound_by_brute_force(own: list[int], l: int, seed: int) -> None:
    axis = Sets.of("s", LABELS, l)
    _, released, _ = axis.split(np.array(own), np.ones(len(own), dtype=np.int64), Streams.for_tests(seed).stream("x"))
    for size in range(1, len(own) + 1):
        entries = np.bincount(released[:size].ravel(), minlength=4)

        assert entries.max() * l <= entries.sum()


def test_the_kit_accepts_the_assessor() -> None:
    (assessor,) = assessors()

    sex = Attribute("sex", Role.QUASI_IDENTIFIER, ("f", "m"), release_as="sex")
    policy = policy_of([sex, Attribute("s", Role.SENSITIVE, LABELS, release_as="s")], [asked(3)])

    found = check_assessor(assessor, open_policy(policy), [channel_of(3), channel_of(2)])

    assert [f.verdict for f in found] == [Verdict.SATISFIED, Verdict.FAILED]


def test_of_two_attributes_drawn_together_one_may_be_named() -> None:
    domains = (Domain("s", LABELS), Domain("t", ("no", "yes")))
    axis = Sets(domains, tuple(Column(d.attribute, "set", d.labels, "", d.attribute) for d in domains), 4)
    made = Product((Identity.of("sex", ("f", "m")), axis), (), ("sex", "s", "t"))
    for names in (("s",), ("t",), ("s", "t")):
        found = assess(asked(1, *names), made, 100)
        bound = single_attribute_diversity(axis, names[0]) if len(names) == 1 else 4
        assert found.achieved is not None
        assert found.achieved.value == float(bound)
