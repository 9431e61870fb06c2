"""A CSV file's text: opened in its encoding, converted for the engine, and its records counted independently.

The engine reads UTF-8 that begins with the header. A file in another encoding, or with lines before its header, is
first copied in that form into the scratch folder.
"""

from __future__ import annotations

import csv
import gzip
import io
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import CsvSettings

CHUNK_BYTES = 1 << 20
MAX_FIELD_BYTES = 1 << 30
"""The most characters of a field that are counted; Python's default limit is 128 Ki."""


@frozen
class CsvTextFile:
    """A file of UTF-8 text that begins with its header, packed by gzip or not.

    Attributes:
        delimiter: between fields.
        quote: around fields; empty if none is.
    """

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
        """Return the number of fields of the first line under another delimiter; 0 if it then is no CSV.

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
