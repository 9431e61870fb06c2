"""Mondrian's boxes satisfy by brute force what they claim, deterministically, and are called by names that make sense."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.optimize.recode.generalise import multidimensional
from rrpolicy.optimize.recode.levels import Goal, class_attributes, recoded
from rrpolicy.optimize.recode.mondrian import MondrianAttribute
from rrpolicy.policy.model import Attribute, Bins

_spec = importlib.util.spec_from_file_location("generalising", Path(__file__).with_name("generalising.py"))
assert _spec is not None
assert _spec.loader is not None
small = importlib.util.module_from_spec(_spec)
sys.modules["generalising"] = small
_spec.loader.exec_module(small)

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=40
)
GOAL = Goal("ncp", (Fraction(1),) * 3)


def partitioned(requirements, rows, *, nominal=False):
    policy = small.policy_of(small.attributes(nominal=nominal), requirements, requirements[0].options)
    task = small.task_of(policy, rows)
    found = [recoded(a) for a in class_attributes(policy)]
    return task, multidimensional(task, task.original, found, GOAL, lambda axes: Product.of(policy.released, axes))


@pytest.mark.slow
@pytest.mark.parametrize("nominal", [False, True])
@pytest.mark.parametrize("name", [n for n in small.REQUIREMENTS if n != "some"])
@settings(max_examples=120, deadline=None, derandomize=True)
@given(rows=ROWS)
def test_boxes_satisfy_their_model(name, nominal, rows):
    requirements = small.REQUIREMENTS[name]
    try:
        task, channel = partitioned(requirements, rows, nominal=nominal)
    except RequirementError:
        assert not small.holds(requirements, [("*", "*", "*", small.VALUES[row[3]]) for row in rows])
        return

    table = small.released(channel, task.original)

    assert Counter(row[3] for row in table) == Counter(small.VALUES[row[3]] for row in rows)
    assert small.holds(requirements, table)
    assert all(assessor.accepts(r, channel, task.original) for r, assessor in task.requirements)
    assert partitioned(requirements, rows, nominal=nominal)[1] == channel
    assert type(channel.axes[0]).from_json(channel.axes[0].to_json()) == channel.axes[0]


@pytest.mark.parametrize("name", small.DISCLOSURE)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS)
def test_disclosure_is_held_to_as_well(name, rows):
    requirements = small.DISCLOSURE[name]
    try:
        _, channel = partitioned(requirements, rows)
    except RequirementError:
        return

    (axis,) = [axis for axis in channel.axes if axis.kind == "recode"]
    classes = defaultdict(Counter)
    for row in rows:
        classes[tuple(axis.recode(np.array([row[:3]]))[0].tolist())][row] += 1
    limit = requirements[0].options.threshold
    for found in classes.values():
        most = 1 if name == "identity" else max(found.values())
        assert Fraction(most, found.total()) <= limit


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS, threshold=st.sampled_from(["1/6", "1/4", "2/5"]))
def test_what_holds_of_one_class_is_never_refused(rows, threshold):
    entry = small.requirement("attribute-disclosure", threshold=threshold)
    if Fraction(max(Counter(rows).values()), len(rows)) <= Fraction(threshold):
        partitioned([entry], rows)
        return
    with pytest.raises(RequirementError, match="as one class"):
        partitioned([entry], rows)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS)
def test_no_box_can_be_cut_further(rows):
    """Every allowed cut was made: two classes of twice the size would otherwise have been left."""
    try:
        task, channel = partitioned(small.REQUIREMENTS["k"], rows)
    except RequirementError:
        return
    (axis,) = [a for a in channel.axes if a.kind == "recode"]
    counts = task.original.counts("a", "b", "c")
    codes, n = counts.codes, counts.n
    boxes = defaultdict(list)
    for box, cell, records in zip(axis.recode(codes).tolist(), codes.tolist(), n.tolist(), strict=True):
        boxes[tuple(box)].append((cell, records))
    for inside in boxes.values():
        for place in range(3):
            values = sorted({cell[place] for cell, _ in inside})
            ways = [[v for v in values if v < cut] for cut in values[1:]] if place != 2 else [[0]] * (len(values) > 1)
            for low in ways:
                first = sum(records for cell, records in inside if cell[place] in low)
                rest = sum(records for _, records in inside) - first
                assert min(first, rest) < 3


def test_groups_are_called_by_their_hierarchy_their_range_or_a_star():
    ages = Attribute(
        "age",
        Role.QUASI_IDENTIFIER,
        ("[0, 20)", "[20, 40)", "[40, inf)", "unknown"),
        nulls="unknown",
        bins=Bins((0, 20, 40, float("inf")), ("[0, 20)", "[20, 40)", "[40, inf)")),
    )
    named = Attribute("age", Role.QUASI_IDENTIFIER, ("young", "middle", "old"), scale="ordinal")
    tree = Attribute(
        "x", Role.QUASI_IDENTIFIER, ("a", "b", "c"), hierarchy=(("a", "b", "c"), ("ab", "ab", "c"), ("any",) * 3)
    )
    flat = Attribute("x", Role.QUASI_IDENTIFIER, ("a", "b", "c"))

    side = MondrianAttribute(recoded(ages))
    assert [side.label(g) for g in ((0, 1), (1,), (1, 2), (0, 1, 2, 3))] == ["[0, 40)", "[20, 40)", "[20, inf)", "*"]
    assert list(side.cuts((0, 1, 2, 3))) == [((0, 1, 2), (3,))]
    assert list(side.cuts((0, 1, 2))) == [((0,), (1, 2)), ((0, 1), (2,))]
    assert MondrianAttribute(recoded(named)).label((0, 1)) == "young to middle"
    assert [MondrianAttribute(recoded(tree)).label(g) for g in ((0, 1), (0, 1, 2))] == ["ab", "any"]
    assert list(MondrianAttribute(recoded(tree)).cuts((0, 1, 2))) == [((0, 1), (2,))]
    assert list(MondrianAttribute(recoded(flat)).cuts((0, 1, 2))) == [((0,), (1,), (2,))]
    odd = Attribute("x", Role.QUASI_IDENTIFIER, ("a", "b", "a to b", "a or b"), scale="ordinal")
    assert MondrianAttribute(recoded(odd)).names([(0, 1), (2,), (0,)]) == ("(a or b)", "a to b", "a")
    mixed = Attribute("x", Role.QUASI_IDENTIFIER, (1, True), hierarchy=((1, True), ("any", "any")))
    assert MondrianAttribute(recoded(mixed)).below((0, 1)) == ((0,), (1,))
