"""Dealing is what anatomy's definition says, has the law of fresh random ties, and says nothing by order or number."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rrpolicy.channels.anatomy.group_assignment import assign_groups, compose_orders, group_compositions
from rrpolicy.channels.anatomy.partition_plan import (
    PartitionPhase,
    groups_of,
    largest_eligible,
    partition_phases,
)
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.sampling.shuffle import random_orders, shuffle_values

ALARM = 1e-6


def stream(seed: int) -> Any:
    return Streams.for_tests(seed).stream("test")


def law(counts: tuple[int, ...], size: int) -> Counter[tuple[tuple[int, ...], ...]]:
    """Return the law of the sequence of groups, straight from figure 3 of the paper: ties broken at random anew."""
    found: Counter[tuple[tuple[int, ...], ...]] = Counter()

    def go(left: tuple[int, ...], made: tuple[tuple[int, ...], ...], chance: Fraction) -> None:
        occupied = [v for v, n in enumerate(left) if n]
        if len(occupied) < size:
            found[made] += chance
            return
        border = sorted(left, reverse=True)[size - 1]
        sure = [v for v in occupied if left[v] > border]
        tied = [v for v in occupied if left[v] == border]
        chosen = list(itertools.combinations(tied, size - len(sure)))
        for some in chosen:
            group = tuple(sorted((*sure, *some)))
            go(tuple(n - (v in group) for v, n in enumerate(left)), (*made, group), chance / len(chosen))

    go(counts, (), Fraction(1))
    return found


def p_value(observed: Counter[Any], expected: Counter[Any], draws: int) -> float:
    assert set(observed) <= set(expected)
    chi2 = sum((observed[k] - draws * float(p)) ** 2 / (draws * float(p)) for k, p in expected.items())
    return float(stats.chi2.sf(chi2, max(len(expected) - 1, 1)))


tables = st.lists(st.integers(0, 12), min_size=2, max_size=9).filter(lambda counts: largest_eligible(counts) >= 2)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, derandomize=True)
@given(tables, st.data())
def test_groups_are_what_the_definition_says(counts, data):
    size = data.draw(st.integers(2, largest_eligible(counts)))
    dealt = assign_groups(counts, size, Streams.for_tests(data.draw(st.integers(0, 10**6))))
    groups, residues = groups_of(sum(counts), size)

    held = [set(row) for row in dealt.values.tolist()]
    assert all(len(group) == size for group in held)  # l different values each
    assert (len(held), len(dealt.residues)) == (groups, residues)  # properties 1 and 2
    assert residues < size
    for group, value in dealt.residues:
        assert value not in held[group]  # property 3
        held[group].add(value)
    totals = Counter(itertools.chain.from_iterable(held))
    assert [totals[v] for v in range(len(counts))] == counts
    assert sorted(dealt.numbers.tolist()) == list(range(1, groups + 1))
    starts = np.cumsum([0, *counts])
    for value in range(len(counts)):  # a value's records stand in the groups that hold it, one in each
        numbers = dealt.members[starts[value] : starts[value + 1]].tolist()
        assert sorted(numbers) == sorted(int(dealt.numbers[g]) for g, group in enumerate(held) if value in group)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(tables, st.data())
def test_every_step_takes_the_largest_buckets(counts, data):
    size = data.draw(st.integers(2, largest_eligible(counts)))
    left = list(counts)
    for group in group_compositions(partition_phases(counts, size), size, len(counts), stream(1)).tolist():
        taken = min(left[v] for v in group)
        assert taken >= max([left[v] for v in range(len(left)) if v not in group], default=0)
        for value in group:
            left[value] -= 1
    assert max(left) <= 1


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_a_table_is_eligible_iff_no_value_is_too_common(counts):
    for size in range(1, 8):
        eligible = sum(counts) > 0 and max(counts) * size <= sum(counts)
        assert (size <= largest_eligible(counts)) == eligible
        if not eligible:
            with pytest.raises(ValueError, match="no eligible anatomy"):
                partition_phases(counts, size)


def test_there_are_no_more_phases_than_values():
    rng = np.random.default_rng(5)
    for _ in range(50):
        counts = rng.integers(1, 10**6, rng.integers(2, 60)).tolist()
        if largest_eligible(counts) >= 2:
            phases = partition_phases(counts, int(rng.integers(2, largest_eligible(counts) + 1)))
            assert len(phases) <= len(counts)


CASES = [
    ((3, 3, 3), 2),
    ((2, 2, 2, 2), 3),
    ((3, 2, 2, 2), 2),
    ((4, 4, 1), 2),
    ((3, 3, 0, 1, 2), 2),
    ((1, 1, 3, 0, 1), 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("counts", "size"), CASES)
def test_ties_have_the_law_of_fresh_draws(counts, size):
    draws, bits, expected = 6000, stream(11), law(counts, size)
    phases = partition_phases(counts, size)
    observed = Counter(
        tuple(tuple(sorted(row)) for row in group_compositions(phases, size, len(counts), bits).tolist())
        for _ in range(draws)
    )

    assert p_value(observed, expected, draws) > ALARM


def test_ties_by_a_fixed_order_are_caught():
    draws, bits, expected = 6000, stream(3), law((3, 3, 3), 2)
    observed: Counter[Any] = Counter()
    for _ in range(draws):  # the order of the pile is drawn once and kept
        order = random_orders(bits, 1, 3)[0].tolist() * 3
        observed[tuple(tuple(sorted(order[i : i + 2])) for i in range(0, 8, 2))] += 1

    assert p_value(observed, expected, draws) < ALARM


def test_many_piles_are_composed_as_one_by_one():
    bits = stream(8)
    for piles, size in ((1, 4), (7, 3), (50, 6)):
        first, steps = random_orders(bits, 1, size)[0], random_orders(bits, piles, size)
        expected, order = [], first
        for step in steps:
            order = order[step]
            expected.append(order)

        assert np.array_equal(compose_orders(first, steps), expected)


@pytest.mark.slow
def test_records_go_to_groups_uniformly():
    """Who shares a group with whom: 2 + 2 + 2 records in 3 groups, all ways alike as far as values allow."""
    counts, draws = (2, 2, 2), 8000
    observed = Counter(
        tuple(assign_groups(counts, 2, Streams.for_tests(seed)).members.tolist()) for seed in range(draws)
    )
    # each of three groups lacks another value: 3! numberings, and 2 orders of each value's records
    expected = Counter(dict.fromkeys(observed, Fraction(1, 48)))

    assert len(observed) == 48
    assert p_value(observed, expected, draws) > ALARM


@pytest.mark.slow
def test_a_residue_joins_any_group_that_lacks_its_value():
    draws, first = 4000, 0
    for seed in range(draws):  # nine records in four groups; the residue's value is in two of them
        dealt = assign_groups((3, 3, 3), 2, Streams.for_tests(seed))
        ((group, value),) = dealt.residues
        lacking = [g for g, row in enumerate(dealt.values.tolist()) if value not in row]
        assert len(lacking) == 2
        first += lacking.index(group) == 0

    assert stats.binomtest(first, draws, 0.5).pvalue > ALARM


def test_orders_are_uniform_also_after_what_comes_late():
    draws, bits = 12000, stream(21)
    plain = Counter(map(tuple, random_orders(bits, draws, 3).tolist()))
    late = np.tile([False, True, False, True], (draws, 1))
    parted = Counter(map(tuple, random_orders(bits, draws, 4, late).tolist()))

    assert p_value(plain, Counter(dict.fromkeys(itertools.permutations(range(3)), Fraction(1, 6))), draws) > ALARM
    both = [(*a, *b) for a in itertools.permutations((0, 2)) for b in itertools.permutations((1, 3))]
    assert p_value(parted, Counter(dict.fromkeys(both, Fraction(1, 4))), draws) > ALARM


class Script:
    """A stream that gives the words it was told to, and then others."""

    def __init__(self, *words: int) -> None:
        self._told = list(words)
        self._rest = stream(4)

    def words(self, n: int) -> Any:
        told, self._told = self._told[:n], self._told[n:]
        return np.concatenate((np.array(told, dtype=np.uint64), self._rest.words(n - len(told))))


def test_orders_with_equal_keys_are_drawn_again():
    tied: Any = Script(5 << 40, 5 << 40, 9 << 40, 1 << 40, 2 << 40, 3 << 40)
    found = random_orders(tied, 2, 3)

    assert found[1].tolist() == [0, 1, 2]
    assert sorted(found[0].tolist()) == [0, 1, 2]


def test_long_orders_are_uniform_in_place_and_neighbour():
    n, draws = 1 << 17, 6
    found = [shuffle_values(np.arange(n, dtype=np.uint32), stream(seed)) for seed in range(draws)]

    for order in found:
        assert np.array_equal(np.sort(order), np.arange(n))
        z = (np.corrcoef(order, np.arange(n))[0, 1]) * n**0.5
        assert abs(z) < stats.norm.isf(ALARM / 2)
        neighbours = np.corrcoef(order[1:], order[:-1])[0, 1] * n**0.5
        assert abs(neighbours) < stats.norm.isf(ALARM / 2)
    assert not np.array_equal(found[0], found[1])


def test_a_table_is_dealt_alike_from_the_same_bits_and_otherwise_from_others():
    counts = (40, 30, 25, 5)
    one, same, other = (assign_groups(counts, 2, Streams.for_tests(seed)) for seed in (1, 1, 2))

    assert np.array_equal(one.members, same.members)
    assert not np.array_equal(one.members, other.members)


def test_phases_tell_who_is_in_every_group():
    first, *_ = partition_phases((100, 40, 40, 40), 2)  # 100 - 89 = 40 - 89 // 3

    assert first == PartitionPhase(89, (0,), (1, 2, 3), 1, 3, (1, 2, 3), ())
