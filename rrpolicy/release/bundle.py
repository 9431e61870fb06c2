"""A bundle appears whole, by rename, or not at all: also under a full disk, an interrupt and kill -9.

It is built in a folder beside the target, `.NAME.tmp-…` of mode 0700, which the process holds locked. What a killed
run left behind is not locked any more: the next run removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rrpolicy.errors import Problem, RefusedError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
_FULL_IN_WORDS = ("No space left on device", "File too large", "Disk quota exceeded", "max_temp_directory_size")


@dataclass(frozen=True, slots=True)
class Staging:
    """A bundle in the making.

    Attributes:
        target: where it will appear.
        folder: where it is built.
        swept: stale folders of killed runs that were removed.
    """

    target: Path
    folder: Path
    swept: tuple[str, ...]

    @property
    def public(self) -> Path:
        """Return the folder of what will be published."""
        return self.folder / "public"

    @property
    def audit(self) -> Path:
        """Return the folder of what only the audit may see."""
        return self.folder / "audit"

    @property
    def scratch(self) -> Path:
        """Return the folder for spilling; it holds original values and never leaves the staging folder."""
        return self.folder / "scratch"

    def publish(self) -> Path:
        """Wipe the scratch, make everything durable, and rename.

        Raises:
            RefusedError: RR402 if something stands at the target by now.
        """
        shutil.rmtree(self.scratch)
        for folder, _, names in os.walk(self.folder, topdown=False):
            for name in names:
                _sync(Path(folder) / name)
            _sync(Path(folder))
        self.folder.chmod(self.public.stat().st_mode & 0o777)
        try:
            self.folder.rename(self.target)
        except OSError as error:
            if error.errno in _TAKEN:
                raise exists(self.target) from error
            raise
        _sync(self.target.parent)
        return self.target


@contextmanager
def stage(target: Path, begun: Callable[[Path], object] = lambda _: None) -> Iterator[Staging]:
    """Make a staging folder beside the target; it is gone afterwards, published or not.

    Args:
        target: the bundle's folder; its parent must exist.
        begun: told the staging folder's path before the folder is made, for whoever cleans up after an interrupt.

    Raises:
        RefusedError: RR402 if the target exists, RR407 if nothing can be written there, RR408 if the disk is full.
    """
    target = Path(os.path.abspath(target))  # noqa: PTH100 a symlink at the target must stay one
    if os.path.lexists(target):
        raise exists(target)
    with refusals(target):
        swept = sweep(target)
        folder, lock = _locked(target, begun)
        try:
            (folder / "public").mkdir()
            for name in ("audit", "scratch"):
                (folder / name).mkdir(mode=0o700)
            yield Staging(target, folder, swept)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def sweep(target: Path) -> tuple[str, ...]:
    """Remove the staging folders that killed runs left for this target; those of living runs are locked and stay."""
    swept = []
    for folder in sorted(target.parent.glob(_glob(f".{target.name}.tmp-") + "*")):
        with suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
                swept.append(folder.name)
            finally:
                os.close(lock)
    return tuple(swept)


@contextmanager
def refusals(target: Path) -> Iterator[None]:
    """Turn what the file system says into refusals.

    Raises:
        RefusedError: RR407 if it cannot be written, RR408 if it is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _FULL or _says_full(error):
            raise _full(target) from error
        if error.errno in _DENIED:
            raise RefusedError(
                Problem(
                    "RR407",
                    f"nothing can be written at {target}: {error.strerror}",
                    hint="the folder that will hold the bundle must exist and be writable",
                )
            ) from error
        raise
    except Exception as error:
        if type(error).__module__.split(".")[0] in {"duckdb", "_duckdb"} and _says_full(error):
            raise _full(target) from error
        raise


def exists(target: Path) -> RefusedError:
    """Return the refusal to overwrite."""
    return RefusedError(
        Problem(
            "RR402",
            f"{target} exists already, and a bundle is never overwritten",
            hint="choose another folder, or move the old one away",
        )
    )


def _locked(target: Path, begun: Callable[[Path], object]) -> tuple[Path, int]:
    """Return a new folder beside the target and the descriptor that holds it locked."""
    while True:
        folder = target.parent / f".{target.name}.tmp-{secrets.token_hex(8)}"
        begun(folder)
        folder.mkdir(mode=0o700)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue  # another run took it for a stale one
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folder.exists() and os.fstat(lock).st_ino == folder.stat().st_ino:
                return folder, lock
        except OSError as error:
            if error.errno not in {errno.EWOULDBLOCK, errno.EACCES, errno.ENOENT}:
                os.close(lock)
                folder.rmdir()
                raise
        os.close(lock)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _glob(text: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)


def _says_full(error: BaseException) -> bool:
    return any(words in str(error) for words in _FULL_IN_WORDS)


def _full(target: Path) -> RefusedError:
    return RefusedError(
        Problem(
            "RR408",
            f"the disk that holds {target.parent} is full; nothing was released",
            hint="make room: a release needs its own size and, for tables of many distinct rows, that of the original",
        )
    )
