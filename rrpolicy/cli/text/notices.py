"""Lines and progress on standard error, in addition to the result."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rrpolicy.escaping.printable import line

UNVERIFIED = "not checked: whether release.json and the files that were read are those that were released"

LOG = logging.getLogger("rrpolicy")


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(line(record.getMessage()), file=sys.stderr)


@contextmanager
def notices() -> Iterator[None]:
    """Print what rrpolicy logs."""
    lines, level = _Lines(), LOG.level
    LOG.addHandler(lines)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.setLevel(level)
        LOG.removeHandler(lines)


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """Yield a function that shows (the current step, share done); it shows nothing without a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from rrpolicy.escaping.printable import visible

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("opening the table", total=None)
        yield lambda text, share: bar.update(task, description=visible(text), completed=share, total=1.0)
