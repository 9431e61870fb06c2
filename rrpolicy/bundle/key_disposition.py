"""What is to become of a release's key."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.planning.key_storage import ExternalSecret, KeyLocation, KeyStorage
from rrpolicy.planning.keys import KeyFile, SeriesKey


@frozen
class KeyDisposition:
    """What is to become of the key.

    Attributes:
        at: the file that it is kept in, or the secret that it is derived from; None: it is destroyed.
        protect: the passphrase that a new file is written under; None for none.
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
        """Return the secret elsewhere."""
        return self.at if isinstance(self.at, ExternalSecret) else None

    @property
    def exists(self) -> bool:
        """Return whether there is a file already."""
        return self.path is not None and self.path.exists()

    def custody(self, drawn_with: KeyFile | SeriesKey) -> KeyStorage:
        """Return what audit/ says became of the key that a release was drawn with."""
        if self.secret is not None:
            return self.secret.custody
        if self.path is None:
            return KeyStorage.DESTROYED
        return KeyStorage.FILE if drawn_with.passphrase is None else KeyStorage.PROTECTED
