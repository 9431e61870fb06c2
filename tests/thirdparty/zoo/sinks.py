"""A sink that writes files in threads, and what is wrong with others."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rrpolicy.formats.parts import LOCAL_SINK
from rrpolicy.testing import check_sink

file = Path(__file__).parents[1] / "apart" / "acme_pool.py"
spec = importlib.util.spec_from_file_location("zoo_pool", file)
pool: Any = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = pool
spec.loader.exec_module(pool)


class Sink:
    """What this process does, with another name, and with something done otherwise."""

    name = "acme-sink"

    def __init__(self, *, before: Callable[[Any], Any] = lambda parts: parts, **methods: Any) -> None:
        self.before, self.methods = before, methods

    def writer(self, parts: Any, scratch: Path) -> Any:
        inner = LOCAL_SINK.writer(self.before(parts), scratch)
        members = {"inner": inner, "__getattr__": lambda _, name: getattr(inner, name)}
        return type("Table", (), {**members, **self.methods})()


class Nameless(Sink):
    name = "here"


def whole(parts: Any) -> Any:
    """Return the parts of one file."""
    return type(parts)(parts.spec, parts.folder, parts.form, parts.handling, None)


def cut(parts: Any) -> Any:
    """Return the parts of files that hold one row less."""
    less = parts.rows_per_file
    return type(parts)(parts.spec, parts.folder, parts.form, parts.handling, less if less in {None, 1} else less - 1)


def logged(parts: Any) -> Any:
    (parts.folder / "log.txt").write_text("begun")
    return parts


def fails(self: Any, *given: Any) -> None:
    self.inner.abandon()
    raise RuntimeError("out of order")


def check(sink: Any) -> None:
    check_sink(sink)


HONEST = {"threads": pool.Pool(), "this process": Sink()}
WRONG = {
    "the name of ours": (Nameless(), "a sink has its own name"),
    "one file for all rows": (Sink(before=whole), "parquet, 1 writes, rows_per_file 1: it lacks data/part-00000.parquet"),
    "files that are cut elsewhere": (Sink(before=cut), "rows_per_file 60: "),
    "a file of its own": (Sink(before=logged), "parquet, 1 writes, rows_per_file None: it leaves log.txt"),
    "no write": (Sink(write=fails), "write.. fails: RuntimeError: out of order"),
    "no close": (Sink(close=fails), "close.. fails: RuntimeError: out of order"),
    "no abandon": (Sink(abandon=fails), "abandon.. fails: RuntimeError: out of order"),
}  # fmt: skip
