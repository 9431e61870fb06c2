"""Groups that differ in two sensitive attributes: kinds, law, and what attackers conclude, by enumeration of all deals."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import largest_pair_group_size, pair_group_kinds
from rrpolicy.declarations import Role
from rrpolicy.finding import Standing, Verdict
from rrpolicy.policy.model import Attribute, Requirement
from rrpolicy.privacy.anatomy.assessors import assessors
from rrpolicy.privacy.anatomy.group_evidence import bound_posteriors, gather_groups
from rrpolicy.privacy.anatomy.posterior_bounds import PosteriorBounds
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.privacy.models.l_diversity import LDiversityOptions as Diversity
from rrpolicy.testing import TableInMemory, policy_of

SEEDS = st.integers(0, 2**32)
DISCLOSURE, _, DIVERSITY = assessors()
Row = tuple[int, int, int]
"""Combination of quasi-identifiers, and both sensitive values."""


def asked(*sensitive: str, threshold: str = "1", **options: Any) -> Requirement:
    return Requirement(
        "attribute-disclosure", AttributeDisclosureOptions(threshold=threshold, sensitive=sensitive, **options)
    )


def table_of(rows: Sequence[Row], requirement: Requirement, sizes: tuple[int, int] = (3, 3)) -> TableInMemory:
    attributes = [
        Attribute("q", Role.QUASI_IDENTIFIER, ("q0", "q1", "q2"), release_as="q"),
        Attribute("s", Role.SENSITIVE, tuple(f"s{i}" for i in range(sizes[0])), release_as="s"),
        Attribute("t", Role.SENSITIVE, tuple(f"t{i}" for i in range(sizes[1])), release_as="t"),
    ]
    columns = dict(zip("qst", zip(*rows, strict=True), strict=True))
    return TableInMemory.of(policy_of(attributes, [requirement]), columns)


def channel_of(original: TableInMemory, size: int) -> AnatomyChannel:
    return AnatomyChannel.of(original.policy.released, ("s", "t"), size)


def some_rows(rng: Random, most: int = 8) -> list[Row]:
    return [
        (min(rng.randrange(3), rng.randrange(3)), rng.randrange(3), rng.randrange(3))
        for _ in range(rng.randint(2, most))
    ]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(1, 12), min_size=1))
def test_groups_that_differ_in_both_exist_wherever_each_attribute_allows_them(
    counts: dict[tuple[int, int], int],
) -> None:
    pairs, n = sorted(counts), [counts[pair] for pair in sorted(counts)]
    most = max(sum(n[i] for i, p in enumerate(pairs) if p[side] == v) for side in (0, 1) for v in range(5))
    largest = sum(n) // most
    assert largest_pair_group_size(pairs, n) == largest

    for size in range(1, largest + 1):
        found = pair_group_kinds(pairs, n, size)
        dealt: Counter[int] = Counter()
        for kind in found:
            held = [pairs[place] for place in kind.held]
            assert kind.groups > 0
            assert len(held) >= size
            assert len({s for s, _ in held}) == len({t for _, t in held}) == len(held)
            dealt.update(dict.fromkeys(kind.held, kind.groups))
        assert [dealt[place] for place in range(len(n))] == n
        assert sum(kind.groups for kind in found) == sum(n) // size
    with pytest.raises(ValueError, match=f"the largest l is {largest}"):
        pair_group_kinds(pairs, n, largest + 1)


def dealt_of(rows: Sequence[Row], size: int) -> list[list[tuple[int, int]]]:
    """Return the combinations of every group that is made."""
    counts = Counter((s, t) for _, s, t in rows)
    pairs = sorted(counts)
    return [
        [pairs[place] for place in kind.held]
        for kind in pair_group_kinds(pairs, [counts[pair] for pair in pairs], size)
        for _ in range(kind.groups)
    ]


def deals(rows: Sequence[Row], made: Sequence[Sequence[tuple[int, int]]]) -> Iterator[tuple[Fraction, list[list[int]]]]:
    """Yield every way of giving the places of the groups to people, by combination of quasi-identifiers."""
    people = defaultdict(list)
    for q, s, t in rows:
        people[s, t].append(q)
    cells = sorted(people)
    orders = [Counter(itertools.permutations(people[cell])) for cell in cells]
    for picked in itertools.product(*(order.items() for order in orders)):
        chance = math.prod((Fraction(n, math.factorial(len(order))) for order, n in picked), start=Fraction(1))
        queues = {cell: list(order) for cell, (order, _) in zip(cells, picked, strict=True)}
        yield chance, [[queues[cell].pop() for cell in group] for group in made]


def expected(rows: Sequence[Row], size: int, *, told: bool) -> dict[tuple[int, int], Fraction]:
    """Return E [posterior of the own s] of everybody by (q, s), over all deals.

    The attacker reads the quasi-identifiers of a group and both tables of its values, knows how often each combination
    goes with which quasi-identifiers, and which groups are made of which combinations.

    Args:
        rows: the people.
        size: l.
        told: whether he is told besides which values belong to one record.
    """
    made = dealt_of(rows, size)
    count = Counter(rows)
    of = Counter((s, t) for _, s, t in rows)
    law: dict[Any, dict[Any, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for group in made:  # what one group looks like, and who has what in it
        for members in itertools.product(range(3), repeat=len(group)):
            chance = Fraction(1)
            for q, (s, t) in zip(members, group, strict=True):
                chance *= Fraction(count[q, s, t], of[s, t])
            if chance:
                seen = seen_of(group, members, told=told)
                for q, (s, _) in zip(members, group, strict=True):
                    law[seen, q][s] += chance  # of the members with this q, each alike
    out: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for chance, stood in deals(rows, made):
        for group, members in zip(made, stood, strict=True):
            seen = seen_of(group, members, told=told)
            for q, (s, _) in zip(members, group, strict=True):
                posterior = law[seen, q][s] / sum(law[seen, q].values())
                out[q, s] += chance * posterior
    people = Counter((q, s) for q, s, _ in rows)
    return {key: total / people[key] for key, total in out.items()}


def seen_of(group: Sequence[tuple[int, int]], members: Sequence[int], *, told: bool) -> Any:
    values = tuple(sorted(group)) if told else (tuple(sorted(s for s, _ in group)), tuple(sorted(t for _, t in group)))
    return values, tuple(sorted(members))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(SEEDS, st.integers(2, 3))
def test_no_attacker_exceeds_the_bound_on_average_over_all_deals(seed: int, size: int) -> None:
    rows = some_rows(Random(seed))
    counts = Counter((s, t) for _, s, t in rows)
    assume(size <= largest_pair_group_size(list(counts), list(counts.values())))
    original = table_of(rows, asked())
    channel = channel_of(original, size)
    evidence = gather_groups(channel, original, "s")
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)

    as_released, as_told = expected(rows, size, told=False), expected(rows, size, told=True)

    for group in range(len(evidence.n)):
        q = int(evidence.values[group, 0])
        for s in np.flatnonzero(evidence.histograms[group]).tolist():
            bound = bounds.exactly(int(alike.kind[group]), s)
            assert as_released[q, s] <= as_told[q, s] <= bound
            assert bounds.expected[alike.kind[group], s] == pytest.approx(float(bound), abs=1e-9)


def test_the_bound_of_each_attribute_by_itself_would_be_too_low() -> None:
    """A bound that leaves out what the other table tells is exceeded somewhere: enumeration catches it."""
    exceeded = 0
    for seed in range(120):
        rows = some_rows(Random(seed))
        counts = Counter((s, t) for _, s, t in rows)
        if largest_pair_group_size(list(counts), list(counts.values())) < 2:
            continue
        people = np.zeros((3, 3), dtype=np.int64)
        np.add.at(people, tuple(np.array([row[:2] for row in rows]).T), 1)
        people = people[people.any(axis=1)]
        numbers = sorted({q for q, _, _ in rows})
        alone = PosteriorBounds.of(people, 2)
        truth = expected(rows, 2, told=False)
        exceeded += any(truth[q, s] > alone.exactly(numbers.index(q), s) for q, s in truth)
    assert exceeded


def whole(rows: Sequence[Row], size: int) -> dict[tuple[int, int], Fraction]:
    """Return E [posterior of the own s], of who reads all groups, and knows the shares and how many have what.

    Values are independent given the quasi-identifiers: over all tables with these combinations, by their chances.
    """
    made, count, of = dealt_of(rows, size), Counter(rows), Counter(q for q, _, _ in rows)
    law: dict[Any, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    seen = []
    for order in set(itertools.permutations(sorted(q for q, _, _ in rows))):
        left, weight, groups = iter(order), Fraction(1), []
        for group in made:
            groups.append([(next(left), s, t) for s, t in group])
            for q, s, t in groups[-1]:
                weight *= Fraction(count[q, s, t], of[q])
        if weight:
            views = [seen_of([(s, t) for _, s, t in g], [q for q, _, _ in g], told=False) for g in groups]
            released = tuple(sorted(views))
            for view, group in zip(views, groups, strict=True):
                for q, s, _ in group:
                    law[released, view, q][s] += weight
                    seen.append((weight, (released, view, q), s))
    total: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    read: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for weight, key, s in seen:
        total[key[2], s] += weight
        read[key[2], s] += weight * law[key][s] / sum(law[key].values())
    return {key: read[key] / total[key] for key in total}


@pytest.mark.parametrize("seed", range(30))
def test_who_reads_the_whole_release_does_not_exceed_it_either(seed: int) -> None:
    rows = some_rows(Random(seed), 6)
    counts = Counter((s, t) for _, s, t in rows)
    if largest_pair_group_size(list(counts), list(counts.values())) < 2:
        rows = [(q, i % 3, i % 3) for i, (q, _, _) in enumerate([*rows, *rows, *rows][:6])]
    original = table_of(rows, asked())
    evidence = gather_groups(channel_of(original, 2), original, "s")
    alike, bounds = bound_posteriors(channel_of(original, 2), evidence, evidence.joint)

    for (q, s), truth in whole(rows, 2).items():
        group = evidence.values[:, 0].tolist().index(q)
        assert truth <= bounds.exactly(int(alike.kind[group]), s)


def people(records: int, seed: int) -> list[Row]:
    rng = np.random.default_rng(seed)
    q, s = rng.integers(0, 3, records), rng.integers(0, 4, records)
    t = np.where(rng.random(records) < 0.5, s, rng.integers(0, 4, records))
    return list(zip(q.tolist(), s.tolist(), t.tolist(), strict=True))


def test_findings_speak_of_both_attributes() -> None:
    rows = people(600, 3)
    original = table_of(rows, asked(), (4, 4))
    channel = channel_of(original, 3)

    disclosure = DISCLOSURE.assess(asked("s", "t"), channel, original)
    first = DISCLOSURE.assess(asked("s"), channel, original)
    second = DISCLOSURE.assess(asked("t"), channel, original)
    diversity = DIVERSITY.assess(Requirement("l-diversity", Diversity(kind="frequency", l="3")), channel, original)

    assert disclosure.achieved is not None
    assert first.achieved is not None
    assert second.achieved is not None
    assert disclosure.achieved.value == max(first.achieved.value, second.achieved.value)
    assert disclosure.achieved.standing is Standing.UPPER_BOUND
    assert any("belong to one record" in text for text in disclosure.assumptions)
    assert (diversity.verdict, diversity.achieved.value) == (Verdict.SATISFIED, 3)  # type: ignore[union-attr]
    assert {c.of for c in diversity.companions if c.name == "informed posterior"} == {"s", "t"}
    for measure in ("correct-reading", "best-guess", "gain"):
        found = DISCLOSURE.assess(asked("s", "t", threshold="9/10", measure=measure), channel, original)
        assert found.verdict is Verdict.SATISFIED
    refused = DISCLOSURE.supports(asked("s", known_sensitive=True), original.policy, ())
    assert refused is not None
    assert "known_sensitive" in refused
