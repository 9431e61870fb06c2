"""What it costs to measure a table that somebody else anonymised, beside one grouping of it in DuckDB.

10^6 records, six quasi-identifiers and a sensitive attribute in a Parquet file. The measuring is all that
`rrpolicy check-table` does between opening the file and its findings: every model and kind.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.speed import Ratio, least
from rrpolicy.discovery import load_registry
from rrpolicy.table_risk.table import TableRiskRequest, measure_table

RECORDS = 10**6
SIZES = (5, 8, 4, 6, 2, 7)
DISEASES = 15
GOAL = 2.0
ROUNDS = 7


def write(path: Path) -> tuple[str, ...]:
    """Write the table; return its quasi-identifiers."""
    rng = np.random.default_rng(0)
    columns = {}
    for i, size in enumerate(SIZES):
        labels = pa.array([f"value {j} of attribute {i}" for j in range(size)])
        columns[f"q{i}"] = labels.take(pa.array(rng.choice(size, RECORDS, p=rng.dirichlet(np.ones(size)))))
    diseases = pa.array([f"disease {j}" for j in range(DISEASES)])
    columns["disease"] = diseases.take(pa.array(rng.choice(DISEASES, RECORDS)))
    pq.write_table(pa.table(columns), path)
    return tuple(name for name in columns if name != "disease")


def run() -> list[Ratio]:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        known = write(path)
        registry = load_registry()
        asked = TableRiskRequest(str(path), known=known, sensitive=("disease",))

        def measure() -> None:
            measure_table(asked, registry, Path(folder))

        def group(*columns: str) -> None:
            with duckdb.connect(config={"preserve_insertion_order": "false"}) as connection:
                names = ", ".join(columns)
                grouped = connection.sql(f"SELECT {names}, count(*) AS n FROM '{path}' GROUP BY ALL")
                grouped.to_arrow_table() if hasattr(grouped, "to_arrow_table") else grouped.fetch_arrow_table()

        taken = least(measure, ROUNDS)
        classes, cells = least(lambda: group(*known), ROUNDS), least(lambda: group(*known, "disease"), ROUNDS)
    return [
        Ratio("check-table, every model, per grouping by them and the sensitive one", taken / cells, GOAL, "10^6 rows"),
        Ratio(
            "check-table, every model, per grouping by the quasi-identifiers alone", taken / classes, None, "10^6 rows"
        ),
    ]
