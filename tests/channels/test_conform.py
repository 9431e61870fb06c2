"""`conforms` finds what was put in place of a draw, and its p-value holds: by enumeration of every release."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product as combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.probability import keep_probability
from rrpolicy.channels.product import draw as drawing
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.product.goodness_of_fit import FALSE_ALARM
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.finding import Basis, Finding, Standing, Verdict
from rrpolicy.frozen import replace
from rrpolicy.source.protocol import MULTIPLICITY

DOMAINS = {"a": ("x", "y"), "b": ("p", "q", "r", "s", "t"), "c": ("k", "l", "m", "n"), "d": tuple("1234567")}
RHO = Fraction(3, 5)


def kept(name: str, labels: Any, rho: Fraction) -> Retention:
    return Retention.uniform(name, labels, keep_probability(rho, len(labels)))


def retaining(rho: Fraction, *changed: Any) -> Product:
    other = {axis.attributes[0]: axis for axis in changed}
    axes = tuple(other.get(name) or kept(name, labels, rho) for name, labels in DOMAINS.items())
    return Product(axes, (), tuple(DOMAINS))


@pytest.fixture(scope="module")
def people(memory):
    """Return tables of 2,000 people: the attributes depend on each other and are far from uniform."""

    def build(seed: int = 1, records: int = 2_000) -> Any:
        rng = np.random.default_rng(seed)
        common = rng.random(records)
        codes = {
            name: (((common + rng.random(records)) / 2) ** 2 * len(labels)).astype(int)
            for name, labels in DOMAINS.items()
        }
        return memory(DOMAINS, codes)

    return build


@pytest.fixture
def drawn_and_tested(collector):
    """Return a function that draws from one product and tests against another."""

    def run(promised: Product, drawn: Product, original: Any, seed: int = 1) -> Finding:
        sink = collector()
        drawn.draw(original, Streams.for_tests(seed), sink)
        return promised.conforms(original, {"data": sink.reader()})

    return run


def reader(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> pa.RecordBatchReader:
    batch = pa.RecordBatch.from_pydict(
        {n: list(c) for n, c in zip([*names, MULTIPLICITY], zip(*rows, strict=True), strict=True)}
    )
    return pa.RecordBatchReader.from_batches(batch.schema, [batch])


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
@pytest.mark.parametrize("rho", [Fraction(1, 10), RHO, Fraction(99, 100)])
def test_a_draw_conforms(people, drawn_and_tested, sampler, rho):
    product = replace(retaining(rho), sampler=sampler)
    for seed in range(5):
        finding = drawn_and_tested(product, product, people(), seed)

        assert finding.verdict is Verdict.SATISFIED
        assert finding.achieved.value > 1e-3
    assert (finding.code, finding.basis, finding.limit) == ("conforms", Basis.ORIGINAL, FALSE_ALARM)
    assert finding.achieved.standing is Standing.UPPER_BOUND


def row_stochastic(rows: tuple[tuple[Fraction, ...], ...]) -> tuple[Matrix, Matrix]:
    """Return a matrix axis, and what is drawn from if its rows are taken for its columns."""
    size = len(rows)
    wrong = tuple(tuple(rows[v][u] / sum(rows[v]) for v in range(size)) for u in range(size))
    labels = DOMAINS["c"]
    return Matrix.explicit("c", labels, labels, rows), Matrix.explicit("c", labels, labels, wrong)


F = Fraction
MATRIX = (
    (F(8, 10), F(3, 10), F(1, 10), F(0)),
    (F(1, 10), F(5, 10), F(2, 10), F(1, 10)),
    (F(1, 10), F(1, 10), F(4, 10), F(2, 10)),
    (F(0), F(1, 10), F(3, 10), F(7, 10)),
)


@pytest.mark.parametrize("seed", range(3))
def test_what_was_put_in_place_of_the_draw_is_found(people, drawn_and_tested, seed):
    original, promised = people(seed), retaining(RHO)
    matrix, transposed = row_stochastic(MATRIX)
    wrong = {
        "the raw table": (promised, retaining(F(1))),
        "the raw table for a noisy release": (retaining(F(1, 10)), retaining(F(1))),
        "the retention as keep probability": (
            promised,
            Product(tuple(Retention.uniform(n, v, RHO) for n, v in DOMAINS.items()), (), tuple(DOMAINS)),
        ),
        "a row-stochastic matrix": (retaining(RHO, matrix), retaining(RHO, transposed)),
        "another plan": (promised, retaining(F(2, 5))),
        "another plan of one attribute": (promised, retaining(RHO, kept("d", DOMAINS["d"], F(1)))),
    }
    for name, (plan, drawn) in wrong.items():
        finding = drawn_and_tested(plan, drawn, original, seed)

        assert finding.verdict is Verdict.FAILED, name
        assert finding.achieved.value < 1e-9
        assert finding.companions[0].meaning


def test_noise_shared_between_attributes_is_found(people, collector, monkeypatch):
    monkeypatch.setattr(drawing, "_SELDOM", 1 << 62)  # one by one

    class OneStream(Streams):
        def stream(self, *purpose: str) -> Any:
            return super().stream("all", *purpose[:0])

    axes = (kept("b", DOMAINS["b"], RHO), kept("d", DOMAINS["d"], RHO))
    product, original = Product(axes, (), ("b", "d"), "records/2"), people()
    original.codes["d"][:] = original.codes["b"]
    sink = collector()
    product.draw(original, OneStream(bytes(32), b"", b"", "records/2"), sink)

    assert product.conforms(original, {"data": sink.reader()}).verdict is Verdict.FAILED


def test_what_must_be_equal_is_compared_exactly(memory):
    original = memory({"a": ("x", "y")}, {"a": [0, 0, 1, 1]}, {"v": pa.array([1.5, 1.5, None, 7.0])})
    product = Product((Identity.of("a", ("x", "y")),), (Column("w", "carried", (), "DOUBLE", "v"),), ("a", "w"))

    def verdict(*rows: tuple[Any, ...]) -> Finding:
        return product.conforms(original, {"data": reader(list(rows), ("a", "w"))})

    assert verdict(("y", None, 1), ("x", 1.5, 2), ("y", 7.0, 1)).verdict is Verdict.SATISFIED
    assert verdict(("y", float("nan"), 1), ("x", 1.5, 1), ("x", 1.5, 1), ("y", 7.0, 1)).verdict is Verdict.SATISFIED
    for rows, why in [
        ([("y", None, 1), ("x", 1.5, 2), ("y", 8.0, 1)], "released unchanged"),
        ([("x", None, 1), ("x", 1.5, 1), ("y", 1.5, 1), ("y", 7.0, 1)], "released unchanged"),
        ([("y", None, 1), ("x", 1.5, 2)], "number of records"),
        ([("z", None, 1), ("x", 1.5, 2), ("y", 7.0, 1)], "outside its domain"),
    ]:
        finding = verdict(*rows)

        assert (finding.verdict, finding.achieved.value) == (Verdict.FAILED, 0)
        assert why in finding.companions[0].meaning
    spelled = verdict(("y", None, 1), ("x", "1.5", 2), ("y", "seven", 1))  # another type
    assert "released unchanged" in spelled.companions[0].meaning
    other = reader([("x", 4)], ("a",))
    assert "not the declared ones" in product.conforms(original, {"data": other}).companions[0].meaning


def test_rows_in_many_batches_with_a_dictionary_are_compared_exactly(memory, monkeypatch):
    monkeypatch.setattr("rrpolicy.channels.product.released_counts._ROWS", 1)
    words = [f"w{i % 5}" for i in range(60)]
    original = memory({"a": ("x", "y")}, {"a": [0, 1] * 30}, {"v": pa.array(words)})
    product = Product((Identity.of("a", ("x", "y")),), (Column("v", "carried", (), "VARCHAR", "v"),), ("a", "v"))
    rows = pa.table({"a": ["x", "y"] * 30, "v": pa.array(words).dictionary_encode(), MULTIPLICITY: [1] * 60})

    def verdict(released: pa.Table) -> Verdict:
        batches = released.to_batches(max_chunksize=7)
        return product.conforms(original, {"data": pa.RecordBatchReader.from_batches(rows.schema, batches)}).verdict

    assert verdict(rows) is Verdict.SATISFIED
    assert verdict(pa.concat_tables([rows.slice(0, 59), rows.slice(0, 1)])) is Verdict.FAILED


def test_an_axis_of_a_plugin_without_labels_is_not_tested(people, collector, bare):
    class Numbers(bare):
        def columns(self):
            return (replace(self.axis.columns()[0], kind="carried", labels=()),)

    original, sink = people(), collector()
    retaining(RHO).draw(original, Streams.for_tests(1), sink)
    finding = retaining(RHO, Numbers(kept("a", DOMAINS["a"], RHO))).conforms(original, {"data": sink.reader()})

    assert finding.verdict is Verdict.UNDECIDED
    assert finding.assumptions == ("the released values of a cannot be listed and were not tested",)


def test_an_identity_axis_without_carried_columns_is_compared_exactly(memory):
    original = memory({"a": ("x", "y"), "b": ("p", "q")}, {"a": [0, 0, 1, 1], "b": [0, 1, 1, 1]})
    product = Product((Identity.of("a", ("x", "y")), Retention.uniform("b", ("p", "q"), F(1, 2))), (), ("b", "a"))

    assert (
        product.conforms(original, {"data": reader([("p", "x", 2), ("q", "y", 2)], ("b", "a"))}).verdict
        is Verdict.SATISFIED
    )
    assert (
        product.conforms(original, {"data": reader([("p", "x", 3), ("q", "y", 1)], ("b", "a"))}).verdict
        is Verdict.FAILED
    )


def test_a_value_that_its_original_cannot_become_is_found(memory):
    original = memory({"a": ("x", "y", "z")}, {"a": [0] * 5_000 + [1] * 5_000})
    product = Product((Retention.in_blocks("a", ("x", "y", "z"), [(("x", "y"), F(1, 2)), (("z",), F(1))]),), (), ("a",))

    assert (
        product.conforms(original, {"data": reader([("x", 5_000), ("y", 5_000)], ("a",))}).verdict is Verdict.SATISFIED
    )
    finding = product.conforms(original, {"data": reader([("x", 5_000), ("y", 4_999), ("z", 1)], ("a",))})
    assert finding.verdict is Verdict.FAILED
    assert "no original can become" in finding.companions[0].meaning


@pytest.mark.slow
def test_the_p_value_holds_over_every_release_of_small_tables(memory):
    """Pr(achieved <= level) <= level at every level, by enumeration in exact fractions."""
    labels = ("x", "y", "z")
    rows = ((F(7, 10), F(1, 10), F(1, 5)), (F(1, 5), F(3, 5), F(0)), (F(1, 10), F(3, 10), F(4, 5)))
    for codes in ([0, 0, 1, 2], [0, 1, 1, 1, 1], [2, 2, 2, 2, 2, 2]):
        pairs = {"a": codes, "b": [code // 2 for code in codes]}
        original = memory({"a": labels, "b": ("p", "q")}, pairs)
        axes = (Matrix.explicit("a", labels, labels, rows), Retention.uniform("b", ("p", "q"), F(19, 20)))
        product = Product(axes, (), ("a", "b"))
        law: Counter[tuple[tuple[int, int], ...]] = Counter()
        mixed: Counter[tuple[tuple[int, int], ...]] = Counter({(): F(1)})  # type: ignore[dict-item]
        for a, b in zip(pairs["a"], pairs["b"], strict=True):
            law = Counter()
            one = {
                (u, w): p * q for (u, p), (w, q) in combinations(axes[0].column(a).items(), axes[1].column(b).items())
            }
            for (multiset, mass), (cell, p) in combinations(mixed.items(), one.items()):
                law[tuple(sorted([*multiset, cell]))] += mass * p  # type: ignore[assignment]
            mixed = law
        achieved: list[tuple[float, Fraction]] = []
        for multiset, mass in law.items():
            counted = [(labels[u], "pq"[w], n) for (u, w), n in Counter(multiset).items()]
            finding = product.conforms(original, {"data": reader(counted, ("a", "b"))})
            achieved.append((finding.achieved.value, mass))  # type: ignore[union-attr, arg-type]
        assert sum(mass for _, mass in achieved) == 1
        for level in sorted({value for value, _ in achieved}):
            assert sum(float(mass) for value, mass in achieved if value <= level) <= level + 1e-12


def test_what_is_too_large_or_cannot_be_listed_is_said(memory):
    many = tuple(f"{i:04d}" for i in range(1_500))
    rng = np.random.default_rng(1)
    original = memory({"a": many, "b": many}, {"a": rng.integers(0, 1_500, 3_000), "b": rng.integers(0, 1_500, 3_000)})
    product = Product((kept("a", many, RHO), kept("b", many, RHO)), (), ("a", "b"))
    rows = [(many[a], many[b], 1) for a, b in zip(original.codes["a"], original.codes["b"], strict=True)]
    finding = product.conforms(original, {"data": reader(rows, ("a", "b"))})

    assert finding.assumptions == ("the joint table of a x b is too large to be tested",)
    assert finding.verdict is Verdict.FAILED  # the raw table gives itself away in each margin
