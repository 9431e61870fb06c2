"""The ledger's file: read as untrusted input, and written atomically, longer by one entry or unchanged.

A writer keeps the file locked while it reads, decides and writes, so that two releases never follow the same entry on
one machine. The longer file replaces the shorter one by renaming: a full disk or a kill leaves the old one intact.

On a git server a line counts once it is on the branch; two successors of a line cannot both be pushed. git's transport
is used with the repository's settings for the server and credentials. It is only for your own clone. Nothing in the
work tree but the ledger's file is changed, and no hook is run.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem, RefusedError, write_error
from rrpolicy.governance.ledger.chain import Ledger, broken_chain_error, read_chain
from rrpolicy.governance.ledger.entry import (
    Entry,
    LedgerBudgetEntry,
    LedgerOpening,
    encode_entry,
    entry_date,
    entry_hash,
)
from rrpolicy.policy.folder.root import repository_root
from rrpolicy.safe_io.atomic_write import write_new
from rrpolicy.safe_io.interrupts import cleanup_on_exit, random_suffix

_LONGEST = 120
"""Maximum number of seconds for git, or the server."""
_PERSON = {"NAME": "rrpolicy", "EMAIL": "rrpolicy@localhost"}
"""Author of commits if git has no user name."""
_TIP = "refs/rrpolicy/ledger"


class BranchMovedError(RefusedError):
    """A concurrent push by another writer (RR449)."""


class LedgerBranch:
    """The branch of a remote repository that contains the ledger."""

    def __init__(self, named: str, ledger: Path) -> None:
        """Select a branch.

        `named` is such as `origin/main`; `ledger` is the file in the work tree of a clone.
        """
        remote, slash, branch = named.partition("/")
        if not (remote and slash and branch) or named.startswith("-"):
            message = f"'{named}' is not a branch of a remote"
            raise PolicyError(Problem("RR250", message, expected="REMOTE/BRANCH, such as origin/main"))
        git, repository = shutil.which("git"), repository_root(ledger.parent)
        if git is None or repository is None:
            lacks = "git is not installed" if git is None else f"{ledger} lies in no git repository"
            raise PolicyError(Problem("RR282", f"the ledger cannot be pushed to {named}: {lacks}"))
        self.named, self._remote, self._ref = named, remote, f"refs/heads/{branch}"
        self._git, self._repository = os.path.abspath(git), repository  # noqa: PTH100
        self._path = ledger.resolve().relative_to(repository).as_posix()
        self._tip = ""

    def fetch(self) -> bytes:
        """Return the current ledger of the branch."""
        refspec = f"+{self._ref}:{_TIP}"
        self._asked("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", self._remote, refspec)
        self._tip = self._asked("rev-parse", "--verify", _TIP).decode().strip()
        return self._asked("cat-file", "blob", f"{self._tip}:{self._path}")

    def push(self, content: bytes, message: str) -> None:
        """Push a longer ledger to the branch if it is unchanged since the fetch.

        Raises BranchMovedError (RR449) if another writer was first.
        """
        blob = self._asked("hash-object", "-w", "--stdin", given=content).decode().strip()
        with tempfile.TemporaryDirectory(prefix="rrpolicy-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._asked("read-tree", self._tip, more=index)
            self._asked("update-index", "--add", "--cacheinfo", f"100644,{blob},{self._path}", more=index)
            tree = self._asked("write-tree", more=index).decode().strip()
        words = ("commit-tree", tree, "-p", self._tip, "-m", message)
        made = self._asked(*words, more=self._person()).decode().strip()
        lease = f"--force-with-lease={self._ref}:{self._tip}"
        done = self._run("push", "--porcelain", lease, "--", self._remote, f"{made}:{self._ref}")
        if done.returncode:
            said = (done.stdout + done.stderr).decode(errors="replace")
            moved = "stale info" in said or "fetch first" in said or "cannot lock ref" in said
            raise self._refused("another person pushed meanwhile" if moved else _first_error_line(said), moved=moved)
        self._tip = made

    def _person(self) -> dict[str, str]:
        missing = [who for who in ("AUTHOR", "COMMITTER") if self._run("var", f"GIT_{who}_IDENT").returncode]
        return {f"GIT_{who}_{what}": value for who in missing for what, value in _PERSON.items()}

    def _run(
        self, *words: str, given: bytes = b"", more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        known = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(more or {})}
        line = [self._git, "--no-pager", "--literal-pathspecs", "-c", "core.hooksPath=/dev/null", *words]
        try:
            return subprocess.run(  # noqa: S603 fixed commands, and names that git takes for no options
                line, input=given, capture_output=True, cwd=self._repository, env=known, check=False, timeout=_LONGEST
            )
        except subprocess.TimeoutExpired as error:
            raise self._refused(f"git does not respond within {_LONGEST} seconds") from error

    def _asked(self, *words: str, given: bytes = b"", more: dict[str, str] | None = None) -> bytes:
        done = self._run(*words, given=given, more=more)
        if done.returncode:
            raise self._refused(_first_error_line(done.stderr.decode(errors="replace")))
        return done.stdout

    def _refused(self, why: str, *, moved: bool = False) -> RefusedError:
        again, rights = "run again: the newer ledger is fetched first", "the job has to fetch and push the branch"
        hint = again if moved else rights
        kind = BranchMovedError if moved else RefusedError
        return kind(Problem("RR449", f"the ledger cannot be pushed to {self.named}: {why}", hint=hint))


def _first_error_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("To ")]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "!"))]
    return (told or lines or ["git gives no reason"])[0]


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
            raise RefusedError(Problem("RR449", message, hint="commit and push your local ledger first"))
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
        hint = f"`rrpolicy ledger init {path}` creates one; if there was one, restore it"
        raise RefusedError(Problem("RR443", f"there is no ledger {path}", hint=hint)) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no possible path"
        raise broken_chain_error(str(path), f"it cannot be opened as a separate file: {why.lower()}") from error


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
