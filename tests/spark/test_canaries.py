"""No original value is left, or seen in plain on the way, by a session of our own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.exports.conftest import Case
from tests.exports.test_counts_in import MECHANISMS

from .conftest import SETTINGS

CANARY = b"SECRET-"
RECORDS = 700
QUICK = ("spark.driver.extraJavaOptions", "spark.sql.shuffle.partitions", "spark.master")


def release(folder: Path, *settings: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Begin a release of a table with canaries in a process of its own, all of whose temporary files lie in a folder."""
    from tests.exports.conftest import people

    place = folder / "temporary"
    (folder / "people").mkdir(parents=True)
    (folder / "working").mkdir()
    place.mkdir()
    pq.write_table(people(), folder / "people" / "one.parquet")
    policy = Case(folder).policy(MECHANISMS["pram"], source='unit = "person_id"')
    said = " ".join(f"--conf '{s}'" for s in (*(f"{name}={SETTINGS[name]}" for name in QUICK), *settings))
    environment = {"TMPDIR": str(place), "HOME": str(place), "PYSPARK_SUBMIT_ARGS": f"{said} pyspark-shell"}
    known = {k: v for k, v in os.environ.items() if k not in {"RRPOLICY_SCRATCH", "XDG_CACHE_HOME"}}
    program = [str(Path(sys.executable).parent / "rrpolicy"), "release", str(policy), "--sink", "spark"]
    command = [*program, "--source", "spark-parquet:../people", "--out", str(folder / "out")]
    with (folder / "said").open("wb") as out:
        begun = subprocess.Popen(command, cwd=folder / "working", env=known | environment, stdout=out, stderr=out)
    return begun, place


def seen(place: Path, known: dict[Path, int]) -> bool:
    """Return whether a file that changed since it was last looked at holds a canary."""
    found = False
    for path in [Path(folder) / name for folder, _, names in os.walk(place) for name in names]:
        try:
            size = path.stat().st_size
            if known.get(path) != size:
                known[path] = size
                found |= CANARY in path.read_bytes()
        except OSError:  # it went away
            continue
    return found


@pytest.mark.slow
def test_no_original_value_is_left_or_seen_in_plain(tmp_path: Path) -> None:
    runs = {"ours": release(tmp_path / "ours"), "bare": release(tmp_path / "bare", "spark.io.encryption.enabled=false")}
    known: dict[Path, int] = {}
    found = dict.fromkeys(runs, False)
    deadline = time.monotonic() + 300
    while any(process.poll() is None for process, _ in runs.values()):
        assert time.monotonic() < deadline
        for name, (_, place) in runs.items():
            found[name] |= seen(place, known)
        time.sleep(0.01)

    assert {name: process.returncode for name, (process, _) in runs.items()} == {"ours": 0, "bare": 0}
    assert found == {"ours": False, "bare": True}  # who does not encrypt is seen: the looking works
    for name, (_, place) in runs.items():
        left = [p for folder in (place, tmp_path / name / "working") for p in folder.rglob("*") if p.is_file()]
        assert [p for p in left if "hsperfdata" not in str(p)] == []
        assert CANARY not in (tmp_path / name / "said").read_bytes()
        bundle = tmp_path / name / "out"
        assert not any(CANARY in p.read_bytes() for p in bundle.rglob("*") if p.is_file())
