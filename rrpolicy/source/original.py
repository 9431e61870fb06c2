"""A table read under a policy: domains resolved, invalid values refused, counts memoised, rows in canonical order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from rrpolicy.canonical_json import Json, canonical
from rrpolicy.counts import Counts, UnitCounts, tabulate
from rrpolicy.declarations import ROUNDING_TOLERANCE, Role
from rrpolicy.engine.arrays import as_numpy, number_array, number_values
from rrpolicy.engine.column_types import TypeFamily, family
from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Policy
from rrpolicy.source import schema_violations
from rrpolicy.source.cells import CellCounter
from rrpolicy.source.duckdb.encoding import NULL_CODE, OUTSIDE_CODE
from rrpolicy.source.protocol import MULTIPLICITY, Distributed
from rrpolicy.source.row_digest import row_digest
from rrpolicy.source.run_length import BATCH, SystematicSampler, UniqueValueCounter, repeated
from rrpolicy.source.units import Units, count_units

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import DrawnBlock, RecordBlock, Snapshot

JOINT_CELLS = 5_000_000
"""The most occupied cells of the table over all categorical attributes for which it is counted first."""


def read_original(policy: Policy, snapshot: Snapshot) -> TableOriginal:
    """Read a table under a policy and refuse unexpected columns and values.

    The result has a policy with observed domains filled in, and that names every column. Raises DataError with all
    problems (RR310 to RR325) at once, unless columns are missing or not named.
    """
    _raise_problems(
        [
            *schema_violations.check_columns(policy, snapshot.columns()),
            *schema_violations.check_size(policy, snapshot.records()),
        ]
    )
    unnamed = [name for name in snapshot.columns() if name not in policy.attributes]
    attributes = dict(policy.attributes)
    attributes |= {name: Attribute(name, Role.EXCLUDED, None, release_as=name) for name in unnamed}
    types: dict[str, str] = {}
    problems: list[Problem] = []
    for attribute in policy.released:
        try:
            types[attribute.name] = snapshot.released_type(attribute)
            if attribute.domain is None and attribute.observed:
                attributes[attribute.name] = schema_violations.resolve_domain(attribute, snapshot)
            problems += schema_violations.check_weight(attributes[attribute.name], types[attribute.name])
        except DataError as error:
            problems += error.problems
            del attributes[attribute.name]  # the others are looked at all the same
    policy = replace(policy, attributes=attributes)
    weight = policy.weight
    if weight is not None and weight.role.dropped and weight.name in snapshot.columns():
        problems += schema_violations.check_weight(weight, snapshot.columns()[weight.name])
    units = None
    try:
        units = count_units(policy, snapshot)
    except DataError as error:
        problems += error.problems
    original = TableOriginal(policy, snapshot, snapshot.records(), types, units)
    _raise_problems([*problems, *original.first_look()])
    return original


def _raise_problems(problems: Sequence[Problem]) -> None:
    if problems:
        raise DataError(problems)


class FullPassResult(Struct, frozen=True):
    """The results of one pass over all distinct rows.

    Attributes:
        content: their fingerprint.
        sample: a systematic sample of the records.
        singles: number of values of the first carried column that occur in one record only; None if nothing is carried.
        cells: their cells, and the invalid values of carried columns; None if there are too many cells.
    """

    content: bytes
    sample: pa.Table
    singles: int | None
    cells: CellCounter | None


@dataclass(frozen=True, eq=False)
class TableOriginal:
    """A snapshot read under a policy; an `Original`. Made by `read_original`.

    Attributes:
        policy: the policy, with observed domains filled in.
        snapshot: the pinned table.
        types: attribute -> engine type of its released values.
        units: numbers of units of protection by their number of records; None if not counted.
        reference: the population, read under the same policy; None if that names none, or it is not available.
    """

    policy: Policy
    snapshot: Snapshot
    records: int
    types: Mapping[str, str]
    units: Units | None = None
    reference: TableOriginal | None = None
    _tables: dict[frozenset[str], Counts] = field(default_factory=dict, repr=False)
    _marginals: dict[frozenset[str], Counts] = field(default_factory=dict, repr=False)
    _units: dict[tuple[str, ...], UnitCounts] = field(default_factory=dict, repr=False)

    @property
    def categorical(self) -> tuple[Attribute, ...]:
        """Return the released attributes with a domain, in the policy's order."""
        return tuple(a for a in self.policy.released if a.categorical)

    @property
    def carried(self) -> tuple[Attribute, ...]:
        """Return the released attributes without a domain, in the policy's order."""
        return tuple(a for a in self.policy.released if not a.categorical)

    @property
    def selected_from(self) -> int | None:
        """Return the number of records from which one of each unit was selected; None if all are read."""
        return getattr(self.snapshot, "selected_from", None)

    def counts(self, *attributes: str) -> Counts:
        """Return the contingency table of categorical attributes, in the given order."""
        known = {a.name for a in self.categorical}
        if len(set(attributes)) < len(attributes) or not known.issuperset(attributes):
            raise ValueError(f"not distinct categorical attributes: {', '.join(attributes)}")
        wanted = frozenset(attributes)
        for tables in (self._tables, self._marginals):
            if wanted in tables:
                return tables[wanted].marginal(*attributes)
        finer = [table for names, table in self._tables.items() if len(names) > len(wanted) and names >= wanted]
        if not finer:
            finer = [self._counted([a for a in self.categorical if a.name in wanted])]
            self._tables[wanted] = finer[0]
        table = min(finer, key=lambda t: len(t.n)).marginal(*attributes)
        if wanted not in self._tables:
            self._marginals[wanted] = table
        return table

    def content(self) -> bytes:
        """Return the 32-byte fingerprint of all released columns' values; it leaves the process only inside an HMAC.

        In a series, also of the people's identifiers: the draws depend on them.
        """
        self.snapshot.unchanged()
        return self._whole.content

    def inside(self) -> bytes | None:
        """Return the fingerprint of the weights that are kept inside, with the released values of each record.

        None if the policy keeps none inside; b"" if the table lacks them.
        """
        if not self.policy.weights_inside:
            return None
        weight = self._own_weight
        if weight is None:
            return b""
        carried = [*(a.name for a in self.carried), weight.name]
        return row_digest(self.snapshot.tally(self.categorical, carried))

    def sample(self, *columns: str) -> pa.Table:
        """Return every s-th record in canonical order, at least 125,000; all of a table that has no more."""
        return self._whole.sample.select(list(columns))

    def rows(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield all records, sorted by the categorical columns in the given order, then by the carried ones.

        Batches have the columns in the given order: int32 codes, or unmodified values (nulls and NaN: null).
        """
        coded, carried = self._chosen(columns)
        if self._known(columns):
            yield from repeated(_count_batches(self.counts(*columns)))
            return
        for batch in self.snapshot.rows(coded, carried):
            yield batch.select(list(columns))

    def people(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield all records of a series with the identifiers of their people.

        Batches are those of `rows` with a last column: the people's identifiers, whole numbers or text.
        """
        unit = self.policy.unit
        if unit is None:
            raise ValueError("no column identifies people")
        coded, carried = self._chosen(columns)
        for batch in repeated(self.snapshot.tally(coded, [*carried, unit])):  # as `_whole` sorted them
            yield batch.select([*columns, unit])

    def tally(self, *columns: str) -> Iterator[pa.RecordBatch]:
        """Yield the distinct rows of `rows`, sorted by the carried columns first; the last column is `MULTIPLICITY`."""
        coded, carried = self._chosen(columns)
        if self._known(columns):
            yield from _count_batches(self.counts(*columns))
            return
        for batch in self.snapshot.tally(coded, carried):
            yield batch.select([*columns, MULTIPLICITY])

    def in_blocks(
        self, columns: Sequence[str], records: int, call: Callable[[RecordBlock], DrawnBlock]
    ) -> Iterator[DrawnBlock] | None:
        """Return a call's results for each block of `tally`, if it can be made at the rows; see `Distributed`."""
        coded, carried = self._chosen(columns)
        if not isinstance(self.snapshot, Distributed):
            return None
        return self.snapshot.in_blocks(coded, carried, columns, records, call)

    def _chosen(self, columns: Sequence[str]) -> tuple[list[Attribute], list[str]]:
        """Return the categorical ones of some columns, and the names of the carried ones."""
        names = {a.name for a in self.policy.released}
        if not columns or len(set(columns)) < len(columns) or not names.issuperset(columns):
            raise ValueError(f"not distinct released columns: {', '.join(columns)}")
        chosen = [self.policy.attributes[c] for c in columns]
        return [a for a in chosen if a.categorical], [a.name for a in chosen if not a.categorical]

    def _known(self, columns: Sequence[str]) -> bool:
        return any(names.issuperset(columns) for names in self._tables)

    def singles(self, name: str) -> int:
        """Return the number of values of an attribute that occur in one record only; nulls do not count."""
        if self.policy.attributes[name].categorical:
            return int((self.counts(name).n == 1).sum())
        if self._whole.singles is not None and name == self.carried[0].name:
            return self._whole.singles
        found = UniqueValueCounter()
        for batch in self.tally(name):
            found.take(batch.column(0), as_numpy(batch.column(1)))
        return found.count()

    def shared(self, column: str) -> Units | None:
        """Return the number of records that share each value of a column; None if that cannot be counted."""
        count = getattr(self.snapshot, "units", None)
        return None if count is None or column not in self.snapshot.columns() else count(column)

    def unit_counts(self, *columns: str, unit: str | None = None) -> UnitCounts:
        """Count units by the cells of their records; see `UnitCounter`."""
        unit = self.policy.unit if unit is None else unit
        if unit is None:
            raise ValueError("no column identifies units")
        key = (unit, *columns)
        if key not in self._units:
            self._units[key] = self._count_units(unit, columns)
        return self._units[key]

    def _count_units(self, unit: str, columns: Sequence[str]) -> UnitCounts:
        coded, carried = self._chosen(columns)
        table = pa.Table.from_batches(list(self.snapshot.tally(coded, [unit, *carried])))
        codes = [(number_values if c in carried else as_numpy)(table.column(c)) for c in columns]
        return UnitCounts.of_rows(codes, as_numpy(table.column(MULTIPLICITY)), number_values(table.column(unit)))

    def weighted(self) -> Mapping[str, Array] | None:
        """Return, by categorical attribute, (V,) the sums of the survey's weights over the records of each category.

        None if the policy names no unbinned weight, or its table lacks that column.
        """
        weight, coded = self._own_weight, self.categorical
        if weight is None:
            return None
        sums = {a.name: np.zeros(len(a.domain or ())) for a in coded}
        for batch in self.snapshot.tally(coded, [weight.name]):
            *codes, each, n = map(as_numpy, batch.columns)
            for attribute, code in zip(coded, codes, strict=True):
                np.add.at(sums[attribute.name], code, each.astype(np.float64) * n)
        return sums

    @property
    def _own_weight(self) -> Attribute | None:
        """Return the weight of the survey if it has unbinned numbers and the table contains it."""
        weight = self.policy.weight
        there = weight is not None and not weight.categorical and weight.name in self.snapshot.columns()
        return weight if there else None

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table, or the reference table, changed since it was opened."""
        self.snapshot.unchanged()
        if self.reference is not None:
            self.reference.unchanged()

    def first_look(self) -> Iterator[Problem]:
        """Count the tables that the policy needs first, and yield violations of it."""
        coded, inside = self.categorical, self._own_weight
        dropped = [inside] if inside is not None and inside.role.dropped else []
        passed = None if dropped else self._whole.cells if self.carried else None
        if passed is not None:
            tables, found = [passed.counts()], passed.surprising()
        else:
            tables, found = self._asked(
                coded, [p for p in map(self._probe, [*self.carried, *dropped]) if p is not None]
            )
        ways = [next(t for t in tables if a.name in t.attributes).marginal(a.name) for a in coded]
        problems = [*schema_violations.check_codes(coded, ways)]
        yield from problems
        for attribute, way in zip(coded, ways, strict=True):
            yield from schema_violations.check_observed(attribute, way)
            yield from schema_violations.check_design_units(attribute, int((way.n == 1).sum()), self.records)
        if not problems:
            self._tables.update({frozenset(t.attributes): t for t in tables})
        for attribute in [*self.carried, *dropped]:
            yield from self._look_at_carried(attribute, found.get(attribute.name))

    def _probe(self, attribute: Attribute) -> Attribute | None:
        """Return the probe of a column whose invalid values are counted; see `schema_violations.probe_attribute`."""
        return schema_violations.probe_attribute(attribute, {**self.snapshot.columns(), **self.types}[attribute.name])

    def _asked(
        self, coded: Sequence[Attribute], probes: Sequence[Attribute]
    ) -> tuple[list[Counts], Mapping[str, tuple[int, int]]]:
        """Return the tables over categories, and the invalid values of carried columns, as the engine counts them."""
        if min(self.records, math.prod(len(a.domain or ()) for a in coded)) <= JOINT_CELLS:
            table = self._counted([*coded, *probes])
            tables, ways = [table.marginal(*(a.name for a in coded))], [table.marginal(p.name) for p in probes]
        else:
            tables, ways = [self._counted([a]) for a in coded], [self._counted([p]) for p in probes]
        return tables, {p.name: _invalid_value_counts(way) for p, way in zip(probes, ways, strict=True)}

    def _look_at_carried(self, attribute: Attribute, found: tuple[int, int] | None) -> Iterator[Problem]:
        """Yield problems of a carried column; its values are counted only if that decides something."""
        if attribute.role.dropped:
            yield from schema_violations.check_carried(attribute, *(found or (0, 0)))
            return
        rounding = (
            attribute.rounding if family(self.types[attribute.name]) in {TypeFamily.INTEGER, TypeFamily.REAL} else None
        )
        design = attribute.design in {"stratum", "cluster"}
        if found is None or attribute.assume_unlinkable is None or rounding is not None or design:
            singles, nulls, unlike = 0, 0, 0
            for batch in self.snapshot.tally([], [attribute.name]):
                n = as_numpy(batch.column(1))
                singles += int(np.count_nonzero(n == 1))
                nulls += int(n[~as_numpy(batch.column(0).is_valid())].sum())
                if rounding is not None:
                    unlike += int(n[_unrounded_weights(as_numpy(batch.column(0), 0), rounding)].sum())
            yield from schema_violations.check_weight_rounding(attribute, unlike)
            alone = [*schema_violations.check_design_units(attribute, singles, self.records)]
            yield from alone or schema_violations.check_unique_values(attribute, singles, self.records)
            found = found or (nulls, 0)
        yield from schema_violations.check_carried(attribute, *found)

    def _counted(self, attributes: Sequence[Attribute]) -> Counts:
        """Count in the engine, in one pass, invalid values included."""
        names = tuple(a.name for a in attributes)
        shape = tuple(len(a.domain or ()) for a in attributes)
        codes, n = [np.zeros((0, len(names)), np.int32)], [np.zeros(0, np.int64)]
        for batch in self.snapshot.tally(attributes):
            columns = [as_numpy(c) for c in batch.columns]
            codes.append(np.column_stack(columns[:-1]) if names else np.zeros((len(columns[-1]), 0), np.int32))
            n.append(columns[-1])
        return tabulate(names, shape, np.concatenate(codes), np.concatenate(n))

    @cached_property
    def _whole(self) -> FullPassResult:
        """Return the results that need a pass over all distinct rows."""
        coded, unit = self.categorical, self.policy.unit if self.policy.release.series is not None else None
        carried = [a.name for a in self.carried] + ([] if unit is None else [unit])
        sample, singles = SystematicSampler(self.records), UniqueValueCounter()
        cells = (
            CellCounter(coded, list(map(self._probe, self.carried)))
            if self.carried and CellCounter.fit(coded)
            else None
        )

        def counted() -> Iterator[pa.RecordBatch]:
            joint = None if carried else self._tables.get(frozenset(a.name for a in coded))
            for batch in self.snapshot.tally(coded, carried) if joint is None else _count_batches(joint):
                sample.take(batch)
                if carried:
                    singles.take(batch.column(len(coded)), as_numpy(batch.columns[-1]))
                if cells is not None:
                    cells.take(batch)
                yield batch

        digest = row_digest(counted())
        labels: list[Json] = [[a.name, None if a.domain is None else list(a.domain)] for a in coded]
        named = canonical(labels + [[name, None] for name in carried])
        content = hashlib.sha256(hashlib.sha256(named).digest() + digest).digest()
        return FullPassResult(content, sample.table(), singles.count() if carried else None, cells)


def _unrounded_weights(values: NDArray[Any], step: float) -> NDArray[np.bool_]:
    """Return which weights are not multiples of a step, up to rounding; other invalid values are False."""
    times = values.astype(np.float64) / step
    return (
        np.isfinite(times) & (times > 0) & (np.abs(times - np.rint(times)) > ROUNDING_TOLERANCE * np.maximum(times, 1))
    )


def _invalid_value_counts(way: Counts) -> tuple[int, int]:
    code = way.codes[:, 0]
    return int(way.n[code == NULL_CODE].sum()), int(way.n[code == OUTSIDE_CODE].sum())


def _count_batches(counts: Counts) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(counts.n), BATCH):
        part = slice(start, start + BATCH)
        columns = [number_array(np.ascontiguousarray(counts.codes[part, i])) for i in range(len(counts.attributes))]
        yield pa.record_batch([*columns, number_array(counts.n[part])], names=[*counts.attributes, MULTIPLICITY])
