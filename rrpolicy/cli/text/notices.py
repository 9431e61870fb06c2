"""What is told beside the result: on standard error, without a level or a time."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
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
