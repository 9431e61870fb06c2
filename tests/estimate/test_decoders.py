"""The weights of the axes that channels are made of: what an axis publishes is undone exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.decoders import AdditionDecoder, AnatomyDecoder, Block
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.weights import sets
from rrpolicy.estimate.weights.base import EXACT_LIMIT, minimum_variance, minimum_variance_float
from rrpolicy.estimate.weights.decoder_weights import axis_weights


def weights_of(axis):
    (weights,) = axis_weights(axis.decoder())
    return weights


def dense(axis):
    return np.asarray(axis.forward(np.eye(axis.original_size), 0))


def coupled():
    rows = ((7, 1, 2, 0), (1, 8, 1, 1), (1, 1, 6, 2), (1, 0, 1, 7))
    entries = tuple(tuple(Fraction(v, 10) for v in row) for row in rows)
    domains = (Domain("a", ("x", "y")), Domain("b", (1, 2)))
    return Matrix(domains, tuple(category_column(d.attribute, d.labels) for d in domains), entries)


AXES = {
    "identity": Identity("s", category_column("s", ("F", "M"))),
    "retention": Retention.uniform("s", ("a", "b", "c"), Fraction(2, 3)),
    "one category": Retention.uniform("s", ("a",), Fraction(2, 3)),
    "blocks": Retention(
        (Domain("s", ("a", "b", "c", "d")),),
        (category_column("s", ("a", "b", "c", "d")),),
        (Block((0, 2), Fraction(3, 4)), Block((1,), Fraction(1)), Block((3,), Fraction(1))),
    ),
    "coupled": coupled(),
}


@pytest.mark.parametrize("name", AXES)
def test_weights_undo_the_axis(name):
    axis = AXES[name]
    weights = weights_of(axis)
    P = dense(axis)
    x = np.arange(1.0, 1 + P.shape[0] * 3).reshape(P.shape[0], 3)

    np.testing.assert_allclose(P.T @ weights.table, np.eye(P.shape[1]), atol=1e-12)
    assert weights.vector(np.ones(P.shape[1], dtype=bool)).tolist() == [1.0] * P.shape[0]
    for power in (1, 2):
        np.testing.assert_allclose(weights.contract(x, 0, None, power), (weights.table**power).T @ x, atol=1e-12)
    everything = np.eye(P.shape[1], dtype=bool)
    np.testing.assert_allclose(weights.support(x, 0, None), weights.under(everything).T @ x)
    assert len(weights.original) == axis.original_size


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_matrix_is_undone_or_refused(data):
    U, V = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    columns = [data.draw(st.lists(st.integers(0, 4), min_size=U, max_size=U).filter(any)) for _ in range(V)]
    P = [[Fraction(columns[v][u], sum(columns[v])) for v in range(V)] for u in range(U)]
    targets = [[Fraction(int(u == v)) for v in range(V)] for u in range(V)]

    w, solved = minimum_variance(P, targets)
    in_floats, flags = minimum_variance_float(P, np.eye(V))

    rank = np.linalg.matrix_rank(np.array(P, dtype=float))
    assert all(solved) == (rank == V)
    assert list(flags) == solved
    for k in np.flatnonzero(solved):
        for v in range(V):
            assert sum(P[u][v] * w[u][k] for u in range(U)) == int(v == k)
        np.testing.assert_allclose(in_floats[:, k], [float(row[k]) for row in w], atol=1e-8)


def test_weights_do_not_change_when_a_released_value_is_split_in_proportion():
    P = [[Fraction(7, 10), Fraction(1, 5)], [Fraction(3, 10), Fraction(4, 5)]]
    split = [P[0], [v / 3 for v in P[1]], [v * 2 / 3 for v in P[1]]]
    targets = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]

    whole, parts = minimum_variance(P, targets)[0], minimum_variance(split, targets)[0]

    assert parts == [whole[0], whole[1], whole[1]]


def test_matrices_too_large_for_fractions_are_solved_in_floats(made):
    size = EXACT_LIMIT + 6
    rows = [[f"{7 if u == v else 0 + (3 if v == (u + 1) % size else 0)}/10" for v in range(size)] for u in range(size)]
    axis = made.matrix("d", range(size), range(size), rows)
    (weights,) = axis_weights(made.undone(axis))

    np.testing.assert_allclose(axis.array.T @ weights.table, np.eye(size), atol=1e-12)


def test_blocks_below_chance_are_undone_too(made):
    axis = made.retention("s", "abc", [((0, 1, 2), "1/5")])
    (weights,) = axis_weights(made.undone(axis))

    np.testing.assert_allclose(axis.array.T @ weights.table, np.eye(3), atol=1e-12)
    assert weights.under(np.array([[True], [False], [False]]))[:, 0].tolist() == [False, True, True]


def test_shares_of_groups_are_no_weights_of_released_values():
    (weights,) = axis_weights(AnatomyDecoder(("s",), "st", "qit", "g", "s", "n", ("a", "b"), 2))

    assert (weights.unbiased, weights.original) == (False, (("a",), ("b",)))
    for refused in (weights.solve, weights.under):
        with pytest.raises(PolicyError, match="RR288"):
            refused(np.eye(2, dtype=bool))


def test_sets_have_no_weights_of_released_values(monkeypatch):
    labels = tuple((v,) for v in "abcd")
    (weights,) = axis_weights(AdditionDecoder(("s",), ("s",), labels, 2))
    for refused in (weights.solve, weights.under):
        with pytest.raises(PolicyError, match="RR279"):
            refused(np.eye(4, dtype=bool))
    with pytest.raises(PolicyError, match="RR267"):
        axis_weights(AdditionDecoder(("s",), ("s",), labels, 0))
    assert weights.factors(None).shape == (16, 4)
    monkeypatch.setattr(sets, "FACTOR_ENTRIES", 63)
    with pytest.raises(PolicyError, match="RR268.*sets of 4 values is too large"):
        weights.factors(None)
