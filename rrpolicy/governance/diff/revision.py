"""Policies of a git revision, with the baselines and hierarchies of the same revision.

The program git is called, as nothing else knows every way in which it names and stores revisions. The policy may be in
a foreign repository, whose settings name programs to start. Therefore only plumbing is called that reads objects and
starts no programs (hooks, pagers, filters, monitors or helpers). Every transport is forbidden, so that a missing object
is never fetched, and environment variables on repositories are ignored.
"""

from __future__ import annotations

import os
import posixpath
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.policy.folder.root import MAX_FILE_BYTES, repository_root
from rrpolicy.policy.tree.document import is_floor, is_policy

_SAFE = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}
_SETTINGS = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.allow=never")
_MAX_FILES = 1000
"""Maximum number of files of one revision that are read."""
_GIT_TIMEOUT_SECONDS = 60
"""Maximum number of seconds for a call of git."""


class Revision(Struct, frozen=True):
    """A commit of the repository of the working directory.

    Attributes:
        named: the commit as the caller named it.
        repository: the top of the work tree.
    """

    named: str
    commit: str
    repository: Path
    git: str

    @classmethod
    def of(cls, named: str) -> Revision:
        """Find a revision."""
        git, repository = shutil.which("git"), repository_root(Path.cwd())
        if git is None or repository is None:
            lacks = "git is not installed" if git is None else "the working directory lies in no git repository"
            raise PolicyError(Problem("RR282", f"'{named}' is a revision, and {lacks}"))
        found = cls(named, "", repository, os.path.abspath(git))  # noqa: PTH100
        if named.startswith("-"):
            raise found._unknown("it is not a revision")
        commit = found._asked("rev-parse", "--quiet", "--verify", f"{named}^{{commit}}").decode().strip()
        return cls(named, commit, repository, found.git)

    def place(self, path: Path) -> str:
        """Return a path of the work tree relative to the top of the repository, in any notation."""
        if not self.knows(path):
            raise self._unknown(f"'{path}' lies outside of the repository")
        return path.resolve().relative_to(self.repository).as_posix()

    def knows(self, path: Path) -> bool:
        """Return whether a path is in the work tree."""
        return path.resolve().is_relative_to(self.repository)

    def content_of(self, path: Path) -> bytes | None:
        """Return the content of a file of the work tree in the revision; None if the revision has no such file."""
        place = self.place(path)
        return self._contents([place]).get(place)

    def holds(self, path: str) -> bool:
        """Return whether the revision has a file or folder."""
        return bool(self._kind(path))

    def gone(self) -> tuple[str, ...]:
        """Return the policies of the revision whose files the work tree does not have."""
        listed = self._asked("ls-tree", "-r", "-z", "--name-only", self.commit).decode(errors="replace")
        names = [name for name in listed.split("\0") if name.endswith(".toml") and "\n" not in name]
        lost = [name for name in names if not (self.repository / name).exists()]
        return tuple(name for name, content in self._contents(lost[:_MAX_FILES]).items() if self._complete(content))

    @staticmethod
    def _complete(content: bytes) -> bool:
        return is_policy(content) and not is_floor(content)

    def policies(self, path: str) -> tuple[str, ...]:
        """Return the policies that a path names: the file, or those of the folder."""
        path = self._inside(path)
        kind = self._kind(path)
        if kind == "blob":
            return (path,)
        if kind != "tree":
            raise self._unknown(f"it has no file or folder '{path}'")
        listed = self._asked("ls-tree", "-z", "--name-only", f"{self.commit}:{path}").decode(errors="replace")
        names = [posixpath.join(path, name) for name in listed.split("\0") if name.endswith(".toml")]
        contents = self._contents(names[:_MAX_FILES])
        found = tuple(name for name, content in contents.items() if self._complete(content))
        if not found:
            raise self._unknown(f"its folder '{path or '.'}' contains no policy")
        return found

    def write(self, policy: str, folder: Path) -> Path:
        """Write a policy, its baselines, hierarchies and allowed signers below a folder; return where the policy is.

        A file that the revision does not contain is omitted, and reading the policy reports it.
        """
        todo, written = [policy], set[str]()
        while todo and len(written) < _MAX_FILES:
            contents = self._contents([name for name in dict.fromkeys(todo) if name not in written])
            written |= {*todo}
            todo = []
            for name, content in contents.items():
                to = folder / name
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(content)
                todo += [file for file in _referenced_files(name, content) if file not in written]
        return folder / policy

    def _inside(self, path: str) -> str:
        """Return a path relative to the top of the repository; one with a leading dot is relative to the caller."""
        if path.startswith("."):
            path = posixpath.join(Path.cwd().resolve().relative_to(self.repository).as_posix(), path)
        path = posixpath.normpath(path or ".")
        if path.startswith(("..", "/")) or "\n" in path:
            raise self._unknown(f"'{path}' lies outside of the repository")
        return "" if path == "." else path

    def _kind(self, path: str) -> str:
        if not path:
            return "tree"
        listed = self._asked("ls-tree", "-z", self.commit, "--", path).decode(errors="replace")
        return listed.split(" ")[1] if listed else ""

    def _contents(self, names: list[str]) -> dict[str, bytes]:
        asked = "".join(f"{self.commit}:{name}\n" for name in names).encode()
        sizes = self._asked("cat-file", "--batch-check", "--follow-symlinks", given=asked)
        large = [n for n, size in zip(names, _object_sizes(sizes), strict=False) if size > MAX_FILE_BYTES]
        if large:
            raise self._unknown(f"'{large[0]}' is larger than {MAX_FILE_BYTES >> 20} MiB")
        answer = self._asked("cat-file", "--batch", "--follow-symlinks", given=asked)
        return dict(_split_files(names, answer))

    def _asked(self, command: str, *arguments: str, given: bytes = b"") -> bytes:
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        line = [self.git, "--no-pager", "--literal-pathspecs", *options, command, *arguments]
        here, known = self.repository, {**surroundings, **_SAFE}
        try:
            found = subprocess.run(  # noqa: S603 a fixed command, and names that git takes for no options
                line, input=given, capture_output=True, cwd=here, env=known, check=False, timeout=_GIT_TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired as error:  # its settings may name a pipe
            raise self._unknown(f"git does not respond within {_GIT_TIMEOUT_SECONDS} seconds") from error
        if found.returncode:
            said = found.stderr.decode(errors="replace").strip().splitlines()
            raise self._unknown(said[0].removeprefix("fatal: ") if said else "git has no such revision")
        return found.stdout

    def _unknown(self, why: str) -> PolicyError:
        expected = "a branch, tag or commit, then a path from the top of the repository: main:policies/x.toml"
        return PolicyError(Problem("RR282", f"the revision '{self.named}': {why}", expected=expected))


def _object_sizes(answer: bytes) -> Iterator[int]:
    """Yield the size of each requested object; 0 if it is not an object.

    For a broken link git prints an additional line, which does not begin with an object id.
    """
    for line in answer.decode(errors="replace").splitlines():
        parts = line.rsplit(" ", 2)
        if parts[-1].isdigit() and len(parts) == 3 and parts[1] == "blob":  # noqa: PLR2004
            yield int(parts[-1])
        elif parts[-1] in {"missing", "ambiguous"} or (len(parts) > 1 and parts[1] == "tree"):
            yield 0


def _split_files(names: list[str], answer: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    for name in names:
        head, _, _ = answer[at:].partition(b"\n")
        at += len(head) + 1
        words = head.rsplit(b" ", 2)
        if words[-1].isdigit():
            size = int(words[-1])
            if words[-2] == b"blob":
                yield name, answer[at : at + size]
            at += size + 1


def _referenced_files(name: str, content: bytes) -> Iterator[str]:
    """Yield the files that a policy names, relative to the top of the repository; nothing for another file."""
    if not is_policy(content):
        return
    try:
        document = tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return
    policy, attributes = document.get("policy"), document.get("attributes")
    named = [policy.get("extends")] if isinstance(policy, dict) else []
    tables = attributes.values() if isinstance(attributes, dict) else ()
    named += [table.get("hierarchy") for table in tables if isinstance(table, dict)]
    release = document.get("release")
    named += [release.get("signers")] if isinstance(release, dict) else []
    for each in named:
        if isinstance(each, str) and "\n" not in each:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), each))
            if not path.startswith(("..", "/")):
                yield path
