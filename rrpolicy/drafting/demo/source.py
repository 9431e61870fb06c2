"""`demo:survey`, the table of the examples: generated when opened, always the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl

from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import PLAIN, Reading
from rrpolicy.safe_io.atomic_write import write_new

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.source.duckdb.snapshot import TableSnapshot


DEFAULT_RECORDS = 50_000
DEFAULT_SEED = 20_260_101


def survey(records: int = DEFAULT_RECORDS, seed: int = DEFAULT_SEED) -> pa.Table:
    """Return the demo table; see `rrpolicy.drafting.demo.survey`."""
    from rrpolicy.drafting.demo import survey as generator

    return generator.survey(records, seed)


class DemoSource:
    """Opens `demo:survey`, or `demo:survey?records=1000&seed=7`."""

    schemes: ClassVar[tuple[str, ...]] = ("demo",)
    paths: ClassVar[bool] = False

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, reading: Reading = PLAIN) -> Iterator[TableSnapshot]:
        """Make the demo table in the scratch folder and open it; see `Source.open`."""
        import pyarrow.parquet as pq

        from rrpolicy.source.duckdb.source import DuckDBSource

        name, _, query = uri.removeprefix("demo:").partition("?")
        given = dict(parse_qsl(query, keep_blank_values=True))
        unknown = set(given) - {"records", "seed"}
        if name != "survey" or unknown or not all(v.isascii() and v.isdigit() for v in given.values()):
            message = f"'{uri}': there is no such demo table"
            raise DataError(Problem("RR300", message, expected="demo:survey, or demo:survey?records=1000&seed=7"))
        records, seed = int(given.get("records", DEFAULT_RECORDS)), int(given.get("seed", DEFAULT_SEED))
        try:
            made = survey(records, seed)
        except ValueError as error:
            raise DataError(Problem("RR300", f"'{uri}': {error}")) from None
        path = scratch / "survey.parquet"
        pq.write_table(made, path, compression="none")
        with DuckDBSource().open(f"parquet:{path}", table, scratch, reading) as snapshot:
            yield snapshot


TABLE = "survey.parquet"
FILES = ("policy.toml", "hierarchies/education.csv", "hierarchies/region.csv")


def write_demo(folder: Path, records: int = DEFAULT_RECORDS, seed: int = DEFAULT_SEED) -> tuple[Path, ...]:
    """Write the demo table and its policy.

    Returns the written files, the table first. Raises ValueError if `records` or `seed` is out of range.
    """
    import pyarrow.parquet as pq

    table = survey(records, seed)
    given = files("rrpolicy.drafting.demo.example")
    copies = {name: partial(Path.write_bytes, data=(given / name).read_bytes()) for name in FILES}
    return write_new(folder, {TABLE: lambda path: pq.write_table(table, path), **copies})
