"""Checks of a format of released tables, and of a sink, which writes its files."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rrpolicy.bundle.tables.released_table import open_released_table
from rrpolicy.channels.table import Column, TableSpec
from rrpolicy.engine.quoting import identifier
from rrpolicy.formats.column_types import arrow_schema, engine_type
from rrpolicy.formats.format import CORE_FORMATS, Format, UnlikeSpecError
from rrpolicy.formats.parts import LOCAL_SINK, FileParts, FileSink
from rrpolicy.frozen import replace
from rrpolicy.testing.assertions import convert_to_assertion, demand

if TYPE_CHECKING:
    from rrpolicy.escaping.formulas import Handling

TEXTS = ("a", 'b, "c"', "new\nline", "", "NULL", "ünï \u202e", "=1+1", "'=1+1", "it's", "\\N", " x ")
DAY, MOMENT = dt.date(1999, 12, 31), dt.datetime(2020, 1, 2, 3, 4, 5, 6)  # noqa: DTZ001 a time without a zone
KINDS: Mapping[str, tuple[Column, Sequence[Any]]] = {
    column.name: (column, values)
    for column, values in (
        (Column('te"xt, é', "category", TEXTS, "VARCHAR", "t"), TEXTS),
        (Column("whole", "category", (1, 2, -3), "BIGINT", "w"), (1, 2, -3)),
        (Column("flag", "category", (True, False), "BOOLEAN", "f"), (True, False)),
        (Column("half", "category", (0.5, -1.5), "DOUBLE", "h"), (0.5, -1.5)),
        (Column("bin", "interval", ("[0, 1)", "[1, 2]"), "VARCHAR", "b"), ("[0, 1)", "[1, 2]")),
        (Column("several", "set", ("x", 'y,"', "z"), "VARCHAR[]", "s"), (None, [], ["x"], ['y,"', "z"])),
        (Column("group", "group", (), "BIGINT", ""), (1, 2, 3)),
        (Column("said", "carried", (), "VARCHAR", "c"), (None, *TEXTS)),
        (Column("real", "carried", (), "DOUBLE", "r"), (None, 0.0, 0.1, 1e300, float("inf"))),
        (Column("large", "carried", (), "BIGINT", "l"), (None, 2**62, -(2**62))),
        (Column("cost", "carried", (), "DECIMAL(10,2)", "d"), (None, Decimal("1.20"))),
        (Column("born", "carried", (), "DATE", "o"), (None, DAY)),
        (Column("seen", "carried", (), "TIMESTAMP", "e"), (None, MOMENT)),
    )
}
ROWS = 60


@convert_to_assertion("the arguments of the format")
def check_format(form: Format) -> None:
    """Check that a format gives back the rows that were written, of every kind of column, and refuses other files.

    Args:
        form: the format to check.

    Raises:
        AssertionError: with the violated requirement.
    """
    demand(form.name.isalnum() and form.name.isascii(), "the name of a format is letters and digits: files end in it")
    demand(re.fullmatch(r"[\w.+-]+/[\w.+-]+", form.media_type) is not None, "media_type is missing")
    for flag in ("packaged", "alone", "same_bytes"):
        demand(isinstance(getattr(form, flag), bool), f"{flag} is true or false")
    demand(isinstance(form.note, str), "note is text")
    spec = TableSpec("data", tuple(column for column, _ in KINDS.values()), tuple(KINDS))
    for handling in ("escape", "keep"):
        with TemporaryDirectory() as made:
            _check_written(form, spec, handling, Path(made))
    with TemporaryDirectory() as made:
        _check_refusals(form, spec, Path(made))


@convert_to_assertion("the arguments of the sink")
def check_sink(sink: FileSink) -> None:
    """Check that a sink writes the same files as this process, one or several per table, and nothing else.

    Args:
        sink: the sink to check.

    Raises:
        AssertionError: with the violated requirement.
    """
    demand(bool(sink.name) and sink.name != LOCAL_SINK.name, "a sink has its own name")
    spec = TableSpec("data", tuple(column for column, _ in KINDS.values()), tuple(KINDS))
    for form in (CORE_FORMATS["parquet"], CORE_FORMATS["csv"]):
        for most in (None, 1, ROWS, 10 * ROWS):
            for starts in ([0], [0, 1, 2], []):
                with TemporaryDirectory() as made:
                    found, expected = (
                        _write_with_sink(one, FileParts(spec, Path(made) / name, form, "escape", most), starts)
                        for one, name in ((sink, "theirs"), (LOCAL_SINK, "ours"))
                    )
                case = f"{form.name}, {len(starts)} writes, rows_per_file {most}"
                demand(not expected.keys() - found, f"{case}: it lacks {min(expected.keys() - found, default='')}")
                demand(not found.keys() - expected, f"{case}: it leaves {min(found.keys() - expected, default='')}")
                other = min((name for name in found if found[name] != expected[name]), default="")
                demand(not other, f"{case}: {other} has other bytes than in this process")
    with TemporaryDirectory() as made:
        _write_with_sink(
            sink, FileParts(spec, Path(made) / "public", CORE_FORMATS["parquet"], "escape", 1), [0], abandon=True
        )


def _write_with_sink(
    sink: FileSink, parts: FileParts, starts: Sequence[int], *, abandon: bool = False
) -> dict[str, bytes]:
    """Write a table with a sink, or begin to and abandon it; return the files that it leaves."""
    scratch = parts.folder.with_name(f"{parts.folder.name}-scratch")
    for folder in (parts.folder, scratch):
        folder.mkdir()
    writer = sink.writer(parts, scratch)
    for start in starts:
        with convert_to_assertion("write()"):
            writer.write(*_rows(parts.spec, start))
    with convert_to_assertion("abandon()" if abandon else "close()"):
        writer.abandon() if abandon else writer.close()
    files = (path for path in parts.folder.rglob("*") if path.is_file())
    return {path.relative_to(parts.folder).as_posix(): path.read_bytes() for path in files}


def _rows(spec: TableSpec, start: int) -> tuple[pa.RecordBatch, Any]:
    held = {
        name: [values[(i * (1 + place) + i // 7 + start) % len(values)] for i in range(ROWS)]
        for place, (name, (_, values)) in enumerate(KINDS.items())
    }
    held["large"] = [start * ROWS + i for i in range(ROWS)]
    return pa.RecordBatch.from_pydict(held, arrow_schema(spec)), (np.arange(ROWS, dtype=np.int64) % 4) + 1


def _write(
    form: Format, path: Path, spec: TableSpec, handling: Handling, parts: Sequence[int]
) -> list[tuple[Any, ...]]:
    """Write a file of so many parts and return its rows, each as often as the file contains it."""
    rows: list[tuple[Any, ...]] = []
    writer = form.writer(path, spec, handling)
    for start in parts:
        batch, n = _rows(spec, start)
        writer.write(batch if start else _dictionary_encode(batch), n)
        whole = [tuple(row.values()) for row in batch.to_pylist()]
        rows += [row for row, times in zip(whole, n, strict=True) for _ in range(int(times))]
    writer.close()
    return rows


def _dictionary_encode(batch: pa.RecordBatch) -> pa.RecordBatch:
    coded = [c.dictionary_encode() if pa.types.is_string(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(coded, names=batch.schema.names)


def _read(form: Format, path: Path, spec: TableSpec, handling: Handling) -> list[tuple[Any, ...]]:
    """Return the rows of a file.

    Raises UnlikeSpecError if the file differs from the table.
    """
    import duckdb

    with TemporaryDirectory() as scratch:
        formats = {form.name: form}
        with open_released_table([path], form.name, spec, Path(scratch), handling, formats) as table:
            query = f"SELECT {', '.join(identifier(c.name) for c in spec.columns)} FROM {table.relation}"  # noqa: S608
            try:
                first = table.connection.execute(query).fetchall()
            except duckdb.Error as error:
                raise UnlikeSpecError(str(error)) from error
            try:
                again = table.connection.execute(query).fetchall()
            except duckdb.Error as error:
                raise AssertionError(f"the result of relation() can be queried only once: {error}") from error
    demand(Counter(map(repr, first)) == Counter(map(repr, again)), "the result of relation() can be queried only once")
    return first


def _check_written(form: Format, spec: TableSpec, handling: Handling, made: Path) -> None:
    folder = made / "it's a folder"
    folder.mkdir()
    for number, parts in enumerate(([0], [0, 1, 2], [])):
        path = folder / f"data{number}.{form.name}"
        with convert_to_assertion(f"writing {len(parts)} parts"):
            rows = _write(form, path, spec, handling, parts)
        demand(path.is_file(), "writer() does not write the requested file")
        beside = sorted(p.name for p in folder.iterdir() if p != path)
        demand(not beside, f"writer() writes more than its file: {beside}")
        try:
            read = _read(form, path, spec, handling)
        except UnlikeSpecError as error:
            cause = error.__cause__
            why = f"{error}: {type(cause).__name__}: {cause}" if cause is not None else str(error)
            raise AssertionError(f"what it wrote in {len(parts)} parts is refused: {why}") from error
        _compare(spec.columns, rows, read, f"written in {len(parts)} parts")
        _check_sql(form, path, spec, handling, rows)
        content = path.read_bytes()
        path.unlink()
        if form.same_bytes:
            _write(form, path, spec, handling, parts)
            demand(path.read_bytes() == content, "the same rows give other bytes, and same_bytes is true")
            path.unlink()
    _check_existing(form, spec, handling, folder)


def _compare(
    columns: Sequence[Column], rows: Sequence[tuple[Any, ...]], read: Sequence[tuple[Any, ...]], said: str
) -> None:
    """Check that the rows that were read are those that were written.

    `said` is the way of reading, in words.
    """
    demand(len(read) == len(rows), f"{said}: {len(read)} rows are read, {len(rows)} expected")
    for place, column in enumerate(columns):
        written, found = (Counter(repr(row[place]) for row in some) for some in (rows, read))
        lost, new = [*(written - found), ""][0], [*(found - written), ""][0]
        demand(not lost, f"{said}: '{column.name}' ({engine_type(column)}): {new} is read, {lost} expected")
    demand(Counter(map(repr, rows)) == Counter(map(repr, read)), f"{said}: values change rows")


def _check_sql(form: Format, path: Path, spec: TableSpec, handling: Handling, rows: Sequence[tuple[Any, ...]]) -> None:
    """Read the file as an analyst does with DuckDB alone."""
    import duckdb

    said = form.sql(path.name, spec.columns, handling)
    demand(isinstance(said, str) and bool(said.strip()), "sql() returns the text after FROM")
    if form.note or form.alone:
        return  # words describe the steps before it runs
    with duckdb.connect() as connection:
        try:
            found = connection.execute(f"SELECT * FROM {form.sql(str(path), spec.columns, handling)}")  # noqa: S608
            names = [column[0] for column in found.description]
            read = found.fetchall()
        except duckdb.Error as error:
            raise AssertionError(f"sql() does not run, and there is no note: {error}") from error
    expected = [c.name for c in spec.columns]
    demand(names == expected, f"sql() reads the columns {names} in place of {expected}")
    plain = [i for i, c in enumerate(spec.columns) if c.kind != "set"]  # lists may be JSON
    written, seen = ([tuple(row[i] for i in plain) for row in some] for some in (rows, read))
    _compare([spec.columns[i] for i in plain], written, seen, "read by sql()")


def _check_existing(form: Format, spec: TableSpec, handling: Handling, folder: Path) -> None:
    """Write to the path of an existing file, and abandon a file that is begun."""
    path = folder / f"there.{form.name}"
    path.write_bytes(b"mine")
    with suppress(Exception):  # whatever the message
        form.writer(path, spec, handling).abandon()
    demand(path.read_bytes() == b"mine", "writer() overwrites a file that exists")
    path.unlink()
    begun = form.writer(path, spec, handling)
    begun.write(*_rows(spec, 0))
    with convert_to_assertion("abandon()"):
        begun.abandon()
    path.unlink(missing_ok=True)


def _check_refusals(form: Format, spec: TableSpec, folder: Path) -> None:
    """Read incomplete files, and files that are not the table."""
    whole = folder / f"whole.{form.name}"
    rows = _write(form, whole, spec, "escape", [0])
    content = whole.read_bytes()
    wrong = TableSpec("data", (Column("other", "carried", (), "DATE", "o"), *spec.columns[1:]), spec.sort)
    for what, made, read_as in (
        ("a foreign file", b"\x00\x01 no table at all", spec),
        ("an empty file", b"", spec),
        ("a file cut off", content[: len(content) // 2], spec),
        ("a table with other columns", content, wrong),
        ("a table with its columns in another order", content, replace(spec, columns=spec.columns[::-1])),
    ):
        path = folder / f"data.{form.name}"
        path.write_bytes(made)
        try:
            read = _read(form, path, read_as, "escape")
        except UnlikeSpecError:
            continue
        except Exception as error:
            message = f"{what} is not refused by UnlikeSpecError: {type(error).__name__}: {error}"
            raise AssertionError(message) from error
        fewer = what == "a file cut off" and 0 < len(read) < len(rows)
        demand(fewer, f"{what} is read as if it were the table")
