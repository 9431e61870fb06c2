"""Format of released tables: written from distinct rows with multiplicities, read back as SQL.

Every file is new and contains released values only: dictionaries are built from the rows of their row group, no
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
    from rrpolicy.counts import Ints

ROWS_PER_GROUP = 1 << 20
"""Maximum number of rows that a writer receives in one call."""


class UnlikeSpecError(ValueError):
    """A data file that differs from the table described in its manifest."""


class TableWriter(Protocol):
    """Writes one table's file."""

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Write distinct rows, each `n` times; at most `ROWS_PER_GROUP` in all.

        Args:
            rows: rows of the table's Arrow schema; text may come as dictionary arrays.
            n: (rows,) multiplicities, all > 0.
        """
        ...

    def close(self) -> None:
        """Finish the file."""
        ...

    def abandon(self) -> None:
        """Release the file, finished or not; the caller removes it."""
        ...


class Format(Protocol):
    """Format of released tables: how they are written, read back, and described in metadata.

    Reading a release in this format, to estimate or to verify, needs its plugin. The format returns these values as
    they were written, with the types of `rrpolicy.plugin.arrow_schema`:

    - categories and labels: VARCHAR, BOOLEAN, DOUBLE, BIGINT and other integers, never null;
    - sets: lists of these, such as VARCHAR[]; a list may be empty, or null;
    - numbers of groups and of records: BIGINT, never null;
    - columns without categories: any of these, FLOAT, DECIMAL, DATE, TIME and TIMESTAMP, with and without a time zone;
      null or not, infinity included.

    Text, in values and in names of columns, is any Unicode text; empty text is not null.

    Attributes:
        name: name in policies and suffix of the files; letters and digits.
        media_type: media type for the metadata of a release.
        packaged: whether clients of data packages read it as a table.
        alone: whether reading it leaves state in the engine, which is then a separate one.
        same_bytes: whether the same rows give the same bytes, with the same versions of the writing libraries.
        note: a comment above the SQL of `sql`, on steps required before it runs; "" for no comment.
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
            handling: treatment of text that a spreadsheet would run as a formula, in text that spreadsheets open.
        """
        ...

    def relation(self, connection: duckdb.DuckDBPyConnection, path: Path, spec: TableSpec, handling: Handling) -> str:
        """Return SQL to follow FROM that reads a whole file, for repeated use.

        Args:
            connection: the connection that runs the SQL; required objects may be registered there, under a name that
                contains the table's.
            path: path of the file, which may be of foreign origin.
            spec: the expected names, and types as in `rrpolicy.plugin.arrow_schema`.
            handling: the treatment with which it was written.

        An empty file is refused like any foreign file. No result is left unfinished on the connection: the next query
        on it would close that result.

        Raises:
            UnlikeSpecError: if the file is not of this format, or does not contain exactly the table.
            duckdb.Error: likewise, of a foreign file or a damaged one; so are ValueError and OSError.
        """
        ...

    def sql(self, path: str, columns: Sequence[Column], handling: Handling) -> str:
        """Return SQL to follow FROM in any DuckDB, for analysts without rrpolicy.

        Args:
            path: path of the file, relative to the working directory.
            columns: columns of the table.
            handling: the treatment with which it was written.
        """
        ...


@runtime_checkable
class MultiFileFormat(Protocol):
    """A format of tables in several files: `[release] rows_per_file`. `Format.sql` then gets a pattern."""

    def relation_of(
        self, connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], spec: TableSpec, handling: Handling
    ) -> str:
        """Return SQL to follow FROM that reads the files of a table one after the other; see `Format.relation`.

        `paths` are in the order of the table's rows.
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
"""The core's formats."""
CORE_FORMATS: Formats = LazyMapping({offer.name: offer for offer in FORMAT_OFFERS}, lambda _, offer: offer.load())
"""Formats that are available without plugins."""


MAX_FILES = 100_000
"""Maximum number of files of a table: their names have five digits."""


def file_count(rows: int, rows_per_file: int) -> int:
    """Return the number of files for a table with so many rows."""
    return max(1, -(-rows // rows_per_file))


def file_name(table: str, form: str, part: int | None = None) -> str:
    """Return the name of a released table's file, relative to public/.

    `part` is the number of the file, from 0; None if the table is in one file.
    """
    return f"{table}.{form}" if part is None else f"{table}/part-{part:05d}.{form}"


def relation_sql(
    form: Format, connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], spec: TableSpec, handling: Handling
) -> str:
    """Return SQL that reads the files of a table; see `Format.relation`.

    Raises UnlikeSpecError if they cannot be read as the manifest describes them, whatever the format raises.
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
    """Return the message for files that are not of their format."""
    if len(paths) == 1:
        return f"{paths[0].name} cannot be read as the {form} file that the manifest describes"
    return f"{paths[0].parent.name}/ cannot be read as the {form} files that the manifest describes"
