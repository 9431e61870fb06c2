"""The files that a policy may name, the git repository that they are in, and uris of tables of counts.

A policy is not a program, and reads nothing else by itself. git is not run: in a folder from an untrusted source its
settings can name programs to start. A table of distinct rows with counts has a uri such as `counts:n:people.parquet`:
n is the count of each row. Only the uri states it. It is not part of a policy's digest: a release is the same from
records and from their counts.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from urllib.parse import quote, unquote

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.safe_io.document import read_following_links

_SMALL, _PACKED = 4096, 64 * 2**20
_DEEPEST = 5
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"refs(/(?!\.)[^/\\\x00-\x20\x7f~^:?*\[]+)+")


def repository_root(folder: Path) -> Path | None:
    """Return the top of the repository that a folder lies in; None outside of one.

    The folder exists; links are resolved.
    """
    here = folder.resolve()
    return next((f for f in (here, *here.parents) if (f / ".git").exists()), None)


def head_commit(folder: Path) -> str | None:
    """Return the commit that HEAD names; None if there is none that can be read.

    Changes of a file since then are not detected: that takes git's objects, see `blob_id`.
    """
    above = repository_root(folder)
    if above is None:
        return None
    try:
        own = _git_folder(above / ".git")
        shared = own / _read_git_text(own / "commondir") if (own / "commondir").exists() else own
        return _resolve_ref(_read_git_text(own / "HEAD"), own, shared, 0)
    except (OSError, ValueError):
        return None


def blob_id(content: bytes, of: str) -> str:
    """Return git's id of a file: it equals `git rev-parse COMMIT:path` if the commit contains these bytes.

    The length of the commit `of` determines the digest that the repository uses.
    """
    whole = b"blob %d\0" % len(content) + content
    new = len(of) == hashlib.sha256().digest_size * 2
    return hashlib.sha256(whole).hexdigest() if new else hashlib.sha1(whole, usedforsecurity=False).hexdigest()


def _git_folder(dot: Path) -> Path:
    """Return the folder of HEAD and refs; a work tree's `.git` is a file that names it."""
    if dot.is_dir():
        return dot
    word, _, path = _read_git_text(dot).partition(": ")
    if word != "gitdir":
        raise ValueError("no work tree")
    return dot.parent / path


def _resolve_ref(text: str, own: Path, shared: Path, depth: int) -> str | None:
    """Return the commit of HEAD or of a ref, by name or by number."""
    if _COMMIT.fullmatch(text):
        return text
    word, _, name = text.partition(": ")
    if word != "ref" or depth == _DEEPEST or not _REF.fullmatch(name):
        return None
    for folder in dict.fromkeys((own, shared)):
        if (folder / name).is_file():
            return _resolve_ref(_read_git_text(folder / name), own, shared, depth + 1)
    packed = shared / "packed-refs"
    lines = read_following_links(packed, _PACKED).decode(errors="replace").splitlines() if packed.exists() else []
    found = next((line.split(" ")[0] for line in lines if line.endswith(f" {name}")), "")
    return found if _COMMIT.fullmatch(found) else None


def _read_git_text(path: Path) -> str:
    return read_following_links(path, _SMALL).decode().rstrip("\r\n")


SCHEME = "counts"


def counts_uri(uri: str, multiplicity: str) -> str:
    """Return the uri of a table of counts."""
    return f"{SCHEME}:{quote(multiplicity, safe=' ')}:{uri}"


def split_counts_uri(uri: str) -> tuple[str | None, str]:
    """Return the column with the count of each row, None for a table of records, and the table's own uri."""
    scheme, _, rest = uri.partition(":")
    column, colon, own = rest.partition(":")
    return (unquote(column), own) if scheme == SCHEME and column and colon else (None, uri)


MAX_FILE_BYTES = 16 * 2**20
"""The most bytes of a file that a policy names."""


class OutsideError(Exception):
    """A file that lies outside of the root."""


class Root(Struct, frozen=True):
    """The folder that contains the files that a policy names: baselines and hierarchies. Its table may lie anywhere.

    Attributes:
        folder: the folder, with links resolved.
    """

    folder: Path

    @classmethod
    def of(cls, policy: Path, given: Path | None = None) -> Root:
        """Return the root of a policy: the one given, else the top of its repository, else its own folder."""
        if given is not None and not given.is_dir():
            raise PolicyError(Problem("RR250", f"--root: {given} is not a folder"))
        own = policy.parent
        return cls((given or repository_root(own) or own).resolve())

    def read(self, path: Path) -> bytes:
        """Return a file that a policy names.

        Raises OutsideError if it lies elsewhere, by its own path or by links; OSError or ValueError if it is not a
        regular file or larger than `MAX_FILE_BYTES`.
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
            "`--root DIR` sets another folder; by default it is the top of the policy's git repository, else its own",
        )
