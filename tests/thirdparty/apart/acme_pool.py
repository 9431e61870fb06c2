"""A sink alone: each file of a release is written by a thread of its own."""

from __future__ import annotations

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor

from rrpolicy.plugin import hookimpl
from rrpolicy.plugin.engines import divided


class Pool:
    name = "acme-pool"

    def writer(self, parts, scratch):
        return PoolWriter(parts, scratch)


class PoolWriter:
    def __init__(self, parts, scratch):
        self.parts, self.threads, self.files = parts, ThreadPoolExecutor(2), []
        self.most = parts.rows_per_file or sys.maxsize
        self.attempts = parts.folder / ".attempts"
        self.attempts.mkdir()
        (parts.folder / parts.name(0)).parent.mkdir(exist_ok=True)
        self.cells, self.here = [], 0

    def write(self, rows, n):
        while len(n):
            if self.here == self.most:
                self.end()
            (now, times), (rows, n) = divided(rows, n, self.most - self.here)
            self.cells.append((now, times))
            self.here += int(times.sum())

    def end(self):
        self.files.append(self.threads.submit(self.parts.write, len(self.files), self.cells, self.attempts))
        self.cells, self.here = [], 0

    def close(self):
        self.end()
        for file in self.files:
            file.result()
        self.abandon()

    def abandon(self):
        self.threads.shutdown()
        shutil.rmtree(self.attempts)


@hookimpl
def rrpolicy_sinks():
    return [Pool()]
