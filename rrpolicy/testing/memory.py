"""An original in memory, for the tests of plugins: no engine, no file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rrpolicy.policy.model import Policy
from rrpolicy.source.counts import Codes, Counts, Ints, tabulate
from rrpolicy.source.sample import systematic
from rrpolicy.source.units import Units

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class TableInMemory:
    """A table of released columns, read under a policy.

    Attributes:
        policy: every domain declared.
        codes: categorical attribute -> (records,) positions in its domain.
        carried: other released column -> its values.
        units: how many units of protection have how many records; None as of an engine that does not count them.
    """

    policy: Policy
    codes: Mapping[str, npt.NDArray[np.int32]]
    carried: Mapping[str, pa.Array] = field(default_factory=dict)
    units: Units | None = None

    @classmethod
    def of(cls, policy: Policy, columns: Mapping[str, Sequence[int]]) -> TableInMemory:
        """Build a table of categorical columns from lists of codes."""
        return cls(policy, {name: np.asarray(values, dtype=np.int32) for name, values in columns.items()})

    @classmethod
    def random(cls, policy: Policy, records: int, seed: int) -> TableInMemory:
        """Build a table whose categorical attributes depend on one another, the same for the same seed."""
        generator = np.random.default_rng(seed)
        latent = generator.normal(size=records)
        codes: dict[str, npt.NDArray[np.int32]] = {}
        for attribute in policy.released:
            size = len(attribute.domain or ())
            if size:
                score = latent + generator.normal(size=records)
                codes[attribute.name] = np.clip(np.floor((score + 2) * size / 4), 0, size - 1).astype(np.int32)
        return cls(policy, codes)

    @property
    def records(self) -> int:
        """Return N."""
        return len(next(iter([*self.codes.values(), *self.carried.values()])))

    @property
    def types(self) -> Mapping[str, str]:
        """Return VARCHAR for categories; for carried columns BIGINT, DOUBLE or VARCHAR."""
        kinds = {name: values.type for name, values in self.carried.items()}
        return dict.fromkeys(self.codes, "VARCHAR") | {
            name: "BIGINT" if pa.types.is_integer(t) else "DOUBLE" if pa.types.is_floating(t) else "VARCHAR"
            for name, t in kinds.items()
        }

    def counts(self, *attributes: str) -> Counts:
        """Return the contingency table."""
        shape = tuple(len(self.policy.attributes[a].domain or ()) for a in attributes)
        columns: list[npt.NDArray[np.int32]] = [self.codes[a] for a in attributes]
        table: Codes = np.column_stack(columns) if columns else np.zeros((self.records, 0), np.int32)
        ones: Ints = np.ones(self.records, dtype=np.int64)
        return tabulate(attributes, shape, table, ones)

    def sample(self, *columns: str) -> pa.Table:
        """Return every s-th record in canonical order."""
        return systematic(self.rows(*self.codes, *self.carried), self.records).select(list(columns))

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield all records sorted by the columns asked for."""
        yield from self._sorted(columns).to_batches(max_chunksize=4096)

    def content(self) -> bytes:
        """Return a fingerprint of all values."""
        return self._fingerprint

    def unchanged(self) -> None:
        """Do nothing: nobody else holds the table."""

    @cached_property
    def _fingerprint(self) -> bytes:
        names = [*self.codes, *self.carried]
        return hashlib.sha256(repr(self._sorted(names).to_pydict()).encode()).digest()

    def _sorted(self, names: Sequence[str]) -> pa.Table:
        columns = {n: pa.array(self.codes[n]) if n in self.codes else self.carried[n] for n in names}
        return pa.table(columns).sort_by([(n, "ascending") for n in names])
