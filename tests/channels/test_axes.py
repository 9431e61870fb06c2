"""Axes: exact matrices, applied, described, read back; what epsilon and k are made of."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import ColumnSumError, Matrix, full_column_rank, invariant_matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Axis, Transition
from rrpolicy.channels.decoders import Block, IdentityDecoder, MatrixDecoder
from rrpolicy.channels.json_decoding import axis_from_json, channel_from_json
from rrpolicy.channels.probability import (
    keep_probability,
    log_at_most,
    log_decimal,
    log_rounded_up,
    retention_probability,
    round_down,
    round_up,
)
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import weight_norms
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.channels.table import Column, attribute_column
from rrpolicy.errors import DataError, RefusedError
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Role
from rrpolicy.serialization import plain

KINDS: dict[str, Any] = {"identity": Identity, "retention": Retention, "matrix": Matrix}
F = Fraction
KEEPING = Matrix.preserving("sex", ["m", "f"], [F(2, 3), F(1, 3)], F(3, 4), of="declared")

probabilities = st.fractions(0, 1, max_denominator=30)


def letters(size: int) -> list[str]:
    return [chr(ord("a") + i) for i in range(size)]


@st.composite
def retentions(draw: st.DrawFn) -> Retention:
    size = draw(st.integers(1, 6))
    order = draw(st.permutations(range(size)))
    cuts = sorted(draw(st.sets(st.integers(1, size - 1), max_size=2))) if size > 1 else []
    parts = [tuple(sorted(order[i:j])) for i, j in itertools.pairwise([0, *cuts, size])]
    blocks = tuple(Block(part, F(1) if len(part) == 1 else draw(probabilities)) for part in parts)
    labels = tuple(letters(size))
    return Retention((Domain("x", labels),), (Column("y", "category", labels, "VARCHAR", "x"),), blocks)


@st.composite
def stochastic(draw: st.DrawFn, rows: int | None = None, columns: int | None = None) -> list[list[Fraction]]:
    height, width = rows or draw(st.integers(1, 5)), columns or draw(st.integers(1, 4))
    drawn = [draw(st.lists(st.integers(0, 6), min_size=height, max_size=height).filter(any)) for _ in range(width)]
    return [[F(column[u], sum(column)) for column in drawn] for u in range(height)]


@st.composite
def matrices(draw: st.DrawFn) -> Matrix:
    if draw(st.booleans()):
        rows = draw(stochastic())
        return Matrix.explicit("x", letters(len(rows[0])), letters(len(rows)), rows, "y")
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 2)))
    released = (Column("c", "category", ("r", "s"), "", "a"), Column("d", "category", (1, 2), "", "b"))
    rows = draw(stochastic(4, math.prod(shape)))
    domains = (Domain("a", tuple(letters(shape[0]))), Domain("b", tuple(range(shape[1]))))
    return Matrix(domains, released, tuple(map(tuple, rows)))


@st.composite
def identities(draw: st.DrawFn) -> Identity:
    return Identity.of("x", letters(draw(st.integers(1, 4))), "y", draw(st.sampled_from([None, "seen by nobody"])))


axes = st.one_of(retentions(), matrices(), identities())


def dense(axis: Any) -> np.ndarray:
    P = np.zeros((axis.released_size, axis.original_size))
    for v in range(axis.original_size):
        for u, entry in axis.column(v).items():
            P[u, v] = float(entry)
    return P


def exact_rows(axis: Any) -> list[list[Fraction]]:
    columns = [axis.column(v) for v in range(axis.original_size)]
    return [[column.get(u, F(0)) for column in columns] for u in range(axis.released_size)]


@given(axes)
def test_an_axis_is_column_stochastic_and_of_the_kinds_that_it_says(axis: Any) -> None:
    assert isinstance(axis, Axis)
    assert isinstance(axis, Transition)
    assert [sum(axis.column(v).values()) for v in range(axis.original_size)] == [1] * axis.original_size
    assert all(entry > 0 for v in range(axis.original_size) for entry in axis.column(v).values())
    assert math.prod(len(c.labels) for c in axis.columns()) == axis.released_size


@given(axes, st.sampled_from([1, 2]), st.integers(0, 2), st.randoms(use_true_random=False))
def test_forward_and_back_are_the_dense_matrix_and_its_transpose(
    axis: Any, power: Any, where: int, random: Any
) -> None:
    rng = np.random.default_rng(random.randrange(2**32))
    shape = [2, 3]
    x = rng.random([*shape[:where], axis.original_size, *shape[where:]])
    y = rng.random([*shape[:where], axis.released_size, *shape[where:]])
    P = dense(axis) ** power

    forward, back = axis.forward(x, where, power), axis.back(y, where, power)

    np.testing.assert_allclose(forward, np.moveaxis(np.tensordot(P, x, (1, where)), 0, where), rtol=1e-12)
    np.testing.assert_allclose(back, np.moveaxis(np.tensordot(P.T, y, (1, where)), 0, where), rtol=1e-12)
    assert math.isclose(np.vdot(forward, y), np.vdot(x, back), rel_tol=1e-12)


@given(axes)
def test_descriptions_are_read_back(axis: Any) -> None:
    document = json.loads(json.dumps(axis.to_json()))

    assert axis_from_json(document, KINDS) == axis
    assert axis_from_json(json.loads(json.dumps(axis.to_public_json())), KINDS) == axis


@given(axes)
def test_epsilon_is_the_largest_log_ratio_and_never_below_it(axis: Any) -> None:
    rows = [row for row in exact_rows(axis) if any(row)]
    infinite = any(0 in row for row in rows)
    ratio = None if infinite else max(max(row) / min(row) for row in rows)

    assert axis.max_ratio() == ratio
    achieved = axis.log_ratio().value
    if infinite:
        assert achieved == math.inf
    else:
        assert math.isclose(achieved, math.log(ratio), rel_tol=1e-12, abs_tol=1e-15)
        assert achieved == 0 if ratio == 1 else not log_at_most(ratio, F(math.nextafter(achieved, 0)))
        assert log_at_most(ratio, F(achieved))


@given(axes)
def test_the_cross_ratio_is_the_smallest_of_all_quadruples(axis: Any) -> None:
    rows = [row for row in exact_rows(axis) if any(row)]
    if any(0 in row for row in rows):
        expected = F(0)
    else:
        quadruples = itertools.product(rows, rows, range(axis.original_size), range(axis.original_size))
        expected = min(a[v] * b[u] / (a[u] * b[v]) for a, b, u, v in quadruples)

    assert axis.min_cross_ratio() == expected


@settings(max_examples=60)
@given(stochastic(rows=6, columns=9))
def test_pruned_pairs_of_columns_lose_no_cross_ratio(rows: list[list[Fraction]]) -> None:
    rows = [[(entry + F(1, 50)) / (1 + F(6, 50)) for entry in row] for row in rows]
    columns = list(zip(*rows, strict=True))
    ratios = [[b / a for a, b in zip(u, v, strict=True)] for u, v in itertools.combinations(columns, 2)]
    axis = Matrix.explicit("x", letters(9), letters(6), rows)

    assert axis.min_cross_ratio() == min(min(x) / max(x) for x in ratios)


def norms_of(axis: Axis) -> np.ndarray:
    """Return for each original category the mean squared norm of the inverse's columns of what it is released as."""
    return np.broadcast_to(np.asarray(weight_norms(axis, axis.attributes)), (axis.original_size,))


@given(retentions())
def test_retention_norms_are_those_of_the_numerical_inverse(axis: Retention) -> None:
    if any(b.size > 1 and abs(b.keep - b.move) < F(1, 50) for b in axis.blocks):
        return
    inverse, norms = np.linalg.inv(dense(axis)), norms_of(axis)

    np.testing.assert_allclose(norms, (inverse**2).sum(axis=0), rtol=1e-9)
    if len(axis.blocks) == 1 and axis.original_size > 1:
        d, p = axis.original_size, float(axis.blocks[0].keep)
        assert math.isclose(norms.sum(), (d - 1) ** 3 / (d * p - 1) ** 2 + 1, rel_tol=1e-9)


@given(matrices())
def test_matrix_norms_are_those_of_the_numerical_inverse(axis: Matrix) -> None:
    P = dense(axis)
    assert axis.decoder().unbiased == (np.linalg.matrix_rank(P) == P.shape[1])
    if not axis.decoder().unbiased:
        with pytest.raises(DataError, match="RR335"):
            norms_of(axis)
    elif P.shape[0] == P.shape[1]:
        np.testing.assert_allclose(norms_of(axis), P.T @ (np.linalg.inv(P) ** 2).sum(axis=0), rtol=1e-6)


@given(st.integers(2, 50), st.fractions(0, 1, max_denominator=10**6))
def test_keep_and_retention_probabilities_convert_exactly(size: int, retention: Fraction) -> None:
    keep = keep_probability(retention, size)

    assert keep == retention + (1 - retention) * F(1, size)
    assert retention_probability(keep, size) == retention
    assert math.isclose(retention_probability(keep_probability(float(retention), size), size), retention, abs_tol=1e-12)


def test_one_category_is_kept_without_any_formula() -> None:
    axis = Retention.uniform("x", ["only"], F(1, 3))

    assert axis.blocks == (Block((0,), F(1)),)
    assert (axis.log_ratio().value, axis.min_cross_ratio()) == (0.0, 1)
    assert norms_of(axis).sum() == 1.0
    assert (keep_probability(F(1, 3), 1), retention_probability(F(1), 1)) == (1, 1)
    assert keep_probability(0.25, 1) == 1.0


@given(st.fractions(F(1), F(10**6), max_denominator=10**9))
def test_logarithms_are_rounded_up_by_less_than_an_ulp(ratio: Fraction) -> None:
    up = log_rounded_up(ratio)

    exact = F(log_decimal(ratio)) if ratio > 1 else F(0)
    assert F(up) >= exact
    assert ratio == 1 or F(math.nextafter(up, -1)) < exact


def test_logarithms_near_one_keep_their_digits() -> None:
    tiny = F(10**60 + 1, 10**60)

    assert math.isclose(log_rounded_up(tiny), 1e-60, rel_tol=1e-15)
    assert log_at_most(tiny, F(1, 10**60))
    assert not log_at_most(tiny, F(1, 10**60) - F(1, 2 * 10**120) - F(1, 10**150))


@given(st.fractions(0, 1))
def test_rounding_encloses(value: Fraction) -> None:
    assert F(round_down(value)) <= value <= F(round_up(value))
    assert round_up(value) in {round_down(value), math.nextafter(round_down(value), 2)}
    assert str(round_up(F(0))) == "0.0"


def test_blocks_by_labels_make_a_block_diagonal_matrix() -> None:
    axis = Retention.in_blocks("x", ["a", "b", "c"], [(["c", "a"], F(3, 4)), (["b"], F(1, 2))])

    assert exact_rows(axis) == [[F(3, 4), 0, F(1, 4)], [0, 1, 0], [F(1, 4), 0, F(3, 4)]]
    assert (axis.log_ratio().value, axis.min_cross_ratio()) == (math.inf, 0)
    assert axis.blocks[0].retention == F(1, 2)


def test_decoders_speak_the_closed_forms() -> None:
    retention = Retention.uniform("x", ["a", "b"], F(4, 5), "y")
    matrix = Matrix.explicit("x", ["a", "b"], ["r", "s", "t"], [[F(1, 2), 0], [F(1, 2), F(1, 4)], [0, F(3, 4)]])

    assert Identity.of("x", ["a", "b"], "y").decoder() == IdentityDecoder(("x",), "y", ("a", "b"))
    assert plain(retention.decoder()) == {
        "form": "retention",
        "attributes": ["x"],
        "unbiased": True,
        "independent": True,
        "columns": ["y"],
        "labels": [["a"], ["b"]],
        "blocks": [{"members": [0, 1], "keep_probability": "4/5"}],
    }
    assert retention.decoder().matrix() == ((F(4, 5), F(1, 5)), (F(1, 5), F(4, 5)))
    assert plain(matrix.decoder()) == {
        "form": "matrix",
        "attributes": ["x"],
        "unbiased": True,
        "independent": True,
        "columns": ["x"],
        "released": [["r"], ["s"], ["t"]],
        "original": [["a"], ["b"]],
        "rows": [["1/2", "0"], ["1/2", "1/4"], ["0", "3/4"]],
    }
    assert not Retention.uniform("x", ["a", "b"], F(1, 2)).decoder().unbiased


def test_coupled_attributes_are_decoded_in_c_order() -> None:
    columns = (Column("a", "category", (0, 1), "", "a"), Column("b", "category", ("x", "y"), "", "b"))
    rows = tuple(tuple(F(int(u == v)) for v in range(4)) for u in range(4))
    axis = Matrix((Domain("a", (0, 1)), Domain("b", ("x", "y"))), columns, rows)

    decoder = axis.decoder()
    assert decoder.columns == ("a", "b")
    assert decoder.original == ((0, "x"), (0, "y"), (1, "x"), (1, "y"))
    assert axis.attributes == ("a", "b")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["9/10", "0"], ["0", "1"]], "the column of 'male' sums to 9/10, not to 1"),
        ([["1", "3/2"], ["0", "-1/2"]], r"outside \[0, 1\]"),
        ([["1", "1"]], "must have 2 rows"),
        ([["1"], ["0"]], "of 2 entries"),
    ],
)
def test_a_matrix_that_is_not_stochastic_is_refused_by_name(rows: list[list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Matrix.explicit("sex", ["male", "female"], ["m", "f"], [[F(e) for e in row] for row in rows])


def test_the_offending_column_can_be_asked_for() -> None:
    with pytest.raises(ColumnSumError) as caught:
        Matrix.explicit("sex", ["male", "female"], ["m", "f"], [[F(1), F(1, 2)], [F(0), F(1, 3)]])

    assert (caught.value.index, caught.value.label, caught.value.total) == (1, "female", F(5, 6))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Block((0, 1), F(3, 2)), "keep probability"),
        (lambda: Block((0,), F(1, 2)), "alone"),
        (lambda: Block((), F(1)), "no member"),
        (lambda: Retention.in_blocks("x", ["a", "b", "c"], [(["a", "b"], F(1, 2))]), "each of its categories once"),
        (lambda: Retention.in_blocks("x", ["a", "b"], [(["a", "z"], F(1, 2))]), "not in its domain"),
        (lambda: Retention.uniform("x", ["a", "a"], F(1, 2)), "twice"),
        (lambda: Identity.of("x", []), "no category"),
        (lambda: Matrix((), (), ()), "needs an attribute"),
        (lambda: invariant_matrix([F(1, 2), F(1, 3)], [[F(1), F(0)], [F(0), F(1)]]), "with sum 1"),
        (lambda: invariant_matrix([F(1, 2), F(1, 2)], [[F(1), F(1)], [F(0), F(1)]]), "column-stochastic"),
        (lambda: invariant_matrix([F(1, 3)] * 3, [[F(1, 3)] * 3] * 3, digits=0), "0 digits are too few"),
        (lambda: replace(KEEPING, invariant=None), "states its marginal"),
        (lambda: replace(KEEPING, marginal=None), "states its marginal"),
        (lambda: replace(KEEPING, released=(replace(KEEPING.released[0], labels=("f", "m")),)), "original categories"),
        (lambda: replace(KEEPING, marginal=(F(1, 3), F(1, 3))), "with sum 1"),
        (lambda: MatrixDecoder(("x",), ("x",), (("a",),), (("a",),), ((F(1), F(0)),)), "an entry for each original"),
        (
            lambda: SuppressionChannel(KEEPING.released, Column("y", "category", ("a",), "", "y")),
            "makes classes is '\\*'",
        ),
        (
            lambda: attribute_column(Attribute("x", Role.QUASI_IDENTIFIER, None, observed=True)),
            "domain of 'x' is not known",
        ),
    ],
)
def test_contradictions_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_true_and_one_are_two_categories() -> None:
    assert Identity.of("x", [1, True, "1"]).original_size == 3


@st.composite
def marginals(draw: st.DrawFn) -> list[Fraction]:
    counts = draw(st.lists(st.integers(0, 1000), min_size=2, max_size=6).filter(any))
    return [F(n, sum(counts)) for n in counts]


@given(marginals(), st.fractions(0, 1, max_denominator=20), st.sampled_from([None, 5, 9]))
def test_invariant_matrices_keep_their_marginal_exactly(pi: list[Fraction], keep: Fraction, digits: int | None) -> None:
    axis = Matrix.preserving("x", letters(len(pi)), pi, keep, of="declared", digits=digits)

    assert [sum(p * share for p, share in zip(row, pi, strict=True)) for row in axis.entries] == pi
    assert all(sum(column) == 1 for column in zip(*axis.entries, strict=True))
    assert axis_from_json(axis.to_json(), KINDS) == axis
    assert axis_from_json(axis.to_public_json(), KINDS).decoder() == axis.decoder()


def test_an_invariant_matrix_rounds_close_to_the_two_stages() -> None:
    pi = [F(1, 2), F(3, 10), F(1, 5)]
    start = [[F(4, 5) if u == v else F(1, 10) for v in range(3)] for u in range(3)]

    exact, rounded = invariant_matrix(pi, start), invariant_matrix(pi, start, 6)

    P, p = np.array(start, dtype=float), np.array(pi, dtype=float)
    Q = (P * p).T / (P @ p)
    np.testing.assert_allclose(np.array(exact, dtype=float), Q @ P, rtol=1e-12)
    np.testing.assert_allclose(np.array(rounded, dtype=float), Q @ P, atol=1e-5)
    assert max(entry.denominator for row in rounded for entry in row) <= 10**7 < exact[0][0].denominator * 10**7


def test_an_empty_category_is_never_released_and_not_estimated() -> None:
    axis = Matrix.preserving("x", ["a", "b", "c"], [F(1, 2), F(1, 2), F(0)], F(1, 2), of="observed")

    assert axis.column(2).keys() == {0, 1}
    assert axis.log_ratio().value < math.inf
    assert axis.decoder().original == (("a",), ("b",))
    assert axis.decoder().unbiased
    P = dense(axis)[:2, :2]
    np.testing.assert_allclose(norms_of(axis)[:2], P.T @ (np.linalg.inv(P) ** 2).sum(axis=0), rtol=1e-9)


def test_only_an_observed_marginal_is_disclosed_and_left_out_in_public() -> None:
    pi = [F(2, 3), F(1, 3)]
    observed = Matrix.preserving("sex", ["m", "f"], pi, F(3, 4), of="observed")
    declared = Matrix.preserving("sex", ["m", "f"], pi, F(3, 4), of="declared")

    assert (observed.discloses(), declared.discloses()) == (("marginal:sex",), ())
    public: Any = observed.to_public_json()
    assert public["marginal"] is None
    assert axis_from_json(public, KINDS).discloses() == ("marginal:sex",)
    assert axis_from_json(declared.to_public_json(), KINDS) == declared


def test_a_matrix_that_does_not_keep_the_marginal_it_states_is_refused() -> None:
    axis = Matrix.preserving("sex", ["m", "f"], [F(2, 3), F(1, 3)], F(3, 4), of="declared")
    document: Any = axis.to_json()
    document["marginal"] = ["1/3", "2/3"]

    with pytest.raises(DataError, match="RR334.*does not keep its marginal"):
        axis_from_json(document, KINDS)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "acme.unary"}, "RR404"),
        ({"version": 2}, "RR404"),
        ({"version": True}, "RR404"),
        ({"kind": 3}, "RR334"),
        ({"blocks": [{"members": [0], "keep_probability": "1"}]}, "RR334"),
        ({"blocks": [{"members": [0, True], "keep_probability": "1"}]}, "RR334"),
        ({"blocks": [{"members": [0, 1], "keep_probability": "5/4"}]}, "RR334"),
        ({"blocks": [{"members": [0, 1], "keep_probability": "1e99999999"}]}, "RR334"),
        ({"blocks": [{"members": [0, 1], "keep_probability": "1/0"}]}, "RR334"),
        ({"blocks": [{"members": [0, 1], "keep_probability": 0.5}]}, "RR334"),
        ({"blocks": "all"}, "RR334"),
        ({"blocks": [3]}, "RR334"),
        ({"columns": None}, "RR334"),
        ({"columns": [{"name": "x", "kind": "odd", "labels": [], "type": "", "attribute": "x"}]}, "RR334"),
        ({"columns": [{"name": "x", "kind": "category", "labels": ["b", "a"], "type": "", "attribute": "x"}]}, "RR334"),
        ({"original": None}, "RR334"),
    ],
)
def test_changed_descriptions_are_refused(change: dict[str, Any], code: str) -> None:
    document: Any = Retention.uniform("x", ["a", "b"], F(4, 5)).to_json()

    with pytest.raises((DataError, RefusedError), match=code):
        axis_from_json(document | change, KINDS)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(RefusedError, match=r"RR404.*'acme\.unary'"):
        channel_from_json({"kind": "acme.unary", "version": 1}, KINDS)


def test_a_channel_is_no_axis() -> None:
    with pytest.raises(DataError, match="a channel in place of an axis"):
        axis_from_json(Product((), (), ()).to_json(), {"product": Product})


def test_an_axis_is_no_channel() -> None:
    with pytest.raises(DataError, match="an axis in place of a channel"):
        channel_from_json(Identity.of("x", ["a"]).to_json(), KINDS)


@given(stochastic())
def test_rank_is_exact(rows: list[list[Fraction]]) -> None:
    P = np.array(rows, dtype=float)

    assert full_column_rank(rows) == (np.linalg.matrix_rank(P) == P.shape[1])


def test_rank_is_exact_where_a_denominator_is_one_of_its_primes() -> None:
    p = F(1, 2**61 - 1)

    assert full_column_rank([[p, 1 - p], [1 - p, p]])
    assert not full_column_rank([[p, p], [1 - p, 1 - p]])


def test_blocks_span_the_cells_of_a_marginal_only_if_they_are_products() -> None:
    domains = (Domain("a", ("x", "y")), Domain("b", (1, 2)))
    columns = (Column("a", "category", ("x", "y"), "", "a"), Column("b", "category", (1, 2), "", "b"))

    def axis(*blocks: tuple[int, ...]) -> Retention:
        return Retention(domains, columns, tuple(Block(b, F(3, 4) if len(b) > 1 else F(1)) for b in blocks))

    assert axis((0, 1), (2, 3)).sizes_in({"a"}) == (1, 1)
    assert axis((0, 1), (2, 3)).sizes_in({"b"}) == (2, 2)
    assert axis((0, 1, 2), (3,)).sizes_in({"a"}) is None


def test_columns_are_replaced_without_touching_the_matrix() -> None:
    axis = Retention.uniform("x", ["a", "b"], F(4, 5))
    (column,) = axis.columns()
    typed = Column(column.name, column.kind, column.labels, "VARCHAR", column.attribute)

    assert axis.with_columns([typed]).columns() == (typed,)
    assert axis.with_columns([typed]).blocks == axis.blocks


def test_no_heavy_library_is_imported() -> None:
    modules = (
        "rrpolicy.channels.axes, rrpolicy.channels.json_decoding, rrpolicy.channels.product.expected_error, "
        "rrpolicy.privacy.models.pk_anonymity, rrpolicy.privacy.models.local_dp"
    )
    heavy = "{'numpy', 'scipy', 'pandas', 'pyarrow', 'duckdb'}"
    script = f"import sys, {modules}; print(sorted({heavy} & set(sys.modules)))"

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
