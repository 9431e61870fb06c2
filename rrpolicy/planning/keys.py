"""Keys: 256 bits from the operating system, bound to one plan and one source.

An attacker who has a key can test any guess about the original. It is as secret as the data: never printed, never in
a bundle, and gone after the release unless the steward keeps it: in a file, with or without a passphrase, or derived
from a secret stored elsewhere (`rrpolicy.planning.key_storage`).

A series has another kind of key, which is bound to no plan and no table, and is kept as long as the series continues.
Neither kind is accepted as the other.
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
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Meta, Struct

from rrpolicy.canonical_json import Digest, Json, canonical, pretty
from rrpolicy.errors import Problem, RefusedError, write_error
from rrpolicy.planning.key_storage import (
    PASSPHRASE_VARIABLE,
    ExternalSecret,
    WrongPassphraseError,
    decrypt_key,
    encrypt_key,
)
from rrpolicy.safe_io.interrupts import cleanup_on_exit
from rrpolicy.safe_io.passphrase import NoPassphraseError, read_passphrase
from rrpolicy.serialization import faults, record

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

KEY_BYTES = 32
_TAG = b"rrpolicy.source-tag/1\0"
_TAG_INSIDE = b"rrpolicy.source-tag/2\0"
_PREFIX, _PREFIX_INSIDE = "hmac-sha256:", "hmac-sha256/2:"
"""Prefixes of tags of the two laws: the second also covers columns that a release uses and does not contain."""
_SERIES = b"rrpolicy.series-id/1\0"
_SERIES_HINT = "use the key that the first release of the series made, with its passphrase"
_HINT = "use the key that was made for this plan and this table, or plan and release again without it"


@runtime_checkable
class _HiddenWeightSource(Protocol):
    """An original with columns that a release uses and does not contain."""

    def inside(self) -> bytes | None: ...


Hexadecimal: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]+$")]
KeyDigits: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64)]
SourceTag: TypeAlias = Annotated[str, Meta(pattern="^hmac-sha256(/2)?:[0-9a-f]{64}$")]


class ProtectedKey(Struct, frozen=True):
    """A key under a passphrase.

    Attributes:
        kdf: the function that derives the key of encryption from the passphrase.
        n: its cost.
        r: its block size.
        p: its parallelism.
        salt: the salt in hexadecimal digits.
        nonce: the nonce of the encryption, in hexadecimal digits.
        ciphertext: the encrypted key in hexadecimal digits.
    """

    kdf: Literal["scrypt"]
    n: int
    r: int
    p: int
    salt: Hexadecimal
    nonce: Hexadecimal
    ciphertext: Hexadecimal


class KeyDocument(Struct, frozen=True, kw_only=True):
    """The file of a plan's key, as secret as the data.

    Attributes:
        key: 32 bytes in hexadecimal digits, unless it is protected.
        protected: the key under a passphrase.
        plan_digest: digest of the plan.
        source_tag: HMAC of the source's content under the key.
    """

    schema: ClassVar[str] = "rrpolicy.key/1"
    sparse: ClassVar[tuple[str, ...]] = ("key", "protected")

    key: KeyDigits | None = None
    protected: ProtectedKey | None = None
    plan_digest: Digest
    source_tag: SourceTag


class SeriesKeyDocument(Struct, frozen=True, kw_only=True):
    """The file of a series' key, as secret as the data.

    Attributes:
        key: 32 bytes in hexadecimal digits, unless it is protected.
        protected: the key under a passphrase.
        series: the name of the series.
    """

    schema: ClassVar[str] = "rrpolicy.series-key/1"
    sparse: ClassVar[tuple[str, ...]] = ("key", "protected")

    key: KeyDigits | None = None
    protected: ProtectedKey | None = None
    series: str


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A key and its permitted use.

    Attributes:
        key: 32 bytes; never shown.
        source_tag: HMAC of the source's content under it.
        passphrase: passphrase of its file; None for a file without one.
    """

    schema: ClassVar[str] = KeyDocument.schema
    document: ClassVar[type[Struct]] = KeyDocument

    key: bytes = field(repr=False)
    plan_digest: str
    source_tag: str
    passphrase: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def stated(self) -> dict[str, Json]:
        """Return the data stored with the key in its file."""
        return {"plan_digest": self.plan_digest, "source_tag": self.source_tag}


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """The key of a series.

    Attributes:
        key: 32 bytes; never shown.
        passphrase: passphrase of its file; None for a file without one.
    """

    schema: ClassVar[str] = SeriesKeyDocument.schema
    document: ClassVar[type[Struct]] = SeriesKeyDocument

    key: bytes = field(repr=False)
    series: str
    passphrase: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def stated(self) -> dict[str, Json]:
        """Return the data stored with the key in its file."""
        return {"series": self.series}


def series_id(key: bytes, series: str) -> str:
    """Return the id of a series' key, which reveals nothing of it: HMAC-SHA256 of the series' name under it."""
    return "hmac-sha256:" + hmac.new(key, _SERIES + series.encode(), hashlib.sha256).hexdigest()


def derive_key(secret: ExternalSecret, plan_digest: str, original: Original) -> KeyFile:
    """Return the key of a plan on a table, derived from an external secret (RR403 if there is no such secret)."""
    key = secret.key(plan_digest, original.content())
    return KeyFile(key, plan_digest, keyed_fingerprint(key, original))


def file_passphrase() -> bytes:
    """Return the passphrase for writing a key file (RR403 if it is missing)."""
    try:
        return read_passphrase(PASSPHRASE_VARIABLE, "the key file", new=True)
    except NoPassphraseError as error:
        hint = "set it, run the command in a terminal, or take --key-passphrase out"
        raise RefusedError(Problem("RR403", f"the key cannot be protected: {error}", hint=hint)) from error


def generate_key() -> bytes:
    """Return 256 fresh bits from the operating system."""
    return os.urandom(KEY_BYTES)


def keyed_fingerprint(key: bytes, original: Original, like: str | None = None) -> str:
    """Return the keyed fingerprint of a source, which covers every column that a release reads.

    `like` is a tag to compare with, whose law is used: releases made before the second law remain verifiable. None is
    the law of new releases.
    """
    old = like is not None and like.startswith(_PREFIX)
    return source_tag(key, original.content(), None if old else hidden_weights_fingerprint(original))


def hidden_weights_fingerprint(original: Original) -> bytes | None:
    """Return the fingerprint of the weights that a release uses and does not contain; None if it uses none."""
    return original.inside() if isinstance(original, _HiddenWeightSource) else None


def source_tag(key: bytes, content: bytes, inside: bytes | None = None) -> str:
    """Return a keyed fingerprint: HMAC-SHA256 over a content digest, `hmac-sha256:…` or `hmac-sha256/2:…`.

    `content` is `Original.content()`, which without a key would let small counts be guessed. `inside` is by
    `hidden_weights_fingerprint`, None for the first law.
    """
    domain, prefix = (_TAG, _PREFIX) if inside is None else (_TAG_INSIDE, _PREFIX_INSIDE)
    return prefix + hmac.new(key, domain + content + (inside or b""), hashlib.sha256).hexdigest()


def tag_bytes(tag: str) -> bytes:
    """Return the bytes of a source tag, which the streams of a draw depend on."""
    return bytes.fromhex(tag.partition(":")[2])


def write_key(path: Path, key: KeyFile | SeriesKey) -> None:
    """Create a key file, mode 0600. An existing file is never touched.

    Raises:
        RefusedError: RR403 if there is a file already, RR407 if it cannot be written, RR408 if the disk is full.
    """
    held: dict[str, Any] = (
        {"key": key.key.hex()}
        if key.passphrase is None
        else {"protected": ProtectedKey(**encrypt_key(key.key, key.passphrase, canonical(key.stated)))}
    )
    document = pretty(record(key.document(**held, **key.stated)))
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError as error:
        raise _existing_file_error(path) from error
    except OSError as error:
        raise write_error(f"the key file {path}", error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(document)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise write_error(f"the key file {path}", error) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def refuse_existing_key(path: Path) -> None:
    """Refuse a path that exists: a key that may have been used is never overwritten (RR403)."""
    if os.path.lexists(path):
        raise _existing_file_error(path)


@contextmanager
def new_key_file(path: Path, key: KeyFile | SeriesKey, finished: Callable[[], bool]) -> Iterator[None]:
    """Create a key file and remove it if its plan or release never appears, also on a signal.

    `finished` returns whether the plan or release has appeared.

    Raises:
        RefusedError: as `write_key`.
    """
    refuse_existing_key(path)
    theirs = False
    with cleanup_on_exit(path, lambda: theirs or finished()):
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
    """Read a key file; a passphrase is taken from the environment, or from the terminal.

    Raises:
        RefusedError: RR403 if it is not a key file, others than its owner may read it, or the passphrase is wrong.
    """
    key, stated, secret = _read_key_file(path, KeyFile)
    return KeyFile(key, **stated, passphrase=secret)


def read_series_key(path: Path, series: str) -> SeriesKey:
    """Read the key file of a series, as `read_key` does (RR403, also if it is the key of another series)."""
    key, stated, secret = _read_key_file(path, SeriesKey)
    if stated["series"] != series:
        hint = "name the key that the first release of the series made"
        raise _key_file_error(path, f"is the key of another series, '{stated['series']}'", hint)
    return SeriesKey(key, series, secret)


def _read_key_file(path: Path, kind: type[KeyFile | SeriesKey]) -> tuple[bytes, dict[str, str], bytes | None]:
    """Return the key of a file, the data stored with it, and the passphrase that opened it."""
    hint = _SERIES_HINT if kind is SeriesKey else _HINT
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(file.fileno())
            content = file.read(1 << 16) or b""
    except OSError as error:
        raise _key_file_error(path, f"cannot be read: {error.strerror}", hint) from error
    try:
        document = json.loads(content)
        known = not faults(document, kind.document) and ("key" in document) != ("protected" in document)
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise _key_file_error(
            path, "is not a key file that this version reads", _wrong_key_kind_hint(content, kind.schema)
        )
    if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o077:
        raise _key_file_error(
            path, "may be read by others than its owner", f"chmod 600 {path}; and find out who has read it"
        )
    stated = {name: told for name, told in document.items() if name not in {"schema", "key", "protected"}}
    if "key" in document:
        return bytes.fromhex(document["key"]), stated, None
    try:
        secret = read_passphrase(PASSPHRASE_VARIABLE, f"the key file {path}")
        return decrypt_key(document["protected"], secret, canonical(stated)), stated, secret
    except NoPassphraseError as error:
        raise _key_file_error(path, f"cannot be opened: {error}", hint) from error
    except WrongPassphraseError as error:
        raise _key_file_error(
            path, "cannot be opened: the passphrase is another one, or the file was changed", hint
        ) from error


def _wrong_key_kind_hint(content: bytes, schema: str) -> str:
    """Return a hint for a file that may be a key of the other kind."""
    if schema == KeyFile.schema and SeriesKey.schema.encode() in content:
        return "it is the key of a series: a release outside it has its own key"
    if schema == SeriesKey.schema and KeyFile.schema.encode() in content:
        return "it is the key of one release: a series has its own key, which its first release makes"
    return _SERIES_HINT if schema == SeriesKey.schema else _HINT


def require_matching_key(key: KeyFile, plan_digest: str, original: Original) -> None:
    """Refuse a key that was made for another plan or another source (RR403)."""
    if not hmac.compare_digest(key.plan_digest, plan_digest):
        raise RefusedError(Problem("RR403", "the key was made for another plan", hint=_HINT))
    if not hmac.compare_digest(key.source_tag, keyed_fingerprint(key.key, original, key.source_tag)):
        raise RefusedError(Problem("RR403", "the key was made for another source: the table differs", hint=_HINT))


def destroy_key(path: Path) -> None:
    """Overwrite a key file if the file system permits it, and remove it."""
    try:
        with path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            file.write(os.urandom(size))
            file.flush()
            os.fsync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


def _existing_file_error(path: Path) -> RefusedError:
    hint = "name another with --key; or, if nothing is to be drawn with it any more, remove it"
    return _key_file_error(path, "exists already, and key files are never overwritten", hint)


def _key_file_error(path: Path, why: str, hint: str = _HINT) -> RefusedError:
    return RefusedError(Problem("RR403", f"the key file {path} {why}", hint=hint))
