"""Dealt groups, read back for a test: parts that must be equal, and the members of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.channels.product.released_counts import count_released_rows, deterministic_counts_agree
from rrpolicy.channels.values import read_codes
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Ints
    from rrpolicy.source.protocol import Original

MAX_GROUPS = 1 << 22
"""The most groups that are kept for statistics."""


class GroupEntries(Struct, frozen=True):
    """Members of groups: entries in the order of their groups.

    Attributes:
        group: (entries,) from 0.
        code: (entries,) value or category.
        n: (entries,) number of records.
    """

    group: Ints
    code: Ints
    n: Ints


class AnatomyTables(Struct, frozen=True):
    """All tables, as far as statistics use them.

    Attributes:
        groups: number of groups, those with the lowest numbers.
        largest: records in the largest of them.
        values: the values of each sensitive column.
        known: attribute -> the categories of its column.
    """

    groups: int
    largest: int
    values: tuple[GroupEntries, ...]
    known: Mapping[str, GroupEntries]


def read_released_tables(
    groups: AnatomyChannel, original: Original, qit: pa.RecordBatchReader, st: Sequence[pa.RecordBatchReader]
) -> AnatomyTables | str:
    """Read all tables; or return a difference between parts that must be equal.

    `qit` and each of `st` have distinct rows with a column `MULTIPLICITY`.
    """
    number, _ = groups_of(original.records, groups.size)
    kept = _LowestGroupEntries(groups, min(number, MAX_GROUPS))
    stated: Ints | None = None
    for column, rows in zip(groups.sensitive, st, strict=True):
        found = _read_sensitive_table(groups, column, original, rows, kept)
        if isinstance(found, str):
            return found
        if stated is not None and (found != stated).any():
            return "a group has not as many values of one sensitive column as of the other"
        stated = found
    assert stated is not None
    wrong = _read_quasi_identifiers(groups, original, qit, stated, kept)
    values = tuple(kept.places(column.attribute) for column in groups.sensitive)
    return wrong or AnatomyTables(kept.groups, int(stated.max()), values, kept.all_known())


def _read_sensitive_table(
    groups: AnatomyChannel, column: Column, original: Original, st: pa.RecordBatchReader, kept: _LowestGroupEntries
) -> Ints | str:
    """Read a sensitive table; return (groups + 1,) the number of values of each group, or an inconsistency."""
    number, _ = groups_of(original.records, groups.size)
    stated, totals = np.zeros(number + 1, dtype=np.int64), np.zeros(len(column.labels), dtype=np.int64)
    if set(st.schema.names) != {groups.group.name, column.name, groups.count.name, MULTIPLICITY}:
        return "the columns of the sensitive table are not the declared ones"
    for batch in st:
        group, count, n = (
            _integer_array(batch.column(name)) for name in (groups.group.name, groups.count.name, MULTIPLICITY)
        )
        code = read_codes(column, batch.column(column.name))
        if (code < 0).any() or (group < 1).any() or (group >= len(stated)).any():
            return "the sensitive table contains values outside their domain, or groups of other numbers"
        if (count != 1).any() or (n != 1).any():
            return "a sensitive value occurs more than once in a group"
        np.add.at(stated, group, 1)
        np.add.at(totals, code, 1)
        kept.add(column, group, code, n)
    if (totals != original.counts(column.attribute).dense()).any():
        return "the sensitive values are not those of the original"
    return f"a group has fewer than {groups.size} values" if (stated[1:] < groups.size).any() else stated


def _read_quasi_identifiers(
    groups: AnatomyChannel, original: Original, qit: pa.RecordBatchReader, stated: Ints, kept: _LowestGroupEntries
) -> str | None:
    """Read the quasi-identifiers' table; return an inconsistency."""
    if set(qit.schema.names) != {*(c.name for c in groups.known), groups.group.name, MULTIPLICITY}:
        return "the columns of the quasi-identifiers' table are not the declared ones"
    untouched, inside = groups.untouched(), np.zeros_like(stated)
    outside = False

    def rest() -> Iterator[pa.RecordBatch]:
        nonlocal outside
        for batch in qit:
            group, n = _integer_array(batch.column(groups.group.name)), _integer_array(batch.column(MULTIPLICITY))
            outside |= bool((group < 1).any() or (group >= len(inside)).any())
            if not outside:
                np.add.at(inside, group, n)
                for column in groups.known:
                    if column.labels:
                        kept.add(column, group, read_codes(column, batch.column(column.name)), n)
            yield batch.drop_columns([groups.group.name])

    schema = qit.schema.remove(qit.schema.get_field_index(groups.group.name))
    released = count_released_rows(untouched, pa.RecordBatchReader.from_batches(schema, rest()), ())
    if released.problem is not None:
        return released.problem
    if outside or (inside != stated).any():
        return "a group has not as many records in one table as in the other"
    if not deterministic_counts_agree(untouched, original, released, range(len(untouched.axes))):
        return "the quasi-identifiers' table differs from the original"
    return None


class _LowestGroupEntries:
    """Gathers the members of the groups with the lowest numbers."""

    def __init__(self, groups: AnatomyChannel, most: int) -> None:
        self.groups = most
        self._names = [c.attribute for c in groups.known if c.labels]
        own = [c.attribute for c in groups.sensitive]
        self._parts: dict[str, list[tuple[Any, ...]]] = {name: [] for name in (*own, *self._names)}

    def add(self, column: Column, group: Ints, code: Ints, n: Ints) -> None:
        low = np.flatnonzero(group <= self.groups)
        part = tuple(x.astype(np.uint32) for x in (group[low] - 1, code[low], n[low]))
        self._parts[column.attribute].append(part)

    def places(self, name: str) -> GroupEntries:
        group, code, n = (np.concatenate(arrays).astype(np.int64) for arrays in zip(*self._parts[name], strict=True))
        order = np.argsort(group, kind="stable")
        return GroupEntries(group[order], code[order], n[order])

    def all_known(self) -> Mapping[str, GroupEntries]:
        """Return the entries of every other column."""
        return {name: self.places(name) for name in self._names}


def _integer_array(column: pa.Array) -> Ints:
    numbers: Ints = as_numpy(column, absent=0).astype(np.int64)
    return numbers
