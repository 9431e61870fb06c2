"""Files to start from: written into a folder all at once or not at all, and never over others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from rrpolicy.errors import Problem, RefusedError, write_error
from rrpolicy.safe_io.interrupts import cleanup_on_exit


def write_new(folder: Path, files: Mapping[str, Callable[[Path], object]]) -> tuple[Path, ...]:
    """Write files that are not there yet.

    Args:
        folder: made if missing.
        files: the path in the folder -> what writes the file there.

    Returns:
        The written files, in that order.

    Raises:
        RefusedError: RR411 if one of the files is there already, RR407 or RR408 if they cannot be written.
    """
    targets = {name: folder / name for name in files}
    there = [name for name, path in targets.items() if path.exists()]
    if there:
        raise RefusedError(
            Problem(
                "RR411",
                f"'{folder}' already holds {', '.join(there)}",
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
