"""Half widths before any data: against every draw of tiny tables, against the known formula of sets, and what is wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from rrpolicy import PolicyError
from rrpolicy.channels.axes.sets import addition_mean_squared_error
from rrpolicy.channels.decoders import Block
from rrpolicy.estimate.sums.precision import precision
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, MatrixWeights, RetentionWeights
from rrpolicy.estimate.weights.sets import SetWeights

Z = 1.959963984540054


def cells(number: int, of: int = 1) -> tuple[tuple[str, ...], ...]:
    return tuple(itertools.product("abcdefg"[:number], repeat=of))


def retention(number: int, keep: str, of: int = 1) -> RetentionWeights:
    own = cells(number, of)
    columns = tuple("xyz"[:of])
    return RetentionWeights(columns, own, own, (Block(tuple(range(len(own))), Fraction(keep)),))


BLOCKS = RetentionWeights(("x",), cells(5), cells(5), (Block((0, 2), Fraction(3, 4)), Block((1, 3, 4), Fraction(2, 3))))
MATRIX = MatrixWeights(
    ("x",),
    cells(3),
    cells(3),
    (
        (Fraction(4, 5), Fraction(1, 10), Fraction(0)),
        (Fraction(1, 5), Fraction(7, 10), Fraction(1, 6)),
        (Fraction(0), Fraction(1, 5), Fraction(5, 6)),
    ),
)
SETS = SetWeights(("x",), cells(5), cells(5), 3)


def law(axis: AxisWeights, original: int) -> list[tuple[float, np.ndarray]]:
    """Return everything that a record may be counted as, (counted,) of each, with its probability."""
    if isinstance(axis, SetWeights):
        others = [v for v in range(len(axis.original)) if v != original]
        drawn = list(itertools.combinations(others, axis.set_size - 1))
        found = []
        for more in drawn:
            counted = np.zeros(axis.counted)
            counted[[0, 1 + original, *(1 + v for v in more)]] = 1
            found.append((1 / len(drawn), counted))
        return found
    if isinstance(axis, RetentionWeights):
        block = next(b for b in axis.blocks if original in b.members)
        chances = {u: float(block.keep if u == original else block.move) for u in block.members}
    else:
        assert isinstance(axis, MatrixWeights)
        chances = {u: float(row[original]) for u, row in enumerate(axis.rows)}
    return [(p, np.eye(axis.counted)[u]) for u, p in chances.items() if p]


def variance(axis: AxisWeights, table: Sequence[int], targets: np.ndarray | None) -> np.ndarray:
    """Return the variance of each estimated count, over every draw of a table."""
    first, second = 0.0, 0.0
    for draw in itertools.product(*(law(axis, v) for v in table)):
        chance = math.prod(p for p, _ in draw)
        estimate = axis.contract(sum(counted for _, counted in draw), 0, targets, 1)
        first, second = first + chance * estimate, second + chance * estimate**2
    return np.asarray(second - first**2)


TABLES = [(0, 0, 1), (0, 1, 2), (2, 2, 2)]


@pytest.mark.parametrize(
    "axis",
    [retention(3, "4/5"), retention(5, "1/10"), BLOCKS, MATRIX, SETS],
    ids=["keep", "lie", "blocks", "matrix", "sets"],
)
@pytest.mark.parametrize("table", TABLES)
def test_no_draw_of_a_tiny_table_varies_more(axis: AxisWeights, table: tuple[int, ...]) -> None:
    found, true = precision(axis), variance(axis, table, None)

    assert found is not None
    for category, spread in enumerate(true):
        share = table.count(category) / len(table)
        told = found.half_width(share, len(table)) ** 2
        own = (Z / len(table)) ** 2 * spread
        assert told == pytest.approx(own, abs=1e-9) if found.exact else told >= own - 1e-12
    assert found.exact == (axis not in (BLOCKS, MATRIX))


def test_the_bound_of_a_matrix_is_attained() -> None:
    found = precision(MATRIX)
    single = np.array([variance(MATRIX, (v,), None) for v in range(3)])  # (original, category)

    assert found is not None
    assert found.inside == pytest.approx(single.diagonal().max())
    assert found.outside == pytest.approx(single[~np.eye(3, dtype=bool)].max())


@pytest.mark.parametrize("keep", ["3/4", "1/16"])
def test_a_column_that_is_randomised_together_with_another(keep: str) -> None:
    axis = retention(2, keep, of=2)
    targets = np.array([[True, False], [True, False], [False, True], [False, True]])
    found = precision(axis, targets)

    assert found is not None
    assert found.exact
    for table in ((0, 0, 3), (1, 2, 3)):
        for group, spread in enumerate(variance(axis, table, targets)):
            share = sum(targets[v, group] for v in table) / 3
            assert found.half_width(share, 3) ** 2 == pytest.approx((Z / 3) ** 2 * spread, abs=1e-9)


@pytest.mark.parametrize(("size", "l"), [(7, 3), (5, 2), (12, 6)])
def test_sets_have_the_error_that_is_published_of_them(size: int, l: int) -> None:
    labels = tuple((str(i),) for i in range(size))
    found = precision(SetWeights(("x",), labels, labels, l))
    shares = np.array([0.4, *[0.6 / (size - 1)] * (size - 1)])

    assert found is not None
    assert found.inside == 0
    mean = np.mean([(found.half_width(s, 1000) / Z) ** 2 for s in shares])
    assert mean == pytest.approx(float(addition_mean_squared_error(size, l, 1000, "table")))


def test_what_is_exact_has_no_width_and_what_says_nothing_has_none_either() -> None:
    same = precision(IdentityWeights(("x",), cells(3), cells(3)))
    kept = precision(RetentionWeights(("x",), cells(3), cells(3), tuple(Block((i,), Fraction(1)) for i in range(3))))

    assert same is not None
    assert kept is not None
    assert same.half_width(0.5, 10) == kept.half_width(0.5, 10) == 0
    with pytest.raises(PolicyError, match="RR267"):
        precision(retention(4, "1/4"))


def test_of_what_is_too_wide_no_width_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert precision(MATRIX) is not None
    monkeypatch.setattr("rrpolicy.estimate.sums.precision._LARGEST", 8)
    assert precision(MATRIX) is None


def test_the_population_is_not_meant() -> None:
    """A sample's share varies besides: the variance of a table that takes no count of that is told apart from it."""
    found = precision(retention(2, "9/10"))

    assert found is not None
    whole = found.inside + 0.5 * (1 - 0.5)
    assert found.half_width(0.5, 100) ** 2 < Z**2 * whole / 100 * 0.5
