"""A cluster with two machines, as far as Spark can tell: executors are lost, and copies of slow tasks run beside them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.exports.conftest import public_bytes

from . import on_cluster

PATIENCE = 60
"""Seconds until Spark says where its master is."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a master with two workers, each with an address of its own: Spark copies no task within one."""
    import pyspark

    folder = tmp_path_factory.mktemp("cluster")
    program = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": on_cluster.QUICKLY,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
    }

    with ExitStack() as stack:

        def begun(name: str, host: str, *arguments: str) -> Path:
            log = folder / f"{host}.log"
            told = ["--host", host, "--port", "0", "--webui-port", "0", *arguments]
            with log.open("wb") as out:
                command = [*program, f"org.apache.spark.deploy.{name}", *told]
                process = stack.enter_context(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
            stack.callback(process.terminate)
            return log

        address = _address(begun("master.Master", "127.0.0.1"))
        for host in ("127.0.0.2", "127.0.0.3"):
            begun("worker.Worker", host, "--cores", "2", "--memory", "1g", "--work-dir", str(folder / host), address)
        yield address


def _address(log: Path) -> str:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if found := re.search(r"Starting Spark master at (spark://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="needs several addresses of this machine, and its list of processes"
)
def test_a_lost_executor_and_copies_of_a_task_change_nothing(master: str, visits: Path, tmp_path: Path) -> None:
    notes, theirs = tmp_path / "notes", tmp_path / "theirs"
    notes.mkdir()
    paths = [notes, visits / "policy.toml", f"spark-parquet:{visits}/parts", visits / "key", theirs]

    done = subprocess.run(
        [sys.executable, on_cluster.__file__, master, *paths],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )

    assert done.returncode == 0, done.stderr
    assert {p.name for p in notes.iterdir()} == {"block", "file", "file-done"}
    assert min(len((notes / work).read_text().splitlines()) for work in ("block", "file")) > 1
    assert public_bytes(theirs) == public_bytes(visits / "ours")
    assert not list(theirs.rglob(".*"))
