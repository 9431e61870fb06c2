"""An original in memory, for the tests of plugins: no engine, no file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rrpolicy.channels.table import engine_type_of
from rrpolicy.counts import Codes, Counts, Ints, UnitCounts, tabulate
from rrpolicy.engine.arrays import number_values
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy
from rrpolicy.source.run_length import systematic_sample
from rrpolicy.source.units import Units
from rrpolicy.testing.assertions import demand

if TYPE_CHECKING:
    import numpy.typing as npt

    from rrpolicy.source.protocol import Original


@dataclass(frozen=True)
class TableInMemory:
    """A table of released columns, read under a policy.

    Attributes:
        policy: every domain declared.
        codes: categorical attribute -> (records,) positions in its domain.
        carried: other released column -> its values.
        units: number of units of protection by number of records; None as for an engine that does not count them.
        whose: (records,) the unit of each record, for requirements that read a unit's records together; None if
            nothing needs them.
        others: the people of the population who are not in the table; None if no population is available.
    """

    policy: Policy
    codes: Mapping[str, npt.NDArray[np.int32]]
    carried: Mapping[str, pa.Array] = field(default_factory=dict)
    units: Units | None = None
    others: TableInMemory | None = None
    whose: Ints | None = None

    @classmethod
    def of(cls, policy: Policy, columns: Mapping[str, Sequence[int]]) -> TableInMemory:
        """Return a table of categorical columns from lists of codes."""
        return cls(policy, {name: np.asarray(values, dtype=np.int32) for name, values in columns.items()})

    @classmethod
    def random(cls, policy: Policy, records: int, seed: int, uneven: float = 0.0) -> TableInMemory:
        """Return a random table whose categorical attributes depend on one another, the same for the same seed.

        If the policy names a population, it has three times as many other people.

        Args:
            policy: every domain declared; a column without one gets whole numbers.
            records: N.
            seed: seed of the values.
            uneven: shift of the values from the middle of the domains; 2 is a shift to the end.
        """
        generator = np.random.default_rng(seed)
        latent = generator.normal(size=records)
        codes: dict[str, npt.NDArray[np.int32]] = {}
        carried: dict[str, pa.Array] = {}
        for attribute in policy.released:
            demand(
                not attribute.observed, f"the domain of '{attribute.name}' is observed: give `tables` that contain it"
            )
            size = len(attribute.domain or ())
            score = latent + generator.normal(size=records) + uneven
            if size:
                codes[attribute.name] = np.clip(np.floor((score + 2) * size / 4), 0, size - 1).astype(np.int32)
            else:
                carried[attribute.name] = pa.array(np.clip(np.rint(score), -2, 2).astype(np.int64))
        if policy.reference is None:
            return cls(policy, codes, carried)
        alone = replace(policy, reference=None)
        return cls(policy, codes, carried, others=cls.random(alone, 3 * records, seed + 1, uneven))

    @classmethod
    def copy(cls, original: Original) -> TableInMemory:
        """Return another table's records; the other people of its population differ."""
        names = [a.name for a in original.policy.released]
        whole = pa.Table.from_batches(original.rows(*names)).combine_chunks()
        coded = {a.name for a in original.policy.released if a.categorical}
        columns = {name: whole.column(name).combine_chunks() for name in names}
        codes = {name: column.to_numpy(zero_copy_only=False) for name, column in columns.items() if name in coded}
        rest = {name: column for name, column in columns.items() if name not in coded}
        others = None if original.reference is None else cls.copy(original.reference)
        return cls(original.policy, codes, rest, original.units, others)

    def neighbour(self) -> TableInMemory:
        """Return the table with other categories in one record."""
        sizes = {name: len(self.policy.attributes[name].domain or ()) for name in self.codes}
        changed = {name: codes.copy() for name, codes in self.codes.items()}
        for name, codes in changed.items():
            codes[0] = (codes[0] + 1) % sizes[name]
        return replace(self, codes=changed)

    def alike(self) -> TableInMemory:
        """Return a table of as many records, all with the categories of the first."""
        codes = {name: np.full_like(codes, codes[0]) for name, codes in self.codes.items()}
        return replace(self, codes=codes)

    @cached_property
    def reference(self) -> TableInMemory | None:
        """Return the population: the people of the table, and the others."""
        if self.others is None:
            return None
        codes = {name: np.concatenate([self.codes[name], theirs]) for name, theirs in self.others.codes.items()}
        return TableInMemory(self.others.policy, codes)

    @property
    def records(self) -> int:
        """Return N."""
        return len(next(iter([*self.codes.values(), *self.carried.values()])))

    @property
    def types(self) -> Mapping[str, str]:
        """Return the types of the categories; for carried columns BIGINT, DOUBLE or VARCHAR."""
        kinds = {name: values.type for name, values in self.carried.items()}
        return {name: engine_type_of(self.policy.attributes[name].domain or ()) for name in self.codes} | {
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

    def unit_counts(self, *columns: str, unit: str | None = None) -> UnitCounts:
        """Count the units by the cells of their records; see `UnitCounter`."""
        if self.whose is None or unit is not None:
            raise ValueError("no column identifies units")
        codes = [self.codes[c] if c in self.codes else number_values(self.carried[c]) for c in columns]
        return UnitCounts.of_rows(codes, np.ones(self.records, dtype=np.int64), self.whose)

    def sample(self, *columns: str) -> pa.Table:
        """Return every s-th record in canonical order."""
        return systematic_sample(self.rows(*self.codes, *self.carried), self.records).select(list(columns))

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield all records sorted by the requested columns."""
        yield from self._sorted(columns).to_batches(max_chunksize=4096)

    def content(self) -> bytes:
        """Return a fingerprint of all values."""
        return self._fingerprint

    def unchanged(self) -> None:
        """Do nothing: the table has no other writers."""

    @cached_property
    def _fingerprint(self) -> bytes:
        names = [*self.codes, *self.carried]
        return hashlib.sha256(repr(self._sorted(names).to_pydict()).encode()).digest()

    def _sorted(self, names: Sequence[str]) -> pa.Table:
        columns = {n: pa.array(self.codes[n]) if n in self.codes else self.carried[n] for n in names}
        return pa.table(columns).sort_by([(n, "ascending") for n in names])


RECORDS = 400


def similar_tables(policy: Policy, *given: Original) -> tuple[Original, ...]:
    """Return tables of as many records that differ slightly, or completely; the given ones are first.

    Every domain is declared, unless tables are given.
    """
    first = TableInMemory.copy(given[0]) if given else TableInMemory.random(policy, RECORDS, 1)
    others = (first.neighbour(), first.alike())
    if given:
        return (*given, *others)
    return first, TableInMemory.random(policy, RECORDS, 2), *others
