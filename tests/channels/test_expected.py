"""Expected errors: against reference numbers, and against the law of the estimator over all releases of small tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.expected_error import (
    expected_squared_error,
    randomised_attributes,
    root_mean_squared_error,
    weight_norms,
)
from rrpolicy.channels.table import Column
from rrpolicy.counts import Counts, tabulate
from rrpolicy.errors import DataError
from rrpolicy.frozen import replace

F = Fraction
ROWS = [[F(7, 10), F(1, 5), F(1, 10)], [F(1, 5), F(1, 2), F(1, 5)], [F(1, 10), F(3, 10), F(7, 10)]]
TALL = [[F(1, 2), F(1, 10)], [F(3, 10), F(1, 5)], [F(1, 5), F(7, 10)]]


def product(*axes: Any) -> Product:
    return Product(tuple(axes), (), tuple(c.name for axis in axes for c in axis.columns()))


def table(attributes: Sequence[str], shape: Sequence[int], records: Sequence[Sequence[int]]) -> Counts:
    codes = np.array(records, dtype=np.int32).reshape(len(records), len(shape))
    return tabulate(tuple(attributes), tuple(shape), codes, np.ones(len(records), dtype=np.int64))


def toy(vectors: dict[str, Any]) -> Counts:
    counts = np.array(vectors["toy_table"]["counts"])
    codes = np.array(list(np.ndindex(counts.shape)), dtype=np.int32)
    return tabulate(("gender", "disease"), counts.shape, codes, counts.ravel())


def test_the_toy_table_has_the_reference_errors(vectors: dict[str, Any]) -> None:
    counts, compared = toy(vectors), 0
    for case in vectors["toy_table"]["cases"]:
        channel = product(
            Retention.uniform("gender", ["Male", "Female"], F(str(case["p_gender"]))),
            Retention.uniform("disease", ["Cancer", "Flu", "Anemia"], F(str(case["p_disease"]))),
        )
        this_table, population = (
            case["expected_l2_squared_of_this_table"],
            case["expected_l2_squared_of_the_population"],
        )
        if this_table is None:
            continue
        compared += 1
        assert expected_squared_error(channel, counts) == pytest.approx(this_table, abs=1e-9)
        assert expected_squared_error(channel, counts.records) == pytest.approx(this_table, abs=1e-9)
        assert expected_squared_error(channel, counts, target="population") == pytest.approx(population, abs=1e-9)
    assert compared >= 4


def rows_of(axis: Any) -> list[list[Fraction]]:
    columns = [axis.column(v) for v in range(axis.original_size)]
    return [[column.get(u, F(0)) for column in columns] for u in range(axis.released_size)]


def inverse(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss and Jordan, in fractions."""
    size = len(rows)
    work = [list(row) + [F(int(i == j)) for j in range(size)] for i, row in enumerate(rows)]
    for c in range(size):
        pivot = next(i for i in range(c, size) if work[i][c])
        work[c], work[pivot] = work[pivot], work[c]
        work[c] = [x / work[c][c] for x in work[c]]
        for i in range(size):
            if i != c:
                work[i] = [a - work[i][c] * b for a, b in zip(work[i], work[c], strict=True)]
    return [row[size:] for row in work]


def laws(
    axes: Sequence[Any], records: Sequence[Sequence[int]], kept: Sequence[bool]
) -> tuple[list[Fraction], Fraction]:
    """Return the mean and the total variance of the estimated shares of a marginal, over all releases of a table.

    Every release of every record is listed with its probability; square matrices only.
    """
    inverses = [inverse(rows_of(axis)) for axis in axes]
    shape = [axis.original_size for axis, keep in zip(axes, kept, strict=True) if keep]
    cells = list(itertools.product(*map(range, shape)))
    options = []
    for record in records:
        outcomes = []
        columns = [axis.column(v) for axis, v in zip(axes, record, strict=True)]
        for released in itertools.product(*columns):
            probability = math.prod((c[u] for c, u in zip(columns, released, strict=True)), start=F(1))
            used = [(L, u) for L, u, keep in zip(inverses, released, kept, strict=True) if keep]
            weights = [math.prod((L[v][u] for (L, u), v in zip(used, cell, strict=True)), start=F(1)) for cell in cells]
            outcomes.append((probability, weights))
        options.append(outcomes)
    mean, square = [F(0)] * len(cells), F(0)
    for release in itertools.product(*options):
        probability = math.prod((p for p, _ in release), start=F(1))
        estimate = [sum(parts, F(0)) / len(records) for parts in zip(*(w for _, w in release), strict=True)]
        mean = [m + probability * e for m, e in zip(mean, estimate, strict=True)]
        square += probability * sum((e**2 for e in estimate), F(0))
    return mean, square - sum((m**2 for m in mean), F(0))


@pytest.mark.parametrize("records", [[(0, 0), (1, 2), (1, 2)], [(0, 1), (0, 2), (1, 0)], [(1, 1)] * 3])
@pytest.mark.parametrize("kept", [(True, True), (True, False), (False, True)])
def test_over_all_releases_of_three_records_mean_and_variance_are_as_expected(
    records: list[tuple[int, int]], kept: tuple[bool, bool]
) -> None:
    axes = (Retention.uniform("a", ["x", "y"], F(4, 5)), Matrix.explicit("b", [1, 2, 3], [1, 2, 3], ROWS))
    names = [name for name, keep in zip(("a", "b"), kept, strict=True) if keep]
    counts = table(["a", "b"], [2, 3], records)

    mean, variance = laws(axes, records, kept)

    assert [float(m) for m in mean] == pytest.approx(
        list(counts.marginal(*names).dense().ravel() / counts.records), abs=1e-15
    )
    assert expected_squared_error(product(*axes), counts, names) == pytest.approx(float(variance), rel=1e-12)


def test_the_law_of_blocks_and_of_unchanged_attributes() -> None:
    blocks = Retention.in_blocks("a", ["x", "y", "z"], [(["x", "z"], F(3, 5)), (["y"], F(1))])
    records = [(0, 0), (1, 1), (2, 1)]
    axes = (blocks, Identity.of("b", ["r", "s"]))
    counts = table(["a", "b"], [3, 2], records)

    _, variance = laws(axes, records, (True, True))

    assert expected_squared_error(product(*axes), counts, ["a", "b"]) == pytest.approx(float(variance), rel=1e-12)
    assert expected_squared_error(product(*axes), counts) == pytest.approx(float(variance), rel=1e-12)
    assert expected_squared_error(product(*axes), counts, ["b"]) == 0.0


def test_the_population_adds_the_sampling_of_records() -> None:
    axis = Matrix.explicit("b", [1, 2, 3], [1, 2, 3], ROWS)
    counts = table(["b"], [3], [(0,), (1,), (1,)])
    pi = [F(1, 3), F(2, 3), F(0)]
    lam = [sum((p * share for p, share in zip(row, pi, strict=True)), F(0)) for row in ROWS]
    L = inverse(ROWS)
    error = F(0)
    for release in itertools.product(range(3), repeat=3):
        estimate = [sum((L[v][u] for u in release), F(0)) / 3 for v in range(3)]
        probability = math.prod((lam[u] for u in release), start=F(1))
        error += probability * sum(((e - share) ** 2 for e, share in zip(estimate, pi, strict=True)), F(0))

    assert expected_squared_error(product(axis), counts, target="population") == pytest.approx(float(error), rel=1e-12)
    assert expected_squared_error(product(axis), 3, target="population") is None


def test_rectangular_weights_are_unbiased_and_their_variance_as_expected() -> None:
    axis = Matrix.explicit("b", ["f", "m"], ["r", "s", "t"], TALL)
    counts = table(["b"], [2], [(0,), (1,), (1,)])
    P = np.array(TALL, dtype=float)
    mass = P.sum(axis=1)
    W = (P / mass[:, None]) @ np.linalg.inv((P / mass[:, None]).T @ P)
    np.testing.assert_allclose(P.T @ W, np.eye(2), atol=1e-12)

    lam = P @ np.array([1 / 3, 2 / 3])

    expected = (lam @ (W**2).sum(axis=1) - 1) / 3
    assert expected_squared_error(product(axis), counts) == pytest.approx(expected, rel=1e-12)


def test_splitting_a_released_value_in_proportion_changes_no_error() -> None:
    split = [*ROWS[:2], [e / 3 for e in ROWS[2]], [2 * e / 3 for e in ROWS[2]]]
    counts = table(["b"], [3], [(0,), (1,), (1,), (2,)])

    whole = expected_squared_error(product(Matrix.explicit("b", [1, 2, 3], [1, 2, 3], ROWS)), counts)
    apart = expected_squared_error(product(Matrix.explicit("b", [1, 2, 3], [1, 2, 3, 4], split)), counts)

    assert whole == pytest.approx(apart, rel=1e-12)


def coupled(rows: list[list[Fraction]]) -> Matrix:
    columns = (Column("a", "category", ("x", "y"), "", "a"), Column("b", "category", (1, 2), "", "b"))
    return Matrix((Domain("a", ("x", "y")), Domain("b", (1, 2))), columns, tuple(map(tuple, rows)))


def test_coupled_attributes_err_as_if_they_were_apart_when_their_matrix_is_a_product() -> None:
    one, two = Retention.uniform("a", ["x", "y"], F(4, 5)), Retention.uniform("b", [1, 2], F(7, 10))
    rows = [[p * q for p in r for q in s] for r in rows_of(one) for s in rows_of(two)]
    together, apart = product(coupled(rows)), product(one, two)
    counts = table(["a", "b"], [2, 2], [(0, 0), (0, 1), (1, 1), (1, 1), (0, 0)])

    assert expected_squared_error(together, counts) == pytest.approx(expected_squared_error(apart, counts), rel=1e-9)
    # Weights of least variance for a uniform original do not know that b says nothing of a: they sum over it, and
    # with a product matrix this is what its own weights do.
    for name in ("a", "b"):
        assert expected_squared_error(together, counts, [name]) == pytest.approx(
            expected_squared_error(apart, counts, [name]), rel=1e-9
        )


def test_a_singular_coupled_matrix_may_still_tell_one_of_its_attributes() -> None:
    keeps, forgets = Retention.uniform("a", ["x", "y"], F(4, 5)), Retention.uniform("b", [1, 2], F(1, 2))
    rows = [[p * q for p in r for q in s] for r in rows_of(keeps) for s in rows_of(forgets)]
    counts = table(["a", "b"], [2, 2], [(0, 0), (0, 1), (1, 1)])

    assert expected_squared_error(product(coupled(rows)), counts, ["a"]) == pytest.approx(
        expected_squared_error(product(keeps), 3), rel=1e-9
    )
    with pytest.raises(DataError, match="RR335.*'a', 'b'"):
        expected_squared_error(product(coupled(rows)), counts, ["a", "b"])


def test_a_keep_probability_of_one_in_d_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="RR335.*'sex'"):
        expected_squared_error(product(Retention.uniform("sex", ["m", "f"], F(1, 2))), 100)


def test_only_retention_with_equal_norms_needs_no_counts() -> None:
    plain = Retention.uniform("a", ["x", "y"], F(4, 5))
    blocks = Retention.in_blocks("b", [1, 2, 3], [([1, 2], F(4, 5)), ([3], F(1))])
    channel = product(plain, blocks, Identity.of("c", ["r", "s"]))

    assert expected_squared_error(channel, 10, ["a"]) == pytest.approx((((0.8**2 + 0.2**2) / 0.36) - 1) / 10)
    assert expected_squared_error(channel, 10, ["a", "c"]) == expected_squared_error(channel, 10, ["a"])
    assert expected_squared_error(channel, 10, ["a", "b"]) is None
    assert root_mean_squared_error(channel, 10, ["b"]) is None
    assert randomised_attributes(channel) == ("a", "b")


def test_root_mean_squared_error_is_spread_over_the_cells() -> None:
    channel = product(Retention.uniform("a", ["x", "y"], F(4, 5)), Identity.of("c", ["r", "s", "t"]))
    squared = expected_squared_error(channel, 50, ["a", "c"])

    assert squared is not None
    assert root_mean_squared_error(channel, 50, ["a", "c"]) == pytest.approx(math.sqrt(squared / 6))


def test_what_is_on_no_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="not on an axis of the channel: z"):
        expected_squared_error(product(Identity.of("c", ["r"])), 10, ["z"])


def test_an_axis_of_a_plugin_errs_like_the_matrix_that_it_is(bare, listed) -> None:
    axis = coupled([[F(7, 10) if u == v else F(1, 10) for v in range(4)] for u in range(4)])
    for names in (["a"], ["b"], ["a", "b"]):
        assert weight_norms(listed(axis), names) == pytest.approx(weight_norms(axis, names))
    with pytest.raises(ValueError, match=r"'acme\.bare' does not list its released values"):
        weight_norms(bare(axis), ["a"])
    wide = Matrix(
        axis.original, (replace(axis.released[0], labels=("r", "s", "t")), axis.released[1]), ((F(1, 6),) * 4,) * 6
    )
    with pytest.raises(ValueError, match="does not distinguish the domains of its attributes"):
        weight_norms(listed(wide), ["a"])


def test_a_domain_of_astronomic_size_needs_its_occupied_cells_alone() -> None:
    labels = list(range(1000))
    blocks = [(labels[:500], F(9, 10)), (labels[500:], F(4, 5))]
    axes = [Retention.in_blocks(f"a{i}", labels, blocks) for i in range(12)]
    records = np.random.default_rng(5).integers(0, 1000, (200, 12))
    counts = table([f"a{i}" for i in range(12)], [1000] * 12, records)

    error = expected_squared_error(product(*axes), counts)

    norms = [float(b.inverse_norm()) for b in axes[0].blocks]
    per_record = np.where(records < 500, *norms).prod(axis=1)
    assert error == pytest.approx((per_record.mean() - 1) / 200, rel=1e-9)


@given(st.fractions(F(51, 100), 1, max_denominator=100))
def test_mean_norms_are_the_columns_of_the_transpose(keep: Fraction) -> None:
    axis = Matrix.explicit("b", ["f", "m"], ["f", "m"], [[keep, F(1, 3)], [1 - keep, F(2, 3)]])
    P = np.array(rows_of(axis), dtype=float)

    np.testing.assert_allclose(weight_norms(axis, ["b"]), P.T @ (np.linalg.inv(P) ** 2).sum(axis=0), rtol=1e-9)
