"""Recoding: exact, sparse, and silent in public about who was suppressed."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.partition import Boxes, Cut, Levels
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.table import Column
from rrpolicy.frozen import replace
from rrpolicy.testing import check_axis

A, B = Domain("a", ("x", "y", "z")), Domain("b", (1, 2))
BOXES = Recode(
    (A, B),
    (Column("a", "category", ("*", "x", "y..z", "y", "z"), "", "a"), Column("b", "category", ("*", "1", "2"), "", "b")),
    (((0, 1, 2), (0,), (1, 2), (1,), (2,)), ((0, 1), (0,), (1,))),
    Boxes((0, 0), (Cut(0, (1, 2)), None, Cut(1, (1, 2)), None, Cut(0, (3, 4)), None, None)),
)
EXAMPLES = {
    "one attribute": Recode.by_levels([A], [["u", "u", "v"]]),
    "one group": Recode.by_levels([A], [["*", "*", "*"]]),
    "two attributes": Recode.by_levels([A, B], [["u", "u", "v"], [1, 2]]),
    "a suppressed class": Recode.by_levels([A, B], [["u", "u", "v"], [1, 2]], suppressed=[(0, 1)]),
    "everything but one class suppressed": Recode.by_levels([A, B], [["u", "u", "v"], ["*", "*"]], suppressed=[(1, 0)]),
    "boxes": BOXES,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_recodings_conform(name):
    check_axis(EXAMPLES[name])


def test_boxes_are_where_the_cuts_put_them():
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]])

    assert BOXES.recode(codes).tolist() == [[1, 0], [1, 0], [2, 1], [3, 2], [4, 2]]
    assert BOXES.rule.boxes() == ((1, 0), (2, 1), (3, 2), (4, 2))


def test_suppressed_classes_stand_in_audit_alone():
    axis = EXAMPLES["a suppressed class"]

    assert axis.suppressed_row == ("*", "*")
    assert axis.to_json()["rule"]["suppressed"] == [[0, 1]]
    public = axis.to_public_json()
    assert public["rule"] == {"rule": "levels", "suppressing": True}
    other = Recode.by_levels([A, B], [["u", "u", "v"], [1, 2]], suppressed=[(1, 0)])
    assert json.dumps(public) == json.dumps(other.to_public_json())
    with pytest.raises(ValueError, match="does not list the suppressed classes"):
        Recode.from_json(public).recode(np.array([[0, 0]]))


def test_what_is_released_is_a_group_or_a_star():
    axis = EXAMPLES["a suppressed class"]
    labels = [
        [c.labels[i] for c, i in zip(axis.columns(), row, strict=True)]
        for row in axis.recode(np.array([[0, 0], [1, 1], [2, 1]]))
    ]

    assert labels == [["u", 1], ["*", "*"], ["v", 2]]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda: Recode.by_levels([A], [["*", "*", "v"]], suppressed=[]), "cannot mean suppressed"),
        (lambda: Recode((A,), (Column("a", "category", ("u",), "", "a"),), (((0, 1),),), Levels()), "exactly one group"),
        (lambda: Recode((A,), (Column("a", "category", ("u",), "", "a"),), (((0, 3),),), Levels()), "must represent"),
        (lambda: Recode((A,), (Column("a", "category", ("u",), "", "a"),), (), Levels()), "groups for each attribute"),
        (lambda: Recode((A,), (Column("a", "category", ("u",), "", "a"),), (((0, 1), (2,)),), Levels()), "every group of an attribute must have a label"),
        (lambda: Recode((A,), (Column("a", "category", ("u", "v"), "", "a"),), (((0, 1, 2), (2,)),), Levels(suppressing=True)), "last label of an attribute"),
        (lambda: Recode(BOXES.original, BOXES.released, BOXES.groups, Boxes((0, 0), (Cut(2, (1, 2)), None, None))), "unknown attribute or label"),
        (lambda: Recode(BOXES.original, (replace(BOXES.released[0], labels=("*", "x", "y..z", "y")), BOXES.released[1]), BOXES.groups, BOXES.rule), "label without a name"),
        (lambda: Recode.by_levels([A, B], [["u", "u", "v"], [1, 2]], suppressed=[(7, 0)]), "not one of the classes"),
        (lambda: Recode(BOXES.original, BOXES.released, BOXES.groups, Boxes((1, 0), (None,))), "not the whole domain"),
        (lambda: Recode(BOXES.original, BOXES.released, BOXES.groups, Boxes((0, 0), (Cut(0, (1, 3)), None, None))), "does not part"),
        (lambda: Recode(BOXES.original, BOXES.released, BOXES.groups, Boxes((0, 0), (Cut(0, (1, 2)), None))), "fewer cuts"),
        (lambda: Recode(BOXES.original, BOXES.released, BOXES.groups, Boxes((0, 0), (None, None))), "more cuts"),
        (lambda: Recode.by_levels([Domain(f"d{i}", tuple(range(1000))) for i in range(7)], [list(range(1000))] * 7), "cannot be numbered"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        wrong()


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d["rule"].update(rule="magic"),
        lambda d: d["rule"].update(suppressing="yes"),
        lambda d: d["rule"].update(suppressed=[["a"]]),
        lambda d: d.update(groups=[[["a"]]]),
        lambda d: d.update(groups="no"),
        lambda d: d.update(version=2),
    ],
)
def test_a_damaged_description_is_refused(damage):
    document = json.loads(json.dumps(EXAMPLES["a suppressed class"].to_json()))
    damage(document)

    with pytest.raises(ValueError, match="."):
        Recode.from_json(document)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4), st.lists(st.integers(0, 1), min_size=3, max_size=3))
def test_the_matrix_applies_as_the_recoding_says(first, second):
    axis = Recode.by_levels(
        [Domain("a", tuple("wxyz")), Domain("b", tuple("pqr"))], [[f"g{i}" for i in first], [f"h{i}" for i in second]]
    )
    x = np.arange(12.0).reshape(1, 12)

    released = axis.forward(x, 1)

    assert released.sum() == x.sum()
    assert np.allclose(axis.back(released, 1)[0], [released[0, next(iter(axis.column(v)))] for v in range(12)])
    assert all(list(axis.column(v).values()) == [Fraction(1)] for v in range(12))


def test_a_wide_recoding_stays_sparse():
    wide = [Domain(f"d{i}", tuple(range(100))) for i in range(8)]
    levels = [[f"{v // 10}" for v in range(100)]] * 8
    axis = Recode.by_levels(wide, levels, suppressed=[(0,) * 8])

    assert axis.original_size == 10**16
    assert axis.recode(np.array([[5] * 8, [15] * 8])).tolist() == [[10] * 8, [1] * 8]
    assert Product((axis,), (), axis.attributes).tables()[0].columns[0].labels[-1] == "*"
