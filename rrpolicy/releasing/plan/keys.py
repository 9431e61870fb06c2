"""Keys: 256 bits from the operating system, bound to one plan and one source.

Whoever holds a key can test any guess about the original. It is as secret as the data: never printed, never in a
bundle, and gone after the release unless the steward asks for a file.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rrpolicy.canonical import pretty
from rrpolicy.errors import Problem, RefusedError, unwritable
from rrpolicy.leaving import unfinished

SCHEMA = "rrpolicy.key/1"
KEY_BYTES = 32
_TAG = b"rrpolicy.source-tag/1\0"
_HINT = "use the key that was made for this plan and this table, or plan and release again without it"


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A key and what it may be used for.

    Attributes:
        key: 32 bytes; never shown.
        plan_digest: of the plan it was made for.
        source_tag: HMAC of the source's content under it.
    """

    key: bytes = field(repr=False)
    plan_digest: str
    source_tag: str


def new_key() -> bytes:
    """Return 256 fresh bits from the operating system."""
    return os.urandom(KEY_BYTES)


def source_tag(key: bytes, content: bytes) -> str:
    """Return the keyed fingerprint of a source: HMAC-SHA256 over its content digest, `hmac-sha256:…`.

    Args:
        key: of the release.
        content: `Original.content()`; unkeyed, it would let small counts be guessed.
    """
    return "hmac-sha256:" + hmac.new(key, _TAG + content, hashlib.sha256).hexdigest()


def tag_bytes(tag: str) -> bytes:
    """Return the bytes of a source tag, which the streams of a draw depend on."""
    return bytes.fromhex(tag.removeprefix("hmac-sha256:"))


def write_key(path: Path, key: KeyFile) -> None:
    """Create a key file, mode 0600. An existing file is never touched.

    Raises:
        RefusedError: RR403 if there is a file already, RR407 if none can be written, RR408 if the disk is full.
    """
    document = pretty(
        {"schema": SCHEMA, "key": key.key.hex(), "plan_digest": key.plan_digest, "source_tag": key.source_tag}
    )
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise unwritable(f"the key file {path}", error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise unwritable(f"the key file {path}", error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def refuse_existing_key(path: Path) -> None:
    """Refuse a path that something has already: what may have been drawn with is never overwritten.

    Raises:
        RefusedError: RR403.
    """
    if os.path.lexists(path):
        raise _taken(path)


@contextmanager
def fresh_key(path: Path, key: KeyFile, finished: Callable[[], bool]) -> Iterator[None]:
    """Keep a new key file beside what it is for: it goes if that never appears, also on a signal.

    Args:
        path: of the file.
        key: what it holds.
        finished: whether what it is for has appeared.

    Raises:
        RefusedError: as `write_key`.
    """
    refuse_existing_key(path)
    theirs = False
    with unfinished(path, lambda: theirs or finished()):
        try:
            write_key(path, key)
        except RefusedError:
            theirs = True  # it appeared meanwhile
            raise
        try:
            yield
        finally:
            if not finished():
                destroy_key(path)


def read_key(path: Path) -> KeyFile:
    """Read a key file.

    Raises:
        RefusedError: RR403 if it is no key file, or others than its owner may read it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            content = file.read(1 << 16) or b""
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error
    try:
        document = json.loads(content)
        key = KeyFile(bytes.fromhex(document["key"]), str(document["plan_digest"]), str(document["source_tag"]))
        known = document["schema"] == SCHEMA and len(key.key) == KEY_BYTES
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise _refused(path, "is not a key file that this version reads")
    if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
        raise _refused(path, "may be read by others than its owner", f"chmod 600 {path}; and ask who has read it")
    return key


def require(key: KeyFile, plan_digest: str, content: bytes) -> None:
    """Refuse a key that was made for another plan or another source.

    Args:
        key: as read.
        plan_digest: of the plan to be executed.
        content: `Original.content()` of the table at hand.

    Raises:
        RefusedError: RR403.
    """
    if not hmac.compare_digest(key.plan_digest, plan_digest):
        raise RefusedError(Problem("RR403", "the key was made for another plan", hint=_HINT))
    if not hmac.compare_digest(key.source_tag, source_tag(key.key, content)):
        raise RefusedError(Problem("RR403", "the key was made for another source: the table differs", hint=_HINT))


def destroy_key(path: Path) -> None:
    """Overwrite a key file where the file system lets it, and remove it."""
    try:
        with path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            file.write(os.urandom(size))
            file.flush()
            os.fsync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


def _taken(path: Path) -> RefusedError:
    hint = "name another with --key; or, if nothing is to be drawn with it any more, remove it"
    return _refused(path, "exists already, and key files are never overwritten", hint)


def _refused(path: Path, why: str, hint: str = _HINT) -> RefusedError:
    return RefusedError(Problem("RR403", f"the key file {path} {why}", hint=hint))
