"""What a release of a series costs, drawn person by person, beside the same release drawn anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.speed import Ratio
from benchmarks.speed.bench_release import copy, cost

RECORDS = 1_000_000
ROUNDS = 3
GOAL = 4.0
POLICY = """schema = 1
[policy]
name = "bench"
version = "1.0.0"
owner = "bench"
[source]
uri = "table.parquet"
[attributes]
person = {{ role = "identifier" }}
a = {{ role = "quasi-identifier", domain = [0, 1, 2, 3, 4] }}
b = {{ role = "quasi-identifier", domain = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] }}
c = {{ role = "sensitive", domain = [0, 1, 2] }}
[[privacy]]
model = "local-dp"
epsilon = 6
[mechanism]
name = "pram"
[ledger]
file = "releases.jsonl"
overlap = "none"
{release}
"""


def run() -> list[Ratio]:
    """Measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy(
            f"SELECT range AS person, (random() * 5)::INT % 5 AS a, (random() * 20)::INT % 20 AS b, "
            f"(random() * 3)::INT % 3 AS c FROM range({RECORDS})",
            folder / "table.parquet",
        )
        command = (sys.executable, "-m", "rrpolicy.cli.main")
        cost(*command, "ledger", "init", str(folder / "releases.jsonl"))
        for kind, release in (("anew", ""), ("series", '[release]\nseries = "bench"')):
            (folder / f"{kind}.toml").write_text(POLICY.format(release=release))

        def released(kind: str, number: int) -> tuple[float, int]:
            out, key = str(folder / f"{kind}-{number}"), str(folder / f"{kind}-{0 if kind == 'series' else number}.key")
            taken = cost(*command, "release", str(folder / f"{kind}.toml"), "--out", out, "--key", key)
            return taken.seconds, taken.peak

        pairs = [(released("series", i), released("anew", i)) for i in range(ROUNDS)]
    seconds, peak = (median(one[k] / other[k] for one, other in pairs) for k in (0, 1))
    return [
        Ratio("release of a series, per the same release drawn anew", seconds, GOAL, "10^6 records"),
        Ratio("peak memory of a series, per the same release drawn anew", peak, None, "10^6 records"),
    ]
