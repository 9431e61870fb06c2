"""CSV as RFC 4180 has it: commas (tabs in .tsv), double quotes, UTF-8, a header; gzip is read as it is.

CSV has no types and no null: an empty field, quoted or not, is null. A column's type is BIGINT, DOUBLE or BOOLEAN if
every value is spelled as such (`01` and `1e3` are text), else VARCHAR; a domain of text reads it as text in any case.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rrpolicy.errors import DataError, Problem
from rrpolicy.source.columns import Stored
from rrpolicy.source.files import shown
from rrpolicy.source.quoting import identifier, literal

if TYPE_CHECKING:
    import duckdb

_SPELLINGS = {
    "BOOLEAN": "true|false",
    "BIGINT": "0|-?[1-9][0-9]{0,17}",
    "DOUBLE": "-?(0|[1-9][0-9]*)([.][0-9]+)?|(?i:nan|-?inf)",
}


def header(path: str) -> tuple[str, ...]:
    """Return the column names of a CSV file.

    Raises:
        DataError: RR304 if it is not UTF-8; RR308 if there is no header.
    """
    try:
        with _text(path) as stream:
            names = next(csv.reader(stream, delimiter=_delimiter(path), strict=True), [])
    except UnicodeDecodeError:
        raise DataError(Problem("RR304", f"{shown(path)}: not UTF-8 text", expected="UTF-8")) from None
    except (csv.Error, EOFError, gzip.BadGzipFile, zlib.error):
        raise DataError(Problem("RR303", f"{shown(path)}: the header cannot be read as CSV")) from None
    if not names:
        raise DataError(
            Problem("RR308", f"{shown(path)}: the file is empty", expected="a first line with the column names")
        )
    if len(names) == 1 and ";" in names[0]:
        raise DataError(
            Problem(
                "RR303",
                f"{shown(path)}: fields are parted by semicolons",
                expected="commas, or tabs in a .tsv file",
                hint="write it again with commas",
            )
        )
    return tuple(names)


def scan(path: str, names: tuple[str, ...]) -> str:
    """Return SQL that reads the file, every column as text, refusing what is malformed.

    Args:
        path: as the engine is to open it.
        names: the columns.
    """
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    packed = "gzip" if _gzipped(path) else "none"
    return (
        f"read_csv({literal(path)}, auto_detect = false, columns = {{{columns}}}, header = true, skip = 0,"
        f" delim = {literal(_delimiter(path))}, quote = '\"', escape = '\"', nullstr = '', comment = '',"
        f" encoding = 'utf-8', strict_mode = true, null_padding = false, ignore_errors = false,"
        f" compression = {literal(packed)})"
    )


def columns(connection: duckdb.DuckDBPyConnection, source: str, names: tuple[str, ...]) -> tuple[int, list[Stored]]:
    """Read the file once: return the number of records, and each column with the type all its values are spelled in."""
    tests = [
        f"coalesce(bool_and(regexp_full_match({identifier(name)}, {literal(spelling)})), false)"
        for name in names
        for spelling in _SPELLINGS.values()
    ]
    row = connection.execute(f"SELECT count(*), {', '.join(tests)} FROM {source}").fetchone()
    assert row is not None
    width = len(_SPELLINGS)
    spelled = [
        next((kind for kind, holds in zip(_SPELLINGS, row[1 + i * width :], strict=False) if holds), "VARCHAR")
        for i in range(len(names))
    ]
    return row[0], [Stored(n, kind, spelled=kind != "VARCHAR") for n, kind in zip(names, spelled, strict=True)]


def _gzipped(path: str) -> bool:
    return path.lower().endswith(".gz")


def _delimiter(path: str) -> str:
    return "\t" if Path(path.lower().removesuffix(".gz")).suffix == ".tsv" else ","


def _text(path: str) -> IO[str]:
    raw: IO[bytes] = gzip.GzipFile(path) if _gzipped(path) else io.FileIO(path)  # type: ignore[assignment]
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
