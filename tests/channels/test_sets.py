"""Sets of values: the law of the draw, what is written, what stands in documents, and whether a release conforms."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.set_inclusion import pair_moments
from rrpolicy.channels.axes.set_posterior import expected_posterior, worst_posterior
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Posterior, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.plugin.solve import addition_mean_squared_error
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import check_axis


def labels(size: int) -> tuple[str, ...]:
    return tuple(f"v{i}" for i in range(size))


def pairs(set_size: int) -> Sets:
    a, b = ("x", "y"), (1, 2, 3)
    return Sets(
        (Domain("a", a), Domain("b", b)), (Column("a", "set", a, "", "a"), Column("b", "set", b, "", "b")), set_size
    )


class Outcomes:
    """A stream whose uniform draws take every combination of values once, a record each."""

    def __init__(self, bounds: list[int]) -> None:
        self._drawn = np.array(list(product(*map(range, bounds)))).T
        self._bounds = bounds
        self._next = 0

    def below(self, bounds: Any) -> Any:
        assert bounds.tolist() == [self._bounds[self._next]] * self._drawn.shape[1]
        self._next += 1
        return self._drawn[self._next - 1]


@pytest.mark.parametrize(("size", "set_size"), [(s, l) for s in range(3, 8) for l in range(2, s)])
def test_every_set_with_the_own_value_is_equally_likely(size: int, set_size: int) -> None:
    bounds = list(range(size - set_size + 1, size))
    for own in range(size):
        cell, released, count = Sets.of("a", labels(size), set_size).split(
            np.array([own]), np.array([math.prod(bounds)]), Outcomes(bounds)
        )
        seen = Counter(tuple(row) for row in released.tolist())

        others = [v for v in range(size) if v != own]
        assert set(seen) == {tuple(sorted((own, *chosen))) for chosen in combinations(others, set_size - 1)}
        assert len(set(seen.values())) == 1
        assert not cell.any()
        assert (count == 1).all()


def suspicious(size: int, set_size: int, own: np.ndarray, released: np.ndarray) -> bool:
    """Whether sets do not look like draws: a chi-square statistic over all sets of one own value, at 1e-9."""
    from scipy.stats import chi2

    sets = list(combinations(range(size), set_size))
    for v in np.unique(own):
        seen = Counter(tuple(row) for row in released[own == v].tolist())
        possible = [s for s in sets if v in s]
        if set(seen) - set(possible):
            return True
        expected = int((own == v).sum()) / len(possible)
        statistic = sum((seen[s] - expected) ** 2 / expected for s in possible)
        if chi2.sf(statistic, len(possible) - 1) < 1e-9:
            return True
    return False


def test_draws_have_the_law_and_wrong_samplers_are_caught() -> None:
    size, set_size, n = 6, 3, 12_000
    own = np.repeat(np.arange(size), n)
    _, released, _ = Sets.of("a", labels(size), set_size).split(
        np.arange(size), np.full(size, n), Streams.for_tests(11).stream("axis", "a")
    )
    generator = np.random.default_rng(5)
    others = generator.permuted(np.tile(np.arange(size - 1), (len(own), 1)), axis=1)
    others += others >= own[:, None]
    with_replacement = generator.integers(0, size - 1, (len(own), set_size - 1))
    with_replacement += with_replacement >= own[:, None]
    anything = generator.permuted(np.tile(np.arange(size), (len(own), 1)), axis=1)
    neighbours = (own[:, None] + np.arange(set_size)) % size

    def wrong(*parts: np.ndarray) -> np.ndarray:
        return np.sort(np.column_stack(parts), axis=1)

    assert not suspicious(size, set_size, own, released)
    assert not suspicious(size, set_size, own, wrong(own, others[:, :2]))
    assert suspicious(size, set_size, own, wrong(own, with_replacement))
    assert suspicious(size, set_size, own, wrong(anything[:, :3]))
    assert suspicious(size, set_size, own, wrong(own, others[:, :1]))
    assert suspicious(size, set_size, own, wrong(own, others[:, :3]))
    assert suspicious(size, set_size, own, wrong(neighbours))


@pytest.mark.parametrize(
    "axis", [*(Sets.of("a", labels(s), l) for s, l in [(3, 2), (5, 2), (5, 4), (40, 7)]), pairs(2), pairs(5)], ids=str
)
def test_axes_keep_their_promises(axis: Sets) -> None:
    check_axis(axis)

    assert isinstance(axis, Posterior)
    assert not isinstance(axis, Transition)
    assert axis.max_ratio() is None
    assert axis.log_ratio().value == math.inf
    assert axis.min_cross_ratio() == 0


@pytest.mark.parametrize("set_size", [-1, 0, 1, 5])
def test_a_size_that_hides_nothing_or_that_no_set_has_is_refused(set_size: int) -> None:
    with pytest.raises(ValueError, match="from 2 to 4 of its 4 values"):
        Sets.of("a", labels(4), set_size)


def test_a_column_without_sets_of_the_categories_is_refused() -> None:
    axis = Sets.of("a", labels(4), 2)
    for change in ({"kind": "category"}, {"labels": labels(3)}):
        with pytest.raises(ValueError, match="'a' must contain sets of the categories of 'a'"):
            replace(axis, released=(replace(axis.released[0], **change),))


def test_sets_of_all_values_leave_an_infinite_error() -> None:
    assert addition_mean_squared_error(4, 4, 100, "table") == math.inf
    assert addition_mean_squared_error(4, 2, 100, "table") == Fraction(3, 800)


@pytest.mark.parametrize(
    "change",
    [{"set_size": True}, {"set_size": "3"}, {"set_size": 9}, {"columns": []}, {"original": [1]}, {"kind": "set"}],
)
def test_documents_that_describe_something_else_are_refused(change: dict[str, Any]) -> None:
    document = Sets.of("a", labels(5), 3).to_json()
    assert isinstance(document, dict)

    with pytest.raises(ValueError):
        Sets.from_json({**document, **change})


def test_sets_are_written_in_the_order_of_the_domain() -> None:
    axis = Sets.of("a", ("low", "high", "middle"), 2)

    (values,) = axis.values(np.array([[0, 1], [1, 2], [0, 2]], dtype=np.int32))

    assert values.to_pylist() == [["low", "high"], ["high", "middle"], ["low", "middle"]]
    assert axis.members([values]).tolist() == [[0, 1], [1, 2], [0, 2]]


def test_combinations_are_written_as_parallel_lists() -> None:
    axis = pairs(3)
    released = np.array([[0, 1, 4], [2, 3, 5]], dtype=np.int32)

    a, b = axis.values(released)

    assert a.to_pylist() == [["x", "x", "y"], ["x", "y", "y"]]
    assert b.to_pylist() == [[1, 2, 2], [3, 1, 3]]
    assert axis.members([a, b]).tolist() == released.tolist()


@pytest.mark.parametrize(
    "lists", [[["v0"]], [["v0", "v0"]], [["v1", "v0"]], [["v0", "v9"]], [["v0", None]], [None], [["v0", "v1", "v2"]]]
)
def test_what_no_draw_can_write_is_told(lists: list[Any]) -> None:
    assert Sets.of("a", labels(4), 2).members([pa.array(lists, pa.list_(pa.string()))]) is None


def test_engine_types_are_those_of_the_entries() -> None:
    axis = Sets.of("a", (1, 2, 3), 2)
    settled = axis.with_columns([replace(axis.columns()[0], type="SMALLINT")])

    assert settled.columns()[0].type == "SMALLINT[]"
    assert settled.with_columns(settled.columns()) == settled
    assert settled.values(np.array([[0, 2]]))[0].type == pa.list_(pa.int16())


def square_weights(size: int, set_size: int, groups: list[list[int]], own: int) -> Fraction:
    """E of the sum over groups of squared weights of a record, by enumeration."""
    inclusion = Fraction(set_size - 1, size - 1)
    sets = [s for s in combinations(range(size), set_size) if own in s]
    weights = [
        sum((((len(set(s) & set(g)) - len(g) * inclusion) / (1 - inclusion)) ** 2 for g in groups), Fraction(0))
        for s in sets
    ]
    return sum(weights, Fraction(0)) / len(sets)


@pytest.mark.parametrize("set_size", [2, 3, 4, 5])
def test_mean_norms_are_those_of_enumeration(set_size: int) -> None:
    axis = pairs(set_size)
    whole = [[j] for j in range(6)]
    by_a, by_b = [[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 4], [2, 5]]

    for own in (0, 5):
        assert axis.mean_norm(["a", "b"]) == pytest.approx(float(square_weights(6, set_size, whole, own)))
        assert axis.mean_norm(["a"]) == pytest.approx(float(square_weights(6, set_size, by_a, own)))
        assert axis.mean_norm(["b"]) == pytest.approx(float(square_weights(6, set_size, by_b, own)))


@given(
    counts=st.lists(st.integers(0, 9), min_size=3, max_size=6).filter(any),
    share=st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_posteriors_are_those_of_enumeration(counts: list[int], share: float) -> None:
    size = len(counts)
    set_size = 2 + int(share * (size - 2))
    c = np.array(counts)
    worst = worst_posterior(c, set_size)
    low, high = expected_posterior(c / c.sum(), set_size)
    for u in range(size):
        sets = [s for s in combinations(range(size), set_size) if u in s]
        posteriors = [Fraction(counts[u], sum(counts[w] for w in s)) for s in sets] if counts[u] else [Fraction(0)]

        assert worst[u] == pytest.approx(float(max(posteriors)))
        assert low[u] == high[u] == pytest.approx(float(sum(posteriors, Fraction(0)) / len(posteriors)))


def test_bounds_of_the_expected_posterior_hold_where_sets_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    prior = np.array([30, 5, 0, 1, 1, 20, 3, 7], dtype=float) / 67
    exactly, _ = expected_posterior(prior, 4)
    monkeypatch.setattr("rrpolicy.channels.axes.set_posterior.MOST_ENTRIES", 0)

    low, high = expected_posterior(prior, 4)

    assert (low <= exactly + 1e-12).all()
    assert (exactly <= high + 1e-12).all()
    assert (low[prior > 0] < high[prior > 0]).all()


def test_moments_of_pairs_are_those_of_enumeration() -> None:
    axis, c = Sets.of("a", labels(5), 3), np.array([3.0, 0.0, 1.0, 2.0, 5.0])
    mean, variance = np.zeros((5, 5)), np.zeros((5, 5))
    for v in range(5):
        sets = [s for s in combinations(range(5), 3) if v in s]
        p = np.array([[sum(i in s and j in s for s in sets) for j in range(5)] for i in range(5)]) / len(sets)
        mean += c[v] * p
        variance += c[v] * p * (1 - p)

    found = pair_moments(axis, c)

    assert found[0] == pytest.approx(mean)
    assert found[1] == pytest.approx(variance)


def released_by(product_: Product, original: Any, collector: Any, seed: int) -> Any:
    sink = collector()
    product_.settle(original).draw(original, Streams.for_tests(seed), sink)
    return sink


@pytest.fixture(scope="module")
def table(memory: Any) -> Any:
    generator = np.random.default_rng(3)
    sex = generator.integers(0, 2, 6000)
    disease = np.where(sex == 1, generator.choice(5, 6000, p=[0.1, 0.5, 0.1, 0.2, 0.1]), generator.integers(0, 5, 6000))
    return memory({"sex": ("f", "m"), "disease": labels(5)}, {"sex": sex, "disease": disease})


@pytest.fixture
def channel() -> Product:
    return Product((Identity.of("sex", ("f", "m")), Sets.of("disease", labels(5), 3)), (), ("sex", "disease"))


def test_a_draw_conforms(table: Any, channel: Product, collector: Any) -> None:
    sink = released_by(channel, table, collector, 4)

    finding = channel.settle(table).conforms(table, {"data": sink.reader()})

    assert channel.settle(table).sampler == "records/2"
    assert finding.verdict is Verdict.SATISFIED
    assert finding.achieved is not None
    assert finding.achieved.value > 1e-3


def rows(table: Any, members: np.ndarray, axis: Sets) -> pa.RecordBatchReader:
    """Return a release with these sets, of records in the order of the table."""
    n = len(members)
    sex = pa.array(np.array(["f", "m"])[table.codes["sex"]].tolist())
    batch = pa.RecordBatch.from_arrays(
        [sex, axis.values(members)[0], pa.array(np.ones(n, np.int64))], ["sex", "disease", MULTIPLICITY]
    )
    return pa.RecordBatchReader.from_batches(batch.schema, [batch])


WRONG = ["anything", "neighbours", "commonest", "smaller", "fewer of one"]


@pytest.mark.parametrize("kind", WRONG)
def test_something_else_in_place_of_the_release_is_found(table: Any, channel: Product, kind: str) -> None:
    own, axis = table.codes["disease"], channel.axes[1]
    assert isinstance(axis, Sets)
    generator = np.random.default_rng(9)
    others = generator.permuted(np.tile(np.arange(4), (len(own), 1)), axis=1)
    others += others >= own[:, None]
    chosen = {
        "anything": generator.permuted(np.tile(np.arange(5), (len(own), 1)), axis=1)[:, :3],
        "neighbours": (own[:, None] + np.arange(3)) % 5,
        "commonest": np.column_stack((own, np.where(own == 1, 3, 1), np.where(own == 0, 4, 0) % 5)),
        "smaller": np.column_stack((own, others[:, :1])),
        "fewer of one": np.column_stack((own, np.where(others[:, :2] == 2, others[:, 2:3], others[:, :2]))),
    }[kind]
    chosen = np.sort(chosen, axis=1).astype(np.int32)
    written = replace(axis, set_size=2) if kind == "smaller" else axis

    finding = channel.settle(table).conforms(table, {"data": rows(table, chosen, written)})

    assert finding.verdict is Verdict.FAILED


def test_a_set_that_shows_its_own_value_by_its_place_is_found(table: Any, channel: Product) -> None:
    own = table.codes["disease"]
    first = np.column_stack((own, (own + 1) % 5, (own + 2) % 5)).astype(np.int32)

    finding = channel.settle(table).conforms(table, {"data": rows(table, first, channel.axes[1])})  # type: ignore[arg-type]

    assert finding.verdict is Verdict.FAILED
    assert "in their order" in finding.companions[0].meaning


def test_a_raw_column_in_place_of_sets_is_found(table: Any, channel: Product) -> None:
    names = np.array(labels(5))[table.codes["disease"]].tolist()
    sex = np.array(["f", "m"])[table.codes["sex"]].tolist()
    batch = pa.RecordBatch.from_pydict({"sex": sex, "disease": names, MULTIPLICITY: [1] * len(names)})
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])

    assert channel.settle(table).conforms(table, {"data": reader}).verdict is Verdict.FAILED


def test_false_alarms_are_rare(memory: Any, collector: Any) -> None:
    small = memory({"a": labels(4)}, {"a": np.array([0, 0, 1, 2, 2, 2, 3])})
    channel = Product((Sets.of("a", labels(4), 2),), (), ("a",))
    achieved = []
    for seed in range(60):
        finding = channel.settle(small).conforms(small, {"data": released_by(channel, small, collector, seed).reader()})
        assert finding.achieved is not None
        achieved.append(finding.achieved.value)

    assert min(achieved) > 1e-3


def test_together_a_release_conforms(memory: Any, collector: Any) -> None:
    generator = np.random.default_rng(8)
    a = generator.integers(0, 2, 500)
    original = memory({"a": ("x", "y"), "b": (1, 2, 3)}, {"a": a, "b": (a + generator.integers(0, 2, 500))})
    channel = Product((pairs(3),), (), ("a", "b"))
    original.types["b"] = "BIGINT"

    finding = channel.settle(original).conforms(
        original, {"data": released_by(channel, original, collector, 2).reader()}
    )

    assert finding.verdict is Verdict.SATISFIED
