"""The released multiset has the law of record-wise randomisation, by both paths and in every order of the axes; and the
test that says so rejects every sampler that is wrong in a way that samplers have been wrong.

One draw tests many tables: a first attribute, released unchanged, numbers the copies of a table of three records. The
law of a copy's released multiset is enumerated in exact fractions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as combinations
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import chi2

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.matrix import Matrix
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.product import draw as drawing
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling import variates as sampling
from rrpolicy.channels.sampling.prng import Streams

FALSE_ALARM = 1e-6
COPIES = 20_000
A, B = ("a0", "a1", "a2"), ("b0", "b1")
RECORDS = ((0, 0), (1, 0), (1, 1))
ROWS = (  # far from symmetric: a transposed matrix must not go unnoticed
    (Fraction(7, 10), Fraction(1, 10), Fraction(1, 5)),
    (Fraction(1, 5), Fraction(3, 5), Fraction(0)),
    (Fraction(1, 10), Fraction(3, 10), Fraction(4, 5)),
)
KEEP = Fraction(3, 4)


def axis_a() -> Matrix:
    return Matrix.explicit("a", A, A, ROWS)


def axis_b() -> Retention:
    return Retention.uniform("b", B, KEEP)


def exact_law() -> dict[tuple[int, ...], Fraction]:
    """Return the law of the released counts of the cells (a, b) in C order, of one copy."""
    one_record = [
        {(u, w): p * q for u, p in axis_a().column(a).items() for w, q in axis_b().column(b).items()}
        for a, b in RECORDS
    ]
    law: Counter[tuple[int, ...]] = Counter()
    for drawn in combinations(*(r.items() for r in one_record)):
        counts = [0] * 6
        mass = Fraction(1)
        for (u, w), p in drawn:
            counts[2 * u + w] += 1
            mass *= p
        law[tuple(counts)] += mass  # type: ignore[assignment]
    assert sum(law.values()) == 1
    return dict(law)  # type: ignore[arg-type]


def released_copies(collected: Any) -> np.ndarray:
    """Return (copies, 6) the released counts of every copy."""
    table = np.zeros((COPIES, 6), dtype=np.int64)
    for batch, n, _ in collected.batches:
        codes = []
        for name in ("copy", "a", "b"):
            column = batch.column(name)
            values = np.array([int(str(v).lstrip("ab")) for v in column.dictionary.to_pylist()])
            codes.append(values[column.indices.to_numpy()])
        np.add.at(table, (codes[0], 2 * codes[1] + codes[2]), 1 if n is None else n)
    return table


def p_value(table: np.ndarray) -> float:
    """Return the chi-square p-value of the copies' multisets against the exact law; 0 where an impossible one occurs."""
    law = exact_law()
    observed = Counter(map(tuple, table.tolist()))
    if any(multiset not in law for multiset in observed):
        return 0.0
    common = [m for m, p in law.items() if p * COPIES >= 20]
    expected = np.array([float(law[m]) * COPIES for m in common])
    counts = np.array([observed[m] for m in common], dtype=float)
    expected, counts = np.append(expected, COPIES - expected.sum()), np.append(counts, COPIES - counts.sum())
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(expected) - 1))


@pytest.fixture(scope="module")
def original(memory):
    domains = {"copy": [f"{i:05d}" for i in range(COPIES)], "a": A, "b": B}
    codes = {
        "copy": np.repeat(np.arange(COPIES), 3),
        "a": np.tile([a for a, _ in RECORDS], COPIES),
        "b": np.tile([b for _, b in RECORDS], COPIES),
    }
    return memory(domains, codes, batch=50_000)


@pytest.fixture
def draw(original, collector):
    """Return a function that draws with some axes and returns the copies' released counts."""

    def run(
        a: Any, b: Any, *, sampler: str = "cells", order: str = "copy a b", streams: Any = None, seed: int = 1
    ) -> Any:
        axes = {"copy": Identity.of("copy", original.policy.attributes["copy"].domain), "a": a, "b": b}
        product = Product(tuple(axes[name] for name in order.split()), (), ("copy", "a", "b"), sampler)  # type: ignore[arg-type]
        sink = collector()
        product.draw(original, streams or Streams.for_tests(seed), sink)
        return released_copies(sink)

    return run


@pytest.mark.parametrize("direct", [0, sampling.DIRECT])
@pytest.mark.parametrize("sampler", ["cells", "records/2"])
@pytest.mark.parametrize("order", ["copy a b", "copy b a", "a b copy", "b copy a"])
def test_cells_and_records_have_the_exact_law_in_every_order_of_the_axes(draw, monkeypatch, sampler, order, direct):
    monkeypatch.setattr(sampling, "DIRECT", direct)

    assert p_value(draw(axis_a(), axis_b(), sampler=sampler, order=order)) > FALSE_ALARM


@pytest.mark.parametrize(
    ("most", "order", "seldom"), [(drawing.BLOCK, "copy a b", 0), (1000, "b copy a", 0), (1000, "copy a b", 4)]
)
def test_blocks_of_records_have_the_exact_law(draw, monkeypatch, most, order, seldom):
    monkeypatch.setattr(drawing, "_SELDOM", seldom)
    monkeypatch.setattr(drawing, "BLOCK", most)

    assert p_value(draw(axis_a(), axis_b(), sampler="records/2", order=order)) > FALSE_ALARM


def test_the_test_accepts_its_own_law_and_knows_what_cannot_happen():
    law = exact_law()
    rng = np.random.default_rng(1)
    multisets = np.array(list(law))
    fair = multisets[rng.choice(len(law), COPIES, p=[float(p) for p in law.values()])]

    assert p_value(fair) > FALSE_ALARM
    assert p_value(np.vstack([[[0, 3, 0, 0, 0, 0]], fair[1:]])) > FALSE_ALARM
    assert p_value(np.vstack([[[2, 2, 0, 0, 0, 0]], fair[1:]])) == 0


# --- wrong samplers


def test_the_retention_probability_used_as_keep_probability_is_caught(draw):
    rho = axis_b().blocks[0].retention

    assert p_value(draw(axis_a(), Retention.uniform("b", B, rho))) < FALSE_ALARM


@dataclass(frozen=True, slots=True)
class RowStochastic(Matrix):
    """Draws from the rows of the matrix, each scaled to 1."""

    kind: ClassVar[str] = "row-stochastic"

    def column(self, code: int) -> dict[int, Fraction]:
        total = sum(self.entries[code])
        return {u: p / total for u, p in enumerate(self.entries[code]) if p}


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
def test_a_row_stochastic_matrix_is_caught(draw, sampler):
    right = axis_a()
    wrong = RowStochastic(right.original, right.released, right.entries)

    assert p_value(draw(wrong, axis_b(), sampler=sampler)) < FALSE_ALARM


class OneStream(Streams):
    """Gives every axis the same bits."""

    def stream(self, *purpose: str) -> Any:
        return super().stream("all", *purpose[:0])


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
def test_bits_shared_between_axes_are_caught(draw, sampler):
    streams = OneStream(bytes(32), b"", b"", sampler)

    assert p_value(draw(axis_a(), axis_b(), sampler=sampler, streams=streams)) < FALSE_ALARM


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_mask_that_is_off_by_one_is_caught(draw, monkeypatch, shift):
    right = sampling._draw_fair_binomials

    def off_by_one(n: Any, stream: Any) -> Any:
        words = stream.words(len(n))  # every cell is small: one word
        return np.bitwise_count(words & ((np.uint64(1) << (n + shift).astype(np.uint64)) - np.uint64(1))).astype(
            np.int64
        )

    monkeypatch.setattr(sampling, "DIRECT", 0)
    monkeypatch.setattr(sampling, "_draw_fair_binomials", off_by_one)
    wrong = draw(axis_a(), axis_b())
    monkeypatch.setattr(sampling, "_draw_fair_binomials", right)

    assert p_value(wrong) < FALSE_ALARM
    assert p_value(draw(axis_a(), axis_b())) > FALSE_ALARM


def binomials_with_empty_segments(n: Any, which: Any, chances: Any, stream: Any) -> Any:
    """Draw as `_binomials` does, but keep cells with nothing undecided: reduceat then reads the next cell's word."""
    success = np.zeros(len(n), dtype=np.int64)
    undecided = n.copy()
    for place in range(64):
        undecided[chances.length[which] <= place] = 0
        if not undecided.any():
            break
        digit = ((chances.digits(0)[which] >> np.uint64(63 - place)) & np.uint64(1)).astype(bool)
        words = (undecided + 63) // 64
        ends = np.cumsum(words)
        bits = stream.words(int(ends[-1]))
        some = undecided > 0
        bits[ends[some] - 1] &= np.uint64(2**64 - 1) >> (-undecided[some] % 64).astype(np.uint64)
        starts = np.minimum(ends - words, len(bits) - 1)
        ones = np.add.reduceat(np.bitwise_count(bits), starts, dtype=np.int64)
        success += np.where(digit, undecided - ones, 0)
        undecided = np.maximum(np.where(digit, ones, undecided - ones), 0)
    return np.clip(success, 0, n)


def test_reduceat_over_empty_cells_is_caught(draw, monkeypatch):
    monkeypatch.setattr(sampling, "DIRECT", 0)
    monkeypatch.setattr(sampling, "_draw_binomials", binomials_with_empty_segments)

    assert p_value(draw(axis_a(), axis_b())) < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("seldom", [0, 4])
def test_blocks_that_share_their_bits_are_caught(draw, monkeypatch, seldom):
    right = drawing.axis_stream
    monkeypatch.setattr(drawing, "_SELDOM", seldom)
    monkeypatch.setattr(drawing, "BLOCK", 1000)
    monkeypatch.setattr(drawing, "axis_stream", lambda streams, axis, block=None: right(streams, axis, block and 0))

    assert p_value(draw(axis_a(), axis_b(), sampler="records/2")) < FALSE_ALARM


@pytest.mark.parametrize("sampler", ["cells", "records/2"])
def test_noise_used_again_for_the_next_batch_is_caught(draw, monkeypatch, sampler):
    """The same words for every hundredth record: margins stay right, copies are no longer independent of each other."""
    right = sampling.Stream.words

    def again(self: Any, n: int) -> Any:
        return np.resize(right(self, min(n, 100)), n)

    monkeypatch.setattr(sampling.Stream, "words", again)

    assert p_value(draw(axis_a(), axis_b(), sampler=sampler)) < FALSE_ALARM
