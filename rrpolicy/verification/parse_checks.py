"""Unreadable parts of a bundle: a failed check, not an error of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rrpolicy.formats.format import UnlikeSpecError
from rrpolicy.safe_io.document import UnreadableError
from rrpolicy.safe_io.tempdirs import is_disk_full
from rrpolicy.verification.outcome import Log


@contextmanager
def log_unreadable(log: Log) -> Iterator[None]:
    """Log unreadable parts while checks run, and end the checks there."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, OSError) as error:
        if is_disk_full(error):
            raise
        log.check("readable", False, "RR110", _unreadable_text(error))  # noqa: FBT003 it fails


def _unreadable_text(error: Exception) -> str:
    """Return the name of the unreadable part; never a value of the data."""
    if isinstance(error, (UnlikeSpecError, UnreadableError)):
        return str(error)
    if isinstance(error, OSError):
        return f"{Path(error.filename).name if error.filename else 'a file'} cannot be read: {error.strerror}"
    return f"a field of a record is not what it must be ({type(error).__name__})"
