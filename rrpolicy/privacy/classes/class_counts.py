"""Equivalence classes counted by the engine: one grouping for the classes, one for each sensitive column.

The latter groups by a 64-bit hash of the class, which is faster than grouping by the values. The former checks that no
two classes share a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.counts import UnitCounts
from rrpolicy.engine.arrays import as_numpy, number_values
from rrpolicy.frozen import replace
from rrpolicy.privacy.classes.histograms import Classes, Histograms
from rrpolicy.privacy.classes.unit_classes import UnitClasses

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.counts import Ints

_SALTS = 8


class CountedColumn(Struct, frozen=True):
    """A column whose values are counted in each class.

    Attributes:
        name: key of its histograms.
        sql: its values.
        labels: their order; None for increasing, with a missing value last.
    """

    name: str
    sql: str
    labels: tuple[Value, ...] | None = None


class ClassCounts(Struct, frozen=True):
    """The counts of a table.

    Attributes:
        classes: the classes with a histogram of each counted column, by its name.
        values: column -> the values of the histograms' positions; those outside `labels` come last.
        people: (classes,) sums of weights, or people of the population; None without either.
        units: classes of units of several records; None if a record is one.
    """

    classes: Classes
    values: dict[str, tuple[Value | None, ...]]
    people: npt.NDArray[Any] | None = None
    units: UnitClasses | None = None


def count_unit_classes(  # noqa: PLR0917 the arguments of `count_classes`
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    unit: str,
    known: Sequence[str],
    counted: Sequence[CountedColumn],
    concerned: str | None = None,
    suppressed: str | None = None,
) -> UnitClasses:
    """Count the classes of units; `unit` is SQL of the column that identifies them, the others as in `count_classes`.

    A suppressed record is in no class, and no record of its unit there.
    """
    kept = f"{relation} WHERE NOT coalesce({suppressed}, false)" if suppressed else relation
    keys = "".join(f", {sql} AS k{i}" for i, sql in enumerate(known))
    values = "".join(f", {column.sql} AS v{i}" for i, column in enumerate(counted))
    held = f"coalesce({concerned or 'true'}, false)"
    query = f"SELECT {unit} AS u{keys}{values}, {held} AS c, count(*) AS n FROM {kept} GROUP BY ALL"  # noqa: S608
    table = _query_table(connection, query)
    codes = [number_values(table.column(f"k{i}")) for i in range(len(known))]
    encoded = [_encode_column(table.column(f"v{i}"), column.labels) for i, column in enumerate(counted)]
    columns = [*codes, *(code.astype(np.int32) for code, _ in encoded), _table_column(table, "c").astype(np.int32)]
    found = UnitCounts.of_rows(columns, _table_column(table, "n").astype(np.int64), number_values(table.column("u")))
    own = {
        column.name: (found.codes[:, len(known) + i].astype(np.int64), len(encoded[i][1]))
        for i, column in enumerate(counted)
    }
    return UnitClasses.counted(found, list(found.codes[:, : len(known)].T), found.codes[:, -1].astype(bool), own)


def count_classes(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    known: Sequence[str],
    counted: Sequence[CountedColumn],
    *,
    concerned: str | None = None,
    suppressed: str | None = None,
    weight: str | None = None,
    population: str | None = None,
) -> ClassCounts:
    """Count the classes of a table.

    Args:
        connection: connection to the engine that has the table.
        relation: SQL after FROM.
        known: SQL of the columns that make a class; a null equals a null.
        counted: the sensitive columns.
        concerned: SQL of whether a class may have a record of the subgroup; a function of `known`.
        suppressed: SQL of whether a record is in no class.
        weight: SQL of the weight of a record.
        population: a relation of distinct `k0`, `k1`, … that compare with `known`, and the people `p` with each; not
            together with `weight`.
    """
    kept = f"{relation} WHERE NOT coalesce({suppressed}, false)" if suppressed else relation
    salt, whole = _hash_classes(connection, kept, known, concerned or "true", weight, population)
    left_out = 0
    if suppressed:
        query = f"SELECT count(*) FROM {relation} WHERE {suppressed}"  # noqa: S608
        left_out = int(connection.execute(query).fetchall()[0][0])
    order = np.argsort(_table_column(whole, "h"))
    hashes = _table_column(whole, "h")[order]
    histograms: dict[str, Histograms] = {}
    values: dict[str, tuple[Value | None, ...]] = {}
    gone = f"coalesce({suppressed}, false)" if suppressed else "false"
    for column in counted:
        selected = f"{_hash_sql(known, salt)} AS h, {column.sql} AS v, {gone} AS gone, count(*) AS n"
        cells = _query_table(connection, f"SELECT {selected} FROM {relation} GROUP BY h, v, gone")  # noqa: S608
        code, values[column.name] = _encode_column(cells.column("v"), column.labels)
        n, inside = _table_column(cells, "n").astype(np.int64), ~_table_column(cells, "gone").astype(bool)
        every = len(values[column.name])
        group = np.searchsorted(hashes, _table_column(cells, "h")[inside])
        found = Histograms.of_cells(group, code[inside], n[inside], classes=len(hashes), values=every)
        everybody = np.zeros(every, dtype=np.int64)
        np.add.at(everybody, code, n)
        histograms[column.name] = replace(found, beyond=everybody) if left_out else found
    sizes = _table_column(whole, "n")[order].astype(np.int64)
    people = _table_column(whole, "p")[order] if weight or population else None
    classes = Classes(sizes, histograms, _table_column(whole, "c")[order].astype(bool), left_out)
    return ClassCounts(classes, values, people)


def _hash_classes(  # noqa: PLR0917 the arguments of `count_classes`
    connection: duckdb.DuckDBPyConnection,
    kept: str,
    known: Sequence[str],
    concerned: str,
    weight: str | None,
    population: str | None,
) -> tuple[int, pa.Table]:
    """Return a salt for which no two classes share a hash, and the hash, size, concern and people of each class."""
    names = [f"k{i}" for i in range(len(known))]
    keys = "".join(f"{sql} AS {name}, " for sql, name in zip(known, names, strict=True))
    grouping = f" GROUP BY {', '.join(names)}" if names else " HAVING n > 0"
    selected = f"count(*) AS n, bool_and(coalesce({concerned}, false)) AS c"
    selected += f", CAST(sum({weight}) AS DOUBLE) AS p" if weight else ""
    inner = f"(SELECT {keys}{selected} FROM {kept}{grouping}) AS o"  # noqa: S608
    if population:
        same = " AND ".join(f"o.{name} IS NOT DISTINCT FROM r.{name}" for name in names)
        inner += f" LEFT JOIN {population} AS r ON {same}"
    of = [f"o.{name}" for name in names]
    people = ", CAST(coalesce(r.p, 0) AS BIGINT) AS p" if population else ", o.p" if weight else ""
    for salt in range(_SALTS):  # pragma: no branch  # a second salt is needed once in 10^9 tables
        found = _query_table(connection, f"SELECT {_hash_sql(of, salt)} AS h, o.n, o.c{people} FROM {inner}")  # noqa: S608
        if len(np.unique(_table_column(found, "h"))) == found.num_rows:  # pragma: no branch
            return salt, found
    raise RuntimeError("no hash distinguishes the classes")  # pragma: no cover


def _hash_sql(parts: Sequence[str], salt: int) -> str:
    return f"hash({', '.join([*parts, str(salt)])})"


def _encode_column(column: pa.ChunkedArray, labels: tuple[Value, ...] | None) -> tuple[Ints, tuple[Value | None, ...]]:
    """Return the position of each value, and the values in their order."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = encoded.dictionary.to_pylist()
    order = [*sorted(v for v in found if v is not None), *[None] * (None in found)]
    if labels is not None:
        known = {(_value_type(v), v) for v in labels}
        order = [*labels, *(v for v in order if (_value_type(v), v) not in known)]
    place = {(_value_type(v), v): i for i, v in enumerate(order)}
    positions = np.array([place[_value_type(v), v] for v in found], dtype=np.int64)
    codes = np.asarray(encoded.indices, dtype=np.int64)
    return positions[codes] if len(found) else codes, tuple(order)


def _value_type(value: Any) -> str:
    """Distinguish True from 1, which are equal in Python."""
    return "boolean" if isinstance(value, bool) else "number" if isinstance(value, (int, float)) else "other"


def _query_table(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    relation = connection.sql(sql)
    return relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.fetch_arrow_table()


def _table_column(table: pa.Table, name: str) -> Any:
    return as_numpy(table.column(name))
