"""The destination of a draw: released rows are sorted canonically, digested and written, out of core if needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.bundle.tables.external_sort import ExternalSorter
from rrpolicy.bundle.tables.tie_break import TieBreaker
from rrpolicy.channels.table import TableSpec
from rrpolicy.engine.arrays import arrow_scalar, as_numpy, number_array
from rrpolicy.escaping.formulas import Handling
from rrpolicy.formats.column_types import arrow_schema, label_positions
from rrpolicy.formats.format import CORE_FORMATS, Formats, file_count
from rrpolicy.formats.parts import LOCAL_SINK, FileParts, FileSink
from rrpolicy.plugin_errors.type_checks import check_protocol
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Counts, Ints

_TOGETHER = 1 << 16  # combinations of labels that are counted together: they stay in the cache


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """A released table on disk.

    Attributes:
        files: files of the table, in the order of its rows, relative to public/.
        rows: number of rows.
        digest: digest of its canonical row stream, `sha256:…`; the same in every format.
        counts: category column -> records of each label.
        joint: records of each combination of labels; None if not counted.
    """

    files: tuple[str, ...]
    rows: int
    digest: str
    counts: Mapping[str, tuple[int, ...]]
    joint: Counts | None = field(default=None, compare=False, repr=False)


class FolderSink:
    """Writes each table of a channel into a folder; see `rrpolicy.channels.base.Sink`."""

    def __init__(  # noqa: PLR0917 each is another thing
        self,
        tables: Sequence[TableSpec],
        folder: Path,
        form: str,
        scratch: Path,
        handling: Handling = "escape",
        formats: Formats = CORE_FORMATS,
        passed: Callable[[int], None] = lambda _: None,
        rows_per_file: int | None = None,
        files: FileSink = LOCAL_SINK,
    ) -> None:
        """Make a sink.

        `passed` is called with the number of rows of the first table so far. Without `rows_per_file` each table is one
        file. The caller wipes `scratch`.
        """
        chosen = formats[form]
        self._first, self._taken, self._passed = tables[0].name, 0, passed
        self._tables = {
            spec.name: _TableFileWriter(FileParts(spec, folder, chosen, handling, rows_per_file), scratch, files)
            for spec in tables
        }

    def write(
        self, table: str, batch: pa.RecordBatch, n: Ints | None = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        """Take released rows."""
        self._tables[table].write(batch, n, in_order=in_order, sorted_by=sorted_by)
        if table == self._first:
            self._taken += batch.num_rows if n is None else int(n.sum())
            self._passed(self._taken)

    def finish(self) -> Mapping[str, WrittenTable]:
        """Sort unsorted rows, close the files and return a summary per table."""
        return {name: sink.finish() for name, sink in self._tables.items()}

    def abandon(self) -> None:
        """Close every file; for a draw that failed. The caller removes the folder."""
        for sink in self._tables.values():
            sink.abandon()


class _TableFileWriter:
    def __init__(self, parts: FileParts, scratch: Path, files: FileSink) -> None:
        self._spec = parts.spec
        self._schema = arrow_schema(parts.spec)
        self._begin = partial(_OrderedRowWriter, parts, scratch, files)
        self._scratch = scratch
        self._ordered: _OrderedRowWriter | None = None
        self._spool: ExternalSorter | None = None
        self._ties: TieBreaker | None = None
        self._promise: tuple[bool, int] | None = None

    def write(self, batch: pa.RecordBatch, n: Ints | None, *, in_order: bool, sorted_by: int) -> None:
        import numpy as np

        rows = self._cast(batch)
        counts = np.ones(batch.num_rows, dtype=np.int64) if n is None else n
        self._promise = self._promise or (in_order, sorted_by)
        if self._promise != (in_order, sorted_by):
            raise ValueError("rows in order and rows in no order cannot be mixed in one table")
        if in_order:
            self._ordered = self._ordered or self._begin()
            self._ordered.write(rows, counts)
        elif self._ties is not None or (self._spool is None and TieBreaker.fits(self._spec, sorted_by)):
            self._ties = self._ties or TieBreaker(self._spec, sorted_by, self._scratch)
            self._write(self._ties.write(rows, counts))
        else:
            self._spool = self._spool or ExternalSorter(self._spec, self._scratch)
            self._spool.write(rows, counts)

    def finish(self) -> WrittenTable:
        if self._spool is not None:
            self._spool.close()
            self._write(self._spool.sorted())
        if self._ties is not None:
            self._write(self._ties.close())
        if self._ordered is None:
            raise ValueError(f"the draw wrote nothing into table {self._spec.name!r}")
        return self._ordered.finish()

    def abandon(self) -> None:
        if self._spool is not None:
            self._spool.close()
        if self._ties is not None:
            self._ties.abandon()
        if self._ordered is not None:
            self._ordered.abandon()

    def _write(self, ordered: Iterable[tuple[pa.RecordBatch, Ints]]) -> None:
        self._ordered = self._ordered or self._begin()
        for rows, n in ordered:
            self._ordered.write(rows, n)

    def _cast(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch in the types of the table's schema, dictionaries of text unchanged, no negative zeros."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if batch.schema.names != self._schema.names:
            raise ValueError("the draw wrote other columns than its channel declares")
        columns = []
        for stated, column in zip(self._schema, batch.columns, strict=True):
            if column.type == pa.dictionary(pa.int32(), pa.string()) and pa.types.is_string(stated.type):
                columns.append(column)
                continue
            plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            plain = plain if plain.type == stated.type else plain.cast(stated.type)
            columns.append(
                pc.add(plain, arrow_scalar(0.0, stated.type)) if pa.types.is_floating(stated.type) else plain
            )
        return pa.RecordBatch.from_arrays(columns, names=self._schema.names)


class _OrderedRowWriter:
    """Digests and writes distinct rows in canonical order; digesting runs concurrently with writing."""

    def __init__(self, parts: FileParts, scratch: Path, files: FileSink) -> None:
        from rrpolicy.source.row_digest import RowDigest

        self._counts = LabelCounter(parts.spec)
        self._digest = RowDigest()
        self._parts, self._written = parts, 0
        self._files = files.writer(parts, scratch)
        check_protocol(self._files, ("write", "close", "abandon"), files.writer)

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        import pyarrow as pa

        self._counts.add(rows, n)
        counted = rows.append_column(pa.field(MULTIPLICITY, pa.int64()), number_array(n))
        self._digest.update(counted)
        self._files.write(rows, n)
        self._written += int(n.sum())

    def abandon(self) -> None:
        self._digest.abandon()
        self._files.abandon()

    def finish(self) -> WrittenTable:
        self._files.close()
        digest = "sha256:" + self._digest.digest().hex()
        cut = self._parts.rows_per_file
        files = tuple(map(self._parts.name, range(1 if cut is None else file_count(self._written, cut))))
        return WrittenTable(files, self._written, digest, self._counts.counts(), self._counts.joint())


class LabelCounter:
    """Counts the labels of category columns while rows pass, and refuses other values.

    Columns are counted together while the combinations of their labels are few: one look at each row in place of one
    for each column.
    """

    def __init__(self, spec: TableSpec) -> None:
        import numpy as np

        from rrpolicy.channels.values import labels

        kinds = {f.name: f.type for f in arrow_schema(spec)}
        columns = [c for c in spec.columns if c.kind in {"category", "interval"}]
        self._labels = {c.name: labels(c).cast(kinds[c.name]) for c in columns}
        names = tuple(self._labels)
        few = math.prod(map(len, self._labels.values())) <= _TOGETHER
        groups = [names] if few else [(name,) for name in names]
        self._tables = {g: np.zeros([len(self._labels[name]) for name in g], dtype=np.int64) for g in groups}

    def add(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take distinct rows with their multiplicities.

        Raises:
            ValueError: if a value is not among its column's labels.
        """
        import numpy as np

        weights = None if len(n) == int(n.sum()) else n
        for names, table in self._tables.items():
            number = np.zeros(len(n), dtype=np.int32)
            for name, size in zip(names, table.shape, strict=True):
                number *= np.int32(size)
                number += self._places(name, rows.column(name))
            found = np.bincount(number, weights, minlength=table.size).astype(np.int64)
            table[...] += found.reshape(table.shape)

    def counts(self) -> Mapping[str, tuple[int, ...]]:
        """Return the records of each label, by column."""
        return {
            name: tuple(table.sum(axis=tuple(j for j in range(table.ndim) if j != i)).tolist())
            for names, table in self._tables.items()
            for i, name in enumerate(names)
        }

    def joint(self) -> Counts | None:
        """Return the records of each combination of labels; None if they are too many."""
        import numpy as np

        from rrpolicy.counts import Counts

        if tuple(self._labels) not in self._tables:
            return None
        ((names, table),) = self._tables.items()
        codes = np.argwhere(table)
        return Counts(names, table.shape, codes.astype(np.int32), table[table > 0])

    def _places(self, name: str, column: pa.Array) -> Ints:
        """Return (rows,) the position of each value among its column's labels."""
        import numpy as np
        import pyarrow as pa

        labels = self._labels[name]
        if not pa.types.is_dictionary(column.type):
            return label_positions(column, labels, name)
        places, indices = label_positions(column.dictionary, labels, name), as_numpy(column.indices)
        return indices if np.array_equal(places, np.arange(len(places))) else places[indices]
