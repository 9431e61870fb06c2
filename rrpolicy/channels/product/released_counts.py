"""A product release, read back for a test: joint counts of its axes, and parts that must equal the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.product.draw import distinct_row_counts, flatten, released_shape
from rrpolicy.channels.values import read_codes
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.source.protocol import Original

Subset: TypeAlias = tuple[int, ...]
_ROWS = 1 << 20


class EnumeratedSets(Protocol):
    """The sets of an axis, listed."""

    @property
    def released_size(self) -> int:
        """Return the number of sets."""
        ...

    def rank(self, members: Ints) -> Ints:
        """Return (records,) the position of each set in the list, of its (records, l) ascending members."""
        ...


class GroupedCarriedColumn(Protocol):
    """A carried column with its values in groups."""

    @property
    def name(self) -> str:
        """Return its released name."""
        ...

    @property
    def size(self) -> int:
        """Return the number of groups."""
        ...

    def codes(self, values: pa.Array) -> Ints:
        """Return (rows,) the group of each value; -1 for a value without a group."""
        ...


class ReleasedCounts(Struct, frozen=True):
    """The counts of a release.

    Attributes:
        problem: the reason for which no original can give this release; None if nothing is wrong.
        counts: joint counts of axes, flat in C order. For an axis of sets: the number of sets with each value. If the
            axis occurs twice in the subset: with each two values. If its sets are counted whole: the number of each
            set.
        unchanged: distinct rows of axes' flat codes and carried values that are released with certainty, with `n`.
    """

    records: int
    problem: str | None
    counts: Mapping[Subset, Ints]
    unchanged: pa.Table | None


def count_released_rows(
    product: Product,
    reader: pa.RecordBatchReader,
    subsets: Sequence[Subset],
    whole: Mapping[int, EnumeratedSets] = MappingProxyType({}),
    carried: Sequence[GroupedCarriedColumn] = (),
) -> ReleasedCounts:
    """Read distinct rows with a column `MULTIPLICITY` in one pass.

    `subsets` are the axes whose joint counts are required; places behind the last axis are those of `carried`. Of the
    `whole` axes of sets each set counts as one value.
    """
    if set(reader.schema.names) != {*product.order, MULTIPLICITY}:
        return ReleasedCounts(0, "the released columns are not the declared ones", {}, None)
    sizes = [int(np.prod(released_shape(axis), dtype=np.int64)) for axis in product.axes]
    for slot, listing in whole.items():
        sizes[slot] = listing.released_size
    sizes += [column.size for column in carried]
    counts = {s: np.zeros(int(np.prod([sizes[slot] for slot in s])), dtype=np.int64) for s in subsets}
    kept = _DeterministicRows(product)
    records = 0
    for batch in reader:
        n = as_numpy(batch.column(MULTIPLICITY)).astype(np.int64)
        records += int(n.sum())
        codes = [_flat_codes(axis, batch) for axis in product.axes]
        known = [code if code is not None else n for code in codes]
        for axis, code in zip(product.axes, codes, strict=True):
            if code is None and isinstance(axis, Sets):
                wrong = "a released set does not contain so many distinct values of its domain in their order"
                return ReleasedCounts(records, wrong, {}, None)
            if code is not None and (code < 0).any():
                return ReleasedCounts(records, "a released value lies outside its domain", {}, None)
        for slot, listing in whole.items():
            known[slot] = listing.rank(known[slot])
        known += [column.codes(plain_values(batch.column(column.name))) for column in carried]
        if any((code < 0).any() for code in known[len(product.axes) :]):
            return ReleasedCounts(
                records, "a value of a column released unchanged does not occur in the table", {}, None
            )
        for subset, total in counts.items():
            _add_combinations([known[slot] for slot in subset], [sizes[slot] for slot in subset], n, total)
        kept.add(known, batch, n)
    return ReleasedCounts(records, None, counts, kept.table())


def _flat_codes(axis: Axis, batch: pa.RecordBatch) -> Ints | None:
    """Return (rows,) flat codes of an axis, (rows, l) for sets; None if there are no columns of categories or lists."""
    if isinstance(axis, Sets):
        lists = [batch.column(c.name) for c in axis.columns()]
        return axis.members(lists) if all(pa.types.is_list(v.type) for v in lists) else None
    columns = [read_codes(c, batch.column(c.name)) for c in axis.columns() if c.labels]
    if not columns:
        return None
    outside = np.any([column < 0 for column in columns], axis=0)
    return np.where(outside, -1, flatten(np.column_stack(columns), released_shape(axis)))


def _add_combinations(codes: Sequence[Ints], sizes: Sequence[int], n: Ints, total: Ints) -> None:
    """Count the combinations in rows, every member of a set with every member of another."""
    width = int(np.prod([code.shape[1] for code in codes if code.ndim > 1], dtype=np.int64))
    step = max(1, _ROWS // width)
    for low in range(0, len(n), step):
        index: Ints = np.zeros((len(n[low : low + step]), 1), dtype=np.int64)
        for code, size in zip(codes, sizes, strict=True):
            part = code[low : low + step].reshape(len(index), 1, -1)
            index = (index[:, :, None] * size + part).reshape(len(index), -1)
        np.add.at(total, index, n[low : low + step, None])


def is_deterministic(axis: Axis) -> bool:
    """Return whether an axis is deterministic: unchanged, or recoded."""
    return isinstance(axis, Recode) or axis.decoder().form == "identity"


def deterministic_codes(axis: Axis, codes: Ints | Codes) -> Ints | Codes:
    """Return the released codes of rows of original codes, of a deterministic axis."""
    return axis.recode(codes) if isinstance(axis, Recode) else codes


class _DeterministicRows:
    """Gathers deterministic columns: rows of flat codes and carried values, added up now and then."""

    def __init__(self, product: Product) -> None:
        self._slots = [slot for slot, axis in enumerate(product.axes) if is_deterministic(axis)]
        self._carried = [c.name for c in product.carried]
        self._parts: list[pa.Table] = []
        self._rows = 0

    def add(self, codes: Sequence[Ints], batch: pa.RecordBatch, n: Ints) -> None:
        if not self._slots and not self._carried:
            return
        columns = {f"axis {slot}": number_array(codes[slot]) for slot in self._slots}
        columns |= {f"carried {name}": plain_values(batch.column(name)) for name in self._carried}
        self._parts.append(_sum_rows(pa.table({**columns, "n": number_array(n)})))
        self._rows += self._parts[-1].num_rows
        if len(self._parts) > 1 and self._rows > max(_ROWS, 2 * self._parts[0].num_rows):
            self._parts = [_sum_rows(pa.concat_tables(self._parts))]
            self._rows = self._parts[0].num_rows

    def table(self) -> pa.Table | None:
        return _sum_rows(pa.concat_tables(self._parts)) if self._parts else None


def _sum_rows(table: pa.Table) -> pa.Table:
    names = [name for name in table.column_names if name != "n"]
    return table.group_by(names).aggregate([("n", "sum")]).rename_columns([*names, "n"])


def plain_values(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return values without dictionary, NaN as null: group keys must equal themselves."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.nulls(1, values.type)[0], values)
    return values


def deterministic_counts_agree(
    product: Product, original: Original, released: ReleasedCounts, slots: Sequence[int]
) -> bool:
    """Return whether the joint counts of deterministic columns equal those computed from the original."""
    attributes = [a for slot in slots for a in product.axes[slot].attributes]
    carried = [c.attribute for c in product.carried]
    if carried:
        before = pa.Table.from_batches(distinct_row_counts(original, attributes, carried))
        codes = np.column_stack([as_numpy(before.column(a)) for a in attributes] or [np.zeros((before.num_rows, 0))])
        n = before.column(MULTIPLICITY)
    else:
        counts = original.counts(*attributes)
        before, codes, n = None, counts.codes, pa.chunked_array([number_array(counts.n)])
    columns, start = {}, 0
    for slot in slots:
        width = len(product.axes[slot].attributes)
        part = deterministic_codes(product.axes[slot], codes[:, start : start + width].astype(np.int64))
        columns[f"axis {slot}"] = number_array(flatten(part, released_shape(product.axes[slot])))
        start += width
    for column in product.carried:
        columns[f"carried {column.name}"] = plain_values(before.column(column.attribute))
    return released.unchanged is not None and _equal_tables(
        _sum_rows(pa.table({**columns, "n": n})), released.unchanged
    )


def _equal_tables(before: pa.Table, after: pa.Table) -> bool:
    """Return whether two tables of distinct rows with counts are the same, in any order."""
    try:
        after = after.select(before.column_names).cast(before.schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    keys = [(name, "ascending") for name in before.column_names]
    one, other = before.sort_by(keys), after.sort_by(keys)
    return bool(one.num_rows == other.num_rows and one.combine_chunks().equals(other.combine_chunks()))
