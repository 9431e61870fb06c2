"""Arrow IPC files, as `acme-arrow` writes them, and what is wrong with others."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rrpolicy.engine.quoting import literal
from rrpolicy.formats.parquet import ParquetFormat
from rrpolicy.plugin import arrow_schema
from rrpolicy.testing import check_format

ticks = itertools.count(1)


def of_site(name: str, package: str = "acme_arrow") -> Any:
    """Return a module of a distribution that is not installed."""
    file = Path(__file__).parents[1] / "site" / package / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"zoo_{name}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


ipc = of_site("ipc")
Arrow: Any = ipc.Arrow


def writing(write: Any = None, **methods: Any) -> type[Any]:
    """Return a format with another writer."""
    table = type("Table", (ipc.ArrowTable,), {**({"write": write} if write else {}), **methods})
    return type("Writing", (Arrow,), {"writer": lambda self, path, spec, handling: table(path, arrow_schema(spec))})


def write(self: Any, rows: Any, n: Any) -> None:
    ipc.ArrowTable.write(self, rows, n)


def plain(rows: Any, change: Any) -> Any:
    columns = [change(c.dictionary_decode() if pa.types.is_dictionary(c.type) else c) for c in rows.columns]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def once(self: Any, rows: Any, n: Any) -> None:
    write(self, rows, np.ones_like(n))


def first(self: Any, rows: Any, n: Any) -> None:
    if not getattr(self, "full", False):
        write(self, rows, n)
    self.full = True


def filled(self: Any, rows: Any, n: Any) -> None:
    write(self, plain(rows, lambda c: c.fill_null("") if pa.types.is_string(c.type) else c), n)


def trimmed(self: Any, rows: Any, n: Any) -> None:
    write(self, plain(rows, lambda c: pa.compute.utf8_trim_whitespace(c) if pa.types.is_string(c.type) else c), n)


def shuffled(self: Any, rows: Any, n: Any) -> None:
    order = np.roll(np.arange(len(n)), next(ticks))
    write(self, plain(rows, lambda c: c.take(pa.array(order))), n[order])


def beside(self: Any, path: Path, schema: Any) -> None:
    ipc.ArrowTable.__init__(self, path, schema)
    path.with_suffix(".log").write_text("written")


def over(self: Any, path: Path, schema: Any) -> None:
    path.unlink(missing_ok=True)
    ipc.ArrowTable.__init__(self, path, schema)


class Patient(Arrow):
    def relation(self, connection, path, spec, handling):
        try:
            return super().relation(connection, path, spec, handling)
        except ValueError:
            connection.register("nothing", arrow_schema(spec).empty_table())
            return "nothing"


class Rude(Arrow):
    def relation(self, connection, path, spec, handling):
        try:
            return super().relation(connection, path, spec, handling)
        except ValueError as error:
            raise KeyError(path.name) from error


class Mistaken(Arrow):
    def relation(self, connection, path, spec, handling):
        connection.execute("SELECT * FROM nowhere")
        return super().relation(connection, path, spec, handling)


class Misread(Arrow):
    def relation(self, connection, path, spec, handling):
        raise ValueError("no column of kind 'set' is known")


class Once(Arrow):
    def relation(self, connection, path, spec, handling):
        super().relation(connection, path, spec, handling)
        reader = connection.sql(f"SELECT * FROM arrow_{spec.name}").to_arrow_table().to_reader()
        connection.register("reader", reader)
        return "reader"


class Unspoken(Arrow):
    note = ""


def telling(selected: str) -> type[Any]:
    """Return a format whose SQL selects something else of its file."""
    return type(
        "Telling",
        (ParquetFormat,),
        {"sql": lambda self, path, columns, handling: f"(SELECT {selected} FROM read_parquet({literal(path)}))"},
    )


class Named(Arrow):
    name = "arrow file"


class Typed(Arrow):
    media_type = "arrow"


def check(kind: Any) -> None:
    check_format(kind())


HONEST = {"Arrow": Arrow}
WRONG = {
    "each row once": (writing(once), r"written in 1 parts: 60 rows are read, \d+ expected"),
    "the first batch alone": (writing(first), r"written in 3 parts: \d+ rows are read, \d+ expected"),
    "null is empty text": (writing(filled), r"'said' .VARCHAR.: '' is read, None expected$"),
    "text without its blanks": (writing(trimmed), "' x '"),
    "rows in any order": (writing(shuffled), "the same rows give other bytes, and same_bytes is true"),
    "a file beside it": (writing(__init__=beside), "writer.. writes more than its file"),
    "a file that was there": (writing(__init__=over), "writer.. overwrites a file that exists"),
    "any file is an empty table": (Patient, "a foreign file is read as if it were the table"),
    "any file fails": (Rude, "a foreign file is not refused by UnlikeSpecError: KeyError"),
    "it asks for a table of nobody's": (Mistaken, "1 parts is refused: .* describes: CatalogException: .*nowhere does not exist"),
    "it reads no lists": (Misread, "1 parts is refused: .* describes: ValueError: no column of kind 'set' is known"),
    "it is read once": (Once, "the result of relation.. can be queried only once"),
    "SQL that does not run": (Unspoken, "sql.. does not run, and there is no note"),
    "SQL that reads another value": (telling("* REPLACE (CASE half WHEN 0.5 THEN 0.25 ELSE half END AS half)"), r"^read by sql..: 'half' .DOUBLE.: 0.25 is read, 0.5 expected$"),
    "SQL that reads each row once": (telling("DISTINCT *"), r"^read by sql..: \d+ rows are read, \d+ expected$"),
    "SQL that mixes rows": (telling("* REPLACE (coalesce(lead(large) OVER (), first_value(large) OVER ()) AS large)"), r"^read by sql..: values change rows$"),
    "a name with a blank": (Named, "the name of a format is letters and digits"),
    "no media type": (Typed, "media_type is missing"),
}  # fmt: skip
