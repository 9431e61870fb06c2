"""Released values: labels as arrays, their sort order, and codes from released values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rrpolicy.canonical_json import category_text
from rrpolicy.channels.table import Column
from rrpolicy.counts import Codes, Ints
from rrpolicy.engine.arrays import as_numpy, number_array, text_array, typed_array, value_positions
from rrpolicy.frozen import replace

_TYPES: Mapping[str, tuple[pa.DataType, tuple[type, ...]]] = {
    "BOOLEAN": (pa.bool_(), (bool,)),
    "TINYINT": (pa.int8(), (int,)),
    "SMALLINT": (pa.int16(), (int,)),
    "INTEGER": (pa.int32(), (int,)),
    "BIGINT": (pa.int64(), (int,)),
    "UTINYINT": (pa.uint8(), (int,)),
    "USMALLINT": (pa.uint16(), (int,)),
    "UINTEGER": (pa.uint32(), (int,)),
    "UBIGINT": (pa.uint64(), (int,)),
    "FLOAT": (pa.float32(), (int, float)),
    "DOUBLE": (pa.float64(), (int, float)),
}


@lru_cache(maxsize=256)
def labels(column: Column) -> pa.Array:
    """Return a column's labels in domain order, in their released type.

    That is the column's engine type if all labels fit it. Otherwise it is whole numbers, numbers or truth values if all
    labels are such. A domain that mixes numbers and text is released as text, as its engine column would be.
    """
    known = _TYPES.get(column.type)
    if known is not None and all(type(label) in known[1] for label in column.labels):
        try:
            return typed_array(column.labels, known[0])
        except (OverflowError, pa.ArrowInvalid):
            pass  # declared wider than the column is: as numbers of any column
    if column.type != "VARCHAR" and column.labels:
        for kind, classes in ((pa.bool_(), {bool}), (pa.int64(), {int}), (pa.float64(), {int, float})):
            if {type(label) for label in column.labels} <= classes:
                return typed_array(column.labels, kind)
    return text_array([category_text(label) for label in column.labels])


def engine_type(column: Column) -> str:
    """Return the engine's name of the type of `labels`."""
    return next((name for name, (kind, _) in _TYPES.items() if kind == labels(column).type), "VARCHAR")


def with_engine_types(columns: Iterable[Column], types: Mapping[str, str]) -> tuple[Column, ...]:
    """Return columns with the engine types of their attributes, or those of labels that do not fit these."""
    known = (replace(c, type=types.get(c.attribute, c.type)) for c in columns)
    return tuple(replace(c, type=engine_type(c)) if c.labels else c for c in known)


def canonical_order(values: pa.Array) -> Ints:
    """Return the positions that sort values in canonical order: ascending, text by code points, nulls last."""
    # UTF-8 keeps the order of code points byte by byte, and arrow compares text by its bytes
    places: Ints = as_numpy(pc.array_sort_indices(values, order="ascending", null_placement="at_end")).astype(np.int64)
    return places


@lru_cache(maxsize=256)
def canonical_ranks(column: Column) -> Ints:
    """Return (labels,) the position of each code in the canonical order of the labels."""
    out = np.empty(len(column.labels), dtype=np.int64)
    out[canonical_order(labels(column))] = np.arange(len(column.labels))
    return out


def sorted_labels(column: Column) -> pa.Array:
    """Return the labels sorted canonically: the dictionary for `canonical_ranks`."""
    return labels(column).take(number_array(canonical_order(labels(column))))


def dictionary_array(codes: Ints | Codes, values: pa.Array) -> pa.DictionaryArray:
    """Return values[codes] as a dictionary array."""
    return pa.DictionaryArray.from_arrays(number_array(codes.astype(np.int32, copy=False)), values)


def read_codes(column: Column, values: pa.Array) -> Ints:
    """Return the code of each released value; -1 if it is not a label."""
    domain = labels(column)
    if pa.types.is_dictionary(values.type):
        of_dictionary = np.append(read_codes(column, values.dictionary), -1)
        indices = values.indices.cast(pa.int64())
        codes: Ints = of_dictionary[as_numpy(indices, absent=len(values.dictionary))]
        return codes
    try:
        values = values.cast(domain.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return np.full(len(values), -1, dtype=np.int64)
    return value_positions(values, domain)
