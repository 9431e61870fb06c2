"""One pass over the released data: counts of released values of the columns that a query names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import category_text
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.channels.values import labels
from rrpolicy.counts import Array, Counts, Ints, number_rows
from rrpolicy.engine.arrays import as_numpy, number_array, typed_array
from rrpolicy.engine.connect import query_connection
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping import formulas
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.sets import SetWeights, codes_of_sets, counted_cells
from rrpolicy.formats import format as formats
from rrpolicy.formats.format import Format

if TYPE_CHECKING:
    import duckdb

_BATCH = 1 << 17
"""Rows that are read at a time."""


class CountProvider(Protocol):
    """A counter in place of a file."""

    def count(
        self, data: DataFile, axes: Sequence[AxisWeights], condition: str, parameters: Sequence[Any]
    ) -> tuple[list[Ints], Ints]:
        """Return the same as `count` does for these arguments."""
        ...


_KEPT = 1 << 16
"""Groups of a count up to which it is kept."""
_MOST_KEPT = 16


class CachedCount(Struct, frozen=True):
    """Released records by the cells of some axes, under a condition.

    Attributes:
        axes: the grouping axes.
        asked: the condition and its parameters.
        codes: for each axis, (groups,) the released cell.
        n: (groups,) records.
    """

    axes: tuple[AxisWeights, ...]
    asked: tuple[str, tuple[Any, ...]]
    codes: list[Ints]
    n: Ints

    def tells(self, axes: Sequence[AxisWeights], asked: tuple[str, tuple[Any, ...]]) -> bool:
        """Return whether the records by the cells of other axes follow from these."""
        return self.asked == asked and all(any(axis is known for known in self.axes) for axis in axes)

    def marginal(self, axes: Sequence[AxisWeights]) -> tuple[list[Ints], Ints]:
        """Return the records by the cells of some of the axes, as `count` does."""
        places = [next(i for i, known in enumerate(self.axes) if known is axis) for axis in axes]
        group, groups = number_rows((self.codes[place] for place in places), len(self.n))
        n = np.zeros(groups, dtype=np.int64)
        np.add.at(n, group, self.n)
        one = np.zeros(groups, dtype=np.int64)
        one[group] = np.arange(len(group))
        return [self.codes[place][one] for place in places], n


@dataclass(frozen=True)
class DataFile:
    """The files of released rows.

    Attributes:
        paths: paths of the files, in the order of the rows.
        form: their format.
        columns: every released column, in file order.
        table: its name.
        times: the column with the number of records that a row represents; "" for one each.
        formulas: the treatment, in CSV, of text that a spreadsheet would run as a formula.
        counted_by: counts in place of the file; None if its own rows are counted.
        counted: the last counts, from which coarser tables follow without another pass.
    """

    paths: tuple[Path, ...]
    form: Format
    columns: tuple[Column, ...] = field(repr=False)
    table: str = "data"
    times: str = ""
    formulas: formulas.Handling = "escape"
    counted_by: CountProvider | None = field(default=None, repr=False)
    counted: list[CachedCount] = field(init=False, default_factory=list, compare=False, repr=False)

    @property
    def spec(self) -> TableSpec:
        """Return the specification of the file's table."""
        return TableSpec(self.table, self.columns, ())

    def of(self, axis: AxisWeights) -> list[Column]:
        """Return the released columns of an axis."""
        return [next(column for column in self.columns if column.name == name) for name in axis.columns]

    def cells_sql(self, axes: Sequence[AxisWeights]) -> list[str]:
        """Return the released columns of axes as SQL."""
        return [sql_of(column, self.form) for axis in axes for column in self.of(axis)]


def count(
    data: DataFile, axes: Sequence[AxisWeights], condition: str = "", parameters: Sequence[Any] = ()
) -> tuple[list[Ints], Ints]:
    """Count released records by the released cells of some axes.

    `condition`: a filter over columns released unmodified, as SQL with `?` for its parameters.

    Returns for each axis the (groups,) released cell, and the (groups,) records; only occupied groups.

    Raises:
        PolicyError: RR269 if the file differs from the manifest, RR265 if a constant of the condition does not fit
            its column.
    """
    if data.counted_by is not None:
        return data.counted_by.count(data, axes, condition, parameters)
    asked = condition, tuple(parameters)
    known = next((k for k in data.counted if k.tells(axes, asked)), None)
    if known is not None:
        return _sort_groups(*known.marginal(axes))
    n = f"coalesce(sum({identifier(data.times)}), 0)::BIGINT" if data.times else "count(*)"
    table = _aggregate_groups(data, axes, [f"{n} AS n"], condition, parameters)
    found = CachedCount(
        tuple(axes), asked, codes_of(axes, table), np.asarray(as_numpy(table.column("n")), dtype=np.int64)
    )
    if len(found.n) <= _KEPT and not any(isinstance(axis, SetWeights) for axis in axes):  # a set is in several cells
        data.counted.append(found)
        del data.counted[:-_MOST_KEPT]
    return _sort_groups(found.codes, found.n)


def prime_cache(data: DataFile, axes: Sequence[AxisWeights], counts: Counts) -> None:
    """Take released records as counted by the caller; the tables of these axes then follow without a pass.

    `counts`: counts by the released labels of their columns, and possibly of others.
    """
    import pyarrow as pa

    known = {c.name: c for c in data.columns}
    table = counts.marginal(*(name for axis in axes for name in axis.columns))
    values = (labels(known[name]).take(number_array(table.codes[:, i])) for i, name in enumerate(table.attributes))
    codes = codes_of(axes, pa.table(dict(zip(table.attributes, values, strict=True))))
    data.counted.append(CachedCount(tuple(axes), ("", ()), codes, table.n))


def _sort_groups(codes: list[Ints], n: Ints) -> tuple[list[Ints], Ints]:
    """Return groups in one order: the engine's is another every time, and sums would differ in their last digits."""
    if not codes:
        return codes, n
    order = np.lexsort(codes)
    return [code[order] for code in codes], n[order]


def count_each(data: DataFile, axes: Sequence[AxisWeights]) -> list[Ints]:
    """Count released records by each of some axes of one column, in one pass.

    `axes`: of one column each, whose records lie in one cell.

    Returns for each axis the (axis.counted,) records in each released cell.

    Raises:
        PolicyError: RR269 if the file differs from the manifest.
    """
    if not axes:
        return []
    wanted = [f"{cell} AS c{i}" for i, cell in enumerate(data.cells_sql(axes))]
    wanted.append(f"{identifier(data.times) if data.times else '1'} AS n")
    names = [f"c{i}" for i in range(len(axes))]
    told = ", ".join([*names, *(f"grouping({name}) AS without_{name}" for name in names)])
    sets = ", ".join(f"({name})" for name in names)

    def query(source: str) -> str:
        each = f"(SELECT {', '.join(wanted)} FROM {source})"  # noqa: S608 names quoted
        return f"SELECT {told}, coalesce(sum(n), 0)::BIGINT AS n FROM {each} GROUP BY GROUPING SETS ({sets})"  # noqa: S608

    table = _run_query(data, query, ())
    found = []
    for name, axis in zip(names, axes, strict=True):
        own = np.flatnonzero(as_numpy(table.column(f"without_{name}")) == 0)
        part = table.take(number_array(own))
        counts = np.zeros(axis.counted, dtype=np.int64)
        np.add.at(counts, _cells(axis, [part.column(name)]), as_numpy(part.column("n")))
        found.append(counts)
    return found


class SetCounts(Struct, frozen=True):
    """Released sets, counted as they are.

    Attributes:
        sets: (positions of its values, records) of the most frequent, most frequent first.
        different: number of different sets.
        held: (S,) number of records whose set contains each value.
    """

    sets: tuple[tuple[tuple[int, ...], int], ...]
    different: int
    held: tuple[int, ...]


def count_sets(data: DataFile, axis: SetWeights, most: int) -> SetCounts:
    """Count the sets that records were released as.

    Raises:
        PolicyError: RR269 if the file differs from the manifest.
    """
    codes = codes_of_sets(axis, *_lists(data.of(axis)))
    holding = (f"sum(n) FILTER (list_contains(codes, {i}))" for i in range(len(axis.original)))
    held = ", ".join(f"coalesce({n}, 0)::BIGINT" for n in holding)

    def each(source: str) -> str:
        return f"(SELECT list_sort({codes}) AS codes, count(*) AS n FROM {source} GROUP BY 1)"  # noqa: S608 names quoted

    whole = _run_query(data, lambda source: f"SELECT count(*), {held} FROM {each(source)}", ()).to_pylist()  # noqa: S608
    different, *records = whole[0].values()
    top = f"ORDER BY n DESC, codes LIMIT {most:d}"
    shown = _run_query(data, lambda source: f"SELECT codes, n FROM {each(source)} {top}", ()).to_pylist()  # noqa: S608
    if any(row["codes"] is None or None in row["codes"] for row in shown):
        raise _set_domain_error(axis)
    return SetCounts(tuple((tuple(row["codes"]), row["n"]) for row in shown), different, tuple(records))


class Sums(Struct, frozen=True):
    """Sums of a number over released records, by the released cells of some axes.

    Attributes:
        codes: for each axis, (groups,) the released cell.
        n: (groups,) records that have the number.
        centre: the number subtracted from each value, for numerical accuracy.
        first: (groups,) sums of the rest.
        second: (groups,) sums of its squares.
        missing: records without the number.
    """

    codes: list[Ints]
    n: Ints
    centre: float
    first: Array
    second: Array
    missing: int


def total(
    data: DataFile, axes: Sequence[AxisWeights], value: str, condition: str = "", parameters: Sequence[Any] = ()
) -> Sums:
    """Sum a column of numbers, released unmodified, by the released cells of some axes; arguments as for `count`.

    Raises:
        PolicyError: as `count`; RR274 if there are infinite numbers, or values that are not numbers.
    """
    y = f"CAST({identifier(value)} AS DOUBLE)"
    whole = _aggregate_groups(
        data, (), [f"avg({y}) AS centre, count(*) - count({y}) AS missing"], condition, parameters
    )
    found = whole.column("centre")[0].as_py()
    centre = 0.0 if found is None else float(found)
    rest = f"({y} - CAST({centre!r} AS DOUBLE))" if math.isfinite(centre) else y
    parts = [f"count({y}) AS n", f"sum({rest}) AS first", f"sum({rest} * {rest}) AS second"]
    table = _aggregate_groups(data, axes, parts, condition, parameters)
    first, second = (np.nan_to_num(as_numpy(table.column(c)), nan=0.0) for c in ("first", "second"))
    if not math.isfinite(centre) or not np.isfinite([*first, *second]).all():
        raise PolicyError(
            Problem("RR274", f"{value!r} contains infinite numbers or NaN", hint="leave them out by a condition")
        )
    missing = int(whole.column("missing")[0].as_py())
    return Sums(
        codes_of(axes, table), np.asarray(as_numpy(table.column("n")), np.int64), centre, first, second, missing
    )


class WeightedSums(Struct, frozen=True):
    """Sums of weights over released records, by columns released unmodified and by the released cells of some axes.

    Attributes:
        keys: (rows,) number of each combination of the key columns, for each given list of them.
        codes: for each axis, (rows,) the released cell.
        n: (rows,) records that satisfy the condition.
        first: (rows, 3) sums of d, of d over records that satisfy the condition and have the value, of d times it.
        second: (rows, 3, 3) sums of the products of each two of these of one record.
        records: (rows,) of all records.
        missing: records that satisfy the condition and have no value.
    """

    keys: tuple[Ints, ...]
    codes: list[Ints]
    n: Ints
    first: Array
    second: Array
    records: Ints
    missing: int


class Number(Struct, frozen=True):
    """A number that every released record has, or lacks.

    Attributes:
        name: name in words, for errors.
        sql: SQL over columns that are released unmodified, names quoted.
        parameters: parameters of the SQL.
    """

    name: str
    sql: str
    parameters: tuple[Any, ...] = ()


def weighted_sums(  # noqa: PLR0917 what is summed, and by what
    data: DataFile,
    axes: Sequence[AxisWeights],
    keys: Sequence[Sequence[str]],
    weight: str | None,
    value: Number | None,
    condition: str = "",
    parameters: Sequence[Any] = (),
) -> WeightedSums:
    """Sum weights d of released records, and their products with a number; arguments as for `count`.

    `keys`: lists of columns released unmodified, which are grouped by, too. `weight`: a column of numbers, d; None
    for 1. `value`: the number whose products with the weights are summed; None for 1. `condition`: over columns
    released unmodified; other records are summed in d alone.

    Raises:
        PolicyError: as `count`; RR545 if a weight is missing, negative or no number, RR274 as `total`.
    """
    if data.counted_by is not None:
        raise resampling_unsupported_error("its design would have to be drawn again, too")
    cells = data.cells_sql(axes)
    names = list(dict.fromkeys(name for part in keys for name in part))
    picked = [
        *(f"{cell} AS c{i}" for i, cell in enumerate(cells)),
        *(f"CAST({identifier(name)} AS VARCHAR) AS k{i}" for i, name in enumerate(names)),
        f"CAST({'1' if weight is None else identifier(weight)} AS DOUBLE) AS d",
        f"CAST({'1' if value is None else value.sql} AS DOUBLE) AS y",
        f"{f'coalesce(({condition}), false)' if condition else 'true'} AS inside",
        f"{identifier(data.times) if data.times else '1'} AS times",
    ]
    parts = ("d", "d * u", "d * u * coalesce(y, 0)")
    products = [(a, b) for a in range(3) for b in range(a, 3)]
    groups = [*(f"c{i}" for i in range(len(cells))), *(f"k{i}" for i in range(len(names)))]
    sums = [
        *groups,
        "sum(times)::BIGINT AS records",
        "sum(times * u)::BIGINT AS n",
        "sum(times * (inside AND y IS NULL)::INT)::BIGINT AS missing",
        "sum(times * (d IS NULL OR d < 0 OR NOT isfinite(d))::INT)::BIGINT AS unweighed",
        *(f"sum(times * {part}) AS s{a}" for a, part in enumerate(parts)),
        *(f"sum(times * ({parts[a]}) * ({parts[b]})) AS s{a}{b}" for a, b in products),
    ]
    by = f" GROUP BY {', '.join(groups)}" if groups else ""

    def query(source: str) -> str:
        each = f"(SELECT {', '.join(picked)} FROM {source})"  # noqa: S608 names quoted, constants are parameters
        told = f"(SELECT *, (inside AND y IS NOT NULL)::INT AS u FROM {each})"  # noqa: S608
        return f"SELECT {', '.join(sums)} FROM {told}{by}"  # noqa: S608

    table = _run_query(data, query, [*(() if value is None else value.parameters), *parameters])
    if int(as_numpy(table.column("unweighed")).sum()):
        message = f"{weight!r} is not a number of at least 0 in every record, so it is not a weight"
        raise PolicyError(Problem("RR545", message, hint="the publisher may release a weight that every record has"))
    codes, wide = codes_of(axes, table), len(cells)
    places = [_value_numbers(table.column(wide + i)) for i in range(len(names))]
    first = np.column_stack([as_numpy(table.column(f"s{a}")) for a in range(3)]).astype(float)
    second = np.zeros((len(first), 3, 3))
    for a, b in products:
        second[:, a, b] = second[:, b, a] = as_numpy(table.column(f"s{a}{b}"))
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        name = value.name if value is not None else weight
        raise PolicyError(
            Problem("RR274", f"{name!r} contains infinite numbers or NaN", hint="leave them out by a condition")
        )
    found = [number_rows((places[names.index(name)] for name in part), len(first))[0] for part in keys]
    order = np.lexsort([*found, *codes]) if found or codes else np.arange(len(first))
    n, records = (np.asarray(as_numpy(table.column(c)), np.int64)[order] for c in ("n", "records"))
    return WeightedSums(
        tuple(part[order] for part in found),
        [code[order] for code in codes],
        n,
        first[order],
        second[order],
        records,
        int(as_numpy(table.column("missing")).sum()),
    )


def _value_numbers(column: Any) -> Ints:
    """Return (rows,) the number of each value in their order; null is one of them."""
    import pyarrow.compute as pc

    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    order = as_numpy(pc.sort_indices(coded.dictionary))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[as_numpy(coded.indices)], dtype=np.int64)


def values(
    data: DataFile, axes: Sequence[AxisWeights], value: str, condition: str = "", parameters: Sequence[Any] = ()
) -> tuple[list[Ints], Array, int]:
    """Return the numbers of a column, released unmodified, one per record; arguments as for `count`.

    Returns for each axis the (records,) released cell; the (records,) numbers; and the number of records without one.

    Raises:
        PolicyError: as `count`; RR274 if there are infinite numbers, or values that are not numbers.
    """
    y = f"CAST({identifier(value)} AS DOUBLE)"
    parts = [
        f"coalesce(list({y} ORDER BY {y}) FILTER (WHERE {y} IS NOT NULL), []) AS held",
        f"count(*) - count({y}) AS missing",
    ]
    table = _aggregate_groups(data, axes, parts, condition, parameters).combine_chunks()
    codes, lists = codes_of(axes, table), table.column("held").to_pylist()
    order = np.lexsort(codes) if codes else np.arange(len(lists))
    lengths = np.array(list(map(len, lists)), dtype=np.int64)
    found = np.array([v for i in order for v in lists[i]], dtype=np.float64)
    if not np.isfinite(found).all():
        raise PolicyError(
            Problem("RR274", f"{value!r} contains infinite numbers or NaN", hint="leave them out by a condition")
        )
    missing = int(sum(table.column("missing").to_pylist()))
    return [np.repeat(code[order], lengths[order]) for code in codes], found, missing


def extremes(
    data: DataFile, axes: Sequence[AxisWeights], value: str, condition: str = "", parameters: Sequence[Any] = ()
) -> tuple[list[Ints], list[Any], list[Any]]:
    """Return the least and the largest value of a column released unmodified; arguments as for `count`.

    Returns for each axis the (groups,) released cell; the (groups,) least and largest values, None for a group
    without a value.
    """
    column = identifier(value)
    table = _aggregate_groups(data, axes, [f"min({column}) AS least", f"max({column}) AS most"], condition, parameters)
    return codes_of(axes, table), table.column("least").to_pylist(), table.column("most").to_pylist()


def iterate_batches(
    data: DataFile, axes: Sequence[AxisWeights], condition: str = "", parameters: Sequence[Any] = ()
) -> Iterator[tuple[list[Ints], int]]:
    """Yield released records a batch at a time, without combining equal ones.

    `axes`: the axes whose released cell is returned for each record; a record lies in one cell of each.

    Yields for each axis the (records,) released cell; the number of records.
    """
    import pyarrow as pa

    wanted = data.cells_sql(axes)
    where = f" WHERE {condition}" if condition else ""
    select = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(wanted)) or "1"
    with _open_query(data, lambda source: f"SELECT {select} FROM {source}{where}", parameters) as rows:  # noqa: S608
        reader = (getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader)(_BATCH)
        try:
            for batch in reader:
                yield codes_of(axes, batch), batch.num_rows
        except pa.ArrowException as error:
            raise manifest_mismatch_error(str(error).splitlines()[0]) from error


def _aggregate_groups(
    data: DataFile, axes: Sequence[AxisWeights], parts: Sequence[str], condition: str, parameters: Sequence[Any]
) -> Any:
    """Return aggregates by the released columns of some axes, named c0, c1, ..., as an arrow table."""
    for axis in axes:
        if isinstance(axis, AnatomyWeights):
            raise axis.refusal()
    sets = [axis for axis in axes if isinstance(axis, SetWeights)]
    wanted: list[str] = []
    for axis in axes:
        wanted += [f"cell{sets.index(axis)}"] if isinstance(axis, SetWeights) else data.cells_sql([axis])
    select = ", ".join([*(f"{expression} AS c{i}" for i, expression in enumerate(wanted)), *parts])
    by = f" GROUP BY {', '.join(str(i + 1) for i in range(len(wanted)))}" if wanted else ""
    where = f" WHERE {condition}" if condition else ""

    def query(source: str) -> str:
        kept = where
        for number, axis in enumerate(sets):
            cells = counted_cells(axis, *_lists(data.of(axis)))
            source = f"(SELECT *, unnest({cells}) AS cell{number} FROM {source}{kept})"  # noqa: S608 names quoted
            kept = ""
        return f"SELECT {select} FROM {source}{kept}{by}"  # noqa: S608 names quoted, constants are parameters

    return _run_query(data, query, parameters)


def _run_query(data: DataFile, query: Callable[[str], str], parameters: Sequence[Any]) -> Any:
    """Return the result of a query of the released rows, as an arrow table; arguments as for `_answered`."""
    with _open_query(data, query, parameters) as rows:
        return rows.to_arrow_table()


@contextmanager
def _open_query(
    data: DataFile, query: Callable[[str], str], parameters: Sequence[Any]
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Give the rows that a query of the released rows yields; errors while reading them become errors of the data."""
    if data.counted_by is not None:
        raise resampling_unsupported_error("it needs more of the released rows than counts by categories")
    with open_query([data], query, parameters, constants=True) as rows:
        yield rows


@contextmanager
def open_query(
    files: Sequence[DataFile], query: Callable[..., str], parameters: Sequence[Any] = (), *, constants: bool = False
) -> Iterator[duckdb.DuckDBPyRelation]:
    """Give the rows of a query of several released tables, whose names in SQL are the arguments of `query`.

    Raises:
        PolicyError: RR269 if a table differs from the manifest; RR265, if `constants` may be the cause, where a value
            does not fit its column.
    """
    import duckdb

    with query_connection(alone=files[0].form.alone) as connection:
        try:
            yield connection.sql(query(*(relation(connection, file) for file in files)), params=list(parameters))
        except duckdb.Error as error:
            if constants and isinstance(error, duckdb.ConversionException):
                message = "a constant of the condition does not fit the type of its column"
                raise PolicyError(Problem("RR265", message)) from error
            raise manifest_mismatch_error(str(error).splitlines()[0]) from error


def codes_of(axes: Sequence[AxisWeights], table: Any) -> list[Ints]:
    """Return, for each axis, the cell of each row of a table whose first columns are those of the axes."""
    codes, start = [], 0
    for axis in axes:
        if isinstance(axis, SetWeights):
            codes.append(_cells_of_sets(axis, table.column(start)))
            start += 1
            continue
        codes.append(_cells(axis, [table.column(start + j) for j in range(len(axis.columns))]))
        start += len(axis.columns)
    return codes


def relation(connection: Any, data: DataFile) -> str:
    """Return the relation to select from, as SQL.

    Raises:
        PolicyError: RR269 if the file does not contain the specified table.
    """
    try:
        return formats.relation_sql(data.form, connection, data.paths, data.spec, data.formulas)
    except formats.UnlikeSpecError as error:
        raise manifest_mismatch_error(str(error)) from error


def resampling_unsupported_error(why: str) -> PolicyError:
    """Return the error for a question that does not support counts that were drawn again."""
    message = f"this cannot be bootstrapped: {why}"
    expected = "counts, shares or measures of association by columns with categories"
    return PolicyError(Problem("RR509", message, expected=expected, hint="leave out the bootstrap"))


def manifest_mismatch_error(message: str) -> PolicyError:
    """Return the error for data that differ from the manifest."""
    return PolicyError(
        Problem(
            "RR269",
            f"the data file is not what release.json describes: {message}",
            hint="the release was changed or damaged; `rrpolicy verify` shows where",
        )
    )


def sql_of(column: Column, form: Format) -> str:
    """Return a column of categories as SQL, in the type of its labels."""
    name = f"CAST({identifier(column.name)} AS {column.type or 'VARCHAR'})"
    # CSV does not distinguish null from an empty text, and categories are never null
    return f"coalesce({name}, '')" if form.name == "csv" and "" in column.labels else name


def _lists(columns: Sequence[Column]) -> tuple[list[str], list[str]]:
    """Return list columns and their domains as SQL."""
    kinds = [column.type if column.type.endswith("[]") else "VARCHAR[]" for column in columns]
    lists = [f"({identifier(c.name)}::{kind})" for c, kind in zip(columns, kinds, strict=True)]
    domains = [f"[{', '.join(map(literal, c.spelled))}]::{kind}" for c, kind in zip(columns, kinds, strict=True)]
    return lists, domains


def _cells_of_sets(axis: SetWeights, cells: Any) -> Ints:
    """Return the cells that records are counted in by the sets they release."""
    if cells.null_count:
        raise _set_domain_error(axis)
    return np.asarray(as_numpy(cells), dtype=np.int64)


def _set_domain_error(axis: SetWeights) -> PolicyError:
    names = ", ".join(map(repr, axis.columns))
    return manifest_mismatch_error(f"{names} contains values outside its domain, or sets of another size")


def _cells(axis: AxisWeights, parts: Sequence[Any]) -> Ints:
    """Return (groups,) the position of each released cell in `axis.released`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat, cell = np.zeros(len(parts[0]), dtype=np.int64), np.zeros(len(axis.released), dtype=np.int64)
    size = 1
    for j, part in enumerate(parts):
        held = list(dict.fromkeys(c[j] for c in axis.released))
        try:
            known = typed_array([*map(category_text, held)] if pa.types.is_string(part.type) else held, part.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise manifest_mismatch_error(f"the column {axis.columns[j]!r} is of another type") from error
        codes = pc.index_in(part, value_set=known)
        if codes.null_count:
            raise manifest_mismatch_error(f"the column {axis.columns[j]!r} contains a value outside its domain")
        position = {v: i for i, v in enumerate(held)}
        flat = flat * len(held) + as_numpy(codes).astype(np.int64)
        cell = cell * len(held) + np.array([position[c[j]] for c in axis.released], dtype=np.int64)
        size *= len(held)
    order = np.argsort(cell)
    found = np.minimum(np.searchsorted(cell[order], flat), len(cell) - 1)
    if not np.array_equal(cell[order][found], flat):
        raise manifest_mismatch_error(
            f"the columns {', '.join(axis.columns)} contain a combination outside their domain"
        )
    return np.asarray(order[found], dtype=np.int64)
