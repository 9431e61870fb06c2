"""A bundle appears whole, by rename, or not at all: also under a full disk, an interrupt and kill -9.

It is built in a folder next to the target, `.NAME.rrpolicy-…` of mode 0700, which the process locks. A folder of a
killed run, for any target, is no longer locked: the next release in the same parent removes it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from rrpolicy.errors import Problem, RefusedError
from rrpolicy.safe_io.tempdirs import (
    Scratch,
    directory_identity,
    disk_full_as_refusal,
    locked_directory,
    remove_stale,
    scratch_folder,
)

_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ENOENT, errno.ENAMETOOLONG, errno.ELOOP}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
_INFIX = ".rrpolicy-"


class Staging(Struct, frozen=True):
    """A bundle in the making.

    Attributes:
        scratch: the folder for spilling; it contains original values and never becomes part of the bundle.
        umask: the umask of the process, for files that others may read.
        swept: stale folders of killed runs that were removed.
        identity: device and inode of the folder, which survive moves.
    """

    target: Path
    folder: Path
    scratch: Path
    umask: int
    swept: tuple[str, ...]
    identity: tuple[int, int] | None

    @property
    def public(self) -> Path:
        """Return the folder that will be published."""
        return self.folder / "public"

    @property
    def audit(self) -> Path:
        """Return the folder for the audit only."""
        return self.folder / "audit"

    @property
    def published(self) -> bool:
        """Return whether this very bundle has appeared: another run may have made one at the same target."""
        return directory_identity(self.target) == self.identity

    def publish(self) -> Path:
        """Make everything durable, let others read public/, and rename (RR402 if the target exists by now)."""
        for folder, _, names in os.walk(self.folder, topdown=False):
            public = Path(folder).is_relative_to(self.public)
            for name in names:
                if public:
                    (Path(folder) / name).chmod(0o666 & ~self.umask)
                _fsync_path(Path(folder) / name)
            if public or Path(folder) == self.folder:
                Path(folder).chmod(0o777 & ~self.umask)
            _fsync_path(Path(folder))
        try:
            self.folder.rename(self.target)
        except OSError as error:
            if error.errno in _TAKEN:
                raise already_exists_error(self.target, meanwhile=True) from error
            raise
        _fsync_path(self.target.parent)
        return self.target


@contextmanager
def stage(target: Path) -> Iterator[Staging]:
    """Make a staging folder next to the target, and scratch; both are gone afterwards, published or not.

    The parent of the target must exist.

    Raises:
        RefusedError: RR402 if the target exists, RR407 if nothing can be written there, RR408 if a disk is full, RR421
            if there can be no scratch.
    """
    target = Path(os.path.abspath(target))  # noqa: PTH100 a symlink at the target must stay one
    if os.path.lexists(target):
        raise already_exists_error(target)
    with scratch_folder() as spilled, filesystem_refusals(target):
        swept = remove_stale(target.parent, ".", _INFIX)
        with locked_directory(target.parent, f".{target.name}{_INFIX}", target) as folder:
            yield _new_staging_folder(target, folder, spilled, swept)


def _new_staging_folder(target: Path, folder: Path, spilled: Scratch, swept: tuple[str, ...]) -> Staging:
    for name in ("public", "audit"):
        (folder / name).mkdir(mode=0o700)
    return Staging(target, folder, spilled.folder, spilled.umask, swept, directory_identity(folder))


@contextmanager
def filesystem_refusals(target: Path) -> Iterator[None]:
    """Turn errors of the file system into refusals.

    Raises:
        RefusedError: RR407 if it cannot be written, RR408 if it is full.
    """
    try:
        with disk_full_as_refusal(f"the disk with {target.parent}, or that of the scratch folder,"):
            yield
    except OSError as error:
        if error.errno in _DENIED:
            raise RefusedError(
                Problem(
                    "RR407",
                    f"nothing can be written at {target}: {error.strerror}",
                    hint="the parent folder of the bundle must exist and be writable",
                )
            ) from error
        raise


def already_exists_error(target: Path, *, meanwhile: bool = False) -> RefusedError:
    """Return the refusal to overwrite.

    `meanwhile`: it did not exist when this run began.
    """
    when = "was made by another run while this one worked" if meanwhile else "exists already"
    return RefusedError(
        Problem(
            "RR402",
            f"{target} {when}, and a bundle is never overwritten" + ("; this run leaves nothing" if meanwhile else ""),
            hint="choose another folder, or move the old one away",
        )
    )


def _fsync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
