"""The types of released columns: from engine names to Arrow, and back to the types of a file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rrpolicy.channels.table import Column, TableSpec, engine_type_of
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.engine.connect import checked_type_name
from rrpolicy.errors import DataError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Ints


def engine_type(column: Column) -> str:
    """Return DuckDB's type of a released column; from the labels if the channel does not name one."""
    if column.type:
        return checked_type_name(column.type)
    if column.kind == "set":
        return engine_type_of(column.labels) + "[]"
    return "BIGINT" if column.kind in {"count", "group"} else engine_type_of(column.labels)


def arrow_schema(spec: TableSpec) -> pa.Schema:
    """Return the Arrow schema of a released table in every format.

    Raises:
        DataError: RR339 if a release does not support a type.
    """
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(engine_type(column))) for column in spec.columns])


def label_positions(values: pa.Array, labels: pa.Array, name: str) -> Ints:
    """Return the position of each value among a column's labels.

    Raises ValueError if a value is not a label.
    """
    import pyarrow.compute as pc

    places = pc.index_in(values, value_set=labels)
    if places.null_count:
        raise ValueError(f"the draw released values of {name!r} outside its labels")
    found: Ints = as_numpy(places)
    return found


_PLAIN = {"VARCHAR": "string", "BIGINT": "int64", "DOUBLE": "double", "BOOLEAN": "bool"}
"""Arrow's names of the most common types; for any other type an engine is started and queried."""


@cache
def arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type of an engine type."""
    import duckdb
    import pyarrow as pa

    if name.endswith("[]"):
        return pa.list_(arrow_type(name[:-2]))
    if name in _PLAIN:
        return pa.type_for_alias(_PLAIN[name])
    try:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            found = connection.sql(f"SELECT CAST(NULL AS {checked_type_name(name)}) AS x").to_arrow_table()
    except duckdb.Error as error:
        raise DataError(Problem("RR339", f"a released column cannot be of type {name!r}")) from error
    kind = found.schema.field(0).type
    temporal = pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind)
    plain = pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind)
    if not (temporal or plain or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(
            Problem("RR339", f"a released column cannot be of type {name!r}", hint="cast it in a view of the source")
        )
    return kind
