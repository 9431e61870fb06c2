"""Lasting numbers: exact laws, alike for who is alike, independent for everything else; wrong ones are caught."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, chi2

from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis
from rrpolicy.channels.sampling.distribution import DiscreteDistribution
from rrpolicy.channels.sampling.persistent_noise import PersistentNoise, PersistentStream, axis_digest
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.sampling.variates import split_by_columns

ALARM = 1e-6
LABELS = ("a", "b", "c")
SKEW = Matrix.explicit(
    "x", LABELS, LABELS, [[Fraction(n, 10) for n in row] for row in ((7, 2, 1), (2, 3, 4), (1, 5, 5))]
)
KEPT = Retention.uniform("x", LABELS, Fraction(2, 3))


def series(seed: int = 1, name: str = "monthly", population: str | None = None) -> PersistentNoise:
    return PersistentNoise(Streams.for_tests(seed), name, population)


def drawn(axis: Axis, codes: np.ndarray, of: PersistentNoise, persons: pa.Array) -> np.ndarray:
    numbers = of.numbers(axis, of.marks(persons), codes)
    _, released, _ = axis.split(codes, np.ones(len(codes), dtype=np.int64), numbers)
    return released[:, 0]


def ids(n: int, start: int = 0) -> pa.Array:
    return pa.array([f"P{i}" for i in range(start, start + n)])


@pytest.mark.parametrize("axis", [SKEW, KEPT], ids=["matrix", "retention"])
@pytest.mark.parametrize("code", range(3))
def test_what_people_release_has_the_law_of_the_matrix(axis, code):
    n = 60_000
    found = Counter(drawn(axis, np.full(n, code), series(), ids(n)).tolist())
    expected = {u: float(p) * n for u, p in axis.column(code).items()}
    assert set(found) == set(expected)
    statistic = sum((found[u] - e) ** 2 / e for u, e in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > ALARM


def test_who_is_alike_is_released_alike_whatever_else_is_in_the_table_and_wherever_he_stands():
    codes = np.arange(3000) % 3
    first = drawn(SKEW, codes, series(), ids(3000))
    backwards = drawn(SKEW, codes[::-1].copy(), series(), ids(3000).take(pa.array(range(2999, -1, -1))))
    some = drawn(SKEW, codes[1000:2000], series(), ids(1000, start=1000))
    assert (backwards[::-1] == first).all()
    assert (some == first[1000:2000]).all()


def agreeing(one: np.ndarray, other: np.ndarray, chance: float) -> float:
    """Return how likely it is that as many of independent draws agree, or fewer, or more."""
    k, n = int((one == other).sum()), len(one)
    return 2 * min(binom.cdf(k, n, chance), binom.sf(k - 1, n, chance))


def chance_to_agree(axis: Axis, v: int, w: int) -> float:
    one, other = axis.column(v), axis.column(w)  # type: ignore[attr-defined]
    return float(sum(p * other.get(u, 0) for u, p in one.items()))


def pairs(of: type[PersistentNoise] = PersistentNoise) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Return draws that have nothing to do with each other, and the chance with which two of them agree."""
    n = 20_000
    zero, one = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    here = of(Streams.for_tests(1), "monthly", None)
    base = drawn(SKEW, zero, here, ids(n))
    again = chance_to_agree(SKEW, 0, 0)
    nearly = Matrix.explicit(
        "x",
        LABELS,
        LABELS,
        [
            [*row[:2], e]
            for row, e in zip(SKEW.entries, (Fraction(2, 10), Fraction(3, 10), Fraction(5, 10)), strict=True)
        ],
    )
    other = Matrix.explicit("y", LABELS, LABELS, SKEW.entries)
    return {
        "another value of a person": (base, drawn(SKEW, one, here, ids(n)), chance_to_agree(SKEW, 0, 1)),
        "the next person": (base[:-1], base[1:], again),
        "another attribute": (base, drawn(other, zero, here, ids(n)), again),
        "another matrix": (base, drawn(nearly, zero, here, ids(n)), again),
        "another series": (base, drawn(SKEW, zero, of(Streams.for_tests(1), "weekly", None), ids(n)), again),
        "another key": (base, drawn(SKEW, zero, of(Streams.for_tests(2), "monthly", None), ids(n)), again),
        "another population": (base, drawn(SKEW, zero, of(Streams.for_tests(1), "monthly", "X"), ids(n)), again),
        "numbers, not text": (
            drawn(SKEW, zero, here, pa.array(range(n))),
            drawn(SKEW, zero, here, pa.array([str(i) for i in range(n)])),
            again,
        ),
    }


PAIRS = pairs()


@pytest.mark.parametrize("what", PAIRS)
def test_draws_that_must_have_nothing_in_common_are_independent(what):
    one, other, chance = PAIRS[what]
    assert agreeing(one, other, chance) > ALARM


class _OnePerson(PersistentNoise):
    """Wrong: everybody has the numbers of the first."""

    def marks(self, persons):
        return np.repeat(super().marks(persons)[:1], len(persons), axis=0)


class _Blind(PersistentNoise):
    """Wrong: a person's numbers do not depend on the value."""

    def numbers(self, axis, people, codes):
        return super().numbers(axis, people, np.zeros_like(codes))


class _Loose(PersistentNoise):
    """Wrong: the matrix has no part in the key, so that .70 and then .71 are drawn by the same numbers."""

    def numbers(self, axis, people, codes):
        return super().numbers(Matrix.explicit(axis.attributes[0], LABELS, LABELS, SKEW.entries), people, codes)


class _Shared(PersistentNoise):
    """Wrong: attributes share their numbers."""

    def numbers(self, axis, people, codes):
        return super().numbers(SKEW, people, codes)


class _Anywhere(PersistentNoise):
    """Wrong: neither the series nor the population has a part in the key."""

    def __init__(self, streams, name, population):
        super().__init__(streams, "", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (_OnePerson, "the next person"),
        (_Blind, "another value of a person"),
        (_Loose, "another matrix"),
        (_Shared, "another attribute"),
        (_Anywhere, "another series"),
        (_Anywhere, "another population"),
    ],
)
def test_numbers_that_are_shared_are_caught(wrong, what):
    one, other, chance = pairs(wrong)[what]
    assert agreeing(one, other, chance) < ALARM


def test_further_digits_are_those_of_the_same_person():
    """A law that needs all digits: its boundary agrees with somebody's first word."""
    codes = np.zeros(50, dtype=np.int64)
    here = series()
    words = here.numbers(SKEW, here.marks(ids(50)), codes).words(50)
    edge = Fraction(int(words[17]), 1 << 64) + Fraction(1, 1 << 70)
    column = {0: edge, 1: 1 - edge} if edge > Fraction(1, 2) else {1: edge, 0: 1 - edge}
    assert DiscreteDistribution.of(column).drawn(words).ties.tolist() in ([17], [])

    def split(start: int, stop: int) -> list[int]:
        people = here.marks(ids(50))[start:stop]
        numbers = here.numbers(SKEW, people, codes[start:stop])
        _, released, _ = split_by_columns(codes[start:stop], np.ones(stop - start, np.int64), lambda _: column, numbers)
        return released.tolist()

    assert split(0, 50) == [*split(0, 17), *split(17, 18), *split(18, 50)]
    numbers = here.numbers(SKEW, here.marks(ids(50)), codes)
    further = [numbers.further(person, place) for person in (17, 18) for place in (1, 2)]
    alone = here.numbers(SKEW, here.marks(ids(50))[17:18], codes[17:18])
    assert further[:2] == [alone.further(0, 1), alone.further(0, 2)]
    assert len({*further, int(words[17]), int(words[18])}) == 6


def test_an_axis_that_draws_otherwise_than_by_one_number_is_refused():
    sets = Sets.of("x", (*LABELS, "d"), 3)
    assert not sets.one_number
    with pytest.raises(RuntimeError, match="one number"):
        drawn(sets, np.zeros(9, dtype=np.int64), series(), ids(9))
    numbers = PersistentStream(lambda _: bytes(32), np.zeros((3, 2), dtype=np.uint64), np.zeros(3, dtype=np.int64))
    with pytest.raises(RuntimeError, match="one number"):
        numbers.words(2)


def test_what_an_engine_or_a_policy_calls_a_column_changes_no_number():
    renamed = Retention.uniform("x", LABELS, Fraction(2, 3), release_as="y")
    assert axis_digest(KEPT) == axis_digest(renamed)
    assert axis_digest(KEPT) != axis_digest(Retention.uniform("x", LABELS, Fraction(67, 100)))
    assert axis_digest(KEPT) != axis_digest(Retention.uniform("x", ("a", "c", "b"), Fraction(2, 3)))
    assert axis_digest(KEPT) != axis_digest(Retention.uniform("z", LABELS, Fraction(2, 3)))


def test_an_axis_whose_columns_cannot_be_described_has_numbers_of_its_own(bare):
    one, other = bare(KEPT), bare(Retention.uniform("x", LABELS, Fraction(67, 100)))
    assert len({axis_digest(axis) for axis in (one, bare(KEPT), other, KEPT)}) == 3


def test_averaging_what_lasts_tells_no_more_than_one_release():
    """Who guesses the value released most often is right as often after 20 releases as after one."""
    n, times = 4_000, 20
    codes = np.arange(n) % 3
    lasting = [drawn(KEPT, codes, series(), ids(n)) for _ in range(times)]
    anew = [drawn(KEPT, codes, series(seed=t), ids(n)) for t in range(times)]

    def right(draws: list[np.ndarray]) -> int:
        counts = np.stack([sum((d == v).astype(int) for d in draws) for v in range(3)])
        return int((counts.argmax(axis=0) == codes).sum())

    assert right(lasting) == right(lasting[:1])
    assert binom.sf(right(lasting) - 1, n, 2 / 3) > ALARM
    assert right(anew) > n * 0.99
    assert math.isclose(float(KEPT.column(0)[0]), 2 / 3)
