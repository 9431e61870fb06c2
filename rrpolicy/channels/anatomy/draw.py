"""Drawing anatomy's tables: records are dealt into groups, then the tables are written.

Equal records are exchangeable: giving a value's records, in any order, its groups' numbers in a uniform order is the
law of dealing each of them at random. With few distinct rows all sorting is done here, some of the quasi-identifiers'
combinations at a time, in about ten bytes a record. Otherwise the rows come from the engine in the order of original
values, and the sink has it sort the released ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rrpolicy.channels.anatomy.group_assignment import GroupAssignment, SmallInts, assign_groups, assign_pair_groups
from rrpolicy.channels.values import canonical_ranks, dictionary_array, sorted_labels
from rrpolicy.engine.arrays import as_numpy, number_array

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.channels.base import Sink
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.source.protocol import Original

_ROWS = 1 << 20


def draw_tables(groups: AnatomyChannel, original: Original, streams: Streams, sink: Sink) -> None:
    """Draw once."""
    members = _write_pairs(groups, original, streams, sink) if len(groups.sensitive) > 1 else None
    if members is None:
        counts = original.counts(groups.sensitive[0].attribute).dense()
        dealt = assign_groups(counts.tolist(), groups.size, streams)
        _write_st(groups, dealt, sink)
        members = dealt.members
        del dealt
    if groups.sampler == "cells":
        _write_cells(groups, original, members, sink)
    else:
        _write_records(groups, original, members, sink)


def _write_pairs(groups: AnatomyChannel, original: Original, streams: Streams, sink: Sink) -> SmallInts:
    """Write the tables of two sensitive attributes, in the order of the groups' numbers.

    The result is (records,) the group number of each record: all records of the first combination of values, of the
    second, ….
    """
    counts = original.counts(*(column.attribute for column in groups.sensitive))
    group, held, members = assign_pair_groups(counts, groups.size, streams)
    for place, (table, column) in enumerate(zip(groups.of_values, groups.sensitive, strict=True)):
        code = canonical_ranks(column)[counts.codes[held, place]]
        order = np.lexsort((code, group))
        names = [c.name for c in (groups.group, column, groups.count)]
        values = sorted_labels(column)
        for low in range(0, len(order), _ROWS):
            here = order[low : low + _ROWS]
            ones = number_array(np.ones(len(here), dtype=np.int32))
            arrays = [number_array(group[here].astype(np.int64)), dictionary_array(code[here], values), ones]
            sink.write(table, pa.RecordBatch.from_arrays(arrays, names=names), in_order=True)
    return members


def _write_st(groups: AnatomyChannel, dealt: GroupAssignment, sink: Sink) -> None:
    (column,) = groups.sensitive
    values, rank = sorted_labels(column), canonical_ranks(column).astype(dealt.values.dtype)
    made = np.empty(len(dealt.numbers), dtype=np.int64)
    made[dealt.numbers.astype(np.int64) - 1] = np.arange(len(made))
    late = sorted((int(dealt.numbers[group]), int(rank[value])) for group, value in dealt.residues)
    names = [c.name for c in (groups.group, column, groups.count)]
    step = max(1, _ROWS // groups.size)
    for low in range(0, len(made), step):
        here = made[low : low + step]
        number = np.repeat(np.arange(low + 1, low + 1 + len(here), dtype=dealt.numbers.dtype), groups.size)
        code = np.sort(rank[dealt.values[here]], axis=1).reshape(-1)
        joined = [pair for pair in late if low < pair[0] <= low + len(here)]
        if joined:
            number = np.concatenate((number, np.array([n for n, _ in joined], dtype=number.dtype)))
            code = np.concatenate((code, np.array([r for _, r in joined], dtype=code.dtype)))
            order = np.lexsort((code, number))
            number, code = number[order], code[order]
        ones = number_array(np.ones(len(number), dtype=np.int32))
        batch = pa.RecordBatch.from_arrays([number_array(number), dictionary_array(code, values), ones], names=names)
        sink.write(groups.tables()[1].name, batch, in_order=True)


def _write_cells(groups: AnatomyChannel, original: Original, members: SmallInts, sink: Sink) -> None:
    """Write the quasi-identifiers' table in canonical order, some combinations at a time.

    `members` has the group numbers by sensitive value, or by pair of them, one after another; combinations take them by
    their numbers of records.
    """
    own = len(groups.sensitive)
    counts = original.counts(*(c.attribute for c in (*groups.sensitive, *groups.known)))
    rows = np.column_stack([canonical_ranks(c)[counts.codes[:, i + own]] for i, c in enumerate(groups.known)]).astype(
        np.int32
    )
    order = np.lexsort((*rows.T[::-1], *counts.codes[:, :own].T[::-1]))  # by value, then by combination
    rows, n = rows[order], counts.n[order]
    start = np.cumsum(n) - n
    combination, distinct = _number_rows(rows)
    by_combination = np.argsort(combination, kind="stable")
    columns = [np.ascontiguousarray(code) for code in distinct.T]
    values = [sorted_labels(c) for c in groups.known]
    names = [*(c.name for c in groups.known), groups.group.name]
    most = int(members.max(initial=0)) + 1
    for part in _combination_chunks(combination, n, by_combination):
        base = int(combination[part[0]])
        cell = combination[part] - base
        keys = np.repeat(cell * most, n[part]) + members[_ranges(start[part], n[part])]
        keys.sort()
        cell = np.repeat(cell, n[part])  # entries come by combination, as the keys do now
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        many = np.diff(np.append(first, len(keys)))
        cell, keys = cell[first], keys[first]
        arrays = [dictionary_array(code[base + cell], v) for code, v in zip(columns, values, strict=True)]
        batch = pa.RecordBatch.from_arrays([*arrays, number_array(keys - cell * most)], names=names)
        sink.write(groups.tables()[0].name, batch, many, in_order=True)


def _number_rows(rows: Codes) -> tuple[Ints, Codes]:
    """Return each row's position among the distinct ones in order, and these."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.concatenate(([True], np.any(ordered[1:] != ordered[:-1], axis=1)))
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    return place, ordered[new]


def _combination_chunks(combination: Ints, n: Ints, order: Ints) -> Iterator[Ints]:
    """Yield the entries of whole combinations, of about so many records together."""
    ordered = combination[order]
    ends = np.flatnonzero(np.concatenate((ordered[1:] != ordered[:-1], [True]))) + 1
    done = np.cumsum(n[order])[ends - 1]
    low, place = 0, -1
    while low < len(order):
        taken = int(done[place]) if low else 0
        place = max(place + 1, int(np.searchsorted(done, taken + _ROWS, side="right")) - 1)
        yield order[low : ends[place]]
        low = int(ends[place])


def _ranges(start: Ints, n: Ints) -> Ints:
    ends = np.cumsum(n)
    out: Ints = np.repeat(start - (ends - n), n) + np.arange(int(ends[-1]) if len(ends) else 0)
    return out


def _write_records(groups: AnatomyChannel, original: Original, members: SmallInts, sink: Sink) -> None:
    """Write the quasi-identifiers' table row by row; the sink sorts it."""
    names = [*(c.name for c in groups.known), groups.group.name]
    done = 0
    for batch in _rows_by_sensitive_value(groups, original):
        number = number_array(members[done : done + batch.num_rows].astype(np.int64))
        columns = [
            dictionary_array(canonical_ranks(c)[as_numpy(batch.column(c.attribute))], sorted_labels(c))
            if c.labels
            else batch.column(c.attribute)
            for c in groups.known
        ]
        sink.write(groups.tables()[0].name, pa.RecordBatch.from_arrays([*columns, number], names=names))
        done += batch.num_rows


def _rows_by_sensitive_value(groups: AnatomyChannel, original: Original) -> Iterator[pa.RecordBatch]:
    """Yield the records by sensitive value, then by their other values; carried columns come last."""
    attributes: Sequence[Column] = sorted(groups.known, key=lambda c: not c.labels)
    yield from original.rows(*(c.attribute for c in (*groups.sensitive, *attributes)))
