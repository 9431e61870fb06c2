"""A release from a table of counts, written and verified, beside DuckDB's COPY of as many rows of the same columns.

`python -m benchmarks.speed.bench_counted 1000000000` does it for so many records; the default is a tenth of that. Of more
than 10^8 rows the COPY is made of 10^8, and its cost taken as many times.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.speed import Ratio
from benchmarks.speed.bench_release import GIB, HEAD, SIZES, Cost, copy, cost, released

RECORDS = 100_000_000


def write_counts(folder: Path, records: int) -> None:
    """Write a table of all combinations with skewed counts that add up to the records, and its policy."""
    codes = np.indices(tuple(SIZES.values())).reshape(len(SIZES), -1)
    weight = (1 / (codes + 1.0)).prod(axis=0)
    n = np.floor(records * weight / weight.sum()).astype(np.int64)
    n[0] += records - n.sum()
    columns = {name: [f"{name[0]}{i + 1}" for i in code[n > 0]] for name, code in zip(SIZES, codes, strict=True)}
    pq.write_table(pa.table({**columns, "n": n[n > 0]}), folder / "counts.parquet")
    lines = [
        f'{name} = {{ role = "quasi-identifier", domain = {[f"{name[0]}{i}" for i in range(1, size + 1)]} }}'
        for name, size in SIZES.items()
    ]
    head = HEAD.replace('uri = "table.parquet"', 'uri = "counts.parquet"\nmultiplicity = "n"')
    (folder / "policy.toml").write_text(head + "\n".join(lines).replace("'", '"') + "\n")


def run(records: int = RECORDS) -> list[Ratio]:
    """Release, verify, and copy as many rows."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_counts(folder, records)
        made = released(folder, "out")
        verified = cost(sys.executable, "-m", "rrpolicy.cli.main", "verify", str(folder / "out"))
        size = sum(path.stat().st_size for path in (folder / "out" / "public").rglob("data*.parquet"))
        rows = min(records, RECORDS)
        write_counts(folder, rows)
        plain = copy(
            f"SELECT {', '.join(SIZES)} FROM '{folder}/counts.parquet', unnest(range(n))", folder / "rows.parquet"
        )
    times = records / rows

    def beside(taken: Cost) -> str:
        told = (
            f"of a COPY of {records:,} rows: {taken.seconds:.0f} s beside {times * plain.seconds:.0f}, processor time"
        )
        return f"{told} {taken.processor:.0f} s beside {times * plain.processor:.0f}"

    return [
        Ratio("release from counts", made.seconds / plain.seconds / times, 0.5, beside(made)),
        Ratio(
            "its verification, without source and key", verified.seconds / plain.seconds / times, None, beside(verified)
        ),
        Ratio("memory of both", max(made.peak, verified.peak) / GIB, 1.5, "GiB at the peak"),
        Ratio("its data file", size / 2**20, None, "MiB"),
    ]


if __name__ == "__main__":
    for ratio in run(int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS):
        print(f"{ratio.name:<60} {ratio.value:6.2f}  {ratio.note}")
