"""The files that a policy may name: those under a root. A policy is no program, and reads nothing else by itself."""

from __future__ import annotations

from pathlib import Path

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.folder.repository import repository_root
from rrpolicy.safe_io.document import read_following_links

MAX_FILE_BYTES = 16 * 2**20
"""The most bytes of a file that a policy names."""


class OutsideError(Exception):
    """A file that lies outside of the root."""


@frozen
class Root:
    """The folder that contains the files that a policy names: baselines and hierarchies. Its table may lie anywhere.

    Attributes:
        folder: with links resolved.
    """

    folder: Path

    @classmethod
    def of(cls, policy: Path, given: Path | None = None) -> Root:
        """Return the root of a policy: the one given, else the top of its repository, else its own folder."""
        if given is not None and not given.is_dir():
            raise PolicyError(Problem("RR250", f"--root: {given} is no folder"))
        own = policy.parent
        return cls((given or repository_root(own) or own).resolve())

    def read(self, path: Path) -> bytes:
        """Return a file that a policy names.

        Raises OutsideError if it lies elsewhere, by its own path or by links; OSError or ValueError if it is no regular
        file or larger than `MAX_FILE_BYTES`.
        """
        real = path.resolve()
        if not real.is_relative_to(self.folder):
            raise OutsideError
        return read_following_links(real, MAX_FILE_BYTES)

    def outside(self, written: str) -> tuple[str, str, str]:
        """Return message, expected and hint of a file that lies elsewhere."""
        return (
            f"'{written}' lies outside of {self.folder}, and a policy reads nothing there",
            "a file under that folder, also after links are followed",
            "`--root DIR` names another folder; by default it is the top of the policy's git repository, else its own",
        )
