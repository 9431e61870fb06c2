"""CSV by RFC 4180: commas (tabs in .tsv), double quotes, UTF-8, a header; gzip is read directly.

`[source.csv]` states deviations. CSV has no types and no null: an empty field, quoted or not, is null, and so are the
codes of missing values. A column's type is BOOLEAN, BIGINT, DOUBLE, DATE or TIMESTAMP if every value is spelled as such
(`.5` and `1e-05` are numbers, `01` and `1e3` text), else VARCHAR; a domain of text reads it as text in any case.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.engine.column_types import StoredColumn
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.engine.scan import read_csv
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import Reading
from rrpolicy.source.duckdb.files import shown_name
from rrpolicy.source.duckdb.missing import with_missing_as_null
from rrpolicy.source.duckdb.plaintext import CsvTextFile, readable_text_file

if TYPE_CHECKING:
    import duckdb

    from rrpolicy.policy.model import CsvSettings

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
        raise DataError(
            Problem(
                "RR303",
                f"{shown_name(path)}: fields are parted by semicolons",
                expected="commas, or tabs in a .tsv file",
                hint='say so: `delimiter = ";"` under [source.csv]; `rrpolicy init` finds it out',
            )
        )
    if settings.delimiter not in {None, ","} and len(names) == 1 and file.parts(",") > 1:
        message = f"{shown_name(path)}: fields are parted by commas, and [source.csv] says {settings.delimiter!r}"
        hint = "write it as the policy's own table is written, or as Parquet, which is read without [source.csv]"
        raise DataError(Problem("RR303", message, expected=f"{settings.delimiter!r} between fields", hint=hint))
    if len(names) != width:
        raise header_width_error(shown_name(path), len(names), width)
    return (names[0] or FIRST, *names[1:])


def header_width_error(name: str, names: int, width: int) -> DataError:
    """Return RR308 for a header with another number of fields than the records below it."""
    message = f"{name}: the header has {names} field{'s' * (names != 1)} and the first record {width}"
    hint = "mend the first line, such as a comma too many at its end; `skip` under [source.csv] is for lines above it"
    return DataError(Problem("RR308", message, expected="a name for each field of a record", hint=hint))


def _encoding_error(path: str, settings: CsvSettings) -> DataError:
    return DataError(
        Problem(
            "RR304",
            f"{shown_name(path)}: not {settings.encoding.upper()} text",
            expected=settings.encoding.upper(),
            hint='name its encoding, such as `encoding = "latin-1"` under [source.csv]; `rrpolicy init` finds it out',
        )
    )


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
        raise DataError(
            Problem(
                "RR326",
                f"{shown_name(path)}: the engine read {records:,} records, and counting finds {counted}",
                expected="every record of the file",
                hint="shorten records of many million characters, mend quotes, or write the table as Parquet",
            )
        )
