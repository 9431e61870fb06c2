"""The intended disposition of a release's key."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.planning.key_storage import ExternalSecret, KeyLocation, KeyStorage
from rrpolicy.planning.keys import KeyFile, SeriesKey


@frozen
class KeyDisposition:
    """The intended disposition of the key.

    Attributes:
        at: the file in which it is kept, or the secret from which it is derived; None: it is destroyed.
        protect: the passphrase for a new file; None for none.
    """

    at: KeyLocation | None
    protect: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse a passphrase without a file.

        Raises:
            PolicyError: RR250.
        """
        if self.protect is not None and self.path is None:
            raise PolicyError(Problem("RR250", "--key-passphrase protects a key's file: name it with --key"))

    @property
    def path(self) -> Path | None:
        """Return the file."""
        return self.at if isinstance(self.at, Path) else None

    @property
    def secret(self) -> ExternalSecret | None:
        """Return the external secret."""
        return self.at if isinstance(self.at, ExternalSecret) else None

    @property
    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path is not None and self.path.exists()

    def custody(self, drawn_with: KeyFile | SeriesKey) -> KeyStorage:
        """Return the storage stated in audit/ of the key with which a release was drawn."""
        if self.secret is not None:
            return self.secret.custody
        if self.path is None:
            return KeyStorage.DESTROYED
        return KeyStorage.FILE if drawn_with.passphrase is None else KeyStorage.PROTECTED
