"""Doubles of the draw: an original held in memory, a sink that collects, and streams that are scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.channels.base import Axis
from rrpolicy.counts import Counts, Ints, tabulate
from rrpolicy.policy.model import ReleaseSettings
from rrpolicy.source.protocol import MULTIPLICITY


class MemoryOriginal:
    """A table in memory: codes of categorical attributes, values of carried columns."""

    reference = None

    def __init__(
        self,
        domains: Mapping[str, Sequence[Any]],
        codes: Mapping[str, Any],
        carried: Mapping[str, pa.Array] | None = None,
        batch: int = 1000,
    ) -> None:
        self.codes = {name: np.asarray(values, dtype=np.int32) for name, values in codes.items()}
        self.carried = dict(carried or {})
        self.records = len(next(iter([*self.codes.values(), *self.carried.values()])))
        self.types = dict.fromkeys(domains, "VARCHAR") | dict.fromkeys(self.carried, "BIGINT")
        self.policy: Any = SimpleNamespace(
            attributes={n: SimpleNamespace(domain=tuple(d)) for n, d in domains.items()}, release=ReleaseSettings()
        )
        self._shape = {name: len(domain) for name, domain in domains.items()}
        self._batch = batch

    def counts(self, *attributes: str) -> Counts:
        codes = np.column_stack([self.codes[a] for a in attributes] or [np.zeros((self.records, 0), np.int32)])
        return tabulate(
            attributes, tuple(self._shape[a] for a in attributes), codes, np.ones(self.records, dtype=np.int64)
        )

    def _table(self, names: Sequence[str]) -> pa.Table:
        columns = {n: pa.array(self.codes[n]) if n in self.codes else self.carried[n] for n in names}
        return pa.table(columns).sort_by([(n, "ascending") for n in names])

    def cells(self) -> int:
        names = [*self.codes, *self.carried]
        return int(self._table(names).group_by(names).aggregate([]).num_rows)

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        yield from self._table(columns).to_batches(max_chunksize=self._batch)

    def sample(self, *columns: str) -> pa.Table:
        return self._table([*self.codes, *self.carried]).select(list(columns))

    def content(self) -> bytes:
        return bytes(32)

    def unchanged(self) -> None:
        return None


class Collector:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.batches: list[tuple[pa.RecordBatch, Ints | None, bool]] = []

    def write(
        self, table: str, batch: pa.RecordBatch, n: Ints | None = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        assert table == "data"
        self.batches.append((batch, n, in_order))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return distinct rows with their count, in the order in which they came."""
        found: dict[tuple[Any, ...], int] = {}
        for batch, n, _ in self.batches:
            counts = np.ones(batch.num_rows, dtype=np.int64) if n is None else n
            for row, count in zip(zip(*(c.to_pylist() for c in batch.columns), strict=True), counts, strict=True):
                found[row] = found.get(row, 0) + int(count)
        return [(*row, count) for row, count in found.items()]

    def reader(self) -> pa.RecordBatchReader:
        """Return the released rows as `Channel.conforms` reads them."""
        batches = []
        for batch, n, _ in self.batches:
            counts = np.ones(batch.num_rows, dtype=np.int64) if n is None else n
            plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
            batches.append(
                pa.RecordBatch.from_arrays([*plain, pa.array(counts)], names=[*batch.schema.names, MULTIPLICITY])
            )
        return pa.RecordBatchReader.from_batches(batches[0].schema, batches)


class Bare(Axis):
    """An axis of a plugin: what it releases is that of another axis, and nothing else is known of it."""

    kind, version = "acme.bare", 1

    def __init__(self, axis: Axis) -> None:
        self.axis = axis

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.axis.attributes

    @property
    def original_size(self) -> int:
        return self.axis.original_size

    def columns(self) -> Any:
        return self.axis.columns()

    def decoder(self) -> Any:
        return self.axis.decoder()

    def split(self, codes: Any, n: Any, stream: Any) -> Any:
        return self.axis.split(codes, n, stream)

    def values(self, released: Any) -> Any:
        return self.axis.values(released)

    def max_ratio(self) -> Any:
        return self.axis.max_ratio()

    def min_cross_ratio(self) -> Any:
        return self.axis.min_cross_ratio()

    def discloses(self) -> Any:
        return self.axis.discloses()

    def to_public_json(self) -> Any:
        return {**self.axis.to_public_json(), "kind": self.kind}


class Listed(Bare):
    """Another one, which lists its released values."""

    @property
    def released_size(self) -> int:
        return self.axis.released_size

    def column(self, code: int) -> Any:
        return self.axis.column(code)

    def forward(self, x: Any, axis: int, power: Any = 1) -> Any:
        return self.axis.forward(x, axis, power)

    def back(self, x: Any, axis: int, power: Any = 1) -> Any:
        return self.axis.back(x, axis, power)


@pytest.fixture(scope="session")
def bare() -> type[Bare]:
    return Bare


@pytest.fixture(scope="session")
def listed() -> type[Listed]:
    return Listed


@pytest.fixture(scope="session")
def memory() -> type[MemoryOriginal]:
    return MemoryOriginal


@pytest.fixture(scope="session")
def collector() -> Callable[[], Collector]:
    return Collector
