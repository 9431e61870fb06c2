"""A folder to start from: the demo table, a policy for it, and the hierarchies that the policy names."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path

from rrpolicy.drafting.demo.source import DEFAULT_RECORDS, DEFAULT_SEED, survey
from rrpolicy.safe_io.atomic_write import write_new

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
