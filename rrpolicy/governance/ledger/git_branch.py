"""A ledger on a git server: a line counts once it is on the branch; two successors of a line cannot both be pushed.

git's transport is used with the repository's settings for the server and credentials: it is only for your own clone.
Nothing in the work tree but the ledger's file is changed, and no hook is run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem, RefusedError
from rrpolicy.policy.folder.repository import repository_root

_LONGEST = 120
"""Maximum number of seconds for git, or the server."""
_PERSON = {"NAME": "rrpolicy", "EMAIL": "rrpolicy@localhost"}
"""Author of commits if git has no user name."""
_TIP = "refs/rrpolicy/ledger"


class BranchMovedError(RefusedError):
    """A concurrent push by another writer (RR449)."""


class LedgerBranch:
    """The branch of a remote repository that contains the ledger."""

    def __init__(self, named: str, ledger: Path) -> None:
        """Select a branch.

        `named` is such as `origin/main`; `ledger` is the file in the work tree of a clone.
        """
        remote, slash, branch = named.partition("/")
        if not (remote and slash and branch) or named.startswith("-"):
            message = f"'{named}' names no branch of a remote"
            raise PolicyError(Problem("RR250", message, expected="REMOTE/BRANCH, such as origin/main"))
        git, repository = shutil.which("git"), repository_root(ledger.parent)
        if git is None or repository is None:
            lacks = "git is not installed" if git is None else f"{ledger} lies in no git repository"
            raise PolicyError(Problem("RR282", f"the ledger cannot be pushed to {named}: {lacks}"))
        self.named, self._remote, self._ref = named, remote, f"refs/heads/{branch}"
        self._git, self._repository = os.path.abspath(git), repository  # noqa: PTH100
        self._path = ledger.resolve().relative_to(repository).as_posix()
        self._tip = ""

    def fetch(self) -> bytes:
        """Return the current ledger of the branch."""
        refspec = f"+{self._ref}:{_TIP}"
        self._asked("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", self._remote, refspec)
        self._tip = self._asked("rev-parse", "--verify", _TIP).decode().strip()
        return self._asked("cat-file", "blob", f"{self._tip}:{self._path}")

    def push(self, content: bytes, message: str) -> None:
        """Push a longer ledger to the branch if it is unchanged since the fetch.

        Raises BranchMovedError (RR449) if another writer was first.
        """
        blob = self._asked("hash-object", "-w", "--stdin", given=content).decode().strip()
        with tempfile.TemporaryDirectory(prefix="rrpolicy-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._asked("read-tree", self._tip, more=index)
            self._asked("update-index", "--add", "--cacheinfo", f"100644,{blob},{self._path}", more=index)
            tree = self._asked("write-tree", more=index).decode().strip()
        words = ("commit-tree", tree, "-p", self._tip, "-m", message)
        made = self._asked(*words, more=self._person()).decode().strip()
        lease = f"--force-with-lease={self._ref}:{self._tip}"
        done = self._run("push", "--porcelain", lease, "--", self._remote, f"{made}:{self._ref}")
        if done.returncode:
            said = (done.stdout + done.stderr).decode(errors="replace")
            moved = "stale info" in said or "fetch first" in said or "cannot lock ref" in said
            raise self._refused("somebody else pushed meanwhile" if moved else _first_error_line(said), moved=moved)
        self._tip = made

    def _person(self) -> dict[str, str]:
        missing = [who for who in ("AUTHOR", "COMMITTER") if self._run("var", f"GIT_{who}_IDENT").returncode]
        return {f"GIT_{who}_{what}": value for who in missing for what, value in _PERSON.items()}

    def _run(
        self, *words: str, given: bytes = b"", more: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        known = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(more or {})}
        line = [self._git, "--no-pager", "--literal-pathspecs", "-c", "core.hooksPath=/dev/null", *words]
        try:
            return subprocess.run(  # noqa: S603 fixed commands, and names that git takes for no options
                line, input=given, capture_output=True, cwd=self._repository, env=known, check=False, timeout=_LONGEST
            )
        except subprocess.TimeoutExpired as error:
            raise self._refused(f"git does not answer within {_LONGEST} seconds") from error

    def _asked(self, *words: str, given: bytes = b"", more: dict[str, str] | None = None) -> bytes:
        done = self._run(*words, given=given, more=more)
        if done.returncode:
            raise self._refused(_first_error_line(done.stderr.decode(errors="replace")))
        return done.stdout

    def _refused(self, why: str, *, moved: bool = False) -> RefusedError:
        again, rights = "run again: the newer ledger is fetched first", "the job has to fetch and push the branch"
        hint = again if moved else rights
        kind = BranchMovedError if moved else RefusedError
        return kind(Problem("RR449", f"the ledger cannot be pushed to {self.named}: {why}", hint=hint))


def _first_error_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("To ")]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "!"))]
    return (told or lines or ["git gives no reason"])[0]
