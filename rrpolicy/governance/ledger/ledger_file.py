"""The ledger's file: read as untrusted input, and written atomically, longer by one entry or unchanged.

A writer holds the lock while it reads, decides and writes, so that two releases never follow the same entry on one
machine. The longer file replaces the shorter one by renaming: a full disk or a kill leaves the old one intact.
"""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rrpolicy.canonical_json import Json
from rrpolicy.errors import Problem, RefusedError, write_error
from rrpolicy.governance.ledger.chain import Ledger, broken_chain_error, read_chain
from rrpolicy.governance.ledger.entry import (
    Entry,
    LedgerBudgetEntry,
    LedgerOpening,
    encode_entry,
    entry_date,
    entry_hash,
)
from rrpolicy.governance.ledger.git_branch import LedgerBranch
from rrpolicy.safe_io.atomic_write import write_new
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix

MAX_LEDGER_BYTES = 1 << 27
"""Maximum size of a ledger in bytes."""
_ID_BYTES = 16
log = logging.getLogger("rrpolicy")


class LedgerFile:
    """A ledger's file, locked against other writers."""

    def __init__(self, path: Path, descriptor: int, branch: LedgerBranch | None = None) -> None:
        """Read the file.

        `descriptor` is that of the locked file, which the book closes. A branch gets a line before this file.
        """
        self._path, self._locked, self._branch = path, descriptor, branch
        self._content = _read_content(path, descriptor)
        self.ledger: Ledger = read_chain(self._content, str(path))

    def take(self) -> None:
        """Take the ledger from the branch; the file is unchanged until an entry is added."""
        assert self._branch is not None
        content = self._branch.fetch()
        newer = read_chain(content, f"{self._path} of {self._branch.named}")
        lacking = [own for own in self.ledger.entries if own not in newer.entries]
        if lacking:
            message = f"{self._branch.named} lacks {len(lacking)} entries of the ledger {self._path}"
            raise RefusedError(Problem("RR449", message, hint="commit and push the ledger first, as it is here"))
        self._content, self.ledger = content, newer

    def keep(self) -> None:
        """Write the ledger taken from the branch to the file.

        If it cannot be written, it is unchanged.
        """
        if self._branch is not None:
            self._write(self._content, self.ledger)

    def append(self, entry: Entry) -> str:
        """Add an entry after the last one, and return its hash; it is pushed to the branch first, if there is one.

        If either fails, the file is unchanged.
        """
        line = encode_entry(entry)
        content = self._content + line + b"\n"
        longer = read_chain(content, str(self._path))  # nothing is written that could not be read
        if self._branch is not None:
            self._branch.push(content, f"{self._path.name}: {entry.kind} {entry_hash(line)[7:19]}")
        self._write(content, longer)
        return entry_hash(line)

    def _write(self, content: bytes, longer: Ledger) -> None:
        made = self._path.with_name(f".{self._path.name}.{random_suffix()}")
        try:
            with cleanup_on_exit(made):
                self._replace(made, content)
                self._content, self.ledger = content, longer
                _sync_folder(self._path.parent)
        except OSError as error:
            raise write_error(f"the ledger {self._path}", error) from error

    def _replace(self, made: Path, content: bytes) -> None:
        """Replace the locked file with a longer one, and lock that."""
        descriptor = _create_locked(made, content, stat.S_IMODE(os.fstat(self._locked).st_mode))
        try:
            made.replace(self._path)
        except BaseException:
            os.close(descriptor)
            raise
        self.close()
        self._locked = descriptor

    def close(self) -> None:
        """Release the lock."""
        os.close(self._locked)


def init_ledger(path: Path, budgets: Mapping[str | None, tuple[Mapping[str, Json], ...]] | None = None) -> str:
    """Create a ledger, and return the hash of its last entry.

    `budgets` maps a population to joint requirements on all its releases, as documents.
    """
    lines = [encode_entry(LedgerOpening(os.urandom(_ID_BYTES).hex(), entry_date()))]
    for population, requirements in (budgets or {}).items():
        lines.append(encode_entry(LedgerBudgetEntry(entry_hash(lines[-1]), population, requirements, entry_date())))
    write_new(path.parent, {path.name: lambda file: file.write_bytes(b"".join(line + b"\n" for line in lines))})
    return entry_hash(lines[-1])


def read_ledger(path: Path) -> Ledger:
    """Read a ledger without waiting for a writer."""
    descriptor = _open_descriptor(path)
    try:
        return read_chain(_read_content(path, descriptor), str(path))
    finally:
        os.close(descriptor)


@contextmanager
def lock_ledger(path: Path, branch: str | None = None) -> Iterator[LedgerFile]:
    """Open a ledger to append to it, after waiting for other writers."""
    descriptor = _lock_descriptor(path)
    try:
        book = LedgerFile(path, descriptor, None if branch is None else LedgerBranch(branch, path))
    except BaseException:
        os.close(descriptor)
        raise
    try:
        if branch is not None:
            book.take()
        yield book
    finally:
        book.close()


def _lock_descriptor(path: Path) -> int:
    """Return a locked descriptor of the file that currently has this name."""
    while True:
        descriptor = _open_descriptor(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.warning("waiting for another release that writes to the ledger %s", path)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        found = os.fstat(descriptor)
        try:
            now = path.lstat()
        except OSError:
            now = None
        if now is not None and (now.st_dev, now.st_ino) == (found.st_dev, found.st_ino):
            return descriptor
        os.close(descriptor)  # the file was replaced while waiting for the lock


def _open_descriptor(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as error:
        hint = f"`rrpolicy ledger init {path}` begins one; if there was one, take it from where it is kept"
        raise RefusedError(Problem("RR443", f"there is no ledger {path}", hint=hint)) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no possible path"
        raise broken_chain_error(str(path), f"it cannot be opened as a file of its own: {why.lower()}") from error


def _read_content(path: Path, descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_LEDGER_BYTES:
        raise broken_chain_error(str(path), "it is not a regular file of a sensible size")
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _create_locked(path: Path, content: bytes, mode: int) -> int:
    """Write a file, and return its locked descriptor: others who open the ledger's name wait."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.fchmod(descriptor, mode)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
