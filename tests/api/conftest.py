"""A small table in every form in which a caller may hold it, and a policy for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

POLICY = """
schema = 1
[policy]
name = "people"
version = "1.0.0"
owner = "Tests"
purpose = "A day in Python."
[source]
uri = "people.parquet"
missing = ["n/a"]
[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["F", "M"] }
age = { role = "quasi-identifier", bins = [0, 40, 65, inf], labels = ["0-39", "40-64", "65+"], release_as = "age_group" }
region = { role = "sensitive", domain = ["north", "south", "unknown"], nulls = "unknown" }
hours = { role = "insensitive", assume_unlinkable = "a test says so", nulls = "keep" }
[[privacy]]
model = "local-dp"
epsilon = 4
scope = "attribute"
[mechanism]
name = "pram"
"""
RECORDS = 600


def people() -> pd.DataFrame:
    """Return the table as a pandas data frame, with categories, missing values of three kinds, and a filtered index."""
    n = range(RECORDS)
    frame = pd.DataFrame(
        {
            "person_id": [f"SECRET-{i}" for i in n],
            "sex": pd.Categorical(["FM"[i % 3 > 0] for i in n]),
            "age": [float(i * 37 % 90) for i in n],
            "region": [("north", "south", None, "n/a")[i * i % 7 % 4] for i in n],
            "hours": [float("nan") if i % 11 == 0 else float(i // 7 % 7) for i in n],
        }
    )
    return frame[frame["age"] >= 0].sort_values("age", kind="stable")


class Stream:
    """What offers the Arrow stream as often as asked, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with people.parquet and policy.toml."""
    people().to_parquet(tmp_path / "people.parquet", index=False)
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def held(folder: Path) -> Iterator[Callable[[str], Any]]:
    """Return a function that gives the table in one of its forms."""
    with duckdb.connect() as connection:
        forms: dict[str, Callable[[], Any]] = {
            "uri": lambda: str(folder / "people.parquet"),
            "path": lambda: folder / "people.parquet",
            "pandas DataFrame": people,
            "polars DataFrame": lambda: pl.from_pandas(people()),
            "Arrow table": lambda: pa.Table.from_pandas(people(), preserve_index=False),
            "Arrow stream": lambda: Stream(pa.Table.from_pandas(people(), preserve_index=False)),
            "DuckDB relation": lambda: connection.sql(f"FROM '{folder / 'people.parquet'}'"),
        }
        yield lambda form: forms[form]()


FORMS = ("uri", "path", "pandas DataFrame", "polars DataFrame", "Arrow table", "Arrow stream", "DuckDB relation")
