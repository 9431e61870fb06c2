"""Reading a file whole that somebody else may have put there: a regular file only, and of a limited size."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, most: int) -> bytes:
    """Return a file's bytes; never wait for a pipe, open a device, or read without end.

    Args:
        path: the file; links are followed.
        most: bytes.

    Raises:
        OSError: if it cannot be read, is no regular file, or is larger; `strerror` says so in words.
        ValueError: if it is no possible path.
    """
    _require_regular(os.stat(path).st_mode)  # noqa: PTH116 a path may hold NUL
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(descriptor, "rb") as file:
        _require_regular(os.fstat(descriptor).st_mode)
        content = file.read(most + 1) or b""
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MiB" if most >> 20 else "it is too large")
    return content


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file")
