"""How fast counts are split: 10^8 records in 7,840 cells, one axis and five, beside one random float a record.

Run it with `python benchmarks/speed/bench_sampling.py`; it prints seconds and ratios of the same minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.probability import keep_probability
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.channels.table import Column
from rrpolicy.counts import Counts, tabulate
from rrpolicy.testing import policy_of

RECORDS = 10**8
SIZES = {"education": 16, "marital": 7, "sex": 2, "race": 5, "work": 7}
ROUNDS = 5
BY_RECORD = 4 * 10**6


class Table:
    """Counts over every cell of the domain, or records in canonical order with a carried column of unique values."""

    policy = policy_of({name: [f"{i:02d}" for i in range(size)] for name, size in SIZES.items()})

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        cells = int(np.prod(list(SIZES.values())))
        n = 1 + rng.multinomial(RECORDS - cells, rng.dirichlet(np.full(cells, 0.3)))
        codes = np.column_stack(np.unravel_index(np.arange(cells), tuple(SIZES.values()))).astype(np.int32)
        self._counts = tabulate(tuple(SIZES), tuple(SIZES.values()), codes, n.astype(np.int64))
        self._columns = {
            name: np.sort(rng.integers(0, size, BY_RECORD)).astype(np.int32) for name, size in SIZES.items()
        }
        self._columns["id"] = np.arange(BY_RECORD)

    def counts(self, *attributes: str) -> Counts:
        return self._counts.marginal(*attributes)

    def rows(self, *columns: str) -> Any:
        table = pa.table({name: self._columns[name] for name in columns})
        yield from table.to_batches(max_chunksize=100_000)


class Count:
    """A sink that counts."""

    def __init__(self) -> None:
        self.records = 0

    def write(
        self, table: str, batch: pa.RecordBatch, n: Any = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        self.records += batch.num_rows if n is None else int(n.sum())


def best(run: Callable[[int], None]) -> float:
    """Return the least seconds of some rounds."""
    taken = []
    for index in range(ROUNDS):
        start = time.perf_counter()
        run(index)
        taken.append(time.perf_counter() - start)
    return min(taken)


def one_float_a_record(seed: int, records: int = RECORDS) -> None:
    """Draw what a record-wise sampler in floats needs at least."""
    rng = np.random.default_rng(seed)
    block = np.empty(1 << 16)
    for _ in range(records >> 16):
        rng.random(out=block)


def main() -> None:
    table: Any = Table()
    axes = tuple(
        Retention.uniform(a, [f"{i:02d}" for i in range(d)], keep_probability(Fraction(4, 5), d))
        for a, d in SIZES.items()
    )
    counts = table.counts(*SIZES)
    codes, n = counts.codes[:, 0].astype(np.int64), counts.n

    def one_axis(seed: int) -> None:
        _, _, count = axes[0].split(codes, n, Streams.for_tests(seed).stream("axis"))
        assert count.sum() == RECORDS

    def five_axes(seed: int) -> None:
        sink = Count()
        Product(axes, (), tuple(SIZES)).draw(table, Streams.for_tests(seed), sink)
        assert sink.records == RECORDS

    def by_record(seed: int) -> None:
        sink = Count()
        carried = (Column("id", "carried", (), "BIGINT", "id"),)
        Product(axes, carried, (*SIZES, "id"), "records/2").draw(table, Streams.for_tests(seed), sink)
        assert sink.records == BY_RECORD

    base = best(one_float_a_record)
    rows = [
        ("one random float a record, 10^8", base),
        (f"one axis, 10^8 records in {len(n):,} cells", best(one_axis)),
        (f"five axes, 10^8 records in {len(n):,} cells, sorted and handed on", best(five_axes)),
        ("five axes record by record, for 10^8 (4 * 10^6 measured)", best(by_record) * RECORDS / BY_RECORD),
    ]
    for name, seconds in rows:
        print(f"{name:<70} {seconds:8.3f} s   {seconds / base:6.2f}")


if __name__ == "__main__":
    main()
