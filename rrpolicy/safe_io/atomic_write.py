"""New files: written into a folder all at once or not at all, and never over others."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from rrpolicy.errors import Problem, RefusedError, write_error
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix

_NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK})


def refuse_existing(path: Path) -> None:
    """Refuse a path that exists (RR402)."""
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

    `made` is in the same folder, and gone afterwards.

    Raises:
        RefusedError: RR402 if the name is taken.
        OSError: if it cannot be written.
    """
    try:
        os.link(made, path, follow_symlinks=False)
    except OSError as error:
        refuse_existing(path)
        if error.errno not in _NO_LINKS:
            raise
        made.replace(path)  # a file system without links: the check and the renaming are two steps
        return
    made.unlink()


def write_new_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file that does not exist yet, whole or not at all; a private one is readable by its owner alone.

    Raises:
        RefusedError: RR402 if it exists, RR407 or RR408 if it cannot be written.
    """
    refuse_existing(path)
    made = path.with_name(f".{path.name}.{random_suffix()}")
    try:
        with cleanup_on_exit(made):
            descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            appear(made, path)
    except OSError as error:
        raise write_error(str(path), error) from error


def write_new(folder: Path, files: Mapping[str, Callable[[Path], object]]) -> tuple[Path, ...]:
    """Write files that do not exist yet.

    `files` maps paths in the folder, made if missing, to functions that write them. Return the written files in that
    order.

    Raises:
        RefusedError: RR411 if one of the files exists, RR407 or RR408 if they cannot be written.
    """
    targets = {name: folder / name for name in files}
    there = [name for name, path in targets.items() if path.exists()]
    if there:
        raise RefusedError(
            Problem(
                "RR411",
                f"'{folder}' already contains {', '.join(there)}",
                expected="a folder without these files",
                hint="name another folder; nothing is ever overwritten",
            )
        )
    whole = False
    try:
        for path in targets.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as begun:
            for path in targets.values():
                begun.enter_context(cleanup_on_exit(path, lambda: whole))
            for name, path in targets.items():
                files[name](path)
            whole = True
    except OSError as error:
        raise write_error(f"'{folder}'", error) from error
    return tuple(targets.values())
