"""Arrow arrays from Python and numpy values, and back.

pyarrow's own conversions test whether an object belongs to pandas, and import pandas for this: a third of a second that
no command needs. Here values are passed as their buffers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

_FEW = 1 << 12


def number_array(values: npt.NDArray[Any], absent: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an array, not copied if they are contiguous.

    `values`: (n,) whole or floating-point numbers; `absent`: (n,) True for a null.
    """
    import numpy as np
    import pyarrow as pa

    flat = np.ascontiguousarray(values)
    kind = pa.from_numpy_dtype(flat.dtype)
    return pa.Array.from_buffers(
        kind, len(flat), [None if absent is None else _bitmap_buffer(~absent), pa.py_buffer(flat)]
    )


def text_array(values: Collection[str | None]) -> pa.Array:
    """Return texts as an array; None becomes a null."""
    import numpy as np
    import pyarrow as pa

    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo(np.int32).max:  # pragma: no cover - two gigabytes of text
        return pa.array(values, pa.string())
    known = _bitmap_buffer(np.array([value is not None for value in values], np.bool_))
    buffers = [known, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def typed_array(values: Collection[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an array of a type.

    Raises OverflowError for a whole number that is too large for any type, pa.ArrowInvalid for a value that does not
    fit.
    """
    import numpy as np
    import pyarrow as pa

    classes = {type(value) for value in values}
    if classes <= {str} and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return text_array(values).cast(kind)
    if classes <= {bool} and pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, len(values), [None, _bitmap_buffer(np.array(values, np.bool_))])
    if (classes <= {int} and pa.types.is_integer(kind)) or (classes <= {float} and pa.types.is_floating(kind)):
        try:
            return number_array(np.array(values, kind.to_pandas_dtype()))
        except OverflowError:
            pass  # the conversion below raises the error
    return pa.array(values, kind)


def as_numpy(column: pa.Array | pa.ChunkedArray, absent: float | bool | None = None) -> npt.NDArray[Any]:
    """Return a column as a numpy array.

    Numbers in one chunk without nulls are not copied; `absent` is the value for a null.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = whole.type
    if whole.null_count and absent is not None:
        whole = pc.fill_null(whole, arrow_scalar(absent, kind))
    if pa.types.is_boolean(kind) and not whole.null_count:
        return np.from_dlpack(whole.cast(pa.uint8())).view(np.bool_)
    if whole.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.asarray(whole.to_numpy(zero_copy_only=False))
    return np.from_dlpack(whole)


def number_values(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """Return (n,) the number of each value, from 0 as they occur; a null is a separate value."""
    import numpy as np
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return as_numpy(whole.dictionary_encode(null_encoding="encode").indices).astype(np.int32)


def value_positions(values: pa.Array, known: pa.Array) -> npt.NDArray[np.int64]:
    """Return (n,) the position of each value among the known ones, -1 for others."""
    import numpy as np
    import pyarrow.compute as pc

    return as_numpy(pc.index_in(values, value_set=known), absent=-1).astype(np.int64)


def take_values(values: pa.Array, places: pa.Array) -> pa.Array:
    """Return the values at some positions, null at a null.

    `places`: (k,) whole numbers below n. They are not checked, which would take longer than this.
    """
    import pyarrow.compute as pc

    return pc.take(values, places, boundscheck=False)


def occurrence_mask(places: npt.NDArray[np.integer[Any]], size: int) -> npt.NDArray[np.bool_]:
    """Return (size,) whether each number occurs among (n,) positions below the size; often a few include all."""
    import numpy as np

    times = np.bincount(places[:_FEW], minlength=size)
    if not times.all():
        times = np.bincount(places, minlength=size)
    return times > 0


def arrow_scalar(value: float | bool | str, kind: pa.DataType) -> pa.Scalar:
    """Return one value, as the functions of `pyarrow.compute` take it."""
    return typed_array([value], kind)[0]


def _bitmap_buffer(mask: npt.NDArray[np.bool_]) -> pa.Buffer:
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(mask, bitorder="little"))
