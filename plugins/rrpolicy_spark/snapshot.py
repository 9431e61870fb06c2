"""One pinned state of a table that Spark reads: Spark counts, and the counts are read as a table of counts.

The engine groups by the distinctions of the policy, in SQL; the driver receives distinct combinations with their
multiplicities. These are a table of counts like any other, so that the categories, the refusals and their messages are
those of reading the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.plugin import Attribute, PolicyError, Reading, Snapshot, encoded
from rrpolicy.plugin.engines import category_sql, rounding
from rrpolicy.plugin.types import Units
from rrpolicy_spark.file_state import PinnedFiles, pin_files
from rrpolicy_spark.session import suppress_pandas_warnings, translate_errors
from rrpolicy_spark.sorted_rows import SortedRows, sort_distinct_rows
from rrpolicy_spark.tasks import TABLE_KIND, CodesTask, DistinctRowCounts, UnitSizeTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from rrpolicy.plugin import Value
    from rrpolicy.plugin.engines import DrawnBlock, RecordBlock

_REAL = frozenset({"FloatType", "DoubleType"})
_WHOLE = frozenset({"ByteType", "ShortType", "IntegerType", "LongType"})
MAX_HELD_ROWS = 1 << 22
"""The most distinct rows in the driver's memory; more are sorted in Spark, and pass through the driver in parts."""
Selected = tuple[tuple[str, str], ...]
"""The name and SQL of each column."""


@dataclass(frozen=True, eq=False)
class SparkSnapshot:
    """One pinned state of a table that Spark reads; a `Snapshot`.

    Attributes:
        shape: the same table without a record, with its columns and types.
        held: the files with which it is compared.
        open: contexts that end with the snapshot.
    """

    name: str
    frame: DataFrame
    shape: Snapshot
    held: PinnedFiles
    count: int
    scratch: Path
    reading: Reading
    open: ExitStack
    _counted: dict[Selected, Snapshot] = field(default_factory=dict, repr=False)
    _lengths: dict[Selected, int] = field(default_factory=dict, repr=False)
    _sorted: dict[tuple[Selected, bool], SortedRows] = field(default_factory=dict, repr=False)

    def columns(self) -> Mapping[str, str]:
        """Return each column's name and type, in table order."""
        return self.shape.columns()

    def records(self) -> int:
        """Return the number of records."""
        return self.count

    def released_type(self, attribute: Attribute) -> str:
        """Return the engine type of the values released for an attribute; see `Snapshot.released_type`."""
        return self.shape.released_type(attribute)

    def distinct(self, attribute: Attribute, most: int) -> tuple[Value | None, ...]:
        """Return the column's distinct values (None for null or NaN), sorted, at most `most + 1` of them."""
        column = _quote_identifier(attribute.name)
        frame = self.frame.selectExpr(f"{column} AS c0").distinct()
        if not self.reading.codes(attribute.name):
            frame = frame.limit(most + 3)  # null and NaN are two
        values = self.fetched(frame).rename_columns([attribute.name])
        with encoded(values, self.name, self.scratch, self.reading, kind=TABLE_KIND) as found:
            return found.distinct(attribute, most)

    def tally(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return grouped counts in one pass; see `Snapshot.tally`."""
        if self._many(attributes, carried):
            return self._ordered(attributes, carried).tally()
        return self._counts(attributes, carried).tally(attributes, carried)

    def rows(self, attributes: Sequence[Attribute], carried: Sequence[str] = ()) -> pa.RecordBatchReader:
        """Return encoded rows, sorted by all columns; see `Snapshot.rows`."""
        if self._many(attributes, carried):
            return self._ordered(attributes, carried, by_codes=True).rows()
        return self._counts(attributes, carried).rows(attributes, carried)

    def in_blocks(
        self,
        attributes: Sequence[Attribute],
        carried: Sequence[str],
        columns: Sequence[str],
        records: int,
        call: Callable[[RecordBlock], DrawnBlock],
    ) -> Iterator[DrawnBlock]:
        """Yield the results of a call for each block of so many records, in turn, each in a task; see `Distributed`."""
        yield from self._ordered(attributes, carried).in_blocks(columns, records, call)

    def units(self, column: str) -> Units:
        """Return the number of distinct values by their number of rows; see `Snapshot.units`."""
        task = UnitSizeTask(DistinctRowCounts((column,), self.name, self.reading))
        with suppress_pandas_warnings():
            each = self.grouped(((column, _quote_identifier(column)),)).mapInArrow(task, task.schema)
        sums = each.groupBy("size").agg({"units": "sum", "missing": "sum"}).select("size", "sum(units)", "sum(missing)")
        sizes, units, missing = self.fetched(sums).to_pydict().values()
        return Units({size: n for size, n in zip(sizes, units, strict=True) if n}, sum(missing))

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if the table is no longer in the pinned state."""
        self.held.unchanged()

    def grouped(self, selected: Selected) -> DataFrame:
        """Return distinct rows, columns c0, c1, …, with their counts in the last column."""
        from pyspark.sql import functions

        names = [f"c{i}" for i in range(len(selected))]
        recoded = self.frame.selectExpr(*(f"{sql} AS {name}" for name, (_, sql) in zip(names, selected, strict=True)))
        return recoded.groupBy(*names).agg(functions.count(functions.lit(1)).alias("n"))

    def selected(self, attributes: Sequence[Attribute], carried: Sequence[str]) -> Selected:
        """Return columns with the distinctions of the attributes and the carried columns."""
        kinds = {f.name: f.dataType for f in self.frame.schema}
        told = [(a.name, self._recoded(a, kinds[a.name])) for a in attributes]
        return (*told, *((name, _quote_identifier(name)) for name in carried))

    def fetched(self, frame: DataFrame) -> pa.Table:
        """Return the result of a query of few rows; the table must then be unchanged."""
        self.unchanged()
        with translate_errors(self.name), suppress_pandas_warnings():
            table = frame.toArrow()
        self.unchanged()
        return table

    def _many(self, attributes: Sequence[Attribute], carried: Sequence[str]) -> bool:
        """Return whether there are more distinct rows than the driver's memory takes."""
        selected = self.selected(attributes, carried)
        if self.count <= MAX_HELD_ROWS or selected in self._counted:
            return False
        if selected not in self._lengths:
            self.unchanged()
            with translate_errors(self.name):
                self._lengths[selected] = self.grouped(selected).count()
        return self._lengths[selected] > MAX_HELD_ROWS

    def _ordered(
        self, attributes: Sequence[Attribute], carried: Sequence[str], *, by_codes: bool = False
    ) -> SortedRows:
        from pyspark.sql.pandas.types import to_arrow_type

        key = self.selected(attributes, carried), by_codes
        if key not in self._sorted:
            counts = DistinctRowCounts(tuple(name for name, _ in key[0]), self.name, self.reading)
            kinds = {
                f.name: (f.dataType.simpleString(), to_arrow_type(f.dataType))
                for f in self.frame.schema
                if f.name in carried
            }
            codes = CodesTask(counts, tuple(attributes), tuple((name, *kinds[name]) for name in carried))
            self._sorted[key] = self.open.enter_context(
                sort_distinct_rows(self.grouped(key[0]), codes, self.held, by_codes)
            )
        return self._sorted[key]

    def _counts(self, attributes: Sequence[Attribute], carried: Sequence[str]) -> Snapshot:
        """Return the distinct values of the attributes and the carried columns as a table of counts; counted once."""
        selected = self.selected(attributes, carried)
        if selected not in self._counted:
            table = self.fetched(self.grouped(selected))
            counts = DistinctRowCounts(tuple(name for name, _ in selected), self.name, self.reading)
            self._counted[selected] = self.open.enter_context(counts.read(table, self.scratch))
        return self._counted[selected]

    def _recoded(self, attribute: Attribute, kind: DataType) -> str:
        """Return SQL of a column, recoded by the policy if that certainly preserves its categories."""
        codes = self.reading.codes(attribute.name)
        if not _recodes_equally(attribute, kind, codes):
            return _quote_identifier(attribute.name)
        try:
            return category_sql(attribute, codes, "spark")
        except PolicyError:  # the unmodified values also keep its categories apart
            return _quote_identifier(attribute.name)


@contextmanager
def open_snapshot(
    spark: SparkSession, found: Callable[[], DataFrame], name: str, scratch: Path, reading: Reading
) -> Iterator[SparkSnapshot]:
    """Open a table as a snapshot."""
    del spark
    with translate_errors(name):
        frame = found()
        held = pin_files(name, found, frame)
        frame = frame.selectExpr(*(_column_sql(f.name, f.dataType, reading) for f in frame.schema))
        schema = frame.schema
    with ExitStack() as stack:
        shape = stack.enter_context(encoded(_empty_table(schema), name, scratch, reading, kind=TABLE_KIND))
        with translate_errors(name):
            count = frame.count()
        opened = SparkSnapshot(name, frame, shape, held, count, scratch, reading, stack)
        opened.unchanged()
        yield opened


def _recodes_equally(attribute: Attribute, kind: DataType, codes: Sequence[Value]) -> bool:
    """Return whether SQL for a column whose type the policy implies recodes one of this type to the same categories."""
    spelled = type(kind).__name__
    if attribute.bins is not None:
        moments = any(isinstance(edge, str) for edge in attribute.bins.edges)
        return spelled == "DateType" if moments else spelled in _REAL | _WHOLE
    texts = (*(attribute.domain or ()), *codes)
    return spelled == "StringType" and attribute.domain is not None and all(isinstance(t, str) for t in texts)


def _empty_table(schema: StructType) -> pa.Table:
    """Return a table without a record whose columns have the types in which Spark returns them."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_type

    def of(kind: DataType) -> pa.DataType:
        try:
            return to_arrow_type(kind, timezone="UTC")
        except Exception:  # noqa: BLE001 of pyspark's, for types that it does not hand over
            return pa.binary()

    return pa.schema([(f.name, of(f.dataType)) for f in schema]).empty_table()


def _column_sql(name: str, kind: DataType, reading: Reading) -> str:
    """Return SQL of a column whose texts are compared by their bytes; of a rounded weight, after rounding."""
    column, step = _quote_identifier(name), reading.rounding.get(name)
    spelled = type(kind).__name__
    if step is not None and (spelled in _REAL | _WHOLE or spelled == "DecimalType"):
        return f"{rounding(f'CAST({column} AS DOUBLE)', step)} AS {column}"
    plain = type(kind).__name__ != "StringType" or kind.simpleString() == "string"
    return column if plain else f"({column} COLLATE UTF8_BINARY) AS {column}"


def _quote_identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
