"""Rows of one simulated draw, counted in memory by the cells of record weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.values import read_codes
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.estimate.weights.sets import SetWeights

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.decoders import AnatomyDecoder
    from rrpolicy.channels.table import Column, TableSpec
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.weights.base import AxisWeights

    Batches: TypeAlias = Sequence[tuple[pa.RecordBatch, Ints]]

_ROWS = 1 << 20


class CountedRowSink:
    """A sink that keeps the batches of released rows by table, with their multiplicities."""

    def __init__(self) -> None:
        self.parts: dict[str, list[tuple[pa.RecordBatch, Ints]]] = {}

    def write(
        self, table: str, batch: pa.RecordBatch, n: Ints | None = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        """Keep a batch."""
        del in_order, sorted_by
        times = np.ones(batch.num_rows, dtype=np.int64) if n is None else n
        self.parts.setdefault(table, []).append((batch, times))


def count_draw_cells(batches: Batches, spec: TableSpec, axes: Sequence[AxisWeights], times: str = "") -> Array:
    """Return released records of a table by the cells of axes, one dimension each; `times`: their multiplicities."""
    shape = tuple(axis.counted for axis in axes)
    size = math.prod(shape)
    found: Array = np.zeros(size)
    for batch, n in batches:
        flat, many = _flat_cells(batch, n * as_numpy(batch.column(times)) if times else n, spec, axes)
        found += np.bincount(flat, many, size)
    return found.reshape(shape)


def count_group_cells(
    drawn: CountedRowSink, specs: Mapping[str, TableSpec], axes: Sequence[AxisWeights], dealt: AnatomyDecoder
) -> Array:
    """Return records by the cells of axes, values spread evenly over the records of their group.

    A group of n values, b of them v, has a b/n records of a cell that a of its records have (Xiao, Tao 2006, section 5;
    `rrpolicy.estimate.anatomy`). The axes include that of the dealt values.
    """
    plain = [axis for axis in axes if axis.columns != dealt.columns]
    values = next(c for c in specs[dealt.table].columns if c.name == dealt.column)
    group, value, share = _group_value_shares(drawn.parts[dealt.table], values, dealt)
    starts = np.searchsorted(group, np.arange(int(group.max()) + 2))
    shape, many = tuple(axis.counted for axis in plain), len(dealt.labels)
    size = math.prod(shape) * many
    found: Array = np.zeros(size)
    step = max(1, _ROWS // (dealt.size + 1))
    for batch, n in drawn.parts[dealt.of]:
        for low in range(0, batch.num_rows, step):
            part, times = batch.slice(low, step), n[low : low + step]
            flat, _ = _flat_cells(part, times, specs[dealt.of], plain)
            own = as_numpy(part.column(dealt.key)).astype(np.int64)
            length = starts[own + 1] - starts[own]
            row = np.repeat(np.arange(len(own)), length)
            entry = np.repeat(starts[own] - (np.cumsum(length) - length), length) + np.arange(len(row))
            found += np.bincount(flat[row] * many + value[entry], times[row] * share[entry], size)
    place = next(i for i, axis in enumerate(axes) if axis.columns == dealt.columns)
    return np.moveaxis(found.reshape(*shape, many), -1, place)


def _group_value_shares(batches: Batches, column: Column, dealt: AnatomyDecoder) -> tuple[Ints, Ints, Array]:
    """Return the group, the value and its share of each entry of the table of dealt values, by group."""
    parts = [
        (
            as_numpy(batch.column(dealt.key)).astype(np.int64),
            read_codes(column, batch.column(dealt.column)),
            as_numpy(batch.column(dealt.count)).astype(np.int64) * n,
        )
        for batch, n in batches
    ]
    group, value, count = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(group, kind="stable")
    group, value, count = group[order], value[order], count[order]
    return group, value, count / np.bincount(group, count)[group]


def _flat_cells(batch: pa.RecordBatch, n: Ints, spec: TableSpec, axes: Sequence[AxisWeights]) -> tuple[Ints, Ints]:
    """Return the cell of each row and its records; a row with sets is in several cells, one after another."""
    columns = {c.name: c for c in spec.columns}
    row = np.arange(batch.num_rows)
    flat = np.zeros(batch.num_rows, dtype=np.int64)
    for axis in axes:
        own = [columns[name] for name in axis.columns]
        if isinstance(axis, SetWeights):
            cells = _set_row_cells(batch, own)
            flat = (flat[:, None] * axis.counted + cells[row]).reshape(-1)
            row = np.repeat(row, cells.shape[1])
        else:
            flat = flat * axis.counted + _cell_positions(axis, own)[_flat_codes(batch, own)][row]
    return flat, n[row]


def _flat_codes(batch: pa.RecordBatch, columns: Sequence[Column]) -> Ints:
    flat = np.zeros(batch.num_rows, dtype=np.int64)
    for column in columns:
        flat = flat * len(column.labels) + read_codes(column, batch.column(column.name))
    return flat


def _cell_positions(axis: AxisWeights, columns: Sequence[Column]) -> Ints:
    """Return the position among an axis' released cells of each combination of its columns' labels; -1 for no cell."""
    positions = [{label: code for code, label in enumerate(c.labels)} for c in columns]
    found = np.full(math.prod(len(p) for p in positions), -1, dtype=np.int64)
    for place, cell in enumerate(axis.released):
        index = 0
        for label, position in zip(cell, positions, strict=True):
            index = index * len(position) + position[label]
        found[index] = place
    return found


def _set_row_cells(batch: pa.RecordBatch, columns: Sequence[Column]) -> Ints:
    """Return (rows, 1 + l) the cells of a row with a set: that of all rows, and one for each value in the set."""
    from rrpolicy.channels.axes.sets import list_entry_column

    flat: Ints = np.zeros(1, dtype=np.int64)
    for column in columns:
        codes = read_codes(list_entry_column(column), batch.column(column.name).flatten())
        flat = flat * len(column.labels) + codes
    members = flat.reshape(batch.num_rows, -1)
    return np.concatenate((np.zeros((batch.num_rows, 1), dtype=np.int64), 1 + members), axis=1)


def released_axis_codes(
    drawn: CountedRowSink, specs: Sequence[TableSpec], axes: Sequence[AxisWeights]
) -> tuple[Ints, Ints]:
    """Return (rows, axes) the released cell of each axis other than sets, and (rows,) records of each row."""
    held = {c for axis in axes for c in axis.columns}
    spec = next(s for s in specs if held <= {c.name for c in s.columns})
    columns = {c.name: c for c in spec.columns}
    own = [[columns[name] for name in axis.columns] for axis in axes]
    parts = [
        np.column_stack([_cell_positions(axis, cs)[_flat_codes(batch, cs)] for axis, cs in zip(axes, own, strict=True)])
        for batch, _ in drawn.parts[spec.name]
    ]
    return np.concatenate(parts), np.concatenate([n for _, n in drawn.parts[spec.name]])
