"""What a whole `rrpolicy release` costs, beside DuckDB's COPY of the same columns.

`python -m benchmarks.speed.bench_release 0.1` does it for a tenth of the records. On a machine that is busy otherwise the
processor time says more than the clock does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.speed import Ratio

ROOT = Path(__file__).resolve().parents[2]
RUNS = (
    ("release, 10^8 rows x 5 categories", 100_000_000, False, 0.25),
    ("release, 2 * 10^7 rows x 5 categories", 20_000_000, False, 0.6),
    ("release, 10^7 rows with as many carried values", 10_000_000, True, 2.5),
)
"""Name, records, whether a column is carried, and the most that the ratio of processor times should be."""
LARGEST = 0.5
"""GiB at the peak."""
SIZES = {"education": 16, "marital": 7, "sex": 2, "race": 5, "workclass": 7}
GIB = 2**20
"""KiB in a GiB: what the kernel counts peaks in."""

HEAD = """schema = 1
[policy]
name = "bench"
version = "1.0.0"
[source]
uri = "table.parquet"
[[privacy]]
model = "local-dp"
epsilon = 6
[mechanism]
name = "pram"
allocation = "equal"
[attributes]
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the wall, those of all processors together, and the largest resident set in KiB."""

    seconds: float
    processor: float
    peak: int


def write_table(folder: Path, records: int, *, carried: bool) -> Path:
    """Write a table of skewed categories, and its policy; return the policy."""
    columns = [
        f"'{name[0]}' || (1 + ((random() * random() * {size})::INT % {size})) AS {name}" for name, size in SIZES.items()
    ]
    columns += ["random() AS measure"] if carried else []
    table = folder / "table.parquet"
    copy(f"SELECT {', '.join(columns)} FROM range({records})", table)
    lines = [
        f'{name} = {{ role = "quasi-identifier", domain = {[f"{name[0]}{i}" for i in range(1, size + 1)]} }}'
        for name, size in SIZES.items()
    ]
    lines += ['measure = { role = "insensitive", assume_unlinkable = "drawn by chance" }'] if carried else []
    policy = folder / "policy.toml"
    policy.write_text(HEAD + "\n".join(lines).replace("'", '"') + "\n")
    return policy


def cost(*command: str) -> Cost:
    """Run a command and return what it took."""
    start = time.perf_counter()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss)


def released(folder: Path, out: str) -> Cost:
    """Release the table as a user would."""
    policy = str(folder / "policy.toml")
    return cost(sys.executable, "-m", "rrpolicy.cli.main", "release", policy, "--out", str(folder / out))


def copied(folder: Path) -> Cost:
    """Return the cost of a plain copy of the same columns, on the same number of threads."""
    return copy(f"SELECT * FROM '{folder}/table.parquet'", folder / "copy.parquet")


def copy(select: str, target: Path) -> Cost:
    """Return the cost of a COPY, made in a process of its own: a child's peak begins with its parent's size."""
    sql = f"COPY ({select}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    code = (
        "import duckdb, resource, sys, time; c = duckdb.connect(); c.execute('SET enable_progress_bar = false'); "
        "s, p = time.perf_counter(), time.process_time(); c.execute(sys.argv[1]); "
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "print(time.perf_counter() - s, time.process_time() - p, peak)"
    )
    done = subprocess.run([sys.executable, "-c", code, sql], check=True, capture_output=True, text=True)
    seconds, processor, peak = map(float, done.stdout.split())
    return Cost(seconds, processor, int(peak))


def run(share: float = 1.0) -> list[Ratio]:
    """Measure the cell path and the record path.

    Args:
        share: of the records that are asked for.
    """
    found: list[Ratio] = []
    for name, records, carried, goal in RUNS:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            write_table(folder, int(records * share), carried=carried)
            pairs = [(released(folder, f"out{i}"), copied(folder)) for i in range(3)]
        beside = f"of DuckDB's COPY (parquet, zstd), {median(c.seconds for _, c in pairs):.2f} s"
        processor = f"of its processor time, {median(c.processor for _, c in pairs):.2f} s"
        found += [
            Ratio(name, median(r.seconds / c.seconds for r, c in pairs), None, beside),
            Ratio(f"{name}: processor time", median(r.processor / c.processor for r, c in pairs), goal, processor),
            Ratio(f"{name}: memory", max(r.peak for r, _ in pairs) / GIB, LARGEST, "GiB at the peak"),
        ]
    return found


if __name__ == "__main__":
    for ratio in run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0):
        print(f"{ratio.name:<60} {ratio.value:6.2f}  {ratio.note}")
