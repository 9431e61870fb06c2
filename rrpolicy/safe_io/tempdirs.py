"""The one place for temporary files: rows of the original that are sorted or spilled, and bundles in the making.

A folder of mode 0700 that the process locks. A folder left by a killed run is no longer locked: the next run, of any
command, removes it. Locks end with their process; a process's number would be given to another one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from rrpolicy.errors import Problem, RefusedError
from rrpolicy.safe_io.interrupts import TOKEN, cleanup_on_exit, random_suffix, remove_folder

SCRATCH_VARIABLE = "RRPOLICY_SCRATCH"
"""Names the parent of scratch folders; default: the folder for temporary files."""
_PREFIX = "run-"
_HEX = frozenset("0123456789abcdef")
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_IN_WORDS = ("No space left on device", "File too large", "Disk quota exceeded", "max_temp_directory_size")


class Scratch(Struct, frozen=True):
    """A folder for the duration of a command.

    Attributes:
        umask: the umask of the process before; while scratch exists, only the owner can read its files.
    """

    folder: Path
    umask: int


@contextmanager
def scratch_folder() -> Iterator[Scratch]:
    """Make a scratch folder, after removing those that killed runs left; it is gone afterwards.

    Raises:
        RefusedError: RR421 if it cannot be made, RR408 if its disk is full.
    """
    place = _user_folder()
    umask = os.umask(0o077)
    try:
        remove_stale(place, _PREFIX)
        with (
            disk_full_as_refusal(f"the disk of the scratch folder {place}"),
            locked_directory(place, _PREFIX) as folder,
        ):
            yield Scratch(folder, umask)
    finally:
        os.umask(umask)


@contextmanager
def locked_directory(parent: Path, prefix: str, target: Path | None = None) -> Iterator[Path]:
    """Make a folder of mode 0700 and lock it; it is removed afterwards, unless it was moved to its target.

    The name is `prefix` with a token.
    """
    identity: tuple[int, int] | None = None

    def moved() -> bool:
        return target is not None and identity is not None and directory_identity(target) == identity

    while True:
        folder = parent / (prefix + random_suffix())
        with cleanup_on_exit(folder, moved, f"{target} was released", remove_folder):
            folder.mkdir(mode=0o700)
            lock = _lock_folder(folder)
            if lock >= 0:
                identity = directory_identity(folder)
                try:
                    yield folder
                finally:
                    os.close(lock)
                return


def remove_stale(parent: Path, prefix: str = "", infix: str = "") -> tuple[str, ...]:
    """Remove folders that killed runs of this user left; those of a living run are locked and stay.

    `infix` is the text before the token at the end of their names, which are returned.
    """
    swept = []
    for folder in sorted(parent.iterdir()):
        stem, end = folder.name[:-TOKEN], folder.name[-TOKEN:]
        if not stem.startswith(prefix) or not stem.endswith(infix) or len(end) < TOKEN or set(end) - _HEX:
            continue
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(lock).st_uid == os.geteuid():
                    remove_folder(folder)
                    swept.append(folder.name)
            finally:
                os.close(lock)
    return tuple(swept)


def directory_identity(path: Path) -> tuple[int, int] | None:
    """Return a folder's identity, which survives moves; None if it does not exist."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def disk_full_as_refusal(what: str) -> Iterator[None]:
    """Turn an error of the file system or the engine about a full disk into a refusal (RR408)."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise RefusedError(
            Problem(
                "RR408",
                f"{what} is full; nothing was released",
                hint=f"make room, or let {SCRATCH_VARIABLE} name a folder on a larger disk: a release needs its own "
                "size where it is written and, for tables of many distinct rows, that of the original where it "
                "is sorted",
            )
        ) from error


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error of the operating system or the engine means that a disk is full."""
    if isinstance(error, OSError):
        return error.errno in _FULL or any(words in str(error) for words in _FULL_IN_WORDS)
    engine = type(error).__module__.split(".")[0] in {"duckdb", "_duckdb"}
    return engine and any(words in str(error) for words in _FULL_IN_WORDS)


def _user_folder() -> Path:
    """Return this user's folder for scratch folders, made if missing.

    Raises:
        RefusedError: RR421 if others can write to it: they could have any file removed.
    """
    above = Path(os.environ.get(SCRATCH_VARIABLE) or tempfile.gettempdir()).absolute()
    place = above / f"rrpolicy-{os.geteuid()}"
    try:
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
        found = place.lstat()
    except OSError as error:
        raise _no_folder_error(f"no scratch folder can be made in {above}: {(error.strerror or '').lower()}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise _no_folder_error(f"the scratch folder {place} is not a folder of this user alone")
    return place


def _no_folder_error(message: str) -> RefusedError:
    hint = (
        f"let {SCRATCH_VARIABLE} name a folder that exists and that you may write to, on a disk with room for the table"
    )
    return RefusedError(Problem("RR421", message, expected="a folder of mode 0700 that you own", hint=hint))


def _lock_folder(folder: Path) -> int:
    """Return the descriptor with which a folder is locked; -1 if another run removed it as stale."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_ino == folder.stat().st_ino:
            return lock
    except OSError as error:
        if error.errno not in {errno.EWOULDBLOCK, errno.EACCES, errno.ENOENT}:
            os.close(lock)
            raise
    os.close(lock)
    return -1
