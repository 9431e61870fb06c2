"""Drawing from a product channel: cell by cell where records share values, record by record where they do not.

Records with the same values are exchangeable: splitting the count of every cell by a multinomial of its column, axis
after axis, gives the multiset that randomising every record on its own gives. The multiset is released in the canonical
order of its values, which says nothing of the original. Each axis reads a stream of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from rrpolicy.channel.cells import Cells
from rrpolicy.channel.values import dictionary, in_canonical_order, order, ranks

if TYPE_CHECKING:
    from rrpolicy.channel.base import Axis, Sink
    from rrpolicy.channel.product import Product
    from rrpolicy.channel.streams import Stream, Streams
    from rrpolicy.source.counts import Codes, Ints
    from rrpolicy.source.protocol import Original

TABLE = "data"
_BATCH = 1 << 16
"""Rows handed on, or randomised record by record, at a time; part of the record path's definition."""


def draw_cells(product: Product, original: Original, streams: Streams, sink: Sink) -> None:
    """Draw by splitting counts; hands distinct rows in canonical order to the sink."""
    cells, carried = _original_cells(product, original)
    for slot, axis in enumerate(product.axes):
        parent, released, count = axis.split(cells.slot(slot), cells.n, axis_stream(streams, axis))
        cells.replace(slot, parent, flatten(released, released_shape(axis)), count)
        cells.merge()
    columns, sizes, values = [], [], []
    for name in product.order:
        slot, place = product.locate(name)
        if slot < len(product.axes):
            column = product.axes[slot].columns()[place]
            code = unflatten(cells.slot(slot), released_shape(product.axes[slot]))[place]
            columns.append(ranks(column)[code])
            values.append(in_canonical_order(column))
        else:
            columns.append(cells.slot(slot))
            values.append(carried[slot - len(product.axes)])
        sizes.append(len(values[-1]))
    released_cells = Cells(sizes, columns, cells.n)
    released_cells.sort()
    for low in range(0, len(released_cells), _BATCH):
        part = slice(low, low + _BATCH)
        arrays = [
            _released(released_cells.slot(i, part), values[i], product.locate(name)[0] >= len(product.axes))
            for i, name in enumerate(product.order)
        ]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(product.order))
        sink.write(TABLE, batch, released_cells.n[part], in_order=True)


def _released(codes: Ints, values: pa.Array, carried: bool) -> pa.Array:
    return values.take(pa.array(codes)) if carried else dictionary(codes, values)


def draw_records(product: Product, original: Original, streams: Streams, sink: Sink) -> None:
    """Draw record by record, in the canonical order of the original rows; the sink puts the released rows in order."""
    streams_of = [axis_stream(streams, axis) for axis in product.axes]
    attributes = [a for axis in product.axes for a in axis.attributes]
    shapes = [original_shape(axis, original) for axis in product.axes]
    for batch in _exactly(original.rows(*attributes, *(c.attribute for c in product.carried)), _BATCH):
        columns: dict[str, pa.Array] = {c.name: batch.column(c.attribute) for c in product.carried}
        for axis, shape, stream in zip(product.axes, shapes, streams_of, strict=True):
            codes = flatten(np.column_stack([_codes(batch, a) for a in axis.attributes]), shape)
            released = _one_each(axis, codes, stream)
            columns |= {c.name: v for c, v in zip(axis.columns(), axis.values(released), strict=True)}
        names = list(product.order)
        sink.write(TABLE, pa.RecordBatch.from_arrays([columns[name] for name in names], names=names))


def _one_each(axis: Axis, codes: Ints, stream: Stream) -> Codes:
    """Randomise records one by one: cells of one record each."""
    _, released, _ = axis.split(codes, np.ones(len(codes), dtype=np.int64), stream)
    return released


def axis_stream(streams: Streams, axis: Axis) -> Stream:
    """Return the stream of an axis: of its own, whatever the other axes read."""
    return streams.stream("axis", *axis.attributes)


def _codes(batch: pa.RecordBatch, name: str) -> Ints:
    codes: Ints = batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _exactly(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Cut a stream into batches of exactly so many rows, however the engine cuts it; the last one is shorter."""
    waiting: list[pa.RecordBatch] = []
    held = 0
    for whole in batches:
        batch = whole
        while held + batch.num_rows >= rows:
            yield _joined([*waiting, batch.slice(0, rows - held)])
            batch = batch.slice(rows - held)
            waiting, held = [], 0
        if batch.num_rows:
            waiting.append(batch)
            held += batch.num_rows
    if waiting:
        yield _joined(waiting)


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def original_shape(axis: Axis, original: Original) -> tuple[int, ...]:
    """Return the domain sizes of an axis' original attributes."""
    if len(axis.attributes) == 1:
        return (axis.original_size,)
    domains = [original.policy.attributes[name].domain or () for name in axis.attributes]
    return tuple(len(domain) for domain in domains)


def released_shape(axis: Axis) -> tuple[int, ...]:
    """Return the number of labels of each released column of an axis."""
    return tuple(len(column.labels) for column in axis.columns())


def flatten(codes: Ints | Codes, shape: Sequence[int]) -> Ints:
    """Return the C-order index of (k, width) codes."""
    flat = np.zeros(len(codes), dtype=np.int64)
    for place, size in enumerate(shape):
        flat = flat * size + codes[:, place]
    return flat


def unflatten(flat: Ints, shape: Sequence[int]) -> list[Ints]:
    """Return the codes of a C-order index, one array a column."""
    if len(shape) == 1:
        return [flat]
    return [flat // math.prod(shape[place + 1 :]) % size for place, size in enumerate(shape)]


def _original_cells(product: Product, original: Original) -> tuple[Cells, list[pa.Array]]:
    """Return the occupied cells over all axes and carried columns, and the sorted values of each carried column."""
    attributes = [a for axis in product.axes for a in axis.attributes]
    if product.carried:
        table = tally(original, attributes, [c.attribute for c in product.carried])
        n = table.column("n").to_numpy().astype(np.int64)
        codes = np.column_stack([table.column(a).to_numpy() for a in attributes] or [np.zeros((len(n), 0), np.int32)])
        factors = [_factorise(table.column(c.attribute).combine_chunks()) for c in product.carried]
    else:
        counts = original.counts(*attributes)
        n, codes, factors = counts.n, counts.codes, []
    sizes, slots, start = [], [], 0
    for axis in product.axes:
        width = len(axis.attributes)
        sizes.append(max(axis.original_size, math.prod(released_shape(axis))))
        slots.append(flatten(codes[:, start : start + width].astype(np.int64), original_shape(axis, original)))
        start += width
    cells = Cells([*sizes, *(len(v) for _, v in factors)], [*slots, *(c for c, _ in factors)], n)
    cells.merge()
    return cells, [v for _, v in factors]


def _factorise(values: pa.Array) -> tuple[Ints, pa.Array]:
    """Return the codes of values among their distinct ones, sorted canonically, nulls last; and these."""
    coded = values.dictionary_encode(null_encoding="encode")
    where = order(coded.dictionary)
    rank = np.empty(len(where), dtype=np.int64)
    rank[where] = np.arange(len(where))
    return rank[coded.indices.to_numpy(zero_copy_only=False)], coded.dictionary.take(pa.array(where))


@runtime_checkable
class _Tallied(Protocol):
    """An original whose engine groups rows itself."""

    def tally(self, *columns: str) -> Iterator[pa.RecordBatch]: ...


def tally(original: Original, attributes: Sequence[str], carried: Sequence[str]) -> pa.Table:
    """Return the original's distinct rows over codes and carried values, with a column `n`."""
    names = [*attributes, *carried]
    if isinstance(original, _Tallied):
        return pa.Table.from_batches(original.tally(*names))
    parts: list[pa.Table] = []
    for batch in _exactly(original.rows(*names), _BATCH):
        table = pa.Table.from_batches([batch])
        parts.append(table.group_by(names).aggregate([([], "count_all")]).rename_columns([*names, "n"]))
    whole = pa.concat_tables(parts)
    return whole.group_by(names, use_threads=False).aggregate([("n", "sum")]).rename_columns([*names, "n"])
