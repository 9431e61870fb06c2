"""Anatomy of 10^7 records beside DuckDB's copy of the same Parquet file, which reads and writes it once.

Anatomy writes two tables of 10^7 rows each: it deals the records into groups, puts both tables in order, digests them
and writes them. Needs some 2 GB of disk for a moment. Beside it: what a plan computes of the attacker who reads whole
groups, which depends on the counts and not on the rows; and what the audit measures of everybody on the written groups.
At last the memory of a whole `rrpolicy release`, beyond that of its imports, beside the size of the table in Arrow.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.speed import Ratio
from benchmarks.speed.bench_release import GIB, Cost, cost, released
from rrpolicy.bundle.audit import realised_findings
from rrpolicy.bundle.manifest import data_files_description
from rrpolicy.bundle.tables.writer import FolderSink
from rrpolicy.channels.anatomy.channel import AnatomyChannel
from rrpolicy.channels.sampling.prng import Streams
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.anatomy.disclosure import assess
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.source.opening import open_original

RECORDS = 10**7
SIZE = 5
ROUNDS = 3
DOMAINS = {"sex": 2, "region": 8, "age": 70, "education": 16}
DISEASES = 15


def write(folder: Path, records: int) -> Path:
    """Write a table and its policy; return the policy."""
    known = ", ".join(f"'{name[0]}' || (hash(i, {place}) % {size}) AS {name}" for place, (name, size) in _numbered())
    common = f"least({DISEASES - 1}, (-5 * ln(1 - (hash(i, 99) % 1000000) / 1000001.0))::INTEGER)"
    duckdb.sql(f"SELECT {known}, 'd' || {common} AS disease FROM range({records}) AS t(i)").write_parquet(
        str(folder / "table.parquet"), compression="zstd"
    )
    lines = [
        f'{name} = {{ role = "quasi-identifier", domain = {_labels(name[0], size)} }}' for name, size in DOMAINS.items()
    ]
    path = folder / "policy.toml"
    path.write_text(
        'schema = 1\n[policy]\nname = "bench"\nversion = "1.0.0"\nowner = "office"\npurpose = "a measurement"\n'
        '[source]\nuri = "table.parquet"\n[attributes]\n' + "\n".join(lines) + "\n"
        f'disease = {{ role = "sensitive", domain = {_labels("d", DISEASES)} }}\n'
        f'[[privacy]]\nmodel = "l-diversity"\nkind = "frequency"\nl = {SIZE}\n[mechanism]\nname = "anatomy"\n'
    )
    return path


def _numbered() -> Iterator[tuple[int, tuple[str, int]]]:
    return iter(enumerate(DOMAINS.items()))


def _labels(letter: str, size: int) -> str:
    return "[" + ", ".join(f'"{letter}{i}"' for i in range(size)) + "]"


class Nowhere:
    """A sink that writes nothing."""

    def write(
        self, table: str, batch: pa.RecordBatch, n: Any = None, *, in_order: bool = False, sorted_by: int = 0
    ) -> None:
        del table, batch, n, in_order, sorted_by


@contextmanager
def opened(path: Path) -> Iterator[tuple[AnatomyChannel, Any]]:
    """Yield the settled channel and the table, counted."""
    made = open_policy(path)
    with open_original(made.policy, made.registry.sources, path.parent / "scratch") as original:
        yield AnatomyChannel.of(original.policy.released, "disease", SIZE).settle(original), original


def taken(run: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a call on the wall, and those of all processors together."""
    start, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - processor


def run(records: int = RECORDS) -> list[Ratio]:
    """Measure in turns, so that what else the machine does falls on all alike."""
    found: dict[str, list[tuple[float, float]]] = {"copy": [], "deal": [], "write": [], "assess": [], "measure": []}
    asked = Requirement("attribute-disclosure", AttributeDisclosureOptions(threshold="1/2"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write(folder, records)
        whole, memory = held(folder)  # first: a child's peak begins with its parent's size
        registry = open_policy(path).registry
        with opened(path) as (channel, original):

            def copy() -> None:
                duckdb.read_parquet(str(folder / "table.parquet")).write_parquet(
                    str(folder / "copy.parquet"), compression="zstd"
                )

            def deal() -> None:
                channel.draw(original, Streams.for_tests(1), Nowhere())

            public, tables = folder / "public", dict[str, Any]()

            def written() -> None:
                shutil.rmtree(public, ignore_errors=True)
                public.mkdir()
                sink = FolderSink(channel.tables(), public, "parquet", folder)
                channel.draw(original, Streams.for_tests(1), sink)
                tables.update(sink.finish())

            for _ in range(ROUNDS):
                found["copy"].append(taken(copy))
                found["deal"].append(taken(deal))
                found["write"].append(taken(written))
                found["assess"].append(taken(lambda: assess(asked, channel, original)))
                data = data_files_description(original.policy.release, tables)
                measured = partial(
                    realised_findings, original.policy, registry, channel, original, public, data, folder
                )
                found["measure"].append(taken(measured))
    least = {what: min(seconds for seconds, _ in each) for what, each in found.items()}
    processor = {what: min(seconds for _, seconds in each) for what, each in found.items()}
    beside = f"of a copy of {least['copy']:.2f} s; {records:,} records, l = {SIZE}"
    of_processor = f"of its processor time, {processor['copy']:.2f} s"
    written_out = "the same, both tables digested and written"
    return [
        Ratio("records dealt into groups, both tables in order", least["deal"] / least["copy"], None, beside),
        Ratio(written_out, least["write"] / least["copy"], 3, beside),
        Ratio(f"{written_out}: processor time", processor["write"] / processor["copy"], 2, of_processor),
        Ratio("attribute disclosure, bound and estimate", least["assess"] / least["copy"], None, beside),
        Ratio("posterior of everybody on the written groups", least["measure"] / least["copy"], 4, beside),
        Ratio("a whole release: processor time", whole.processor / processor["copy"], None, of_processor),
        Ratio("memory of a whole release", whole.peak / GIB, 0.5, "GiB at the peak"),
        Ratio("memory of a whole release beyond its imports", memory, 2, "of the table in Arrow"),
    ]


def held(folder: Path) -> tuple[Cost, float]:
    """Return the cost of a whole release, and its peak beyond its imports as a multiple of the table as Arrow holds it."""
    code = (
        "import duckdb, sys; duckdb.execute('SET enable_progress_bar = false'); "
        "print(duckdb.read_parquet(sys.argv[1]).to_arrow_table().nbytes)"
    )
    command = [sys.executable, "-c", code, str(folder / "table.parquet")]
    table = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    imports = cost(sys.executable, "-c", "import duckdb, numpy, pyarrow.parquet, rrpolicy.cli.main").peak
    whole = released(folder, "whole")
    return whole, (whole.peak - imports) * 1024 / table


if __name__ == "__main__":
    for ratio in run():
        print(f"{ratio.name:<60} {ratio.value:6.2f}  {ratio.note}")
