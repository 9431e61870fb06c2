"""Attacks on sets: what they are predicted to attain, by enumeration; and two releases that are read together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from itertools import product as all_of
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.attacks import homogeneity, run
from rrpolicy.attacks.averaging import average
from rrpolicy.attacks.inference import BY_PERSON, BY_RECORD
from rrpolicy.attacks.intersection import intersect
from rrpolicy.attacks.membership import MEMBERSHIP
from rrpolicy.attacks.result import AttackOutcome, AttackResult
from rrpolicy.attacks.target import AttackTarget, ListedSets
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.channel import Product
from rrpolicy.declarations import Role
from rrpolicy.errors import RequirementError
from rrpolicy.policy.model import Attribute
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.testing import policy_of
from rrpolicy.testing.draws import draw_tables
from rrpolicy.testing.memory import TableInMemory

from .test_law import target

SEX, ILL = ("F", "M"), ("no", "flu", "hiv", "ms")
POLICY = policy_of([Attribute("sex", Role.QUASI_IDENTIFIER, SEX), Attribute("ill", Role.SENSITIVE, ILL)])
PLACE = tuple(f"p{i}" for i in range(60))
PLACES = policy_of([Attribute("place", Role.QUASI_IDENTIFIER, PLACE), Attribute("ill", Role.SENSITIVE, ILL)])
ORIGINALS = [[(0, 0), (0, 1), (1, 0)], [(0, 0), (0, 0), (0, 3)], [(0, 2), (1, 2), (1, 1)]]


def channel(qi: str, labels: tuple[str, ...], set_size: int) -> Product:
    return Product((Identity.of(qi, labels), Sets.of("ill", ILL, set_size)), (), (qi, "ill"), "records/2")


def attacks(promised: Product, original: Any, table: pa.Table, policy: Any = POLICY) -> dict[str, AttackResult]:
    return {found.name: found for found in run.run_attacks(target(promised, original, table, policy))}


@pytest.mark.parametrize(("size", "drawn_of"), [(4, 2), (5, 3), (7, 4), (6, 5)])
def test_sets_are_ranked_in_their_order(size: int, drawn_of: int) -> None:
    axis = ListedSets(Sets.of("ill", tuple(map(str, range(size))), drawn_of))
    every = np.array(list(combinations(range(size), drawn_of)))
    assert axis.rank(every).tolist() == list(range(comb(size, drawn_of)))
    assert axis.rank(every[::-1]).tolist() == list(range(comb(size, drawn_of)))[::-1]
    matrix = axis.forward(np.eye(size), 0)
    assert matrix.sum(axis=0) == pytest.approx(1)
    assert [dict(axis.column(u)) for u in range(size)] == [
        {s: Fraction(1, comb(size - 1, drawn_of - 1)) for s in np.flatnonzero(matrix[:, u])} for u in range(size)
    ]
    x = np.random.default_rng(1).random((3, len(matrix)))
    assert axis.back(x, 1) == pytest.approx(x @ matrix)


@pytest.mark.parametrize("set_size", [2, 3])
@pytest.mark.parametrize("rows", ORIGINALS)
def test_predictions_are_the_expectation_over_all_releases(rows: list[tuple[int, int]], set_size: int) -> None:
    promised = channel("sex", SEX, set_size)
    original = TableInMemory.of(POLICY, {"sex": [a for a, _ in rows], "ill": [u for _, u in rows]})
    sets = list(combinations(range(4), set_size))
    chance = Fraction(1, comb(3, set_size - 1) ** len(rows))
    n = {(a, u): rows.count((a, u)) for a in range(2) for u in range(4)}

    def guessed(a: int, s: tuple[int, ...]) -> int:
        return max(s, key=lambda u: n[a, u])

    def told(a: int, s: tuple[int, ...], own: int) -> Fraction:
        others = [row for i, row in enumerate(rows) if i != own]
        return sum((Fraction(1, 2 if b == a and u in s else 1) for b, u in others), Fraction(0)) / len(others)

    right, law = {BY_RECORD: Fraction(0), MEMBERSHIP: Fraction(0)}, dict[tuple[Any, ...], Fraction]()
    for released in all_of(sets, repeat=len(rows)):
        if any(u not in s for (_, u), s in zip(rows, released, strict=True)):
            continue
        pairs = [(a, s) for (a, _), s in zip(rows, released, strict=True)]
        law[tuple(sorted(pairs))] = law.get(tuple(sorted(pairs)), Fraction(0)) + chance
        for own, ((a, u), s) in enumerate(zip(rows, released, strict=True)):
            right[BY_RECORD] += chance * (guessed(a, s) == u)
            right[MEMBERSHIP] += chance * told(a, s, own)
    mean = dict.fromkeys(right, 0.0)
    for pairs, weight in law.items():
        columns = {"sex": [SEX[a] for a, _ in pairs], "ill": [[ILL[u] for u in s] for _, s in pairs]}
        table = pa.table(columns | {MULTIPLICITY: pa.array([1] * len(pairs), pa.int64())})
        found = attacks(promised, original, table)
        for name, expected in right.items():
            one = found[name]
            assert one.outcome is AttackOutcome.AS_PREDICTED
            assert one.predicted == pytest.approx(float(expected), abs=1e-12)
            assert one.successes is not None
            mean[name] += float(weight) * one.successes
    assert sum(law.values()) == 1
    for name, expected in right.items():
        assert mean[name] == pytest.approx(float(expected), abs=1e-12)


def people(records: int, seed: int = 1) -> TableInMemory:
    rng = np.random.default_rng(seed)
    ill = rng.choice(4, records, p=[0.6, 0.2, 0.15, 0.05])
    return TableInMemory.of(POLICY, {"sex": rng.choice(2, records).tolist(), "ill": ill.tolist()})


def test_draws_are_as_predicted_and_a_set_without_a_choice_is_not() -> None:
    original, promised = people(5_000), channel("sex", SEX, 2)
    for seed in range(20):
        found = attacks(promised, original, draw_tables(promised, original, seed)["data"])
        assert {found[n].outcome for n in (BY_RECORD, BY_PERSON, MEMBERSHIP)} == {AttackOutcome.AS_PREDICTED}
    rows = draw_tables(promised, original, 1)["data"].to_pylist()
    beside = {"no": "flu", "flu": "no", "hiv": "ms", "ms": "hiv"}  # who draws the other value by the own one
    codes = original.counts("sex", "ill").dense()
    wrong = [
        {"sex": SEX[a], "ill": sorted((ILL[u], beside[ILL[u]]), key=ILL.index), MULTIPLICITY: int(codes[a, u])}
        for a in range(2)
        for u in range(4)
    ]
    schema = draw_tables(promised, original, 1)["data"].schema
    assert rows[0].keys() == wrong[0].keys()
    found = attacks(promised, original, pa.Table.from_pylist(wrong, schema=schema))
    assert found[BY_RECORD].outcome is AttackOutcome.NOT_AS_PREDICTED


def alone(set_size: int) -> tuple[Product, TableInMemory]:
    """Return a channel, and a table in which everybody has a place of their own."""
    rng = np.random.default_rng(3)
    original = TableInMemory.of(PLACES, {"place": list(range(60)), "ill": rng.choice(4, 60).tolist()})
    return channel("place", PLACE, set_size), original


def released(set_size: int, seed: int) -> AttackTarget:
    promised, original = alone(set_size)
    return target(promised, original, draw_tables(promised, original, seed)["data"], PLACES)


@pytest.mark.parametrize(("one", "other"), [(2, 2), (2, 3), (3, 2)])
def test_two_sets_tell_the_value_as_often_as_predicted(one: int, other: int) -> None:
    told = []
    for seed in range(40):
        (found,) = intersect([released(one, 2 * seed), released(other, 2 * seed + 1)])
        assert found.outcome is AttackOutcome.AS_PREDICTED
        assert found.predicted == pytest.approx(60 * comb(4 - one, other - 1) / comb(3, other - 1))
        told.append(found.successes)
    p = comb(4 - one, other - 1) / comb(3, other - 1)
    assert abs(np.mean(told) - 60 * p) < 5 * np.sqrt(60 * p * (1 - p) / 40)


def test_two_sets_of_three_of_four_never_tell_it() -> None:
    (found,) = intersect([released(3, 1), released(3, 2)])
    assert (found.predicted, found.successes) == (0, 0)


def test_the_same_sets_twice_are_found() -> None:
    (found,) = intersect([released(2, 1), released(2, 1)])
    assert found.successes == 0
    assert found.outcome is AttackOutcome.NOT_AS_PREDICTED
    (averaged,) = average([released(2, 1), released(2, 1)])
    assert averaged.outcome is AttackOutcome.NOT_AS_PREDICTED


def test_nobody_alone_is_told() -> None:
    original, promised = people(500), channel("sex", SEX, 2)
    releases = [target(promised, original, draw_tables(promised, original, seed)["data"], POLICY) for seed in (1, 2)]
    (found,) = intersect(releases)
    assert found.reason == "no person is unique in the unchanged columns"


def dealt() -> tuple[AnatomyChannel, TableInMemory, dict[str, pa.Table]]:
    """Return a channel that deals records into groups, its table, and what it released."""
    original = TableInMemory.of(POLICY, {"sex": [0, 1] * 30, "ill": [0, 1, 2, 3] * 15})
    promised = AnatomyChannel.of(list(POLICY.attributes.values()), "ill", 2)
    return promised, original, draw_tables(promised, original, 1)


def attacks_on_groups(
    promised: AnatomyChannel, original: TableInMemory, tables: dict[str, pa.Table]
) -> list[AttackResult]:
    @contextmanager
    def read(name: str) -> Iterator[pa.RecordBatchReader]:
        yield tables[name].to_reader()

    return list(run.run_attacks(AttackTarget("release", POLICY, promised, original, read)))


def test_too_many_groups_are_not_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {one.outcome for one in attacks_on_groups(*dealt())} == {AttackOutcome.AS_PREDICTED}
    monkeypatch.setattr(homogeneity, "MAX_GROUPS", 1)
    assert {one.reason for one in attacks_on_groups(*dealt())} == {"too many groups"}


def test_groups_that_no_channel_deals_are_refused() -> None:
    promised, original, tables = dealt()
    fewer = {name: table.slice(1) for name, table in tables.items()}
    with pytest.raises(RequirementError, match="RR125"):
        attacks_on_groups(promised, original, fewer)
