"""The data files of a release as assessors may read them: the `Written` of `rrpolicy.privacy.model`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.bundle.tables.released_table import ReleasedTable, open_released_table
from rrpolicy.canonical_json import Value, category_text
from rrpolicy.channels.table import TableSpec
from rrpolicy.engine.quoting import identifier, sql_list
from rrpolicy.formats.column_types import engine_type
from rrpolicy.formats.format import CORE_FORMATS, Formats
from rrpolicy.manifest.manifest import Data

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.privacy.classes.histograms import Classes


class LazyReleasedTables(Struct, frozen=True):
    """The data files, by table."""

    tables: Mapping[str, ReleasedTable]

    def distinct(self, table: str) -> pa.RecordBatchReader:
        """Return a table's distinct rows in canonical order, with a column `MULTIPLICITY`."""
        return self.tables[table].distinct()

    def unordered(self, table: str, *columns: str) -> pa.RecordBatchReader:
        """Return all rows of some columns in no particular order; see `Written.unordered`."""
        return self.tables[table].unordered(*columns)

    def classes(
        self,
        table: str,
        known: Sequence[str],
        sensitive: Sequence[str],
        within: Mapping[str, Sequence[Value]],
        suppressed: Sequence[Value] | None,
    ) -> Classes:
        """Return a table's equivalence classes; see `Written.classes`."""
        from rrpolicy.privacy.classes.class_counts import CountedColumn, count_classes

        read = self.tables[table]
        columns = {c.name: c for c in read.spec.columns}

        def among(name: str, values: Sequence[Value]) -> str:
            kind = engine_type(columns[name])
            spelled = list(map(category_text, values)) if kind == "VARCHAR" else list(values)
            return f"list_contains({sql_list(spelled, kind)}, {identifier(name)})"

        concerned = [among(name, values) for name, values in within.items()]
        starred = [among(name, [value]) for name, value in zip(known, suppressed or (), strict=False)]
        found = count_classes(
            read.connection,
            read.relation,
            [identifier(name) for name in known],
            [CountedColumn(name, identifier(name), columns[name].spelled) for name in sensitive],
            concerned=" AND ".join(concerned) or None,
            suppressed=" AND ".join(starred) or None,
        )
        return found.classes


class _LazyTableMapping(Mapping[str, ReleasedTable]):
    """Tables that are opened when they are first read: most requirements are decided by the channel alone."""

    def __init__(self, opening: Mapping[str, AbstractContextManager[ReleasedTable]], stack: ExitStack) -> None:
        self._opening, self._stack = opening, stack
        self._open: dict[str, ReleasedTable] = {}

    def __getitem__(self, name: str) -> ReleasedTable:
        if name not in self._open:
            self._open[name] = self._stack.enter_context(self._opening[name])
        return self._open[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._opening)

    def __len__(self) -> int:
        return len(self._opening)


def open_data_table(
    folder: Path, data: Data, spec: TableSpec, scratch: Path, formats: Formats = CORE_FORMATS
) -> AbstractContextManager[ReleasedTable]:
    """Open a table of a release read-only; see `open_table`.

    Raises:
        UnlikeSpecError: if it cannot be read, or its columns are not those of its spec.
    """
    paths = [folder / name for name in data.tables[spec.name].files]
    return open_released_table(paths, data.format, spec, scratch, data.csv_formulas, formats)


@contextmanager
def open_data_tables(
    folder: Path, data: Data, specs: Sequence[TableSpec], scratch: Path, formats: Formats = CORE_FORMATS
) -> Iterator[LazyReleasedTables]:
    """Yield all data files of a release, each opened read-only when it is first read.

    Raises:
        UnlikeSpecError: on reading, if one cannot be read, or its columns are not those of its spec.
    """
    with ExitStack() as stack:
        opening = {spec.name: open_data_table(folder, data, spec, scratch, formats) for spec in specs}
        yield LazyReleasedTables(_LazyTableMapping(opening, stack))
