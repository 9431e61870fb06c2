"""Detection of a CSV file's format for a draft, which a person then reads.

Nothing is guessed when a policy is read: the detected format is written into the draft.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rrpolicy.policy.model import CsvSettings
from rrpolicy.source.duckdb.delimited import (
    CHUNK_BYTES,
    DECIMAL_PATTERN,
    MAX_FIELD_BYTES,
    decimal_comma_pattern,
    header_width_error,
    open_binary,
)
from rrpolicy.source.duckdb.files import refuse_pipe, shown_name

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value

LOOKED_AT = 200
"""Number of lines from which fields are detected."""
FEW_CODES = 8
"""Maximum number of texts in a numeric column that may be codes of missing values; more are categories."""
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_DELIMITERS = (",", ";", "\t", "|")
_COMMA = re.compile(decimal_comma_pattern(DECIMAL_PATTERN))
_POINT = re.compile(DECIMAL_PATTERN)
_WHOLE = re.compile(r"-?[0-9]+")
_TELLS = re.compile(r"(?!#).*[0-9].*", re.DOTALL)
"""A text that contains a number, such as `5+`, unlike `#DIV/0!`."""
_DATES = (
    (r"\d\d?[.]\d\d?[.]\d{4}", "%d.%m.%Y"),
    (r"\d\d?[.]\d\d?[.]\d{4} \d\d?:\d\d", "%d.%m.%Y %H:%M"),
    (r"\d\d?[.]\d\d?[.]\d{4} \d\d?:\d\d:\d\d", "%d.%m.%Y %H:%M:%S"),
    (r"\d\d?/\d\d?/\d{4}", "%d/%m/%Y"),
    (r"\d\d?/\d\d?/\d{4}", "%m/%d/%Y"),
    (r"\d\d?-\d\d?-\d{4}", "%d-%m-%Y"),
    (r"\d{4}-\d\d-\d\d", "%Y-%m-%d"),
    (r"\d{4}/\d\d?/\d\d?", "%Y/%m/%d"),
    (r"(1[89]|20)\d{6}", "%Y%m%d"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "%Y-%m-%dT%H:%M:%SZ"),
)
"""Forms of dates and times in text, with the formats with which `strptime` reads them."""
_C1 = re.compile(rb"[\x80-\x9f]")
_NOTHING = re.compile(
    r"\s*(|[.?*-]+|n\.?/?[ad]\.?|s\.?/d\.?|nan|null|none|nil|missing|unknown|k\.?a\.?)\s*", re.IGNORECASE
)


def is_csv(uri: str) -> bool:
    """Return whether a table is a CSV file."""
    return uri.startswith("csv:") or uri.lower().endswith(_CSV)


def csv_path(uri: str) -> str:
    """Return the path of a CSV file."""
    return uri.removeprefix("csv:")


def detected_settings(uri: str) -> CsvSettings:
    """Return the format of a CSV file; the default for any other table and for unreadable files."""
    if is_csv(uri):
        refuse_pipe(csv_path(uri))
    try:
        return detect_csv_settings(csv_path(uri)) if is_csv(uri) else CsvSettings()
    except (OSError, EOFError, zlib.error):
        return CsvSettings()


def detect_csv_settings(path: str) -> CsvSettings:
    """Return the format of a CSV file, as far as it can be detected.

    The encoding is detected in the whole file, the rest in its first lines.

    Raises OSError, EOFError or zlib.error if it cannot be read.
    """
    encoding, start = _detect_encoding(path)
    text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    lines = list(islice(io.StringIO(text, newline=""), LOOKED_AT))  # not at Unicode line separators
    quote = _detect_quote(lines)
    shape = max(
        (_delimiter_shape(lines, delimiter, quote) for delimiter in _DELIMITERS), key=lambda s: (s.rows, s.width)
    )
    ending = "\t" if path.lower().removesuffix(".gz").endswith(".tsv") else ","
    if shape.width < 2:  # noqa: PLR2004 nothing can be detected from one field
        return CsvSettings(encoding=encoding, quote=quote)
    if shape.misfit:
        raise header_width_error(shown_name(path), shape.misfit, shape.width)
    return CsvSettings(
        delimiter=None if shape.delimiter == ending else shape.delimiter,
        encoding=encoding,
        decimal=_detect_decimal(shape.fields),
        quote=quote,
        skip=shape.skip,
    )


class _DelimiterShape(Struct, frozen=True):
    """The first lines split at a delimiter.

    Attributes:
        delimiter: the delimiter between fields.
        rows: number of lines of the commonest width, if that is above 1.
        width: the commonest number of fields.
        skip: lines before the first of that width.
        fields: fields of the lines after the skipped ones.
        misfit: the number of names in a header that does not fit the records below it; 0 if there is no such header.
    """

    delimiter: str
    rows: int
    width: int
    skip: int
    fields: list[list[str]]
    misfit: int = 0


def _detect_encoding(path: str) -> tuple[str, bytes]:
    start, single = b"", "latin-1"
    decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()
    with open_binary(path) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            start = start or chunk
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16", start
            if decoder is not None:
                try:
                    decoder.decode(chunk)
                except UnicodeDecodeError:
                    decoder = None
            if _C1.search(chunk):  # control characters in Latin-1, quotes, dashes and the euro in Windows-1252
                single = "windows-1252"
    return ("utf-8" if decoder is not None else single), start


def _detect_quote(lines: Sequence[str]) -> Literal['"', "'"]:
    """Return the quote character: apostrophes only if no field has double quotes.

    They enclose a field in every line, or all names of the header.
    """
    text = "\n".join(lines)
    if not lines or '"' in text:
        return '"'
    apart = r"(^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n]|$)"
    named = re.fullmatch(r"'[^']*'([,;\t|]'[^']*')+", lines[0].strip())
    return "'" if named or len(re.findall(apart, text, re.MULTILINE)) >= len(lines) else '"'


def _delimiter_shape(lines: Sequence[str], delimiter: str, quote: str) -> _DelimiterShape:
    csv.field_size_limit(MAX_FIELD_BYTES)
    rows = list(csv.reader(lines, delimiter=delimiter, quotechar=quote))
    widths = Counter(len(row) for row in rows if len(row) > 1)
    if not widths:
        return _DelimiterShape(delimiter, 0, 1, 0, [])
    width, n = max(widths.items(), key=lambda item: (item[1], item[0]))
    skip = sum(1 for _ in takewhile(lambda row: len(row) != width, rows))
    fields = [row for row in rows[skip + 1 :] if len(row) == width]
    above = len(rows[skip - 1]) if skip else 0
    # A line above the header has no record below it; a text that occurs again in its column is not a column name.
    again = any(value in column for value, *column in zip(rows[skip], *fields, strict=True) if value)
    return _DelimiterShape(delimiter, n, width, skip, fields, above if again else 0)


def _detect_decimal(fields: Sequence[Sequence[str]]) -> Literal[".", ","]:
    """Return the decimal separator: that of more columns, a point in case of a tie."""
    columns = [[field for field in column if field] for column in zip(*fields, strict=True)]
    commas = [c for c in columns if c and _is_numeric_column(c, _COMMA) and any(map(_COMMA.fullmatch, c))]
    points = [c for c in columns if c and _is_numeric_column(c, _POINT) and any(map(_POINT.fullmatch, c))]
    return "," if len(commas) > len(points) else "."


def _is_numeric_column(column: Sequence[str], decimal: re.Pattern[str]) -> bool:
    return sum(bool(decimal.fullmatch(f) or _WHOLE.fullmatch(f)) for f in column) > len(column) / 2


def missing_codes(values: Sequence[Value], n: Sequence[int], *, comma: bool = False) -> tuple[str, ...]:
    """Return the texts in a text column that seem to be codes of missing values, sorted.

    In a numeric column these are a few texts, unless one of them contains a number, as `5+` does; elsewhere, texts such
    as `NA`.

    `n` is the number of records with each value; `comma` means that numbers have a decimal comma.
    """
    texts = {v: count for v, count in zip(values, n, strict=True) if isinstance(v, str)}
    decimal = _COMMA if comma else _POINT
    others = [v for v in texts if not (_WHOLE.fullmatch(v) or decimal.fullmatch(v))]
    mostly = 2 * sum(texts[v] for v in others) < sum(texts.values())
    if mostly and len(others) <= FEW_CODES and not any(map(_TELLS.fullmatch, others)):
        return tuple(sorted(others))
    return tuple(sorted(filter(means_missing, texts)))


def date_format(texts: Sequence[str]) -> str | None:
    """Return the format with which `strptime` reads all the texts; None if they are not dates, or without texts."""
    return next(
        (name for spelling, name in _DATES if texts and all(_matches_date_format(t, spelling, name) for t in texts)),
        None,
    )


def _matches_date_format(text: str, spelling: str, name: str) -> bool:
    with suppress(ValueError):
        return re.fullmatch(spelling, text) is not None and bool(datetime.strptime(text, name))  # noqa: DTZ007 no zone
    return False


def means_missing(text: str) -> bool:
    """Return whether a text means by itself that there is no value."""
    return _NOTHING.fullmatch(text) is not None
