"""Ed25519 keys of signers: a private key in PKCS#8 under a passphrase and a public key in the same folder, both PEM.

They are not keys of a release: nothing is drawn with them, and the public key discloses nothing about a table.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem, RefusedError
from rrpolicy.safe_io.atomic_write import write_new
from rrpolicy.safe_io.document import UnreadableError, read_regular
from rrpolicy.safe_io.passphrase import NoPassphraseError
from rrpolicy.safe_io.passphrase import read_passphrase as asked
from rrpolicy.verification.outcome import VerificationLevel

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, Key, SSlibKey

PASSPHRASE = "RRPOLICY_PASSPHRASE"  # noqa: S105 a name
"""The environment variable with the passphrase for use without a terminal."""
_LARGEST = 1 << 16


class TrustedKey(Struct, frozen=True):
    """A public key that a verifier trusts.

    Attributes:
        least: for an auditor, the lowest accepted verification level.
    """

    name: str
    key: Key
    least: VerificationLevel = VerificationLevel.PUBLIC

    def __str__(self) -> str:
        return f"{self.name} ({self.key.keyid[:16]}…)"


def signing_passphrase(*, new: bool = False) -> bytes:
    """Return the passphrase of a signing key, from the environment or else from the terminal.

    Raises:
        RefusedError: RR430 if there is no passphrase, it is too short, or the two differ.
    """
    try:
        return asked(PASSPHRASE, "the signing key", new=new)
    except NoPassphraseError as error:
        raise _key_error(str(error), "set it, or run the command in a terminal") from error


def make_signing_key(path: Path, secret: bytes | None) -> str:
    """Write a new key pair into a folder: the private key in a file that only its owner may read, and the public one.

    Return the id of the key. The public key's path has `.pub` added. Without `secret` only the file protects the key.

    Raises:
        RefusedError: RR411 if one of the files exists, RR407 or RR408 if they cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )
    from securesystemslib.signer import SSlibKey

    made = Ed25519PrivateKey.generate()
    protected = NoEncryption() if secret is None else BestAvailableEncryption(secret)
    private = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protected)
    public = made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    beside = public_path(path)
    write_new(path.parent, {path.name: lambda p: _write(p, private, 0o600), beside.name: lambda p: _write(p, public)})
    return SSlibKey.from_crypto(made.public_key()).keyid


def public_path(path: Path) -> Path:
    """Return the path of the public half of a key."""
    return path.with_name(path.name + ".pub")


def read_signer(path: Path, secret: bytes | None = None) -> CryptoSigner:
    """Read a private key to sign with.

    Without `secret` the passphrase is entered on the terminal if the file needs one.

    Raises:
        RefusedError: RR430 if it is not such a key, if others may read it, or the passphrase is wrong.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    content = _read_key_file(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise _key_error(
            f"{path} may be read by others than its owner", f"chmod 600 {path}; and find out who has read it"
        )
    encrypted = b"ENCRYPTED" in content.partition(b"\n")[0]
    try:
        key = load_pem_private_key(content, (secret or signing_passphrase()) if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _key_error(
            f"{path} cannot be opened: it is not a signing key, or the passphrase is another one"
        ) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise _key_error(f"{path} is not an Ed25519 key")
    return CryptoSigner(key)


def read_public(path: Path) -> SSlibKey:
    """Read a public key to verify with (RR430 if it is not such a key)."""
    key = parse_public_key(_read_key_file(path))
    if key is None:
        raise _key_error(f"{path} is not a public Ed25519 key")
    return key


def parse_public_key(content: bytes) -> SSlibKey | None:
    """Return the public Ed25519 key of a PEM file's content; None if it is not such a key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return SSlibKey.from_crypto(key) if isinstance(key, Ed25519PublicKey) else None


def read_trusted_keys(paths: Iterable[str | os.PathLike[str]]) -> list[TrustedKey]:
    """Read the public keys that a verifier trusts (RR430 if one is not a public key)."""
    return [TrustedKey(Path(path).name, read_public(Path(path))) for path in paths]


def read_auditor_keys(stated: Iterable[str | os.PathLike[str]]) -> list[TrustedKey]:
    """Read the public keys of auditors, each as `FILE` or, with the lowest verification level to accept, `FILE=LEVEL`.

    Raises:
        RefusedError: RR430 if one is not a key.
        PolicyError: RR250 if a level is unknown.
    """
    found = []
    for path in stated:
        each = os.fspath(path)
        file, equals, word = each.rpartition("=") if "=" in each and not Path(each).exists() else (each, "", "")
        try:
            level = VerificationLevel.of(word) if equals else VerificationLevel.PUBLIC
        except ValueError as error:
            raise PolicyError(
                Problem("RR250", str(error), expected="FILE=LEVEL, such as auditor.pub=source")
            ) from error
        found.append(TrustedKey(Path(file).name, read_public(Path(file)), level))
    return found


def _read_key_file(path: Path) -> bytes:
    try:
        return read_regular(path, most=_LARGEST)
    except (OSError, UnreadableError) as error:
        why = (error.strerror or "no such file").lower() if isinstance(error, OSError) else str(error)
        raise _key_error(f"the key {path} cannot be read: {why}") from error


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:  # noqa: PTH123
        file.write(content)


def _key_error(
    message: str, hint: str = "`rrpolicy keys new FILE` makes a key, and FILE.pub next to it"
) -> RefusedError:
    return RefusedError(Problem("RR430", message, hint=hint))
