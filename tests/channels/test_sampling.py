"""Binomials and multinomials are exact: every bit string is tried where that is possible, the law tested where not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from rrpolicy.channels.sampling import variates as sampling
from rrpolicy.channels.sampling.distribution import BinaryExpansions, DiscreteDistribution, SamplingTrees
from rrpolicy.channels.sampling.prng import Stream, Streams
from rrpolicy.channels.sampling.variates import draw_multinomials, split_by_blocks, split_by_columns

FALSE_ALARM = 1e-6
GARBAGE = 0xA5A5_A5A5_A5A5_A5A5


class ExhaustedError(Exception):
    """The script of a stream is at its end."""


class Script(Stream):
    """A stream of chosen low bits under garbage that must not matter."""

    def __init__(self, choices: tuple[int, ...], bits: int) -> None:
        self._left = list(choices)
        self._bits = bits

    def words(self, n: int):
        if len(self._left) < n:
            raise ExhaustedError
        chosen, self._left = self._left[:n], self._left[n:]
        return np.array([(GARBAGE << self._bits & (2**64 - 1)) | c for c in chosen], dtype=np.uint64)


def law_of(
    run: Callable[[Stream], tuple[int, ...]], bits: int, depth: int
) -> tuple[dict[tuple[int, ...], Fraction], Fraction]:
    """Return the law induced by all strings of up to `depth` words with `bits` free bits, and the mass left undecided."""
    law: dict[tuple[int, ...], Fraction] = {}
    undecided = Fraction(0)
    todo: list[tuple[int, ...]] = [()]
    while todo:
        prefix = todo.pop()
        mass = Fraction(1, 2 ** (bits * len(prefix)))
        try:
            outcome = run(Script(prefix, bits))
        except ExhaustedError:
            if len(prefix) == depth:
                undecided += mass
            else:
                todo += [(*prefix, choice) for choice in range(2**bits)]
            continue
        law[outcome] = law.get(outcome, Fraction(0)) + mass
    return law, undecided


def binomial(n: np.ndarray, p: Fraction, stream: Stream) -> np.ndarray:
    """Draw the binomial law that every node of a multinomial one draws."""
    return sampling._draw_binomials(
        n, np.zeros(len(n), np.int64), BinaryExpansions([p.numerator], [p.denominator]), stream
    )


def exactly(n: int, p: Fraction) -> dict[tuple[int, ...], Fraction]:
    return {(k,): math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)}


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(5, 8), Fraction(11, 16)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_dyadic_binomial_has_exactly_its_law_over_all_bit_strings(n, p):
    law, undecided = law_of(lambda s: (int(binomial(np.array([n]), p, s)[0]),), n, 4)

    assert undecided == 0
    assert exactly(n, p) == law


@pytest.mark.parametrize(
    "p", [Fraction(1, 3), Fraction(2, 3), Fraction(3, 7), Fraction(1, 10), Fraction(10**30 + 1, 3 * 10**30)]
)
def test_any_binomial_has_its_law_up_to_what_the_next_bits_decide(p):
    law, undecided = law_of(lambda s: (int(binomial(np.array([2]), p, s)[0]),), 2, 6)

    assert undecided <= Fraction(2, 2**6)
    for outcome, mass in exactly(2, p).items():
        assert law.get(outcome, 0) <= mass <= law.get(outcome, 0) + undecided


def test_cells_beside_each_other_are_independent_and_empty_ones_read_nothing():
    n, p = np.array([1, 0, 2]), Fraction(3, 4)
    law, undecided = law_of(lambda s: tuple(binomial(n, p, s).tolist()), 2, 5)

    assert undecided == 0
    assert {(a, 0, b): x * y for (a,), x in exactly(1, p).items() for (b,), y in exactly(2, p).items()} == law


def test_no_cells_draw_nothing():
    law = DiscreteDistribution.of({0: Fraction(1, 3), 1: Fraction(2, 3)})
    none = np.zeros(0, dtype=np.int64)

    assert [part.tolist() for part in draw_multinomials(none, none, [law], Script((), 1))] == [[], [], []]


def test_probability_0_reads_no_bit():
    assert binomial(np.array([0, 3, 70]), Fraction(0), Script((), 1)).tolist() == [0, 0, 0]


def test_a_last_word_is_masked_to_its_bits_and_full_words_are_not():
    class Ones(Stream):
        def words(self, n):
            return np.full(n, 2**64 - 1, dtype=np.uint64)

    for n in (1, 63, 64, 65, 127, 128, 129, 1_000):
        assert sampling._draw_fair_binomials(np.array([n, 5]), Ones(bytes(32))).tolist() == [n, 5]


def test_a_draw_does_not_depend_on_how_its_words_are_read(monkeypatch):
    n = np.array([1, 640, 3, 100_000, 64, 1, 129, 65])
    whole = sampling._draw_fair_binomials(n, Streams.for_tests(1).stream("a"))
    for chunk in (1, 2, 3, 7, 100):
        monkeypatch.setattr(sampling, "_CHUNK", chunk)

        assert np.array_equal(whole, sampling._draw_fair_binomials(n, Streams.for_tests(1).stream("a")))


def test_binary_expansions_are_exact_beyond_any_word():
    a, b = 2**200 // 3, 2**200 + 7
    expansions = BinaryExpansions([1, a, 3], [3, b, 8])
    digits = 0
    for word in range(5):
        digits = digits << 64 | int(expansions.digits(word)[1])

    assert (a << 320) // b == digits
    assert expansions.length.tolist() == [2**63 - 1, 2**63 - 1, 3]


@given(st.lists(st.integers(1, 50) | st.integers(1, 10**40), min_size=1, max_size=12))
def test_a_tree_holds_its_law_exactly(weights):
    law = DiscreteDistribution.of({7 * i: Fraction(w, sum(weights)) for i, w in enumerate(weights)})
    forest = SamplingTrees([law])
    achieved: dict[int, Fraction] = {}

    def walk(node: int, mass: Fraction) -> None:
        if forest.left[node] < 0:
            achieved[int(forest.value[node])] = mass
            return
        a, b = forest._chance[node]
        walk(forest.left[node], mass * Fraction(a, b))
        walk(forest.right[node], mass * (1 - Fraction(a, b)))

    walk(int(forest.roots[0]), Fraction(1))

    assert {7 * i: Fraction(w, sum(weights)) for i, w in enumerate(weights)} == achieved


def test_a_column_that_does_not_sum_to_1_is_refused():
    with pytest.raises(ValueError, match="sum to exactly 1"):
        DiscreteDistribution.of({0: Fraction(1, 3), 1: Fraction(2, 3) - Fraction(1, 10**40)})
    with pytest.raises(ValueError, match="sum to exactly 1"):
        DiscreteDistribution.of({0: Fraction(4, 3), 1: Fraction(-1, 3)})


class Words(Stream):
    """A stream of chosen words."""

    def __init__(self, *words: int) -> None:
        self._left = list(words)

    def words(self, n: int):
        chosen, self._left = self._left[:n], self._left[n:]
        assert len(chosen) == n
        return np.array(chosen, dtype=np.uint64)


def one(law: DiscreteDistribution, *words: int) -> int:
    stream = Words(*words)
    _, value, _ = draw_multinomials(np.array([1]), np.array([0]), [law], stream)
    assert not stream._left
    return int(value[0])


def test_a_record_on_a_boundary_reads_more_digits_and_no_other_does():
    thirds = DiscreteDistribution.of({0: Fraction(1, 3), 1: Fraction(2, 3)})  # 1 below 2/3, then 0
    boundary = 2**65 // 3

    assert one(thirds, boundary - 1) == 1
    assert one(thirds, boundary + 1) == 0
    assert one(thirds, boundary, 2**65 // 3 - 1) == 1
    assert one(thirds, boundary, 2**65 // 3 + 1) == 0
    assert one(thirds, boundary, boundary, boundary, 0) == 1
    halves = DiscreteDistribution.of({0: Fraction(1, 2), 1: Fraction(1, 2)})
    assert one(halves, 2**63 - 1) == 0
    assert one(halves, 2**63) == 1
    close = DiscreteDistribution.of({0: 1 - Fraction(1, 2**70), 1: Fraction(1, 2**70)})
    assert one(close, 2**64 - 1, 0) == 0
    assert one(close, 2**64 - 1, 2**64 - 1) == 1
    assert one(close, 2**64 - 1, 2**64 - 2**58) == 1
    assert one(close, 2**64 - 1, 2**64 - 2**58 - 1) == 0


@given(st.lists(st.integers(1, 2**70), min_size=1, max_size=40), st.integers(1, 2**32), st.sampled_from([-1, 0, 2**40]))
def test_the_guide_leads_to_the_values_that_a_search_finds(weights, seed, least):
    law = DiscreteDistribution(tuple(range(least, least + len(weights))), tuple(weights))
    drawn = np.random.default_rng(seed).integers(0, 2**64, 5_000, dtype=np.uint64)
    bounds = law.boundaries
    words = np.concatenate(
        [drawn, bounds, bounds - np.uint64(1), bounds + np.uint64(1), bounds & ~np.uint64(2**52 - 1)]
    )

    few, many = law.drawn(words[-100:]), law.drawn(words)

    expected = [least + sum(int(b) < int(w) for b in bounds) for w in words]
    assert many.values.tolist() == expected
    assert many.ties.tolist() == [i for i, w in enumerate(words) if int(w) in set(bounds.tolist())]
    assert few.values.tolist() == expected[-100:]
    assert (few.ties + len(words) - len(words[-100:])).tolist() == [t for t in many.ties if t >= len(words) - 100]


def p_value(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the chi-square p-value of counts against expected ones, all large."""
    assert expected.min() > 5
    assert np.isclose(observed.sum(), expected.sum())
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


COLUMN = {0: Fraction(3, 10), 2: Fraction(1, 7), 3: Fraction(1, 3), 5: Fraction(47, 210)}


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 7, 16, 17, 500])
def test_the_count_of_a_category_has_its_binomial_law(n, monkeypatch):
    """Both ways of drawing, each at counts where it is used and where the other one is."""
    cells = 20_000
    for direct in (0, 16, 10**6):
        monkeypatch.setattr(sampling, "DIRECT", direct)
        stream = Streams.for_tests(n).stream("a", str(direct))
        cell, value, count = split_by_columns(np.zeros(cells, np.int64), np.full(cells, n), lambda _: COLUMN, stream)

        assert set(value.tolist()) == set(COLUMN)
        for released, p in COLUMN.items():
            drawn = np.zeros(cells, dtype=np.int64)
            drawn[cell[value == released]] = count[value == released]
            exact = np.array([float(m) for m in exactly(n, p).values()]) * cells
            observed = np.bincount(drawn, minlength=n + 1).astype(float)
            assert p_value(*pooled(observed, exact)) > FALSE_ALARM


def pooled(observed: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join neighbours until 10 are expected in each."""
    bins = np.floor(np.array(list(accumulate(expected))) / 10.0001)
    edges = np.flatnonzero(np.diff(bins, prepend=-1.0) > 0)
    edges[0] = 0
    if expected[edges[-1] :].sum() < 6:
        edges = edges[:-1]
    return np.add.reduceat(observed, edges), np.add.reduceat(expected, edges)


@pytest.mark.slow
def test_a_huge_cell_is_drawn_in_bounded_memory_and_near_its_mean():
    n = 10**10
    drawn = int(binomial(np.array([n]), Fraction(1, 3), Streams.for_tests(9).stream("huge"))[0])

    assert abs(drawn - n / 3) < 5 * math.sqrt(n * 2 / 9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 200)), min_size=1, max_size=20),
    st.lists(st.integers(0, 10**25), min_size=5, max_size=5),
    st.integers(0, 10**6),
)
def test_totals_are_kept_and_what_has_probability_0_never_appears(cells, weights, seed):
    weights[0] += 1
    codes, n = np.array([c for c, _ in cells]), np.array([k for _, k in cells])
    column = {u: Fraction(w, sum(weights)) for u, w in enumerate(weights)}
    cell, released, count = split_by_columns(codes, n, lambda _: column, Streams.for_tests(seed).stream("a"))

    assert np.array_equal(n, np.bincount(cell, count, minlength=len(n)).astype(np.int64))
    assert (count > 0).all()
    assert (np.diff(cell) >= 0).all()
    assert all(weights[u] for u in released.tolist())
    assert len({*zip(cell.tolist(), released.tolist(), strict=True)}) == len(cell)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 100)), min_size=1, max_size=20),
    st.permutations(range(7)),
    st.fractions(0, 1),
    st.integers(0, 10**6),
)
def test_blocks_are_never_left(cells, order, keep, seed):
    blocks = [(tuple(order[:3]), keep), (tuple(order[3:5]), Fraction(1, 3)), (tuple(order[5:6]), Fraction(1))]
    blocks.append((tuple(order[6:]), Fraction(1)))
    block = {code: index for index, (members, _) in enumerate(blocks) for code in members}
    codes, n = np.array([c for c, _ in cells]), np.array([k for _, k in cells])
    cell, released, count = split_by_blocks(codes, n, blocks, Streams.for_tests(seed).stream("a"))

    assert np.array_equal(n, np.bincount(cell, count, minlength=len(n)).astype(np.int64))
    assert all(block[u] == block[v] for u, v in zip(released.tolist(), codes[cell].tolist(), strict=True))
    assert (np.diff(cell) >= 0).all()


@pytest.mark.parametrize("n", [1, 10, 300])
def test_blocks_have_the_law_of_their_matrix(n):
    blocks = [((4, 1, 3), Fraction(2, 5)), ((0, 2), Fraction(9, 10)), ((5,), Fraction(1))]
    cells = 30_000 // n
    codes = np.repeat(np.arange(6), cells)
    cell, released, count = split_by_blocks(codes, np.full(len(codes), n), blocks, Streams.for_tests(n).stream("b"))
    table = np.zeros((6, 6))
    np.add.at(table, (released, codes[cell]), count)
    assert table[5].tolist() == [0, 0, 0, 0, 0, n * cells]
    for members, keep in blocks[:2]:
        for v in members:
            expected = [float(keep if u == v else (1 - keep) / (len(members) - 1)) * n * cells for u in members]
            assert p_value(table[list(members), v], np.array(expected)) > FALSE_ALARM


def test_a_column_that_is_not_asked_for_is_not_read():
    asked: list[int] = []

    def column(code: int) -> dict[int, Fraction]:
        asked.append(code)
        return {code: Fraction(1)}

    split_by_columns(np.array([3, 9, 3]), np.array([1, 1, 1]), column, Streams.for_tests(1).stream("a"))

    assert asked == [3, 9]
