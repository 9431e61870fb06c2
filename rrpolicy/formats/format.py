"""What a format of released tables is: written from distinct rows with multiplicities, read back as SQL.

Every file is new and holds released values only: dictionaries are built from the rows of their own row group, no
pandas or Arrow metadata, times, hosts or paths are written. Parquet and CSV have the same bytes for the same rows and
library versions, however the rows arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from rrpolicy.escaping.formulas import Handling
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.plugin_spec import LazyMapping, Offer

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from rrpolicy.channels.table import Column, TableSpec
    from rrpolicy.source.counts import Ints

ROWS_PER_GROUP = 1 << 20
"""The most rows that a writer is given at a time."""


class UnlikeSpecError(ValueError):
    """A data file that is not the table its manifest describes."""


class TableWriter(Protocol):
    """Writes one table's file."""

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write distinct rows, each `n` times; at most `GROUP_ROWS` in all.

        Args:
            rows: of the table's Arrow schema; text may come as dictionary arrays.
            n: (rows,) multiplicities, all > 0.
        """
        ...

    def close(self) -> None:
        """Finish the file."""
        ...

    def abandon(self) -> None:
        """Let go of the file, finished or not; the caller removes it."""
        ...


class Format(Protocol):
    """How released tables are written, read back, and spoken of beside them.

    Who reads a release in it, to estimate or to verify, needs what brings it. It gives back these values as they were
    written, of the types that `rrpolicy.plugin.arrow_schema` has:

    - categories and labels: VARCHAR, BOOLEAN, DOUBLE, BIGINT and other integers, never null;
    - sets: lists of these, such as VARCHAR[]; a list may be empty, or null;
    - numbers of groups and of records: BIGINT, never null;
    - columns without categories: any of these, FLOAT, DECIMAL, DATE, TIME and TIMESTAMP, with and without a time zone;
      null or not, infinity included.

    Text, in values and in names of columns, is any Unicode text; empty text is not null.

    Attributes:
        name: what policies call it; letters and digits, as it is the ending of the files.
        media_type: for the metadata of a release.
        packaged: whether clients of data packages read it as a table.
        alone: whether reading it leaves something in the engine, which is then one of its own.
        same_bytes: whether the same rows give the same bytes, with the same versions of what writes them.
        note: a comment above the SQL of `sql`, on what must be done before it runs; empty if nothing.
    """

    name: str
    media_type: str
    packaged: bool
    alone: bool
    same_bytes: bool
    note: str

    def writer(self, path: Path, spec: TableSpec, handling: Handling) -> TableWriter:
        """Create a table's file.

        Args:
            path: must not exist.
            spec: the table.
            handling: of text that a spreadsheet would run as a formula, in text that spreadsheets open.
        """
        ...

    def relation(self, connection: duckdb.DuckDBPyConnection, path: Path, spec: TableSpec, handling: Handling) -> str:
        """Return SQL that stands after FROM and reads a file whole, as often as it is asked.

        Args:
            connection: where it will be asked; what it needs may be registered there, under a name with the table's.
            path: of the file, which somebody else may have written.
            spec: what it should hold: names, and types as `rrpolicy.plugin.arrow_schema` has them.
            handling: as it was written.

        A file without a byte is refused as any foreign file is. No result is left unfinished on the connection: the
        next query on it would close that.

        Raises:
            UnlikeSpecError: if the file is not of this format, or holds anything but the table.
            duckdb.Error: likewise, of a foreign file or a damaged one; so are ValueError and OSError.
        """
        ...

    def sql(self, path: str, columns: Sequence[Column], handling: Handling) -> str:
        """Return SQL that stands after FROM in any DuckDB, for analysts who have nothing else.

        Args:
            path: of the file, from where it is run.
            columns: of the table.
            handling: as it was written.
        """
        ...


@runtime_checkable
class MultiFileFormat(Protocol):
    """A format of tables in several files: `[release] rows_per_file`. `Format.sql` then gets a pattern."""

    def relation_of(
        self, connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], spec: TableSpec, handling: Handling
    ) -> str:
        """Return SQL that stands after FROM and reads the files of a table one after the other; see `Format.relation`.

        Args:
            connection: where it will be asked.
            paths: of the files, in the order of the table's rows.
            spec: what they should hold.
            handling: as they were written.
        """
        ...


Formats: TypeAlias = Mapping[str, Format]

FORMAT_OFFERS = tuple(
    Offer(name, f"rrpolicy.formats.{where}")
    for name, where in (
        ("parquet", "parquet:ParquetFormat"),
        ("csv", "delimited:CsvFormat"),
        ("duckdb", "duckdb:DuckDBFormat"),
    )
)
"""The core's own formats."""
CORE_FORMATS: Formats = LazyMapping({offer.name: offer for offer in FORMAT_OFFERS}, lambda _, offer: offer.load())
"""For who has no plugins."""


MAX_FILES = 100_000
"""That a table is cut into at most: their names have five digits."""


def file_count(rows: int, rows_per_file: int) -> int:
    """Return how many files so many rows of a table are cut into."""
    return max(1, -(-rows // rows_per_file))


def file_name(table: str, form: str, part: int | None = None) -> str:
    """Return the name of a released table's file, relative to public/.

    Args:
        table: its name.
        form: its format.
        part: which of its files, from 0 on; None if it lies in one.
    """
    return f"{table}.{form}" if part is None else f"{table}/part-{part:05d}.{form}"


def relation_sql(
    form: Format, connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], spec: TableSpec, handling: Handling
) -> str:
    """Return SQL that reads the files of a table; see `Format.relation`.

    Raises:
        UnlikeSpecError: if they cannot be read as the manifest says, whatever the format raises.
    """
    import duckdb

    try:
        if isinstance(form, MultiFileFormat):
            return check_return_type(str, form.relation_of)(connection, paths, spec, handling)
        (path,) = paths
        return check_return_type(str, form.relation)(connection, path, spec, handling)
    except UnlikeSpecError:
        raise
    except (duckdb.Error, ValueError, OSError) as error:
        raise UnlikeSpecError(unreadable_text(form.name, paths)) from error


def unreadable_text(form: str, paths: Sequence[Path]) -> str:
    """Return what is said of files that are not of their format."""
    if len(paths) == 1:
        return f"{paths[0].name} cannot be read as the {form} file that the manifest describes"
    return f"{paths[0].parent.name}/ cannot be read as the {form} files that the manifest describes"
