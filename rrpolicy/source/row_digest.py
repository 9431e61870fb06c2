"""The digest of a table as a multiset of rows: one construction for originals and for releases in every format.

Rows are distinct, in canonical order, with their multiplicities; their division into batches, dictionary encoding and
the sizes of engine types do not matter. The digest of an original is unkeyed and never leaves the process unmodified.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from rrpolicy.concurrency import BackgroundRunner
from rrpolicy.engine.arrays import as_numpy, number_array, occurrence_mask

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

Buffer: TypeAlias = "bytes | npt.NDArray[Any]"
BLOCK = 1 << 16
CODED = 1 << 8
"""The most distinct texts of a block that are written once, with a byte in each row as the code."""
DOMAIN = b"rrpolicy.rows/2\0"


def row_digest(batches: Iterable[pa.RecordBatch]) -> bytes:
    """Return the SHA-256 of the canonical row stream, 32 bytes; see `RowDigest`.

    The batches have distinct rows in canonical order, the last column `n` their multiplicities. Raises TypeError if a
    column's type has no canonical form.
    """
    state = RowDigest()
    try:
        for batch in batches:
            state.update(batch)
        return state.digest()
    finally:
        state.abandon()


class RowDigest:
    """The SHA-256 of the canonical row stream, computed while the rows pass, in a separate thread.

    The stream is: a domain tag, the columns' names and kinds, then blocks of 65,536 rows (the last one shorter), each
    column by column: validity, then values. Integers of all widths are one kind, in the fewest of 1, 2, 4 or 8 bytes
    sufficient for those of the block. Floats are doubles (one NaN, no negative zero). Lists are their lengths, then
    their members. Text is UTF-8, lengths and bytes end to end: of the block's distinct texts in order, with each
    row's code, if they are at most 256; else of each row, without codes.
    """

    def __init__(self) -> None:
        self._state = hashlib.sha256(DOMAIN)
        self._header: bytes | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._beside = BackgroundRunner()

    def update(self, batch: pa.RecordBatch) -> None:
        """Take the next distinct rows, the last column `MULTIPLICITY` with their multiplicities.

        Raises TypeError if a column's type has no canonical form, or the columns differ from those before.
        """
        self._beside.run(self._update, batch)

    def _update(self, batch: pa.RecordBatch) -> None:
        while self._rows + batch.num_rows >= BLOCK:
            take = BLOCK - self._rows
            self._block([*self._waiting, batch.slice(0, take)])
            self._waiting, self._rows, batch = [], 0, batch.slice(take)
        if batch.num_rows:
            self._waiting.append(batch)
            self._rows += batch.num_rows

    def digest(self) -> bytes:
        """Return the digest; nothing can be added afterwards."""
        self._beside.close()
        if self._waiting:
            self._block(self._waiting)
            self._waiting, self._rows = [], 0
        return self._state.digest()

    def abandon(self) -> None:
        """Stop without a digest."""
        self._beside.abandon()

    def _block(self, parts: list[pa.RecordBatch]) -> None:
        block = _joined_batches(parts)
        columns = [_canonical_bytes(column) for column in block.columns]
        header = b"".join(
            _length_prefixed(name.encode()) + _length_prefixed(kind.encode())
            for name, (kind, _) in zip(block.schema.names, columns, strict=True)
        )
        if self._header is None:
            self._header = header
            self._state.update(_length_prefixed(header))
        elif self._header != header:
            raise TypeError("the batches of one table differ in their columns")
        self._state.update(block.num_rows.to_bytes(8, "little"))
        for _, pieces in columns:
            for piece in pieces:
                content = memoryview(piece) if isinstance(piece, bytes) else piece.data
                self._state.update(content.nbytes.to_bytes(8, "little"))
                self._state.update(content)


def _length_prefixed(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


def _joined_batches(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    if any(part.schema != parts[0].schema for part in parts):
        parts = [
            pa.RecordBatch.from_arrays([_decoded_column(c) for c in b.columns], names=b.schema.names) for b in parts
        ]
    return pa.Table.from_batches(parts).unify_dictionaries().combine_chunks().to_batches()[0]


def _decoded_column(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _canonical_bytes(coded: pa.Array) -> tuple[str, list[Buffer]]:
    """Return a column's kind and its canonical bytes."""
    import pyarrow as pa

    if _is_label_coded(coded):
        return "text", [b"", *_text_bytes(coded)]
    column = _decoded_column(coded)
    validity: Buffer = b"" if column.null_count == 0 else as_numpy(column.is_valid().cast(pa.uint8()))
    if _is_list_kind(column.type):
        return _list_bytes(column, validity)
    kind, values = _value_bytes(column)
    return kind, [validity, *values]


def _is_label_coded(column: pa.Array) -> bool:
    """Return whether a column is coded by texts: each once, and no null."""
    import pyarrow as pa

    if not (pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type)):
        return False
    labels = column.dictionary
    return column.null_count == labels.null_count == 0 and len(labels.unique()) == len(labels)


def _is_list_kind(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _list_bytes(column: pa.Array, validity: Buffer) -> tuple[str, list[Buffer]]:
    import pyarrow.compute as pc

    lengths = as_numpy(pc.list_value_length(column), absent=0)
    kind, parts = _canonical_bytes(pc.list_flatten(column))
    return f"list<{kind}>", [validity, _narrow_integers(lengths), *parts]


def _value_bytes(column: pa.Array) -> tuple[str, list[Buffer]]:
    import pyarrow as pa

    kind, types = column.type, pa.types
    if types.is_null(kind):
        return "null", []
    if types.is_boolean(kind):
        return "boolean", [as_numpy(column.cast(pa.uint8()), absent=0)]
    if types.is_integer(kind):
        return "integer", [_integer_bytes(column.cast(pa.int64()) if types.is_uint64(kind) else column)]
    if types.is_floating(kind):
        return "number", [_number_bytes(column.cast(pa.float64()))]
    return _instant_bytes(column) if types.is_temporal(kind) else _text_form_bytes(column)


def _instant_bytes(column: pa.Array) -> tuple[str, list[Buffer]]:
    import pyarrow as pa

    kind, types = column.type, pa.types
    if types.is_date(kind):
        return "date", [_integer_bytes(column.cast(pa.date32()).cast(pa.int32()))]
    if types.is_timestamp(kind):
        unit = "ns" if kind.unit == "ns" else "us"
        zoned = "zoned " if kind.tz else ""
        return f"{zoned}timestamp[{unit}]", [_integer_bytes(column.cast(pa.timestamp(unit, kind.tz)).cast(pa.int64()))]
    if types.is_time(kind):
        unit = "ns" if kind == pa.time64("ns") else "us"
        return f"time[{unit}]", [_integer_bytes(column.cast(pa.time64(unit)).cast(pa.int64()))]
    raise TypeError(f"a column of type {kind} has no canonical form")


def _text_form_bytes(column: pa.Array) -> tuple[str, list[Buffer]]:
    """Return text, bytes, and values that are exact only as text (decimals)."""
    import pyarrow as pa

    kind, types = column.type, pa.types
    if types.is_binary(kind) or types.is_large_binary(kind):
        return "binary", _text_bytes(column.cast(pa.large_binary()))
    try:
        text = column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"a column of type {kind} has no canonical form") from error
    return f"decimal({kind.scale})" if types.is_decimal(kind) else "text", _text_bytes(text.cast(pa.large_binary()))


def _integer_bytes(column: pa.Array) -> Buffer:
    return _narrow_integers(as_numpy(column, absent=0))


def _narrow_integers(values: npt.NDArray[Any]) -> Buffer:
    """Return whole numbers in the fewest bytes each that suffice for all of them."""
    import numpy as np

    if not len(values):
        return b""
    low, high = int(values.min()), int(values.max())
    kind = next(k for k in ("<i1", "<i2", "<i4", "<i8") if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return values.astype(kind, copy=False)


def _number_bytes(column: pa.Array) -> Buffer:
    import numpy as np

    values = as_numpy(column, absent=0.0) + 0.0
    values[np.isnan(values)] = np.nan
    doubles: Buffer = values.astype("<f8", copy=False)
    return doubles


def _text_bytes(column: pa.Array) -> list[Buffer]:
    """Return lengths and bytes, and codes, of text or bytes, or of a dictionary of text without nulls."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(column):
        return [b"", b"", b""]
    coded = column
    if not pa.types.is_dictionary(column.type):
        coded = (pc.fill_null(column, b"") if column.null_count else column).dictionary_encode()
    used = np.flatnonzero(occurrence_mask(as_numpy(coded.indices), len(coded.dictionary)))
    if len(used) > CODED:
        return [*_concatenated_text(coded.dictionary_decode()), b""]
    spelled = coded.dictionary.take(number_array(used)).cast(pa.large_binary())
    order = as_numpy(pc.array_sort_indices(spelled)).astype(np.intp)
    place = np.empty(len(coded.dictionary), dtype=np.uint8)
    place[used[order]] = np.arange(len(used))
    return [*_concatenated_text(spelled.take(number_array(order))), as_numpy(number_array(place).take(coded.indices))]


def _concatenated_text(column: pa.Array) -> list[Buffer]:
    import numpy as np
    import pyarrow as pa

    whole = column.cast(pa.large_binary())
    offsets = np.frombuffer(whole.buffers()[1], "<i8")[whole.offset : whole.offset + len(whole) + 1]
    data = whole.buffers()[2]
    text = np.frombuffer(b"" if data is None else data, np.uint8)
    return [_narrow_integers(np.diff(offsets)), text[int(offsets[0]) : int(offsets[-1])]]
