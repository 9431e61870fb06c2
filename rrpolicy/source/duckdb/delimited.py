"""CSV by RFC 4180: commas (tabs in .tsv), double quotes, UTF-8, a header; gzip is read directly.

`[source.csv]` states deviations. CSV has no types and no null: an empty field, quoted or not, is null, and so are the
codes of missing values. A column's type is BOOLEAN, BIGINT, DOUBLE, DATE or TIMESTAMP if every value is spelled as such
(`.5` and `1e-05` are numbers, `01` and `1e3` text), else VARCHAR; a domain of text reads it as text in any case.
"""

from __future__ import annotations

import csv
import gzip
import io
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from rrpolicy.engine.column_types import StoredColumn
from rrpolicy.engine.quoting import identifier, literal, read_csv
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import CsvSettings, Reading
from rrpolicy.source.duckdb.files import shown_name
from rrpolicy.source.duckdb.missing import with_missing_as_null

if TYPE_CHECKING:
    import duckdb

    from rrpolicy.policy.model import CsvSettings


CHUNK_BYTES = 1 << 20
MAX_FIELD_BYTES = 1 << 30
"""The most characters of a field that are counted; Python's default limit is 128 Ki."""


class CsvTextFile(Struct, frozen=True):
    """A file of UTF-8 text that begins with its header, packed by gzip or not."""

    path: str
    delimiter: str
    quote: str

    @property
    def packed(self) -> bool:
        """Return whether it is packed by gzip."""
        return self.path.lower().endswith(".gz")

    def header(self) -> tuple[list[str], int]:
        """Return the fields of the first record, () if there is no record, and the number of fields of the next one.

        Raises UnicodeDecodeError if it is not UTF-8; csv.Error, OSError, EOFError or zlib.error if it cannot be read.
        """
        with _open_text(self.path, "utf-8-sig") as stream:
            reader = self._reader(stream)
            names = next(reader, [])
            with suppress(csv.Error, UnicodeDecodeError):
                return names, next((len(row) for row in reader if row), len(names))
            return names, len(names)

    def parts(self, delimiter: str) -> int:
        """Return the number of fields of the first line under another delimiter; 0 if it then is not CSV.

        Nothing further is read: quotes that another delimiter begins may end anywhere. Raises as `header`.
        """
        with _open_text(self.path, "utf-8-sig") as stream:
            line = stream.readline(CHUNK_BYTES)
        try:
            return len(next(self._reader([line], delimiter), []))
        except csv.Error:
            return 0

    def records(self) -> int:
        """Return the number of records after the header, empty lines not counted."""
        with _open_text(self.path, "utf-8-sig") as stream:
            return sum(1 for row in self._reader(stream) if row) - 1

    def lines(self) -> int:
        """Return the number of lines after the header that end outside of quotes, at the speed of reading.

        These are the records, unless lines are empty, end otherwise than in a line feed, or quotes occur in the middle
        of fields: then use `records`.
        """
        count, inside, last = 0, False, b""
        quote = self.quote.encode()
        with open_binary(self.path) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                for place, part in enumerate(chunk.split(quote) if quote else [chunk]):
                    inside ^= place > 0
                    count += 0 if inside else part.count(b"\n")
                last = chunk[-1:]
        return count - (last in {b"\n", b""})

    def _reader(self, lines: Iterable[str], delimiter: str | None = None) -> Iterator[list[str]]:
        delimiter = delimiter or self.delimiter
        csv.field_size_limit(MAX_FIELD_BYTES)
        if not self.quote:
            return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
        return csv.reader(lines, delimiter=delimiter, quotechar=self.quote, strict=True)


def readable_text_file(path: str, settings: CsvSettings, scratch: Path) -> CsvTextFile:
    """Return a file that the engine can read: itself, or a copy in the scratch folder.

    Raises UnicodeDecodeError if a file that is copied is not in its encoding; OSError, EOFError or zlib.error if it
    cannot be read or copied.
    """
    plain = path.lower().removesuffix(".gz")
    delimiter = settings.delimiter or ("\t" if plain.endswith(".tsv") else ",")
    if settings.encoding == "utf-8" and not settings.skip:
        return CsvTextFile(path, delimiter, settings.quote)
    copy = scratch / f"text-{secrets.token_hex(8)}.csv"
    encoding = "utf-8-sig" if settings.encoding == "utf-8" else settings.encoding
    with _open_text(path, encoding) as stream, copy.open("x", encoding="utf-8", newline="") as target:
        copy.chmod(0o600)
        for _ in range(settings.skip):
            stream.readline()
        while chunk := stream.read(CHUNK_BYTES):
            target.write(chunk)
    return CsvTextFile(str(copy), delimiter, settings.quote)


@contextmanager
def open_binary(path: str) -> Iterator[IO[bytes]]:
    """Open a file's bytes, unpacked if its name ends in .gz."""
    with Path(path).open("rb") as raw:
        if path.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield raw


@contextmanager
def _open_text(path: str, encoding: str) -> Iterator[IO[str]]:
    with open_binary(path) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        yield text


_EXPONENT = "([eE][+-]([0-9]{1,2}|[12][0-9]{2}))"
"""An exponent with its sign, as programs write it: `1e3` is more likely a code."""
DECIMAL_PATTERN = f"-?(0|[1-9][0-9]*)?[.][0-9]+{_EXPONENT}?"
"""A number with a fraction."""
NUMBER_PATTERN = f"-?(0|[1-9][0-9]*){_EXPONENT}?|{DECIMAL_PATTERN}"
"""Any finite number."""
_SPELLINGS = {
    "BOOLEAN": "true|false",
    "BIGINT": "0|-?[1-9][0-9]{0,17}",
    "DOUBLE": f"{NUMBER_PATTERN}|(?i:nan|-?inf)",
    "DATE": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "TIMESTAMP": "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?",
}
FIRST = "column 1"
"""The name given to a nameless first column: R and pandas write row numbers so."""
_TOGETHER = 16
"""Columns whose types are found in one pass: tests of hundreds at once take gigabytes, and longer than some passes."""
_PARSED_ONCE = "parsed once"
_PARSED = ("DATE", "TIMESTAMP")
"""Types with well-spelled values that do not exist, such as 30 February."""


def readable_csv(path: str, settings: CsvSettings, scratch: Path) -> CsvTextFile:
    """Return a CSV file as the engine can read it.

    `scratch` takes a copy if the file has another encoding, or lines before its header.
    """
    try:
        return readable_text_file(path, settings, scratch)
    except UnicodeError:
        raise _encoding_error(path, settings) from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(Problem("RR303", f"{shown_name(path)}: cannot be unpacked")) from None


def csv_header(path: str, file: CsvTextFile, settings: CsvSettings) -> tuple[str, ...]:
    """Return the column names of a CSV file; a first one without a name is called `FIRST`."""
    try:
        names, width = file.header()
    except UnicodeDecodeError:
        raise _encoding_error(path, settings) from None
    except (csv.Error, EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(Problem("RR303", f"{shown_name(path)}: the header cannot be read as CSV")) from None
    if not names:
        raise DataError(
            Problem("RR308", f"{shown_name(path)}: the file is empty", expected="a first line with the column names")
        )
    if settings.delimiter is None and file.parts(";") > len(names):
        message = f"{shown_name(path)}: fields are parted by semicolons"
        hint = 'declare it: `delimiter = ";"` under [source.csv]; `rrpolicy init` detects it'
        raise DataError(Problem("RR303", message, expected="commas, or tabs in a .tsv file", hint=hint))
    if settings.delimiter not in {None, ","} and len(names) == 1 and file.parts(",") > 1:
        message = (
            f"{shown_name(path)}: fields are separated by commas, and [source.csv] declares {settings.delimiter!r}"
        )
        hint = "write it as the policy's own table is written, or as Parquet, which is read without [source.csv]"
        raise DataError(Problem("RR303", message, expected=f"{settings.delimiter!r} between fields", hint=hint))
    if len(names) != width:
        raise header_width_error(shown_name(path), len(names), width)
    return (names[0] or FIRST, *names[1:])


def header_width_error(name: str, names: int, width: int) -> DataError:
    """Return RR308 for a header with another number of fields than the records below it."""
    message = f"{name}: the header has {names} field{'s' * (names != 1)} and the first record {width}"
    hint = (
        "correct the first line, such as a comma too many at its end; `skip` under [source.csv] is for lines above it"
    )
    return DataError(Problem("RR308", message, expected="a name for each field of a record", hint=hint))


def _encoding_error(path: str, settings: CsvSettings) -> DataError:
    message = f"{shown_name(path)}: not {settings.encoding.upper()} text"
    hint = 'name its encoding, such as `encoding = "latin-1"` under [source.csv]; `rrpolicy init` finds it out'
    return DataError(Problem("RR304", message, expected=settings.encoding.upper(), hint=hint))


def csv_scan_sql(path: str, file: CsvTextFile, names: Sequence[str]) -> str:
    """Return SQL that reads the file, every column as text, refusing malformed records."""
    told = {"skip": "0", "comment": "''", "encoding": "'utf-8'", "strict_mode": "true", "null_padding": "false"}
    told |= {"ignore_errors": "false", "compression": "'gzip'" if file.packed else "'none'"}
    return read_csv(path, dict.fromkeys(names, "VARCHAR"), file.delimiter, file.quote, **told)


def columns(
    connection: duckdb.DuckDBPyConnection, source: str, names: Sequence[str], reading: Reading
) -> tuple[str, int, list[StoredColumn]]:
    """Read the file, `_TOGETHER` columns at a time; a column that is not read is text.

    Returns SQL that reads the file without the codes of missing values; the number of records; each column with the
    type in which all its values are spelled.
    """
    source = with_missing_as_null(source, [StoredColumn(name, "VARCHAR") for name in names], reading)
    if reading.column_wise:
        connection.execute(f"CREATE TABLE {identifier(_PARSED_ONCE)} AS SELECT * FROM {source}")
        source = identifier(_PARSED_ONCE)
    comma, width = reading.csv.decimal == ",", len(_SPELLINGS) + 4
    wanted = [name for name in names if reading.reads(name)]
    found, records = {name: StoredColumn(name, "VARCHAR") for name in names}, 0
    for start in range(0, max(len(wanted), 1), _TOGETHER):
        part = wanted[start : start + _TOGETHER]
        tests = [test for name in part for test in _type_test_sql(identifier(name), comma=comma)]
        row = connection.execute(f"SELECT {', '.join(['count(*)', *tests])} FROM {source}").fetchone()
        assert row is not None
        records = row[0]
        found |= {name: _inferred_column(name, row[1 + i * width :], comma=comma) for i, name in enumerate(part)}
    return source, records, list(found.values())


def _type_test_sql(sql: str, *, comma: bool) -> list[str]:
    mark, other = (decimal_comma_pattern, str) if comma else (str, decimal_comma_pattern)
    tests = []
    for kind, spelling in _SPELLINGS.items():
        holds = f"regexp_full_match({sql}, {literal(spelling if kind in _PARSED else mark(spelling))})"
        if kind in _PARSED:
            holds += f" AND TRY_CAST({sql} AS {kind}) IS NOT NULL"
        tests.append(f"coalesce(bool_and({holds}) FILTER (WHERE {sql} IS NOT NULL), false)")
    counted = [mark(NUMBER_PATTERN), other(DECIMAL_PATTERN), "0[0-9]+"]
    tests += [f"count(*) FILTER (WHERE regexp_full_match({sql}, {literal(pattern)}))" for pattern in counted]
    return [*tests, f"count({sql})"]


def decimal_comma_pattern(pattern: str) -> str:
    """Return a pattern of numbers with a decimal comma in place of the point."""
    return pattern.replace("[.]", "[,]")


def _inferred_column(name: str, found: Sequence[int], *, comma: bool) -> StoredColumn:
    kind = next((kind for kind, holds in zip(_SPELLINGS, found, strict=False) if holds), "VARCHAR")
    numbers, others, padded, known = found[len(_SPELLINGS) : len(_SPELLINGS) + 4]
    odd = known - numbers if numbers or others or padded else 0
    return StoredColumn(name, kind, spelled=kind != "VARCHAR", comma=comma, odd=odd, other_mark=others, padded=padded)


def check_record_count(path: str, file: CsvTextFile, records: int) -> None:
    """Count the records without the engine, which may silently lose a record longer than it can read."""
    if file.lines() == records:
        return
    try:
        there = file.records()
    except (csv.Error, UnicodeDecodeError, EOFError, zlib.error):
        there = -1
    if there != records:
        counted = f"{there:,} records" if there >= 0 else "other records"
        message = f"{shown_name(path)}: the engine read {records:,} records, and counting finds {counted}"
        hint = "shorten records of many million characters, correct quotes, or write the table as Parquet"
        raise DataError(Problem("RR326", message, expected="every record of the file", hint=hint))
