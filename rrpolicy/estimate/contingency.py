"""One pass over the released data: counts of released values of the columns that a query names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rrpolicy.channel.table import Column
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.weights import AxisWeights
from rrpolicy.source.counts import Ints


def quote(name: str) -> str:
    """Return a column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class DataFile:
    """Where released rows are.

    Attributes:
        path: the file.
        format: parquet, csv or duckdb.
        columns: every released column, in file order.
    """

    path: Path
    format: str
    columns: tuple[Column, ...] = field(repr=False)


def count(
    data: DataFile, axes: Sequence[AxisWeights], condition: str = "", parameters: Sequence[Any] = ()
) -> tuple[list[Ints], Ints]:
    """Count released records by the released cells of some axes.

    Args:
        data: where the rows are.
        axes: what to group by.
        condition: a filter over columns released as they are, as SQL with `?` for its parameters.
        parameters: of the condition.

    Returns:
        For each axis the (groups,) released cell, and the (groups,) records; only occupied groups.

    Raises:
        PolicyError: RR269 if the file is not what the manifest describes, RR265 if a constant of the condition does
            not fit its column.
    """
    import duckdb

    kinds = {c.name: c for c in data.columns}
    wanted = [kinds[name] for axis in axes for name in axis.columns]
    select = ", ".join([*(f"{_expression(c, data.format)} AS c{i}" for i, c in enumerate(wanted)), "count(*) AS n"])
    by = f" GROUP BY {', '.join(str(i + 1) for i in range(len(wanted)))}" if wanted else ""
    where = f" WHERE {condition}" if condition else ""
    with duckdb.connect() as connection:
        try:
            source = relation(connection, data)
            query = f"SELECT {select} FROM {source}{where}{by}"  # noqa: S608 - names quoted, constants are parameters
            table = connection.sql(query, params=list(parameters)).to_arrow_table()
        except duckdb.ConversionException as error:
            raise PolicyError(
                Problem("RR265", "a constant of the condition does not fit the type of its column")
            ) from error
        except duckdb.Error as error:
            raise unlike_description(str(error).splitlines()[0]) from error
    codes, start = [], 0
    for axis in axes:
        parts = [table.column(start + j) for j in range(len(axis.columns))]
        codes.append(_cells(axis, parts))
        start += len(axis.columns)
    return codes, np.asarray(table.column("n").to_numpy(), dtype=np.int64)


def relation(connection: Any, data: DataFile) -> str:
    """Return what to select from; a DuckDB file is attached read-only.

    Raises:
        PolicyError: RR269 for an unknown format.
    """
    if data.format == "duckdb":
        connection.execute(f"ATTACH {literal(str(data.path))} AS released (READ_ONLY)")
        return "released.data"
    return scan(_no_glob(str(data.path)), data.format, data.columns)


def scan(path: str, file_format: str, columns: Sequence[Column]) -> str:
    """Return the SQL that reads a Parquet or CSV file with the types of the manifest."""
    if file_format == "parquet":
        return f"read_parquet({literal(path)})"
    if file_format == "csv":
        types = ", ".join(f"{literal(c.name)}: {literal(c.type or 'VARCHAR')}" for c in columns)
        return (
            f"read_csv({literal(path)}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
            f"columns = {{{types}}})"
        )
    raise unlike_description(f"the format {file_format!r} is unknown")


def unlike_description(message: str) -> PolicyError:
    """Return the error for data that are not what the manifest says."""
    return PolicyError(
        Problem(
            "RR269",
            f"the data file is not what release.json describes: {message}",
            hint="the release was changed or damaged; `rrpolicy verify` tells where",
        )
    )


def _expression(column: Column, file_format: str) -> str:
    name = f"CAST({quote(column.name)} AS {column.type or 'VARCHAR'})"
    # CSV cannot tell null from an empty text, and categories are never null
    return f"coalesce({name}, '')" if file_format == "csv" and "" in column.labels else name


def _no_glob(path: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def _cells(axis: AxisWeights, parts: Sequence[Any]) -> Ints:
    """Return (groups,) the position of each released cell in `axis.released`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat, cell = np.zeros(len(parts[0]), dtype=np.int64), np.zeros(len(axis.released), dtype=np.int64)
    size = 1
    for j, part in enumerate(parts):
        labels = list(dict.fromkeys(c[j] for c in axis.released))
        try:
            known = pa.array(labels, type=part.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise unlike_description(f"the column {axis.columns[j]!r} is of another type") from error
        codes = pc.index_in(part, value_set=known)
        if codes.null_count:
            raise unlike_description(f"the column {axis.columns[j]!r} holds a value outside its domain")
        position = {v: i for i, v in enumerate(labels)}
        flat = flat * len(labels) + codes.to_numpy().astype(np.int64)
        cell = cell * len(labels) + np.array([position[c[j]] for c in axis.released], dtype=np.int64)
        size *= len(labels)
    order = np.argsort(cell)
    found = np.minimum(np.searchsorted(cell[order], flat), len(cell) - 1)
    if not np.array_equal(cell[order][found], flat):
        raise unlike_description(f"the columns {', '.join(axis.columns)} hold a combination outside their domain")
    return np.asarray(order[found], dtype=np.int64)
