"""What correction costs: a query on 10^7 released rows, beside the same uncorrected query in DuckDB.

Run it with `python -m benchmarks.speed query`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import duckdb

import rrpolicy
from benchmarks.speed import Ratio, least
from tests.estimate.conftest import identity, manifest, retention, seal

ROWS = 10**7
LIMIT = 3.0
ROUNDS = 3
SIZES = {"education": 16, "marital": 7, "sex": 2, "region": 12}

QUERIES = {
    "two randomised columns": ("SELECT education, sex, count(*) FROM release GROUP BY education, sex"),
    "a condition on a randomised column": (
        "SELECT education, count(*) FROM release WHERE marital IN ('marital 1', 'marital 2') GROUP BY education"
    ),
    "a condition on a column released as it is": (
        "SELECT education, count(*) FROM release WHERE region = 'region 3' GROUP BY education"
    ),
    "four columns": "SELECT education, marital, sex, region, count(*) FROM release GROUP BY ALL",
}


def labels(column: str) -> list[str]:
    return [f"{column} {i}" for i in range(SIZES[column])]


def publish(folder: Path, rows: int) -> None:
    """Write a public/ folder: three columns by retention, one as it is; sorted, as releases are."""
    axes = [
        identity(c, labels(c)) if c == "region" else retention(c, labels(c), [(range(size), "7/10")])
        for c, size in SIZES.items()
    ]
    (folder / "release.json").write_text(json.dumps(manifest(axes, rows, "parquet").to_json()))
    drawn = ", ".join(
        f"'{c} ' || (hash(i, {seed}) % {size})::VARCHAR AS {c}" for seed, (c, size) in enumerate(SIZES.items())
    )
    with duckdb.connect() as connection:
        path = str(folder / "data.parquet").replace("'", "''")
        connection.execute(f"COPY (SELECT {drawn} FROM range({rows}) t(i) ORDER BY ALL) TO '{path}' (FORMAT parquet)")
    seal(folder)


def run(rows: int = ROWS) -> list[Ratio]:
    """Measure every query, corrected and not, on the same file."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        publish(folder, rows)
        path = str(folder / "data.parquet").replace("'", "''")

        def plain(sql: str) -> object:
            with duckdb.connect() as connection:
                return connection.sql(sql.replace("FROM release", f"FROM read_parquet('{path}')")).fetchall()

        def corrected(sql: str) -> object:
            # opened anew: a release keeps what it has counted
            return rrpolicy.open_release(folder, verify=False).query(sql).rows

        for name, sql in QUERIES.items():
            base = least(lambda sql=sql: plain(sql), ROUNDS)
            seconds = least(lambda sql=sql: corrected(sql), ROUNDS)
            note = f"of the uncorrected query in DuckDB, {base:.3f} s"
            found.append(Ratio(f"a query by {name}, {rows:,} rows", seconds / base, LIMIT, note))
    return found
