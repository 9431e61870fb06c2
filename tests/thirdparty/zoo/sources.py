"""A source of JSON files, and what is wrong with others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pyarrow as pa

from rrpolicy.frozen import replace
from rrpolicy.plugin import PLAIN, DataError, Problem, Reading, Snapshot, encoded, pin
from rrpolicy.plugin.types import Units
from rrpolicy.testing import check_source, open_policy, policy_text

TEXT = """\
missing = ["n/a", -9]
[attributes]
person = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["m", "f", "unknown"], nulls = "unknown" }
children = { role = "quasi-identifier", domain = [2, 1, 0] }
age = { role = "quasi-identifier", bins = [0, 18, 65, 100] }
kind = { role = "quasi-identifier", domain = "observed" }
hours = { role = "insensitive", nulls = "keep", assume_unlinkable = "made up" }
[[privacy]]
model = "local-dp"
epsilon = 6
scope = "attribute"
[mechanism]
name = "pram"
"""


class JsonLines:
    """Opens `lines:people.json`: a list of objects."""

    schemes: ClassVar[tuple[str, ...]] = ("lines",)
    table: ClassVar[str] = ""

    @staticmethod
    def written(rows: pa.Table) -> Any:
        """Return what stands in the file."""
        return rows.to_pylist()

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[Snapshot]:
        path = uri.removeprefix("lines:")
        pinned = self.pinned(path)
        with encoded(self.records(path), "the lines", scratch, self.reading(reading), pinned) as snapshot:
            yield self.seen(snapshot, path)

    def records(self, path: str) -> pa.Table:
        return self.changed(pa.Table.from_pylist(json.loads(Path(path).read_text())))

    def pinned(self, path: str) -> Any:
        return pin(path)

    def reading(self, reading: Reading) -> Reading:
        return reading

    def changed(self, rows: pa.Table) -> pa.Table:
        return rows

    def seen(self, snapshot: Any, path: str) -> Any:
        return snapshot


class Sparse(JsonLines):
    """Reads objects that leave out what is null."""

    @staticmethod
    def written(rows):
        return [{k: v for k, v in row.items() if v is not None} for row in rows.to_pylist()]

    def records(self, path):
        objects = json.loads(Path(path).read_text())
        names = dict.fromkeys(name for row in objects for name in row)
        return pa.table({name: [row.get(name) for row in objects] for name in names})


class Hasty(Sparse):
    """Takes its columns from the first object."""

    def records(self, path):
        return JsonLines.records(self, path)


class Named(JsonLines):
    """Opens tables by name: a file holds lists of objects."""

    table = "people"

    @staticmethod
    def written(rows):
        return {"people": rows.to_pylist()}

    @contextmanager
    def open(self, uri, table, scratch, reading=PLAIN):
        path = uri.removeprefix("lines:")
        pinned, tables = self.pinned(path), json.loads(Path(path).read_text())
        with encoded(self.one(tables, table), "the lines", scratch, reading, pinned) as snapshot:
            yield snapshot

    def one(self, tables, table):
        if table not in tables:
            raise DataError(Problem("RR306", f"there is not a table '{table}'", hint="name another"))
        return pa.Table.from_pylist(tables[table])


class Nameless(Named):
    def one(self, tables, table):
        return pa.Table.from_pylist(next(iter(tables.values())))


class Copying(JsonLines):
    """Holds its own copy, whatever becomes of the file."""

    def pinned(self, path: str) -> Any:
        pin(path)  # that it is there


def changing(change: Any) -> type[JsonLines]:
    """Return a source that hands over other rows."""
    return type("Changing", (JsonLines,), {"changed": lambda self, rows: change(rows)})


def seeing(**methods: Any) -> type[JsonLines]:
    """Return a source with a snapshot that answers otherwise."""
    Off = type("Off", (Seen,), methods)
    return type("Seeing", (JsonLines,), {"seen": lambda self, snapshot, path: Off(snapshot, path)})


@dataclass
class Seen:
    """A snapshot that passes on what it is asked."""

    snapshot: Any
    path: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.snapshot, name)


def column(name: str, change: Any) -> Any:
    """Return rows with one column changed."""

    def changed(rows: pa.Table) -> pa.Table:
        return rows.set_column(rows.schema.get_field_index(name), name, pa.array(change(rows.column(name).to_pylist())))

    return changed


def shuffled(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    rows = reader.read_all()
    return rows.take(list(range(len(rows)))[::-1]).to_reader()


def by_name(attributes: Any) -> list[Any]:
    """Return attributes whose categories are numbered by the alphabet."""
    return [replace(a, domain=tuple(sorted(a.domain, key=str))) if a.bins is None else a for a in attributes]


def exchanged(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return codes in which what is outside and what is null change places."""
    rows = reader.read_all()
    swap = {-1: -2, -2: -1}
    columns = [
        pa.array([swap.get(v, v) for v in c.to_pylist()], c.type) if pa.types.is_int32(c.type) else c
        for c in rows.columns
    ]
    made = pa.table(columns, names=rows.schema.names)
    return made.sort_by([(n, "ascending") for n in rows.schema.names]).to_reader()


class Deaf(JsonLines):
    def reading(self, reading):
        return PLAIN


class Live(Copying):
    """Reads the file whenever it is asked, and does not notice that it changes."""

    def seen(self, snapshot, path):
        return Again(snapshot, path)


class Again(Seen):
    def rows(self, attributes, carried=()):
        with (
            TemporaryDirectory() as scratch,
            encoded(JsonLines().records(self.path), "it", Path(scratch), Reading(missing=("n/a", -9))) as now,
        ):
            return now.rows(attributes, carried).read_all().to_reader()


class Moody(JsonLines):
    """Loses a row whenever it was opened before."""

    before = 0

    def changed(self, rows):
        rows, self.before = rows.slice(self.before), 1
        return rows


class Remembering(JsonLines):
    """Reads a file once for all."""

    known: ClassVar[dict[str, pa.Table]] = {}

    def records(self, path):
        return self.known.setdefault(path, super().records(path))


class Rude(JsonLines):
    def pinned(self, path):
        return pin(path) if Path(path).exists() else None


class Foreign(JsonLines):
    schemes: ClassVar[tuple[str, ...]] = ("rows",)


class Anywhere(JsonLines):
    """Finds its files wherever they were meant to be."""

    def records(self, path):
        return super().records(path) if Path(path).exists() else pa.table({"a": [1]})

    def pinned(self, path):
        return None


def check(kind: type[JsonLines]) -> None:
    with TemporaryDirectory() as folder:

        def make(rows: pa.Table) -> str:
            path = Path(folder) / "people.json"
            path.write_text(json.dumps(kind.written(rows)))
            return f"lines:{path}"

        check_source(kind(), open_policy(policy_text(TEXT)), make, table=kind.table)


HONEST = {"JSON": JsonLines, "a copy of its own": Copying, "nulls left out": Sparse, "tables by name": Named}
WRONG = {
    "a row is lost": (changing(lambda rows: rows.slice(1)), "records.. is 2500, and there are 2501"),
    "the first rows alone": (changing(lambda rows: rows.slice(0, 100)), "records.. is 100, and there are 2501"),
    "the first blocks alone": (changing(lambda rows: rows.slice(0, 2048)), "records.. is 2048, and there are 2501"),
    "the columns of the first row alone": (Hasty, "columns.. are .*, and the table has .*hours"),
    "any table of a file": (Nameless, "`table` is passed over"),
    "a row appears twice": (changing(lambda rows: pa.concat_tables([rows, rows.slice(0, 1)])), ("records.. is "
            "2502, and there are 2501")),
    "values change rows": (changing(column("hours", lambda v: v[1:] + v[:1])), "contains other rows than the table"),
    "nulls as text": (changing(column("sex", lambda v: ["None" if x is None else x for x in v])), "distinct.. of 'sex' is"),
    "text without its blanks": (changing(column("sex", lambda v: [x and x.strip() for x in v])), "distinct.. of 'sex' is"),
    "nulls as a category": (changing(column("sex", lambda v: ["f" if x is None else x for x in v])), "rows.. has .* records of 'sex' that are 'f'"),
    "codes of missing values are values": (Deaf, "distinct.. of 'sex' is .*n/a"),
    "whole numbers as text": (changing(column("children", lambda v: [None if x is None else str(x) for x in v])), "columns.. returns that 'children' is VARCHAR, and it is BIGINT"),
    "a column is lost": (changing(lambda rows: rows.drop_columns(["person"])), "columns.. are"),
    "an edge falls into the bin below": (changing(column("age", lambda v: [17.9 if x == 18 else x for x in v])), "distinct.. of 'age'|rows.. has"),
    "records in another number": (seeing(records=lambda self: self.snapshot.records() + 1), "records.. is 2502, and there are 2501"),
    "distinct values unsorted": (seeing(distinct=lambda self, a, most: self.snapshot.distinct(a, most)[::-1]), "is not sorted"),
    "distinct values twice": (seeing(distinct=lambda self, a, most: self.snapshot.distinct(a, most) * 2), "contains a value twice"),
    "distinct values without end": (seeing(distinct=lambda self, a, most: self.snapshot.distinct(a, 10**4)), "at most 1, returns .* values, not one more"),
    "categories by the alphabet": (seeing(rows=lambda self, a, c=(): self.snapshot.rows(by_name(a), c)), "rows.. has .* records of 'sex' that are 'm'"),
    "outside is null": (seeing(tally=lambda self, a, c=(): exchanged(self.snapshot.tally(a, c))), ("tally.. of .* "
            "contains other rows")),
    "rows unsorted": (seeing(rows=lambda self, a, c=(): shuffled(self.snapshot.rows(a, c))), "rows.. of .* is not sorted"),
    "another type of what is released": (seeing(released_type=lambda self, a: "VARCHAR"), "released_type.. of 'children' is VARCHAR, not BIGINT"),
    "units that are none": (seeing(units=lambda self, column: Units({1: self.snapshot.records()})), "units.'person'. is"),
    "a change that is not noticed": (Live, "the table changed, and it reads the new one"),
    "a change that it does not tell": (seeing(unchanged=lambda self: None), "the table changed, and unchanged.. does not report it"),
    "another table each time": (Moody, "opened again, the same table reads otherwise"),
    "the first table for ever": (Remembering, "opened again it reads as it was"),
    "another scheme": (Foreign, "`schemes` does not open its own uri"),
    "a missing table fails": (Rude, "opening a table that is not there, not DataError, fails: FileNotFoundError"),
    "a missing table is opened": (Anywhere, "a table that is not there is opened|the table changed"),
}  # fmt: skip
