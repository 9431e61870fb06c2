"""Tables and policies for the tests of the source room."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.canonical_json import Value
from rrpolicy.declarations import Role
from rrpolicy.policy.model import PLAIN, Attribute, CsvSettings, Policy, SourceSettings
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.opening import open_original
from rrpolicy.source.original import TableOriginal
from rrpolicy.testing import policy_of

Open = Callable[..., AbstractContextManager[TableOriginal]]


def qi(name: str, *domain: object, **keys: object) -> Attribute:
    """Return a quasi-identifier; without a domain an observed one."""
    return Attribute(name, Role.QUASI_IDENTIFIER, domain or None, observed=not domain, release_as=name, **keys)  # type: ignore[arg-type]


def distinct(original: TableOriginal) -> int:
    """Return the number of distinct rows over all released columns."""
    names = [a.name for a in original.policy.released]
    return pa.Table.from_batches(original.rows(*names)).group_by(names).aggregate([]).num_rows


def carried(name: str, **keys: object) -> Attribute:
    return Attribute(name, Role.INSENSITIVE, None, release_as=name, **keys)  # type: ignore[arg-type]


def dropped(name: str, role: Role = Role.IDENTIFIER) -> Attribute:
    return Attribute(name, role, None, release_as=name)


def policy_at(
    uri: object,
    *attributes: Attribute,
    table: str | None = None,
    min_rows: int | None = None,
    folder: str = ".",
    missing: tuple[Value, ...] = (),
    csv: CsvSettings = PLAIN.csv,
) -> Policy:
    source = SourceSettings(str(uri), table, min_rows, missing=missing, csv=csv)
    return policy_of(attributes, source=source, folder=folder)


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Return a function (uri, *attributes, table=…) -> context manager of the original."""
    source = DuckDBSource()
    sources = dict.fromkeys(source.schemes, source)

    @contextmanager
    def open_(uri: object, *attributes: Attribute, **keys: object) -> Iterator[TableOriginal]:
        policy = policy_at(uri, *attributes, **keys)  # type: ignore[arg-type]
        with open_original(policy, sources, tmp_path / "scratch") as original:
            yield original

    return open_


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[..., Path]:
    """Return a function (columns, name) -> path of a Parquet file."""

    def write(columns: dict[str, object] | pa.Table, name: str = "table.parquet") -> Path:
        path = tmp_path / name
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)
        return path

    return write


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., Path]:
    """Return a function (*statements) -> path of a database on which they ran."""

    def write(*statements: str, name: str = "base.duckdb") -> Path:
        with duckdb.connect(str(tmp_path / name)) as connection:
            for statement in statements:
                connection.execute(statement)
        return tmp_path / name

    return write
