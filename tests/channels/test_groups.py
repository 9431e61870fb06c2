"""Dealt groups as a channel: what is drawn, that neither order nor numbers speak, and what does not conform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rrpolicy.channels.anatomy import draw as two_tables
from rrpolicy.channels.anatomy import goodness_of_fit
from rrpolicy.channels.anatomy.channel import QIT, ST, AnatomyChannel
from rrpolicy.channels.anatomy.group_assignment import GroupAssignment, assign_groups
from rrpolicy.channels.anatomy.partition_plan import groups_of, largest_eligible
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.errors import DataError, RefusedError
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.source.protocol import MULTIPLICITY

SEX, AGE, VALUES = ("m", "f"), ("old", "mid", "young"), ("flu", "cold", "none", "acne")
DOMAINS = {"sex": SEX, "age": AGE, "disease": VALUES}
ALARM = 1e-6


def column(name: str, labels: tuple[str, ...], kind: Any = "category") -> Column:
    return Column(name, kind, labels, "", name)


def groups(size: int = 2, *more: Column) -> AnatomyChannel:
    known = (column("sex", SEX), column("age", AGE), *more)
    number, count = Column("group_id", "group", (), "", ""), Column("count", "count", (), "", "")
    return AnatomyChannel(known, (column("disease", VALUES),), number, count, size)


class Sink:
    """Keeps the rows of every table."""

    def __init__(self) -> None:
        self.batches: dict[str, list[pa.Table]] = {QIT: [], ST: []}
        self.in_order: dict[str, bool] = {}

    def write(
        self, table: str, batch: pa.RecordBatch, n: Any = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        plain = [c.cast(pa.int64()) if pa.types.is_integer(c.type) else c for c in plain]
        times = pa.array(np.ones(batch.num_rows, np.int64) if n is None else n, pa.int64())
        self.batches[table].append(pa.table([*plain, times], names=[*batch.schema.names, MULTIPLICITY]))
        self.in_order[table] = in_order

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for part in self.batches[table] for row in part.to_pylist()]

    def reader(self, table: str) -> pa.RecordBatchReader:
        whole = pa.concat_tables(self.batches[table])
        names = [name for name in whole.column_names if name != MULTIPLICITY]
        whole = whole.group_by(names).aggregate([(MULTIPLICITY, "sum")]).rename_columns([*names, MULTIPLICITY])
        return whole.sort_by([(name, "ascending") for name in names]).to_reader()


def drawn(channel: AnatomyChannel, original: Any, seed: int) -> Sink:
    sink = Sink()
    channel.draw(original, Streams.for_tests(seed), sink)
    return sink


def verdict(channel: AnatomyChannel, original: Any, sink: Sink) -> Any:
    return channel.conforms(original, {table: sink.reader(table) for table in (QIT, ST)})


def people(memory: Callable[..., Any], records: int, seed: int, **more: Any) -> Any:
    """Return a table in which diseases depend on age, none too common for groups of two."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, records)
    disease = np.where(rng.random(records) < 0.5, age, rng.integers(0, 4, records))
    return memory(DOMAINS, {"sex": rng.integers(0, 2, records), "age": age, "disease": disease}, **more)


codes = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=40)


@pytest.mark.slow
@settings(max_examples=1200, deadline=None, derandomize=True)
@given(codes, st.data())
def test_every_release_is_an_anatomy_of_its_table(memory, rows, data):
    sex, age, disease = (np.array(c) for c in zip(*rows, strict=True))
    counts = np.bincount(disease, minlength=4).tolist()
    if largest_eligible(counts) < 2:
        return
    size = data.draw(st.integers(2, min(largest_eligible(counts), 4)))
    original = memory(DOMAINS, {"sex": sex, "age": age, "disease": disease})
    sampler = data.draw(st.sampled_from(["cells", "records"]))
    sink = drawn(replace(groups(size), sampler=sampler), original, data.draw(st.integers(0, 10**6)))

    qit, values = sink.rows(QIT), sink.rows(ST)
    assert Counter({(SEX[s], AGE[a]): n for (s, a), n in Counter(zip(sex, age, strict=True)).items()}) == sum(
        (Counter({(s, a): n}) for s, a, _, n in qit), Counter()
    )
    assert Counter(v for _, v, *_ in values) == Counter(VALUES[d] for d in disease)
    inside = Counter(dict.fromkeys(range(1, groups_of(len(rows), size)[0] + 1), 0))
    for *_, g, n in qit:
        inside[g] += n
    for g, n in inside.items():
        held = [v for number, v, *_ in values if number == g]
        assert len(held) == len(set(held)) == n
        assert n >= size
    if sampler == "cells":
        assert [row[:-1] for row in qit] == sorted({row[:-1] for row in qit})
    assert [row[:2] for row in values] == sorted(row[:2] for row in values)
    if groups(size).known:
        assert verdict(groups(size), original, sink).verdict is Verdict.SATISFIED


def test_the_order_of_the_input_says_nothing(memory):
    rng = np.random.default_rng(2)
    table = {name: rng.integers(0, len(d), 400) for name, d in DOMAINS.items()}
    order = rng.permutation(400)
    shuffled = {name: codes[order] for name, codes in table.items()}
    for sampler in ("cells", "records"):
        channel = replace(groups(3), sampler=sampler)
        one, other = (drawn(channel, memory(DOMAINS, t), 5) for t in (table, shuffled))
        assert sorted(one.rows(QIT)) == sorted(other.rows(QIT))
        assert one.rows(ST) == other.rows(ST)


@pytest.mark.slow
def test_both_samplers_have_the_same_law(memory):
    original = memory(DOMAINS, {"sex": [0, 0, 1, 1, 0, 1], "age": [0, 0, 0, 0, 0, 0], "disease": [0, 0, 1, 1, 2, 2]})
    draws, found = 2500, {}
    for place, sampler in enumerate(("cells", "records")):
        channel = replace(groups(2), sampler=sampler)
        found[sampler] = Counter()
        for seed in range(draws):
            sink = drawn(channel, original, draws * place + seed)
            qit = sorted(r[:-1] for r in sink.rows(QIT) for _ in range(r[-1]))
            found[sampler][tuple(qit), tuple(r[:2] for r in sink.rows(ST))] += 1

    keys = sorted({*found["cells"], *found["records"]})
    table = np.array([[found[s][k] for k in keys] for s in found])
    assert stats.chi2_contingency(table).pvalue > ALARM


def test_carried_columns_stand_beside_the_quasi_identifiers(memory):
    rng = np.random.default_rng(4)
    original = memory(
        DOMAINS,
        {name: rng.integers(0, len(d), 300) for name, d in DOMAINS.items()},
        {"hours": pa.array(rng.integers(0, 50, 300))},
    )
    channel = groups(2, Column("hours", "carried", (), "", "hours")).settle(original)
    sink = drawn(channel, original, 3)

    assert channel.sampler == "records"
    assert sum(row[-1] for row in sink.rows(QIT)) == 300
    assert Counter(row[2] for row in sink.rows(QIT)) == Counter(original.carried["hours"].to_pylist())
    assert verdict(channel, original, sink).verdict is Verdict.SATISFIED


def test_what_is_drawn_conforms(memory):
    for seed in range(12):
        original = people(memory, 900, seed)
        channel = groups(2).settle(original)
        assert verdict(channel, original, drawn(channel, original, seed)).verdict is Verdict.SATISFIED


def wrongly(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[GroupAssignment, tuple[int, ...]], GroupAssignment]
) -> None:
    def dealt(counts: Any, size: int, streams: Streams) -> GroupAssignment:
        return change(assign_groups(counts, size, streams), tuple(counts))

    monkeypatch.setattr(two_tables, "assign_groups", dealt)


def in_input_order(dealt: GroupAssignment, counts: tuple[int, ...]) -> GroupAssignment:
    """Deal a value's records in the order of the file to groups in the order in which they were made."""
    made = np.empty(len(dealt.numbers) + 1, dtype=np.int64)
    made[dealt.numbers] = np.arange(len(dealt.numbers))
    parts = np.split(dealt.members, np.cumsum(counts)[:-1])
    return replace(dealt, members=np.concatenate([part[np.argsort(made[part])] for part in parts]))


def numbered_as_made(dealt: GroupAssignment, counts: tuple[int, ...]) -> GroupAssignment:
    """Number groups in the order in which they were made."""
    again = np.empty(len(dealt.numbers) + 1, dtype=dealt.numbers.dtype)
    again[dealt.numbers] = np.arange(1, len(dealt.numbers) + 1)
    return replace(dealt, numbers=again[dealt.numbers], members=again[dealt.members])


def test_records_dealt_in_the_order_of_the_file_are_caught(memory, monkeypatch):
    original = people(memory, 4000, 1)
    wrongly(monkeypatch, in_input_order)
    found = verdict(groups(2), original, drawn(groups(2), original, 1))

    assert found.verdict is Verdict.FAILED
    assert found.achieved.value < ALARM


def test_groups_numbered_as_they_were_made_are_caught(memory, monkeypatch):
    rng = np.random.default_rng(1)
    disease = rng.choice(4, 6000, p=[0.45, 0.35, 0.15, 0.05])
    original = memory(DOMAINS, {"sex": rng.integers(0, 2, 6000), "age": rng.integers(0, 3, 6000), "disease": disease})
    right = verdict(groups(2), original, drawn(groups(2), original, 1))
    wrongly(monkeypatch, numbered_as_made)
    found = verdict(groups(2), original, drawn(groups(2), original, 1))

    assert right.verdict is Verdict.SATISFIED
    assert found.verdict is Verdict.FAILED
    assert "numbers" in found.companions[0].meaning


def test_members_that_go_by_who_they_are_are_caught(memory, monkeypatch):
    """Young people get the groups with the highest numbers."""
    original = people(memory, 4000, 3)

    def by_number(dealt: GroupAssignment, counts: tuple[int, ...]) -> GroupAssignment:
        parts = np.split(dealt.members, np.cumsum(counts)[:-1])
        return replace(dealt, members=np.concatenate([np.sort(part) for part in parts]))

    wrongly(monkeypatch, by_number)
    assert verdict(groups(2), original, drawn(groups(2), original, 1)).verdict is Verdict.FAILED


def changed(sink: Sink, table: str, row: int, name: str, value: Any) -> Sink:
    whole = pa.concat_tables(sink.batches[table])
    values = whole.column(name).to_pylist()
    values[row] = value
    place = whole.schema.get_field_index(name)
    sink.batches[table] = [whole.set_column(place, name, pa.array(values, whole.schema.field(name).type))]
    return sink


@pytest.mark.parametrize(
    ("table", "name", "value", "told"),
    [
        (QIT, "group_id", 10**6, "as many records"),
        (QIT, "sex", "x", "outside its domain"),
        (ST, "group_id", 0, "other numbers"),
        (ST, "disease", "other", "outside their domain"),
        (ST, "count", 2, "more than once"),
    ],
)
def test_what_must_be_equal_is_compared(memory, table, name, value, told):
    original = people(memory, 300, 5)
    sink = drawn(groups(2), original, 2)
    found = verdict(groups(2), original, changed(sink, table, 0, name, value))

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 0)
    assert told in found.companions[0].meaning


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (QIT, "columns of the quasi-identifiers' table are not the declared"),
        (ST, "columns of the sensitive table are not"),
    ],
)
def test_a_table_without_a_column_does_not_conform(memory, table, told):
    original = people(memory, 300, 5)
    sink = drawn(groups(2), original, 2)
    sink.batches[table] = [part.drop_columns(["group_id"]) for part in sink.batches[table]]
    found = verdict(groups(2), original, sink)

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 0)
    assert told in found.companions[0].meaning


def test_another_quasi_identifier_in_a_group_does_not_conform(memory):
    original = people(memory, 300, 5)
    sink = drawn(groups(2), original, 2)
    other = SEX[1 - SEX.index(sink.rows(QIT)[0][0])]
    found = verdict(groups(2), original, changed(sink, QIT, 0, "sex", other))

    assert (found.verdict, found.achieved.value) == (Verdict.FAILED, 0)
    assert "differs from the original" in found.companions[0].meaning


@pytest.mark.parametrize(("most", "untested"), [(8, ["disease x disease"]), (16, ["wide x disease"]), (1 << 20, [])])
def test_tables_that_are_too_large_to_be_tested_are_said(memory, monkeypatch, most, untested):
    monkeypatch.setattr(goodness_of_fit, "_LARGEST", most)
    wide = tuple(f"{i}" for i in range(6))
    plain = people(memory, 300, 5)
    codes = {**plain.codes, "wide": np.arange(300) % 6}
    original, channel = memory({**DOMAINS, "wide": wide}, codes), groups(2, column("wide", wide))
    found = verdict(channel, original, drawn(channel, original, 2))

    assert found.verdict is Verdict.SATISFIED
    assert list(found.assumptions) == [f"the joint table of {name} is too large to be tested" for name in untested]


@pytest.mark.parametrize(
    ("sensitive", "told"), [((4, 4, 4), "one or two sensitive attributes, not 3"), ((200, 101), "at most 20,000 comb")]
)
def test_groups_of_too_many_values_are_refused(sensitive, told):
    columns = [column(f"s{i}", tuple(f"{v}" for v in range(size))) for i, size in enumerate(sensitive)]
    with pytest.raises(ValueError, match=told):
        replace(groups(2), sensitive=tuple(columns))


def test_tables_of_another_table_do_not_conform(memory):
    sink = drawn(groups(2), people(memory, 300, 5), 2)

    assert verdict(groups(2), people(memory, 300, 6), sink).verdict is Verdict.FAILED
    assert verdict(groups(3), people(memory, 300, 5), sink).verdict is Verdict.FAILED


def test_a_group_with_fewer_values_than_promised_does_not_conform(memory):
    original = memory(DOMAINS, {"sex": [0] * 8, "age": [0] * 8, "disease": [0, 0, 1, 1, 2, 2, 3, 3]})
    sink = drawn(groups(2), original, 1)
    sink.batches[ST] = [
        pa.table(
            {
                "group_id": [1, 1, 1, 1, 2, 2, 2, 3],
                "disease": [*VALUES, *VALUES[:3], VALUES[3]],
                "count": [1] * 8,
                MULTIPLICITY: [1] * 8,
            }
        )
    ]

    assert verdict(groups(2), original, sink).verdict is Verdict.FAILED


def test_descriptions_are_read_back():
    kinds = {"anatomy": AnatomyChannel}
    for channel in (groups(2), groups(3, Column("hours", "carried", (), "BIGINT", "hours"))):
        assert channel_from_json(channel.to_json(), kinds) == channel
        assert channel_from_json(channel.to_public_json(), kinds) == channel
    for key, value in (("size", True), ("size", 9), ("sampler", "guess"), ("known", [])):
        with pytest.raises(DataError, match="RR334"):
            channel_from_json({**groups().to_json(), key: value}, kinds)
    with pytest.raises(RefusedError, match="RR404"):
        channel_from_json({**groups().to_json(), "version": 2}, kinds)


def test_tables_are_joined_by_group_and_sorted():
    qit, values = groups().tables()

    assert (qit.joins, values.joins) == ({"group_id": (ST, "group_id")}, {"group_id": (QIT, "group_id")})
    assert (qit.sort, values.sort) == (("sex", "age", "group_id"), ("group_id", "disease"))
    share = groups().decoders()[-1]
    assert (share.form, share.unbiased, share.independent) == ("anatomy", False, False)
    assert groups().discloses() == ()


def test_large_parts_are_put_in_order_like_small_ones(memory, monkeypatch):
    original = people(memory, 3000, 8)
    whole = drawn(groups(2), original, 4)
    monkeypatch.setattr(two_tables, "_ROWS", 64)
    parts = drawn(groups(2), original, 4)

    assert whole.rows(QIT) == parts.rows(QIT)
    assert whole.rows(ST) == parts.rows(ST)
    assert len(parts.batches[QIT]) > 3
    assert all(whole.in_order.values())
