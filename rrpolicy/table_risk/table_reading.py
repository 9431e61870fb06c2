"""How `check-table` reads a table that somebody else wrote: as its policy says, else as the file itself shows.

A policy describes the original; the table at hand may be a copy in the same spelling, or a release, which has commas
and UTF-8. Where the columns are found as `[source.csv]` says, it holds; elsewhere the spelling is told from the file.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from rrpolicy.canonical_json import Value
from rrpolicy.drafting.detection import csv_path, detected_settings, is_csv
from rrpolicy.errors import DataError
from rrpolicy.policy.model import PLAIN, CsvSettings, Policy, Reading
from rrpolicy.source.duckdb.plaintext import readable_text_file

_TOLD = {"delimiter": "delimiter {!r}", "encoding": "encoding {}", "decimal": "decimal {!r}", "quote": "quotes {}"}


def table_reading(
    uri: str, policy: Policy | None, columns: Collection[str], scratch: Path
) -> tuple[Reading, str | None]:
    """Return how a table is to be read, and what must be said of it.

    Args:
        uri: of the table, its path resolved.
        policy: that it is measured with.
        columns: that the call or the policy names.
        scratch: where a copy of the file may be made; the caller wipes it.
    """
    reading = PLAIN if policy is None else Reading(of=dict(_missing_codes_by_column(policy)))
    if not is_csv(uri):
        return reading, None
    stated = CsvSettings() if policy is None else policy.source.csv
    if stated != CsvSettings() and set(_csv_column_names(csv_path(uri), stated, scratch)) & set(columns):
        return replace(reading, csv=stated), None
    found = detected_settings(uri)
    return replace(reading, csv=found), _csv_settings_text(found)


def _missing_codes_by_column(policy: Policy) -> Iterator[tuple[str, tuple[Value, ...]]]:
    """Yield the codes of missing values by column, under its old and its new name; a category is no code."""
    for attribute in policy.attributes.values():
        codes = policy.reading.codes(attribute.name)
        told = tuple(code for code in codes if code not in (attribute.domain or ()))
        yield from ((name, told) for name in dict.fromkeys((attribute.name, attribute.release_as)) if name and told)


def _csv_column_names(path: str, settings: CsvSettings, scratch: Path) -> list[str]:
    """Return the column names that a file has if it is spelled so; nothing if it cannot be."""
    try:
        return readable_text_file(path, settings, scratch).header()[0]
    except (UnicodeError, csv.Error, OSError, EOFError, zlib.error, DataError):
        return []


def _csv_settings_text(found: CsvSettings) -> str | None:
    """Return how a file is spelled where that is not plain."""
    plain = CsvSettings()
    told = [
        words.format(getattr(found, key)) for key, words in _TOLD.items() if getattr(found, key) != getattr(plain, key)
    ]
    told += [f"{found.skip} lines before the header"] if found.skip else []
    return f"read as the file shows, with {', '.join(told)}" if told else None
