"""A file appears whole, under a name that nothing had: what is there already is never overwritten."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from rrpolicy.errors import Problem, RefusedError

_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


def refuse_existing(path: Path) -> None:
    """Refuse a path that something has already.

    Raises:
        RefusedError: RR402.
    """
    if os.path.lexists(path):
        raise RefusedError(
            Problem(
                "RR402",
                f"{path} exists already, and nothing is ever overwritten",
                hint="choose another name, or move the old one away",
            )
        )


def appear(made: Path, path: Path) -> None:
    """Give a finished file its name.

    Args:
        made: the file, in the same folder; it is gone afterwards.
        path: its name.

    Raises:
        RefusedError: RR402 if the name is taken.
        OSError: if it cannot be written.
    """
    try:
        os.link(made, path, follow_symlinks=False)
    except FileExistsError:
        refuse_existing(path)
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        refuse_existing(path)  # a file system without links: the check and the renaming are two steps
        made.replace(path)
        return
    made.unlink()
