"""What a product channel releases: every record once, in canonical order, by the key alone; and how it is written down."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrpolicy import concurrency
from rrpolicy.canonical_json import canonical
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Domain, Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.decoders import IdentityDecoder
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.channels.product import draw as drawing
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.channels.undisclosed_channel import UndisclosedChannel
from rrpolicy.errors import PolicyError
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Role
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy.source.run_length import blocks, counted, with_unit_multiplicity

SEX, EDUCATION, RACE = ("m", "f"), ("z", "é", "B", "a"), (3, 10, 9)
KINDS: dict[str, Any] = {k.kind: k for k in (Product, Identity, Retention, Matrix)}
NUMBER = Column("number", "carried", (), "", "x", "a random code")


def coupled() -> Matrix:
    """Return a rectangular axis over two attributes: six originals, four released."""
    weights = [[1 + (3 * u + 2 * v) % 5 for v in range(6)] for u in range(4)]
    totals = [sum(row[v] for row in weights) for v in range(6)]
    entries = tuple(tuple(Fraction(w, totals[v]) for v, w in enumerate(row)) for row in weights)
    columns = (Column("sex", "category", SEX, "", "sex"), Column("group", "category", ("y", "x"), "", "race"))
    return Matrix((Domain("sex", SEX), Domain("race", RACE)), columns, entries)


def plain(keep: Fraction = Fraction(7, 10)) -> Product:
    axes = (
        Retention.uniform("sex", SEX, keep),
        Retention.in_blocks("education", EDUCATION, [(("z", "B"), keep), (("é", "a"), Fraction(3, 5))], "schooling"),
        Identity.of("race", RACE),
    )
    return Product(axes, (NUMBER,), ("number", "race", "schooling", "sex"))


@pytest.fixture(scope="module")
def survey(memory):
    def build(records: int = 3_000, seed: int = 1, values: int = 40, batch: int = 777) -> Any:
        rng = np.random.default_rng(seed)
        domains = {"sex": SEX, "education": EDUCATION, "race": RACE}
        codes = {name: rng.integers(0, len(domain), records) for name, domain in domains.items()}
        numbers = [None if i % 97 == 0 else int(i) for i in rng.integers(-values, values, records)]
        return memory(domains, codes, {"x": pa.array(numbers, pa.int64())}, batch)

    return build


def drawn(product: Product, original: Any, collector: Any, streams: Streams | None = None) -> Any:
    sink = collector()
    product.draw(original, streams or Streams.for_tests(1), sink)
    return sink


def sort_key(row: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [
        (value is None, 0 if value is None else value.encode() if isinstance(value, str) else value) for value in row
    ]


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
@pytest.mark.parametrize("product", [plain(), Product((coupled(),), (), ("group", "sex"))])
def test_every_record_is_released_once_under_the_released_names(survey, collector, product, sampler):
    sink = drawn(replace(product, sampler=sampler), survey(), collector)

    assert sum(row[-1] for row in sink.rows()) == 3_000
    assert {tuple(batch.schema.names) for batch, _, _ in sink.batches} == {product.order}
    assert {in_order for _, _, in_order in sink.batches} == {sampler == "cells"}


def says_nothing_by_its_order(rows: list[tuple[Any, ...]]) -> bool:
    """Tell whether rows come distinct and sorted: an order that is a function of the multiset."""
    keys = [sort_key(row[:-1]) for row in rows]
    return keys == sorted(keys) and all(a != b for a, b in pairwise(keys))


def test_cells_come_in_the_canonical_order_of_released_values(survey, collector):
    rows = drawn(plain(), survey(), collector).rows()

    assert says_nothing_by_its_order(rows)
    assert rows[-1][0] is None
    assert not says_nothing_by_its_order(sorted(rows, key=lambda row: EDUCATION.index(row[2])))


def test_rows_in_the_order_of_the_original_are_caught(survey, collector):
    """The record path hands rows over as they come: only a sink that sorts may write them."""
    sink = drawn(replace(plain(), sampler="records/2"), survey(), collector)

    assert not says_nothing_by_its_order(sink.rows())


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
def test_a_kept_key_gives_the_same_rows_and_anything_else_gives_others(survey, collector, sampler):
    product, key = replace(plain(), sampler=sampler), bytes(range(32))

    def rows(*context: Any) -> Any:
        return drawn(product, survey(), collector, Streams(*context)).rows()

    assert rows(key, b"s", b"p", sampler) == rows(key, b"s", b"p", sampler)
    for other in ((bytes(32), b"s", b"p"), (key, b"t", b"p"), (key, b"s", b"q")):
        assert rows(key, b"s", b"p", sampler) != rows(*other, sampler)


def records_of(original: Any, order: np.ndarray) -> Any:
    """Return the same table with its records stored in another order."""
    shuffled = type(original).__new__(type(original))
    shuffled.__dict__.update(original.__dict__)
    shuffled.codes = {name: codes[order] for name, codes in original.codes.items()}
    shuffled.carried = {name: values.take(pa.array(order)) for name, values in original.carried.items()}
    return shuffled


class Unsorted:
    """An original whose rows come as they are stored: what every engine must not do."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def rows(self, *columns: str) -> Any:
        held = self._original.codes | self._original.carried
        yield from pa.table({c: pa.array(held[c]) for c in columns}).to_batches()

    def tally(self, *columns: str) -> Any:
        yield from counted(with_unit_multiplicity(self.rows(*columns)))


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
def test_a_draw_does_not_depend_on_the_order_of_the_input_and_one_that_does_is_caught(survey, collector, sampler):
    product, original = replace(plain(), sampler=sampler), survey()
    other = records_of(original, np.random.default_rng(5).permutation(3_000))

    def rows(table: Any) -> Any:
        return sorted(map(str, drawn(product, table, collector).rows()))

    assert rows(original) == rows(other)
    if sampler == "records/2":
        assert rows(Unsorted(original)) != rows(Unsorted(other))


def test_a_draw_does_not_depend_on_how_the_engine_cuts_its_batches(survey, collector):
    product = replace(plain(), sampler="records/2")

    assert drawn(product, survey(batch=1), collector).rows() == drawn(product, survey(batch=3_000), collector).rows()


@pytest.mark.parametrize("seldom", [0, 4, 1 << 62])
def test_a_draw_does_not_depend_on_who_draws_which_blocks_and_when(survey, collector, monkeypatch, seldom):
    """Any number of workers, and blocks drawn apart, in any order and twice, as after a task that failed."""
    monkeypatch.setattr(drawing, "BLOCK", 250)
    monkeypatch.setattr(drawing, "_SELDOM", seldom)
    product, original, streams = replace(plain(), sampler="records/2"), survey(), Streams.for_tests(1)
    found = []
    for at_once in (1, 2, 7):
        monkeypatch.setattr(concurrency, "worker_count", lambda at_once=at_once: at_once)
        found.append(drawn(product, original, collector).batches)
    first = [(batch, None if n is None else n.tolist(), order) for batch, n, order in found[0]]
    for again in found[1:]:
        assert [(batch, None if n is None else n.tolist(), order) for batch, n, order in again] == first

    cut = list(enumerate(blocks(drawing.distinct_row_counts(original, ("sex", "education", "race"), ("x",)), 250)))
    assert len(cut) == 12
    apart = {
        block[0]: drawing.draw_block(product, original.policy, streams, block) for block in [*cut[::-1], cut[5], cut[0]]
    }
    together = [(batch, n) for number in range(12) for batch, n in apart[number]]
    assert [b for b, _ in together] == [b for b, _, _ in first]


def test_blocks_have_so_many_records_however_rows_come():
    rng = np.random.default_rng(3)
    n = rng.integers(1, 40, 300)
    whole = pa.record_batch([pa.array(range(300)), pa.array(n)], names=["row", MULTIPLICITY])
    records = np.repeat(np.arange(300), n)
    for size, batch in ((1, 300), (7, 1), (64, 300), (64, 11), (10**6, 5)):
        rows = [whole.slice(low, batch) for low in range(0, 300, batch)]
        found = list(blocks(rows, size))
        repeated = [np.repeat(b.column(0).to_numpy(), b.column(1).to_numpy()) for b in found]
        assert [len(r) for r in repeated[:-1]] == [size] * (len(found) - 1)
        assert 0 < len(repeated[-1]) <= size
        assert np.array_equal(np.concatenate(repeated), records)
    assert not list(blocks([whole.slice(0, 0)], 5))


@pytest.mark.parametrize("most", [drawing.BLOCK, 7])
def test_what_is_not_randomised_keeps_its_joint_table(survey, collector, monkeypatch, most):
    monkeypatch.setattr(drawing, "BLOCK", most)
    sure = Product(plain().axes[2:], (NUMBER,), ("race", "number"))
    original = survey()
    expected: dict[tuple[Any, Any], int] = {}
    for code, value in zip(original.codes["race"], original.carried["x"].to_pylist(), strict=True):
        expected[RACE[code], value] = expected.get((RACE[code], value), 0) + 1
    for sampler in ("cells", "records/2"):
        rows = drawn(replace(sure, sampler=sampler), original, collector).rows()  # type: ignore[arg-type]

        assert {(race, value): n for race, value, n in rows} == expected


def test_coupled_attributes_have_the_law_of_their_matrix(memory, collector):
    axis, each = coupled(), 20_000
    original = memory(
        {"sex": SEX, "race": RACE},
        {"sex": np.repeat([0, 0, 0, 1, 1, 1], each), "race": np.tile(np.repeat([0, 1, 2], each), 2)},
    )
    expected = np.array([[float(p) for p in row] for row in axis.entries]).sum(axis=1) * each
    variance = np.array([sum(float(p * (1 - p)) for p in row) for row in axis.entries]) * each
    for sampler in ("cells", "records/2"):
        product = Product((axis,), (), ("sex", "group"), sampler)  # type: ignore[arg-type]
        counts = np.zeros(4)
        for sex, group, n in drawn(product, original, collector).rows():
            counts[2 * SEX.index(sex) + ("y", "x").index(group)] += n

        assert (np.abs(counts - expected) < 5.5 * np.sqrt(variance)).all()


def test_an_engine_that_groups_rows_itself_gives_the_same_release(survey, collector):
    original = survey()

    class Grouping(Unsorted):
        def tally(self, *columns: str) -> Any:
            held = self._original.codes | self._original.carried
            table = (
                pa.table({c: pa.array(held[c]) for c in columns}).group_by(list(columns)).aggregate([([], "count_all")])
            )
            yield from table.rename_columns([*columns, MULTIPLICITY]).to_batches()

    assert drawn(plain(), original, collector).rows() == drawn(plain(), Grouping(original), collector).rows()


def test_the_path_is_chosen_by_what_is_public_and_types_are_filled_in(survey):
    original = survey(values=3)
    original.types = {"sex": "VARCHAR", "education": "VARCHAR", "race": "INTEGER", "x": "INTEGER"}
    settled = plain().settle(original)

    assert settled.sampler == "cells"
    assert [c.type for c in settled.tables()[0].columns] == ["INTEGER", "INTEGER", "VARCHAR", "VARCHAR"]
    original.records = 70_000  # the carried column may have as many values
    assert plain().settle(original).sampler == "records/2"


def test_a_series_needs_a_table_that_identifies_people(survey, collector):
    with pytest.raises(ValueError, match="a column that identifies people"):
        drawn(replace(plain(), sampler="series"), survey(), collector)


def test_columns_of_an_axis_that_cannot_be_described_stay_as_they_are(bare):
    attribute = Attribute("sex", Role.QUASI_IDENTIFIER, SEX, release_as="gender")
    axis = Retention.uniform("sex", SEX, Fraction(7, 10))

    assert Product.of([attribute], [axis]).order == ("gender",)
    assert Product.of([attribute], [bare(axis)]).order == ("sex",)


def test_a_channel_with_withheld_matrices_is_published_and_never_drawn_from(survey, collector):
    public, original = UndisclosedChannel.of(plain()), survey()

    assert public.tables() == plain().tables()
    for use in (
        lambda: public.settle(original),
        lambda: drawn(public, original, collector),
        lambda: public.conforms(original, {}),
    ):
        with pytest.raises(PolicyError, match="RR526.*'sex', 'schooling': the publisher withholds"):
            use()
    with pytest.raises(ValueError, match="cannot be withheld"):
        UndisclosedChannel.of(Product((Sets.of("race", RACE, 2),), (), ("race",)))


def test_two_tables_that_differ_in_one_record_take_the_same_path(survey):
    """With 65,536 different rows the one was drawn cell by cell, with 65,537 the other record by record."""
    pair = Product((Identity.of("a", range(300)), Identity.of("b", range(300))), (), ("a", "b"))
    original = survey(values=3)
    original.records = 70_000
    original.counts = original.rows = lambda *_: pytest.fail("the path depends on what the records are")

    assert pair.settle(original).sampler == "records/2"


def test_few_categories_are_drawn_cell_by_cell_and_what_would_not_fit_in_memory_is_not(survey):
    def path(records: int, *sizes: int) -> str:
        original = survey(values=3)
        original.records = records
        axes = tuple(Identity.of(f"x{i}", range(size)) for i, size in enumerate(sizes))
        return Product(axes, (), tuple(f"x{i}" for i in range(len(sizes)))).settle(original).sampler

    assert path(10**8, 2, 7, 16, 5, 7) == "cells"
    assert path(65_536, 10_000, 10_000) == "cells"
    assert path(70_000, 300, 300) == "records/2"
    assert path(10**9, 3000, 3000) == "records/2"


def test_the_description_comes_back_from_its_json_and_names_no_count():
    for product in (plain(), Product((coupled(),), (), ("group", "sex"), "records/2")):
        assert channel_from_json(product.to_json(), KINDS) == product
        assert channel_from_json(product.to_public_json(), KINDS) == replace(product, sampler="cells")
        assert "sampler" not in product.to_public_json()
        assert canonical(product.to_json()) == canonical(Product.from_json(product.to_json(), KINDS).to_json())
    with pytest.raises(ValueError, match="version"):
        Product.from_json({**plain().to_json(), "version": 2}, KINDS)
    with pytest.raises(ValueError, match="sampler"):
        Product.from_json({**plain().to_json(), "sampler": "rows"}, KINDS)


def test_tables_and_decoders_cover_every_released_column():
    product = plain()

    assert [c.name for c in product.tables()[0].columns] == ["number", "race", "schooling", "sex"]
    assert product.tables()[0].sort == product.order
    assert [d.form for d in product.decoders()] == ["retention", "retention", "identity", "identity"]
    assert product.decoders()[-1] == IdentityDecoder(("x",), "number", ())
    assert product.discloses() == ()
    with pytest.raises(ValueError, match="every released column"):
        Product(product.axes, (), product.order)
    with pytest.raises(ValueError, match="two axes"):
        Product((Identity.of("a", SEX), Identity.of("a", SEX, "b")), (), ("a", "b"))


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(st.integers(1, 60), st.integers(0, 10**6)), st.fractions(0, 1), st.sampled_from(["cells", "records/2"])
)
def test_blocks_are_never_left_and_totals_are_kept(survey, collector, table, keep, sampler):
    records, seed = table
    original = survey(records, seed)
    product = replace(plain(keep), sampler=sampler)
    rows = drawn(product, original, collector, Streams.for_tests(seed)).rows()
    in_block = sum(n for _, _, schooling, _, n in rows if schooling in {"z", "B"})

    assert sum(row[-1] for row in rows) == records
    assert in_block == int(np.isin(original.codes["education"], [0, 2]).sum())
