"""Drawing from a product channel: all cells at once if there cannot be many, else some records at a time.

In a series each record is drawn by the numbers of its person, so that records are always drawn one by one.

Records with the same values are exchangeable: splitting the count of every cell by a multinomial of its column, axis
after axis, gives the multiset that randomising each record separately gives. The multiset is released in the canonical
order of its values, which reveals nothing of the original. Each axis reads a separate stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from rrpolicy.channels.sampling.persistent_noise import PersistentNoise
from rrpolicy.channels.values import canonical_order, canonical_ranks, dictionary_array, sorted_labels
from rrpolicy.concurrency import map_in_order
from rrpolicy.counts import Ints
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.source.run_length import blocks, counted, with_unit_multiplicity

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis, Sink
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.channels.sampling.persistent_noise import PersonMarks
    from rrpolicy.channels.sampling.prng import Stream, Streams
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import DrawnBlock, Original, RecordBlock


_WORD = 62
_DENSE = 1 << 16


class PackedCells:
    """Counts over cells, each with one code a slot; the first slot is most significant in the order.

    Attributes:
        sizes: codes of each slot lie in [0, size).
        words: each (cells,) packed codes.
        n: (cells,) records.
    """

    def __init__(self, sizes: Sequence[int], codes: Sequence[Ints], n: Ints) -> None:
        """Pack codes.

        `codes` has one (cells,) array a slot; `n` is (cells,) records.
        """
        self.sizes = tuple(sizes)
        self._where: list[tuple[int, int]] = []
        self._bits: list[int] = []
        self._place()
        self.n = n.astype(np.int64, copy=False)
        self.words = [np.zeros(len(n), dtype=np.int64) for _ in self._bits]
        for (word, shift), part in zip(self._where, codes, strict=True):
            self.words[word] |= part.astype(np.int64) << shift

    def _place(self) -> None:
        """Give every slot a word and the bits for its codes, from the last slot to the first."""
        places: list[tuple[int, int]] = []
        word, shift = 0, 0
        for size in reversed(self.sizes):
            bits = (size - 1).bit_length()
            if shift + bits > _WORD:
                self._bits.append(shift)
                word, shift = word + 1, 0
            places.append((word, shift))
            shift += bits
        self._bits.append(shift)
        self._where = places[::-1]

    def __len__(self) -> int:
        return len(self.n)

    def slot(self, slot: int, part: slice = slice(None)) -> Ints:
        """Return (cells,) the codes of a slot; or those of a part of the cells."""
        word, shift = self._where[slot]
        return (self.words[word][part] >> shift) & ((1 << (self.sizes[slot] - 1).bit_length()) - 1)

    def replace(self, slot: int, parent: Ints, codes: Ints, n: Ints) -> None:
        """Split cells: part i is of cell parent[i], with code codes[i] in the slot and n[i] records."""
        where, shift = self._where[slot]
        others = ~(((1 << (self.sizes[slot] - 1).bit_length()) - 1) << shift)
        self.words = [word[parent] for word in self.words]
        self.words[where] &= others
        self.words[where] |= codes.astype(np.int64) << shift
        self.n = n

    def merge(self) -> None:
        """Add up equal cells and sort them."""
        if len(self.words) == 1 and 1 << self._bits[0] <= 2 * len(self.n) + _DENSE:
            total = np.zeros(1 << self._bits[0], dtype=np.int64)
            np.add.at(total, self.words[0], self.n)
            self.words = [np.flatnonzero(total)]
            self.n = total[self.words[0]]
            return
        self.sort()
        new = np.ones(len(self.n), dtype=bool)
        new[1:] = False
        for word in self.words:
            new[1:] |= word[1:] != word[:-1]
        starts = np.flatnonzero(new)
        if len(starts) < len(self.n):
            self.words = [word[starts] for word in self.words]
            self.n = np.add.reduceat(self.n, starts)

    def sort(self) -> None:
        """Put cells in the order of their codes, the first slot first."""
        order = np.argsort(self.words[0]) if len(self.words) == 1 else np.lexsort(self.words)
        self.words = [word[order] for word in self.words]
        self.n = self.n[order]


TABLE = "data"
_BATCH = 1 << 16
"""Rows written at a time."""
BLOCK = 1 << 16
"""Records of a block, which has separate streams; part of the record path's definition."""
_SELDOM = 4
"""The average multiplicity from which the record path splits the counts of a block; likewise."""


def draw_cells(product: Product, original: Original, streams: Streams, sink: Sink) -> None:
    """Draw by splitting counts; write distinct rows in canonical order to the sink."""
    cells, carried = _occupied_cells(product, original)
    _randomise_cells(product, cells, [axis_stream(streams, axis) for axis in product.axes])
    for batch, n in _cell_batches(product, *_released_rows(product, cells, carried)):
        sink.write(TABLE, batch, n, in_order=True)


def draw_records(product: Product, original: Original, streams: Streams, sink: Sink) -> None:
    """Draw block by block of the canonical order of the original rows; the sink puts released rows in order.

    Each block reads separate streams, so that the draw does not depend on the process or time of each block.
    """
    of_block = partial(draw_block, product, original.policy, streams)
    if (
        isinstance(original, _RemoteRows)
        and (there := original.in_blocks(_column_names(product), BLOCK, of_block)) is not None
    ):
        drawn = there
    else:
        drawn = map_in_order(of_block, enumerate(blocks(_axis_row_counts(product, original), BLOCK)))
    for released in drawn:
        for batch, n in released:
            sink.write(TABLE, batch, n, sorted_by=len(product.carried))


def draw_block(product: Product, policy: Policy, streams: Streams, block: RecordBlock) -> DrawnBlock:
    """Draw the records of a block: sampler `records/2`.

    Counts are split if rows repeat often, and records are randomised one by one if they do not, or if axes release more
    than labels.

    `block` has its number in the canonical order of the original rows, and its distinct rows over the axes' attributes
    and the carried columns, the last column their counts. It has `BLOCK` records, except for the last block. Returns
    released rows, sorted by the carried columns only, and the multiplicity of each; None for once.
    """
    number, rows = block
    n = as_numpy(rows.column(rows.num_columns - 1))
    if not product.countable or int(n.sum()) < _SELDOM * len(n):

        def stream_of(axis: Axis, _: Ints) -> Stream:
            return axis_stream(streams, axis, number)

        return [(_randomise_records(product, policy, _repeat_rows(rows, n), stream_of), None)]
    cells, carried = _count_row_cells(product, policy, pa.Table.from_batches([rows]))
    _randomise_cells(product, cells, [axis_stream(streams, axis, number) for axis in product.axes])
    return list(_cell_batches(product, *_released_rows(product, cells, carried)))


def draw_with_persistent_noise(product: Product, original: Original, streams: Streams, sink: Sink) -> None:
    """Draw every record by the lasting numbers of its person; the sink puts released rows in order.

    The order does not identify people: it is that of the released values.
    """
    policy = original.policy
    if policy.release.series is None or not isinstance(original, _IdentifiesUnits):
        raise ValueError("a series needs a table with a column that identifies people")
    series = PersistentNoise(streams, policy.release.series, policy.source.population)
    for rows in original.people(*_column_names(product)):
        people = series.marks(rows.column(rows.num_columns - 1))
        numbers_of = partial(_persistent_values, series, people)
        sink.write(TABLE, _randomise_records(product, policy, rows, numbers_of))


def _persistent_values(series: PersistentNoise, people: PersonMarks, axis: Axis, codes: Ints) -> Stream:
    return series.numbers(axis, people, codes)


def _randomise_cells(product: Product, cells: PackedCells, streams: Sequence[Stream]) -> None:
    for slot, (axis, stream) in enumerate(zip(product.axes, streams, strict=True)):
        parent, released, count = axis.split(cells.slot(slot), cells.n, stream)
        cells.replace(slot, parent, flatten(released, released_shape(axis)), count)
        cells.merge()


def _released_rows(
    product: Product, cells: PackedCells, carried: Sequence[pa.Array]
) -> tuple[PackedCells, list[pa.Array]]:
    """Return drawn cells by the released columns, as positions in the values of each; and these values, sorted.

    The columns are in the order of sorting, and the cells are sorted.
    """
    columns, values = [], []
    for name in product.sort:
        slot, place = product.locate(name)
        if slot < len(product.axes):
            column = product.axes[slot].columns()[place]
            code = unflatten(cells.slot(slot), released_shape(product.axes[slot]))[place]
            columns.append(canonical_ranks(column)[code])
            values.append(sorted_labels(column))
        else:
            columns.append(cells.slot(slot))
            values.append(carried[slot - len(product.axes)])
    released = PackedCells([len(v) for v in values], columns, cells.n)
    released.sort()
    return released, values


def _cell_batches(
    product: Product, cells: PackedCells, values: Sequence[pa.Array]
) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Yield released cells, some at a time, with their counts."""
    known = [product.locate(name)[0] < len(product.axes) for name in product.sort]
    for low in range(0, len(cells), _BATCH):
        part = slice(low, low + _BATCH)
        arrays = [
            dictionary_array(cells.slot(i, part), v) if labels else v.take(number_array(cells.slot(i, part)))
            for i, (v, labels) in enumerate(zip(values, known, strict=True))
        ]
        rows = pa.RecordBatch.from_arrays(arrays, names=list(product.sort))
        yield rows.select(list(product.order)), cells.n[part]


def _randomise_records(
    product: Product, policy: Policy, rows: pa.RecordBatch, stream_of: Callable[[Axis, Ints], Stream]
) -> pa.RecordBatch:
    """Return released rows, each from the original one in its place."""
    columns: dict[str, pa.Array] = {c.name: rows.column(c.attribute) for c in product.carried}
    for axis in product.axes:
        each = [_column_codes(rows.column(a)) for a in axis.attributes]
        codes = each[0] if len(each) == 1 else flatten(np.column_stack(each), original_shape(axis, policy))
        released = randomise_each(axis, codes, stream_of(axis, codes))
        columns |= {c.name: v for c, v in zip(axis.columns(), axis.values(released), strict=True)}
    names = list(product.order)
    return pa.RecordBatch.from_arrays([columns[name] for name in names], names=names)


def randomise_each(axis: Axis, codes: Ints, stream: Stream) -> Codes:
    """Return (records, width) released codes of records one by one: cells of one record each.

    `codes`: (records,) original codes.
    """
    _, released, _ = axis.split(codes, np.ones(len(codes), dtype=np.int64), stream)
    return released


def axis_stream(streams: Streams, axis: Axis, block: int | None = None) -> Stream:
    """Return the stream of an axis, independent of the other axes; and of a block, if there are any."""
    return streams.stream(*(() if block is None else ("block", str(block))), "axis", *axis.attributes)


def _column_codes(column: pa.Array | pa.ChunkedArray) -> Ints:
    codes: Ints = as_numpy(column).astype(np.int64)
    return codes


def _repeat_rows(rows: pa.RecordBatch, n: Ints) -> pa.RecordBatch:
    return rows if len(n) == int(n.sum()) else rows.take(number_array(np.repeat(np.arange(len(n)), n)))


def original_shape(axis: Axis, policy: Policy) -> tuple[int, ...]:
    """Return the domain sizes of an axis' original attributes."""
    if len(axis.attributes) == 1:
        return (axis.original_size,)
    domains = [policy.attributes[name].domain or () for name in axis.attributes]
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


def _occupied_cells(product: Product, original: Original) -> tuple[PackedCells, list[pa.Array]]:
    """Return the occupied cells over all axes and carried columns, and the sorted values of each carried column."""
    if product.carried:
        return _count_row_cells(product, original.policy, pa.Table.from_batches(_axis_row_counts(product, original)))
    counts = original.counts(*(a for axis in product.axes for a in axis.attributes))
    return _pack_cells(product, original.policy, counts.codes, counts.n, [])


def _count_row_cells(product: Product, policy: Policy, rows: pa.Table) -> tuple[PackedCells, list[pa.Array]]:
    """Return the same of rows over the axes' attributes and the carried columns, the last column their counts."""
    n = as_numpy(rows.column(rows.num_columns - 1)).astype(np.int64)
    attributes = [a for axis in product.axes for a in axis.attributes]
    codes = np.column_stack([_column_codes(rows.column(a)) for a in attributes] or [np.zeros((len(n), 0), np.int64)])
    factors = [_factorise(rows.column(c.attribute).combine_chunks()) for c in product.carried]
    return _pack_cells(product, policy, codes, n, factors)


def _pack_cells(
    product: Product, policy: Policy, codes: Ints | Codes, n: Ints, factors: Sequence[tuple[Ints, pa.Array]]
) -> tuple[PackedCells, list[pa.Array]]:
    sizes, slots, start = [], [], 0
    for axis in product.axes:
        width = len(axis.attributes)
        sizes.append(max(axis.original_size, math.prod(released_shape(axis))))
        slots.append(flatten(codes[:, start : start + width].astype(np.int64), original_shape(axis, policy)))
        start += width
    cells = PackedCells([*sizes, *(len(v) for _, v in factors)], [*slots, *(c for c, _ in factors)], n)
    cells.merge()
    return cells, [v for _, v in factors]


def _factorise(values: pa.Array) -> tuple[Ints, pa.Array]:
    """Return the codes of values among their distinct ones, sorted canonically, nulls last; and these."""
    coded = values.dictionary_encode(null_encoding="encode")
    where = canonical_order(coded.dictionary)
    rank = np.empty(len(where), dtype=np.int64)
    rank[where] = np.arange(len(where))
    return rank[as_numpy(coded.indices)], coded.dictionary.take(number_array(where))


@runtime_checkable
class _CountsRows(Protocol):
    """An original whose engine counts rows."""

    def tally(self, *columns: str) -> Iterator[pa.RecordBatch]: ...


@runtime_checkable
class _RemoteRows(Protocol):
    """An original whose rows may be processed in place."""

    def in_blocks(
        self, columns: Sequence[str], records: int, call: Callable[[RecordBlock], DrawnBlock]
    ) -> Iterator[DrawnBlock] | None: ...


@runtime_checkable
class _IdentifiesUnits(Protocol):
    """An original with the identifiers of its rows' people."""

    def people(self, *columns: str) -> Iterator[pa.RecordBatch]: ...


def distinct_row_counts(original: Original, coded: Sequence[str], carried: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the original distinct rows with multiplicities, sorted by the carried values, then by the codes."""
    if isinstance(original, _CountsRows):
        yield from original.tally(*coded, *carried)
        return
    rows = pa.Table.from_batches(original.rows(*coded, *carried))
    yield from counted(
        with_unit_multiplicity(rows.sort_by([(name, "ascending") for name in (*carried, *coded)]).to_batches())
    )


def _axis_row_counts(product: Product, original: Original) -> Iterator[pa.RecordBatch]:
    """Yield the distinct rows of the axes' attributes and the carried columns, as `tally` does."""
    coded = [a for axis in product.axes for a in axis.attributes]
    yield from distinct_row_counts(original, coded, [c.attribute for c in product.carried])


def _column_names(product: Product) -> list[str]:
    return [*(a for axis in product.axes for a in axis.attributes), *(c.attribute for c in product.carried)]
