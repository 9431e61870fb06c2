"""Keys that are not in a plain file: under a passphrase, in the environment, or printed by a command.

A secret stored elsewhere is not itself a key. Each plan on each table has a separate key, derived from it, so that
two releases never share noise, and the same plan on the same table is the same release again. A series, whose
releases do share it, has one key.
"""

from __future__ import annotations

import binascii
import hashlib
import os
import shlex
import subprocess
from base64 import b64decode
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from rrpolicy.errors import Problem, RefusedError

PASSPHRASE_VARIABLE = "RRPOLICY_KEY_PASSPHRASE"  # noqa: S105 a name
"""The environment variable with the passphrase of a key file, used if no terminal is available."""
SECRET_BYTES = 32
_INFO = b"rrpolicy.key/1\0"
_SERIES = b"rrpolicy.series-key/1\0"
_COST: Mapping[str, int] = {"n": 1 << 15, "r": 8, "p": 1}
_MOST = 1 << 20
_SECONDS = 60


class KeyStorage(StrEnum):
    """The storage of a release's key, stated in audit/."""

    DESTROYED = "destroyed"
    FILE = "file"
    PROTECTED = "file under a passphrase"
    ENVIRONMENT = "environment"
    COMMAND = "command"
    PERSONS = "of each person"

    def meaning(self, *, series: bool) -> str:
        """Return the consequence for drawing the release again, and for attackers who have the key."""
        again = "anyone with the key can draw this release again and test any guess about the table"
        others = f"{again}, of each release made with it"
        if series:
            again = others = (
                "later releases of the series need it; anyone with the key can draw all its releases again and "
                "test any guess about their tables"
                ""
            )
        return {
            KeyStorage.DESTROYED: (
                "destroyed after the draw: nobody can draw this release again, or test a guess with it"
            ),
            KeyStorage.FILE: f"kept in a file: {again}",
            KeyStorage.PROTECTED: f"kept in a file under a passphrase: {again}",
            KeyStorage.ENVIRONMENT: f"derived from a secret of the environment: {others}",
            KeyStorage.COMMAND: f"derived from a secret that a command printed: {others}",
            KeyStorage.PERSONS: "each record was drawn on the person's own machine, with a key that was not stored",
        }[self]


class ExternalSecret(Struct, frozen=True):
    """A secret of 32 bytes stored outside of files.

    Attributes:
        name: the environment variable, or the command.
    """

    custody: Literal[KeyStorage.ENVIRONMENT, KeyStorage.COMMAND]
    name: str

    def __str__(self) -> str:
        """Return it as the command line names it."""
        return f"{'env' if self.custody is KeyStorage.ENVIRONMENT else 'command'}:{self.name}"

    def key(self, plan_digest: str, content: bytes) -> bytes:
        """Return the key of a plan on a table: HKDF-SHA256 (RFC 5869) of the secret.

        `content` is `Original.content()` of the table.

        Raises:
            RefusedError: RR403 if there is no such secret.
        """
        info = _INFO + plan_digest.encode() + b"\0" + hashlib.sha256(content).digest()
        return self._derived(info, "set it to 64 hexadecimal digits, or take the option out")

    def key_of_series(self, series: str) -> bytes:
        """Return the key of a series, the same for all its plans and tables (RR403 if there is no such secret)."""
        return self._derived(
            _SERIES + series.encode(), f"set it to the secret that the series '{series}' is drawn with"
        )

    def _derived(self, info: bytes, unset: str) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), SECRET_BYTES, None, info).derive(self._read(unset))

    def _read(self, unset: str) -> bytes:
        """Return the 32 bytes, written as 64 hexadecimal digits or in base64."""
        told = self._environment(unset) if self.custody is KeyStorage.ENVIRONMENT else self._command()
        for read in (bytes.fromhex, lambda text: b64decode(text, validate=True)):
            try:
                found = read(told.strip())
            except (ValueError, binascii.Error):
                continue
            if len(found) == SECRET_BYTES:
                return found
        hint = "32 bytes as 64 hexadecimal digits or in base64: `openssl rand -hex 32` makes some"
        raise self._refused("does not contain a secret of 32 bytes", hint)

    def _environment(self, unset: str) -> str:
        told = os.environ.get(self.name)
        if told is None:
            raise self._refused("is not set", unset)
        return told

    def _command(self) -> str:
        """Return the output of the command that the caller named; no policy can name one. No shell reads it."""
        try:
            words = shlex.split(self.name)
            run = subprocess.run(  # noqa: S603 the caller's own words
                words, stdout=subprocess.PIPE, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL
            )
        except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
            raise self._refused("cannot be run", "try it in a terminal: it must print the secret") from error
        if run.returncode:
            raise self._refused(f"ended with exit status {run.returncode}", "try it in a terminal")
        return run.stdout[:_MOST].decode("ascii", "replace")

    def _refused(self, why: str, hint: str) -> RefusedError:
        what = "environment variable" if self.custody is KeyStorage.ENVIRONMENT else "command"
        return RefusedError(Problem("RR403", f"the {what} of the key, {self.name.partition(' ')[0]}, {why}", hint=hint))


def parse_secret(text: str) -> ExternalSecret | None:
    """Return the secret that `env:NAME` or `command:…` names; None for any other text, which is a file."""
    kind, colon, name = text.partition(":")
    known: Mapping[str, Literal[KeyStorage.ENVIRONMENT, KeyStorage.COMMAND]] = {
        "env": KeyStorage.ENVIRONMENT,
        "command": KeyStorage.COMMAND,
    }
    return ExternalSecret(known[kind], name) if colon and kind in known else None


KeyLocation = Path | ExternalSecret
"""The location of a key: a file, or an external secret from which it is derived."""


def key_location(key: str | os.PathLike[str] | None) -> KeyLocation | None:
    """Return the location that a caller named."""
    return None if key is None else parse_secret(os.fspath(key)) or Path(key)


class WrongPassphraseError(ValueError):
    """The passphrase does not open the key."""


def encrypt_key(key: bytes, passphrase: bytes, stated: bytes) -> dict[str, Any]:
    """Return a key under a passphrase: AES-256-GCM, whose key is by scrypt.

    `key` has 32 bytes; `stated` is stored and authenticated with it.
    """
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_scrypt_key(passphrase, salt, _COST)).encrypt(nonce, key, stated)
    return {"kdf": "scrypt", **_COST, "salt": salt.hex(), "nonce": nonce.hex(), "ciphertext": sealed.hex()}


def decrypt_key(document: Mapping[str, Any], passphrase: bytes, stated: bytes) -> bytes:
    """Return the key that `encrypt_key` sealed.

    Raises:
        WrongPassphraseError: if it is another passphrase, or the document was changed.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    cost = {name: document[name] for name in _COST}
    if cost != dict(_COST):
        raise WrongPassphraseError
    try:
        salt, nonce, sealed = (bytes.fromhex(document[name]) for name in ("salt", "nonce", "ciphertext"))
        return AESGCM(_scrypt_key(passphrase, salt, cost)).decrypt(nonce, sealed, stated)
    except (InvalidTag, ValueError) as error:
        raise WrongPassphraseError from error


def _scrypt_key(passphrase: bytes, salt: bytes, cost: Mapping[str, int]) -> bytes:
    return hashlib.scrypt(passphrase, salt=salt, **cost, maxmem=1 << 27, dklen=SECRET_BYTES)
