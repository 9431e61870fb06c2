"""Groups that differ in two attributes as they are drawn: their law, that they conform, and wrong dealers."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from rrpolicy.channels.anatomy import goodness_of_fit, group_assignment
from rrpolicy.channels.anatomy.channel import QIT, AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import PairGroupKind, group_kinds_of_table
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.source.protocol import MULTIPLICITY

from .test_groups import Sink

SEX, AGE, FIRST, SECOND = ("m", "f"), ("old", "mid", "young"), ("flu", "cold", "none", "acne"), ("low", "mid", "high")
DOMAINS = {"sex": SEX, "age": AGE, "disease": FIRST, "income": SECOND}
ALARM = 1e-6


def column(name: str) -> Column:
    return Column(name, "category", DOMAINS[name], "", name)


def groups(size: int = 2) -> AnatomyChannel:
    number, count = Column("group_id", "group", (), "", ""), Column("count", "count", (), "", "")
    return AnatomyChannel((column("sex"), column("age")), (column("disease"), column("income")), number, count, size)


class Tables(Sink):
    """Keeps the rows of three tables."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = {QIT: [], "st_1": [], "st_2": []}


def drawn(channel: AnatomyChannel, original: Any, seed: int) -> Tables:
    sink = Tables()
    channel.draw(original, Streams.for_tests(seed), sink)
    return sink


def verdict(channel: AnatomyChannel, original: Any, sink: Tables) -> Any:
    return channel.conforms(original, {table: sink.reader(table) for table in sink.batches})


def people(memory: Callable[..., Any], records: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, records)
    disease = np.where(rng.random(records) < 0.4, age, rng.integers(0, 4, records))
    income = np.where(rng.random(records) < 0.3, disease % 3, rng.integers(0, 3, records))
    return memory(DOMAINS, {"sex": rng.integers(0, 2, records), "age": age, "disease": disease, "income": income})


@pytest.mark.parametrize("sampler", ["cells", "records"])
@pytest.mark.parametrize("records", [2, 7, 60, 301])
def test_every_group_differs_in_both_and_nobody_is_lost(memory: Any, records: int, sampler: Any) -> None:
    original = (
        people(memory, records, 4)
        if records > 9
        else memory(
            DOMAINS,
            {"sex": [0] * records, "age": [0] * records, "disease": [0, 1] * 3 + [2], "income": [0, 1] * 3 + [2]}
            if records == 7
            else {"sex": [0, 1], "age": [0, 1], "disease": [0, 1], "income": [2, 1]},
        )
    )
    sink = drawn(replace(groups(2), sampler=sampler), original, 5)

    inside: Counter[int] = Counter()
    for *_, g, n in sink.rows(QIT):
        inside[g] += n
    for table, name in (("st_1", "disease"), ("st_2", "income")):
        rows = sink.rows(table)
        assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
        assert len({row[:2] for row in rows}) == len(rows) == records
        assert Counter(g for g, *_ in rows) == inside
        held = original.counts(name).dense()
        assert Counter(v for _, v, *_ in rows) == {v: n for v, n in zip(DOMAINS[name], held, strict=True) if n}
    assert min(inside.values()) >= 2
    assert len(inside) == records // 2
    assert verdict(groups(2), original, sink).verdict is Verdict.SATISFIED


@pytest.mark.slow
def test_what_is_drawn_is_every_deal_alike(memory: Any) -> None:
    """Of six people in three groups, all ways of dealing and numbering them are equally likely."""
    sex, age, disease, income = [0, 1, 0, 1, 0, 0], [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]
    original = memory(DOMAINS, {"sex": sex, "age": age, "disease": disease, "income": income})
    counts = original.counts("disease", "income")
    made = [kind.held for kind in group_kinds_of_table(counts, 2) for _ in range(kind.groups)]
    members = {
        row: [i for i in range(6) if (disease[i], income[i]) == tuple(code)]
        for row, code in enumerate(counts.codes.tolist())
    }
    law: Counter[Any] = Counter()
    for picked in itertools.product(*(itertools.permutations(members[row]) for row in members)):
        for numbers in itertools.permutations((1, 2, 3)):
            queues = {row: list(order) for row, order in zip(members, picked, strict=True)}
            place = {queues[row].pop(): number for number, held in zip(numbers, made, strict=True) for row in held}
            law[tuple(sorted((SEX[sex[i]], AGE[age[i]], place[i]) for i in range(6)))] += 1
    draws = 6000
    found: Counter[Any] = Counter()
    channel = groups(2)
    for seed in range(draws):
        rows = drawn(channel, original, seed).rows(QIT)
        found[tuple(sorted(itertools.chain.from_iterable([row[:3]] * row[3] for row in rows)))] += 1
    total = sum(law.values())

    assert set(found) <= set(law)
    chi2 = sum((found[key] - draws * n / total) ** 2 / (draws * n / total) for key, n in law.items())
    assert stats.chi2.sf(chi2, len(law) - 1) > ALARM
    assert math.isclose(total, 6 * math.prod(math.factorial(len(m)) for m in members.values()))


def test_what_is_drawn_conforms(memory: Any) -> None:
    for seed in range(8):
        original = people(memory, 900, seed)
        channel = groups(2).settle(original)
        assert verdict(channel, original, drawn(channel, original, seed)).verdict is Verdict.SATISFIED


def test_records_dealt_in_the_order_of_the_file_are_caught(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = people(memory, 4000, 1)
    monkeypatch.setattr(group_assignment, "shuffle_values", lambda members, stream: np.sort(members))

    found = verdict(groups(2), original, drawn(groups(2), original, 1))

    assert found.verdict is Verdict.FAILED
    assert found.achieved.value < ALARM


def test_groups_numbered_as_they_were_made_are_caught(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = people(memory, 6000, 2)
    real = group_assignment.shuffle_values

    def numbered(values: Any, stream: Any) -> Any:
        return (
            values if len(values) == 3000 and values[0] == 1 and (np.diff(values) == 1).all() else real(values, stream)
        )

    monkeypatch.setattr(group_assignment, "shuffle_values", numbered)
    found = verdict(groups(2), original, drawn(groups(2), original, 1))

    assert found.verdict is Verdict.FAILED
    assert found.achieved.value < ALARM


def test_groups_that_agree_in_the_second_attribute_are_caught(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = people(memory, 400, 3)

    def by_the_first(counts: Any, size: int) -> tuple[PairGroupKind, ...]:
        """Pair the rarest values of the first attribute with the others, whatever the second is."""
        places = np.repeat(np.arange(len(counts.n)), counts.n)
        half = len(places) // size
        return tuple(
            PairGroupKind(1, tuple(map(int, pair))) for pair in zip(places[:half], places[half:], strict=False)
        )

    monkeypatch.setattr(group_assignment, "group_kinds_of_table", by_the_first)
    found = verdict(groups(2), original, drawn(groups(2), original, 1))

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 0)


def test_other_combinations_than_the_counts_give_are_caught(memory: Any) -> None:
    """Each group differs in both, but the values of the second stand with other values of the first."""
    original = people(memory, 400, 3)
    sink = drawn(groups(2), original, 1)
    rows = sink.rows("st_2")
    by_group: dict[int, list[str]] = {}
    for g, v, *_ in rows:
        by_group.setdefault(g, []).append(v)
    most = max(by_group)
    moved = sorted((most + 1 - g, v) for g, values in by_group.items() for v in values)
    ones = pa.array([1] * len(moved), pa.int64())
    names = ["group_id", "income", "count", MULTIPLICITY]
    sink.batches["st_2"] = [pa.table([[g for g, _ in moved], [v for _, v in moved], ones, ones], names=names)]

    found = verdict(groups(2), original, sink)

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 0)


def test_tables_that_are_too_large_to_be_tested_are_said(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goodness_of_fit, "_LARGEST", 11)  # of 12 combinations
    original = people(memory, 300, 5)
    found = verdict(groups(), original, drawn(groups(), original, 2))

    assert found.verdict is Verdict.SATISFIED
    assert found.assumptions == ("the joint table of disease x income is too large to be tested",)


def test_groups_with_fewer_values_in_one_table_do_not_conform(memory: Any) -> None:
    disease, income = [0, 1, 2, 0, 1, 2, 3], [0, 1, 0, 1, 2, 1, 2]
    original = memory(DOMAINS, {"sex": [0] * 7, "age": [0] * 7, "disease": disease, "income": income})
    sink = drawn(groups(2), original, 1)
    one = {MULTIPLICITY: [1] * 7, "count": [1] * 7}
    first, second = [FIRST[v] for v in disease], [SECOND[v] for v in income]
    sink.batches["st_1"] = [pa.table({"group_id": [1, 1, 1, 2, 2, 3, 3], "disease": first, **one})]
    sink.batches["st_2"] = [pa.table({"group_id": [1, 1, 2, 2, 2, 3, 3], "income": second, **one})]
    found = verdict(groups(2), original, sink)

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 0)
    assert "not as many values of one sensitive column" in found.companions[0].meaning


def test_the_channel_is_read_back_and_tells_its_tables() -> None:
    channel = groups(2)

    assert channel_from_json(channel.to_json(), {"anatomy": AnatomyChannel}) == channel
    assert [table.name for table in channel.tables()] == ["qit", "st_1", "st_2"]
    assert [d.attributes for d in channel.decoders()][-2:] == [("disease",), ("income",)]
    with pytest.raises(ValueError, match="from 2 to 3"):
        groups(4)
