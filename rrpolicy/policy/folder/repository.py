"""The git repository that holds a policy, read from its files.

git itself is not run: in a folder from an untrusted source its settings can name programs to start.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

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
    """Return git's id of a file: it equals `git rev-parse COMMIT:path` if the commit holds these bytes.

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
    """Return the commit that HEAD or a ref holds, by name or by number."""
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
