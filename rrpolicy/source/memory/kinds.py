"""The kinds of tables in memory, their names, and the uris that represent them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from rrpolicy.errors import DataError, PolicyError, Problem
from rrpolicy.policy.folder.root import split_counts_uri

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

MEMORY_SCHEME, TUNING_SCHEME, REFERENCE_SCHEME = "memory", "memory-plan-on", "memory-reference"
"""Schemes of the uris of tables in memory: of the source, of one parameters are chosen on, and of a population's."""
URI = "uri"
"""The kind of a table that is not in memory."""


class ArrowStream(Protocol):
    """An object with the Arrow C stream interface, readable repeatedly, such as a polars data frame."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class CountedTable(Struct, frozen=True):
    """A table of distinct rows with counts.

    Attributes:
        table: the table, as any other; relative paths start in the working directory.
        multiplicity: the column with the count of each row.
    """

    table: Table
    multiplicity: str


Table: TypeAlias = "str | os.PathLike[str] | pd.DataFrame | duckdb.DuckDBPyRelation | ArrowStream | CountedTable"
"""A uri or path, a data frame, an Arrow table, a DuckDB relation, another `ArrowStream`; or counts in one of these."""

_KINDS = {
    ("pandas", "DataFrame"): "pandas DataFrame",
    ("polars", "DataFrame"): "polars DataFrame",
    ("pyarrow", "Table"): "Arrow table",
    ("pyarrow", "RecordBatch"): "Arrow table",
    ("duckdb", "DuckDBPyRelation"): "DuckDB relation",
}
_LAZY = ("polars", "LazyFrame")


def table_kind(table: Any) -> str:
    """Return the name of a kind of table in memory."""
    names = [(c.__module__.partition(".")[0].lstrip("_"), c.__name__) for c in type(table).__mro__]
    known = next((_KINDS[name] for name in names if name in _KINDS), None)
    if known is not None:
        return known
    if _LAZY in names or not hasattr(table, "__arrow_c_stream__"):
        hint = "call its `collect()`" if _LAZY in names else None
        expected = "a path or uri, a pandas or polars DataFrame, an Arrow table, or a DuckDB relation"
        raise PolicyError(Problem("RR250", f"a {type(table).__name__} is not a table", expected=expected, hint=hint))
    if hasattr(table, "read_next_batch") or hasattr(table, "__next__"):
        message = f"a {type(table).__name__} can be read only once"
        expected = "a table that can be read several times"
        raise DataError(Problem("RR345", message, expected=expected, hint="hand over a table: `reader.read_all()`"))
    return "Arrow stream"


def uri_kind(uri: str) -> str:
    """Return the kind of a policy's table: that of a table in memory, or a uri. No address, no path."""
    multiplicity, own = split_counts_uri(uri)
    scheme, _, kind = own.partition(":")
    told = kind if scheme == MEMORY_SCHEME else URI
    return told if multiplicity is None else f"{told}, counts"
