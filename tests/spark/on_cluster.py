"""A release by a cluster of Spark's, that loses an executor and runs copies of a task; `test_cluster.py` runs it.

python on_cluster.py MASTER NOTES POLICY SOURCE KEY OUT
"""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from rrpolicy.formats.parquet import ParquetFormat

QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Half the time to start."""
SETTINGS = {
    "spark.cores.max": "4",
    "spark.executor.cores": "2",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICKLY,
    "spark.driver.extraJavaOptions": QUICKLY,
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",  # so few rows would make one task, which no copy is ever begun of
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.multiplier": "1.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
PATIENCE = 120
"""Seconds."""


def begun(notes: Path, work: str) -> bool:
    """Note an attempt at a piece of work, and return whether it is the first."""
    with (notes / work).open("a") as file:
        first = file.tell() == 0
        file.write(f"{os.getpid()}\n")
    return first


def lose_executor() -> None:
    """Kill the executor of this task, with everything that it has kept and shuffled."""
    os.kill(engine_of(os.getppid()), signal.SIGKILL)
    time.sleep(5)  # nobody hears of what this process does any more


def wait_for(another: Path, alone: Path) -> None:
    """Wait until another attempt, begun beside this one, has finished; note it where none is begun."""
    until = time.monotonic() + PATIENCE
    while not another.exists():
        if time.monotonic() > until:
            alone.touch()
            return
        time.sleep(0.01)


def engine_of(daemon: int) -> int:
    """Return the executor's process, which began the daemon that forks the workers."""
    return int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])


class Drawing:
    """Draws blocks; the first attempt at the first one loses its executor."""

    def __init__(self, notes: Path, *arguments: Any) -> None:
        from rrpolicy_spark.tasks import DrawTask

        self.draw, self.notes = DrawTask(*arguments), notes
        self.schema = DrawTask.schema

    def __call__(self, pieces: Any) -> Any:
        if pieces.column("block")[0].as_py() == 0 and begun(self.notes, "block"):
            lose_executor()
        return self.draw(pieces)


class Writing(ParquetFormat):
    """Parquet; the first attempt at the first file stops when half of it stands there, until another has written it."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def writer(self, path: Path, spec: Any, handling: Any) -> Any:
        written = super().writer(path, spec, handling)
        if path.name.partition("-")[0] == "0":
            finish = written.close

            def close() -> None:
                first, done = begun(self.notes, "file"), self.notes / "file-done"
                if first:
                    wait_for(done, self.notes / "alone")
                finish()
                done.touch()

            vars(written)["close"] = close
        return written


def main(master: str, notes: Path, *paths: str) -> None:
    from pyspark.sql import SparkSession

    import rrpolicy
    from rrpolicy.frozen import replace
    from rrpolicy_spark import sink, sorted_rows

    session = SparkSession.builder.config(map=SETTINGS).master(master).getOrCreate()
    sorted_rows.DrawTask = partial(Drawing, notes)  # type: ignore[assignment, misc]
    written = sink.SparkSink.writer
    sink.SparkSink.writer = lambda self, parts, scratch: written(  # type: ignore[method-assign]
        self, replace(parts, form=Writing(notes)), scratch
    )
    policy, source, key, out = paths
    rrpolicy.release(policy, out, source=source, key=key, sink="spark")
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
