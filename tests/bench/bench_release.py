"""What a whole `rrpolicy release` costs, beside DuckDB's COPY of the same columns; the check beside importing pydantic."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench import Ratio

ROOT = Path(__file__).resolve().parents[2]
CELL_RECORDS = 100_000_000
ROW_RECORDS = 10_000_000
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
    """Seconds on the wall, and the largest resident set in KiB."""

    seconds: float
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
    return Cost(time.perf_counter() - start, used.ru_maxrss)


def released(folder: Path, out: str) -> Cost:
    """Release the table as a user would."""
    policy = str(folder / "policy.toml")
    return cost(sys.executable, "-m", "rrpolicy.cli.main", "release", policy, "--out", str(folder / out))


def copied(folder: Path) -> float:
    """Return the seconds of a plain copy of the same columns, on the same number of threads."""
    return copy(f"SELECT * FROM '{folder}/table.parquet'", folder / "copy.parquet")


def copy(select: str, target: Path) -> float:
    """Return the seconds of a COPY, made in a process of its own: a child's peak begins with its parent's size."""
    sql = f"COPY ({select}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    code = (
        "import duckdb, sys, time; c = duckdb.connect(); c.execute('SET enable_progress_bar = false'); "
        "t = time.perf_counter(); "
        "c.execute(sys.argv[1]); print(time.perf_counter() - t)"
    )
    done = subprocess.run([sys.executable, "-c", code, sql], check=True, capture_output=True, text=True)
    return float(done.stdout)


def run() -> list[Ratio]:
    """Measure the cell path, the record path and the check."""
    found: list[Ratio] = []
    for name, records, carried, goal, most in (
        ("release, 10^8 rows x 5 categories", CELL_RECORDS, False, 0.4, 1.5),
        ("release, 10^7 rows with as many carried values", ROW_RECORDS, True, 6.0, None),
    ):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            write_table(folder, records, carried=carried)
            pairs = [(released(folder, f"out{i}"), copied(folder)) for i in range(3)]
            ratio = median(r.seconds / c for r, c in pairs)
            found.append(Ratio(name, ratio, goal, "of DuckDB's COPY (parquet, zstd)"))
            found.append(Ratio(f"{name}: memory", max(r.peak for r, _ in pairs) / GIB, most, "GiB at the peak"))
    return [*found, check()]


def check() -> Ratio:
    """Measure the check of a policy beside importing pydantic."""
    policy = str(ROOT / "policies" / "pram.toml")
    pairs = [
        (
            cost(sys.executable, "-m", "rrpolicy.cli.main", "check", policy).seconds,
            cost(sys.executable, "-c", "from pydantic import BaseModel").seconds,
        )
        for _ in range(15)
    ]
    return Ratio(
        "check of a policy", median(a / b for a, b in pairs), 3.0, 'of python -c "from pydantic import BaseModel"'
    )
