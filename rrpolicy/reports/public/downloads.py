"""The files of public/: what each is, how large, and how its digest begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.manifest.manifest import MANIFEST_FILE
from rrpolicy.report import Download
from rrpolicy.report_blocks import figure

if TYPE_CHECKING:
    from rrpolicy.manifest.manifest import Manifest

PAGE = "report.html"
TOLD: Mapping[str, str] = {
    "README.md": "how to count, in words, with SQL and R",
    "estimate.sql": "tables to begin with, in SQL for DuckDB",
    "questionnaire.json": "what was asked, how answers were randomised, and what people were promised",
    "datapackage.json": "the columns and their categories, for tools (Frictionless)",
    "croissant.json": "the same for catalogues and machine learning (Croissant)",
    "dpv.jsonld": "purpose, recipients, measures and risks, for tools (Data Privacy Vocabulary)",
}
WEIGHTS = "weights/"
_DIGITS = 12
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1000


def downloads(public: Path, manifest: Manifest) -> tuple[Download, ...]:
    """Return the files: the data, what describes them, and release.json, which holds the digests of all.

    Args:
        public: the folder.
        manifest: of the release, with the digests of the files but the page's own.
    """
    return tuple(_download_rows(public, manifest))


def _download_rows(public: Path, manifest: Manifest) -> Iterator[Download]:
    data = dict(told for table in manifest.tables for told in _table_parts(manifest, table.name))
    rest = {path: _file_description(path) for path in manifest.files if path not in {*data, PAGE}}
    first = [path for path in TOLD if path in rest]
    for path in (*data, *first, *(path for path in rest if path not in first)):
        digest = manifest.files.get(path, "")
        told = data.get(path) or rest[path]
        yield Download(path, told, file_size_text(public / path), digest.partition(":")[2][:_DIGITS])
    yield Download(MANIFEST_FILE, "the whole description, exactly, with the digest of every file", "", "")


def _table_parts(manifest: Manifest, name: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a table, and what each holds."""
    told, stated = _table_description(manifest, name), manifest.data.tables[name]
    if manifest.data.rows_per_file is None:
        yield stated.files[0], told
        return
    for number, path in enumerate(stated.files):
        first = number * manifest.data.rows_per_file
        yield path, f"{told}: rows {first + 1:,} to {min(first + manifest.data.rows_per_file, stated.rows):,}"


def _table_description(manifest: Manifest, name: str) -> str:
    held = {"qit": "the records, each with the number of its group"}
    values = [c.name for table in manifest.tables if table.name == name for c in table.columns if c.kind == "category"]
    if name in held or name == "data":
        return held.get(name, "the records")
    return f"the values of {', '.join(values)}, by group"


def _file_description(path: str) -> str:
    if path.startswith(WEIGHTS):
        return "what a record weighs in each count, of the column in its name"
    return TOLD.get(path, "a file of the release")


def file_size_text(path: Path) -> str:
    """Return the size of a file; "" if it is not there."""
    try:
        number = float(path.stat().st_size)
    except OSError:
        return ""
    for unit in _UNITS[:-1]:
        if number < _STEP:
            return f"{figure(number, 3)} {unit}"
        number /= _STEP
    return f"{figure(number, 3)} {_UNITS[-1]}"
