"""The files of a table and their state: device, inode, size and time of change of each."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rrpolicy.errors import DataError, Problem, RefusedError

_MAGIC = frozenset("*?[")
MOST_FILES = 10_000
_MOST_ENTRIES = 1_000_000
"""The most names that a glob may inspect."""


class Pinned(Struct, frozen=True):
    """The state of a table's files at the time of opening.

    Attributes:
        pattern: the path or glob as given, absolute.
        state: for each file its path as found, its real path, device, inode, size in bytes and mtime in ns.
        companions: suffixes of files that change the table when they appear or change (a database's write-ahead log).
    """

    pattern: str
    state: tuple[tuple[str, str, int, int, int, int], ...]
    companions: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Return the real path of every file, in the order of their names."""
        return tuple(real for found, real, *_ in self.state if not found.endswith("\0beside"))

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if a file was changed, added or removed."""
        try:
            same = _file_state(self.pattern, self.companions) == self.state
        except OSError:
            same = False
        if not same:
            message = f"{shown_name(self.pattern)}: the table changed after it was opened"
            hint = "wait until whatever writes it has finished, and run again"
            raise RefusedError(Problem("RR410", message, expected="one state from plan to release", hint=hint))


def shown_name(pattern: str) -> str:
    """Return the name of a table in messages: the last part of its path."""
    return f"'{Path(pattern).name}'"


def pin(pattern: str, beside: tuple[str, ...] = ()) -> Pinned:
    """Find the files of a path or glob and record their state.

    Raises:
        DataError: RR300 if no file is found, or one cannot be read; RR340 if there are too many.
    """
    try:
        state = _file_state(pattern, beside)
    except FileNotFoundError:
        state = ()
    except OSError as error:
        raise DataError(Problem("RR300", f"{shown_name(pattern)}: cannot be opened: {error.strerror}")) from None
    if not state:
        refuse_pipe(pattern)
        hint = "a relative path starts at the policy's folder; on the command line, at the working folder"
        raise DataError(Problem("RR300", f"{shown_name(pattern)}: no such file", hint=hint))
    pinned = Pinned(pattern, state, beside)
    if pinned.files != (os.path.realpath(pattern),):
        for folder in dict.fromkeys(map(os.path.dirname, pinned.files)):
            refuse_versioned_folder(folder, shown_name(pattern))
    for path in pinned.files:
        checked_path(path)
        if not os.access(path, os.R_OK):
            raise DataError(Problem("RR300", f"{shown_name(path)}: cannot be opened: permission denied"))
    return pinned


def checked_path(path: str) -> str:
    """Return a path that the engine can open."""
    try:
        path.encode()
    except UnicodeEncodeError:
        message = f"{shown_name(path)}: the engine opens paths in UTF-8 alone"
        hint = "rename the file or its folder; if its name is UTF-8, set PYTHONUTF8=1"
        raise DataError(Problem("RR300", message, expected="a path in UTF-8", hint=hint)) from None
    return path


def refuse_pipe(path: str) -> None:
    """Refuse a file that can be read only once: a pipe, standard input or a device."""
    with suppress(OSError):
        mode = Path(path).stat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return
        message = f"{shown_name(path)}: pipes and devices are not read, as a table is read several times"
        hint = "write the table into a file first, such as `… > people.csv`, and name that"
        raise DataError(Problem("RR300", message, expected="a file, or a glob of files", hint=hint))


def refuse_versioned_folder(folder: str, name: str) -> None:
    """Refuse the files of a Delta or Iceberg table (RR358): its log alone lists the files of its current state.

    `folder` may lie inside the table; `name` is the table's in the message.
    """
    here = Path(folder).absolute()
    for above in (here, *here.parents):
        kind = "delta" if (above / "_delta_log").is_dir() else "iceberg"
        if kind == "delta" or next(above.glob("metadata/*.metadata.json"), None) is not None:
            message = f"{name}: the files of the {kind.capitalize()} table '{above.name}' hold removed rows as well"
            hint = (
                f"write its current state into one file, as with DuckDB's extension {kind}: "
                f"COPY (FROM {kind}_scan('{above.name}')) TO 'people.parquet'; or name it as a table of Spark's catalog"
            )
            raise DataError(Problem("RR358", message, expected="files of one state of a table", hint=hint))


def _file_state(pattern: str, beside: tuple[str, ...]) -> tuple[tuple[str, str, int, int, int, int], ...]:
    found = _glob_paths(pattern) if _MAGIC & set(pattern) and not Path(pattern).exists() else [pattern]
    paths = [(path, path) for path in found]
    paths += [(f"{p}{suffix}\0beside", p + suffix) for p in found for suffix in beside if Path(p + suffix).exists()]
    return tuple(_single_file_state(name, path) for name, path in paths)


def _glob_paths(pattern: str) -> list[str]:
    """Return the paths that a glob matches, sorted; hidden names match only a pattern that begins with a dot."""
    first, *parts = Path(pattern).parts
    paths, look = [first], _BoundedGlob(pattern)
    for part in parts:
        paths = [path for above in paths for path in look.at(above, part)]
    if len(paths) > MOST_FILES:
        raise _too_many_error(pattern, f"{len(paths):,} files match")
    return sorted(paths)


class _BoundedGlob:
    """An expansion of globs that stops at too many names."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._looked = 0

    def at(self, above: str, part: str) -> Iterator[str]:
        """Yield the paths in a folder whose names one part of the pattern matches."""
        if not _MAGIC & set(part):
            path = os.path.join(above, part)  # noqa: PTH118
            yield from [path] if os.path.lexists(path) else []
            return
        with suppress(OSError), os.scandir(above) as entries:
            for entry in entries:
                self._looked += 1
                if self._looked > _MOST_ENTRIES:
                    raise _too_many_error(self._pattern, f"more than {_MOST_ENTRIES:,} names would have to be read")
                hidden = entry.name.startswith(".") and not part.startswith(".")
                if not hidden and fnmatch.fnmatchcase(entry.name, part):
                    yield entry.path


def _too_many_error(pattern: str, why: str) -> DataError:
    expected = f"at most {MOST_FILES:,} files"
    return DataError(
        Problem("RR340", f"{shown_name(pattern)}: {why}", None, expected, "name one folder's files, or join them")
    )


def _single_file_state(name: str, path: str) -> tuple[str, str, int, int, int, int]:
    real = os.path.realpath(path)
    here = Path(real).stat()
    if not stat.S_ISREG(here.st_mode):
        refuse_pipe(path)
        refuse_versioned_folder(real, shown_name(path))
        message = f"{shown_name(path)}: a folder"
        hint = f"{Path(path).name}/*.parquet reads every Parquet file of a folder"
        raise DataError(Problem("RR300", message, expected="a file, or a glob of files", hint=hint))
    return name, real, here.st_dev, here.st_ino, here.st_size, here.st_mtime_ns
