"""The policies to compare, named by a caller: files, folders, git revisions, or a release."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rrpolicy.bundle.audit import AUDIT_FILE, AuditRecord
from rrpolicy.bundle.audit import POLICY_FILE_NAME as POLICY_FILE
from rrpolicy.canonical_json import file_digest
from rrpolicy.discovery import load_registry
from rrpolicy.errors import Place, PolicyError, Problem, RRPolicyError
from rrpolicy.frozen import replace
from rrpolicy.governance.diff.changes import DiffedPolicy
from rrpolicy.governance.diff.revision import Revision
from rrpolicy.planning.policy_opening import OpenedPolicy, PolicyLike, open_policy, reopen_policy
from rrpolicy.policy.baseline.inheritance import read_merged
from rrpolicy.policy.folder.root import Root
from rrpolicy.policy.model import Policy
from rrpolicy.policy.tree.document import policies_in_folder
from rrpolicy.registry import Registry
from rrpolicy.safe_io.document import UnreadableError, read_document
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.serialization import faults

if TYPE_CHECKING:
    from rrpolicy.policy.tree.document import Node

_REVISION = re.compile(r"(?P<revision>[^:]+):(?P<path>.*)", re.DOTALL)


class DiffInput(Struct, frozen=True):
    """One policy to compare.

    Attributes:
        file: the file as the caller named it.
        tree: the file merged with its baselines; None for a loaded policy.
        extends: the baselines that it extends, relative to its folder, the nearest first.
        moved: the folder that its files were read from, and its name in places.
        release: digest of the release that the policy was read from; None if it was read from a file.
        signers: digest of the file of allowed signers; None if there is none.
    """

    file: str
    opened: OpenedPolicy
    tree: Node | None
    extends: tuple[str, ...]
    moved: tuple[str, str] = ("", "")
    release: str | None = None
    signers: str | None = None

    @property
    def policy(self) -> Policy:
        """Return the policy."""
        return self.opened.policy

    @property
    def registry(self) -> Registry:
        """Return the plugins that it may use."""
        return self.opened.registry

    @property
    def compared(self) -> DiffedPolicy:
        """Return its description in a comparison."""
        policy = self.policy
        return DiffedPolicy(
            self.file, policy.name, policy.version, policy.digest(), policy.governance.digest(), self.release
        )

    def at(self, key: str) -> Place | None:
        """Return the position of a dotted key, or of the nearest key above it."""
        return self.shown(self.policy.place(key))

    def shown(self, place: Place | None) -> Place | None:
        """Return a place in the file as the caller named it."""
        return None if place is None else _relocated_place(place, *self.moved)

    def listed(self, key: str) -> tuple[Any, ...]:
        """Return the list under a dotted key of the file."""
        node = None if self.tree is None else self.tree.get(*key.split("."))
        return () if node is None else tuple(item.plain() for item in node.items)


def is_release(named: PolicyLike) -> bool:
    """Return whether a caller names a release."""
    return not isinstance(named, Policy) and (Path(named) / "public").is_dir()


def open_diff_inputs(named: PolicyLike, root: Path | None = None, trusted: Sequence[str] = ()) -> tuple[DiffInput, ...]:
    """Open the policies that a caller names: one, or every policy of a folder.

    `named` is a policy's file, a folder of policies, `REVISION:PATH`, a release, or a loaded policy. The policy of a
    release may use the plugins of `trusted`: the release cannot load one by itself.
    """
    if isinstance(named, Policy):
        return (_diff_input(named.files[0] if named.files else named.name, reopen_policy(named), None),)
    path = Path(named)
    written = None if path.exists() else _REVISION.fullmatch(os.fspath(named))
    if written is not None:
        return tuple(_revision_inputs(Revision.of(written["revision"]), written["path"]))
    if is_release(named):
        return (_release_input(path, trusted),)
    if not path.is_dir():
        return (_file_input(path, root),)
    found = tuple(_file_input(file, root) for file in policies_in_folder(path))
    if not found:
        message = f"{path} contains no policy and is not a release"
        raise PolicyError(Problem("RR200", message, expected="a policy file, or a folder that contains some"))
    return found


def _file_input(path: Path, root: Path | None) -> DiffInput:
    made = open_policy(path, root=root)
    return _diff_input(str(path), made, _merged_tree(path, root, made))


def _merged_tree(path: Path, root: Path | None, made: OpenedPolicy) -> Node:
    aliases = made.registry.mechanisms.aliases
    return read_merged(path, [], Root.of(path, root), aliases=lambda *_: aliases).root


def _diff_input(file: str, made: OpenedPolicy, tree: Node | None, moved: tuple[str, str] = ("", "")) -> DiffInput:
    folder = made.policy.folder
    extends = tuple(os.path.relpath(baseline, folder) for baseline in made.policy.baselines)
    named = made.policy.release.signers
    signers = None if named is None else Path(folder) / named
    held = None if signers is None or not signers.is_file() else file_digest(signers)
    return DiffInput(file, made, tree, extends, moved, signers=held)


def _revision_inputs(revision: Revision, path: str) -> Iterator[DiffInput]:
    with scratch_folder() as spilled:
        folder = spilled.folder / "revision"
        moved = (str(folder), f"{revision.named}:")
        for name in revision.policies(path):
            file = revision.write(name, folder)
            try:
                made = open_policy(file, root=folder)
                side = _diff_input(f"{revision.named}:{name}", made, _merged_tree(file, folder, made), moved)
            except RRPolicyError as error:
                raise type(error)([_relocated_problem(problem, *moved) for problem in error.problems]) from error
            here = str(revision.repository / Path(name).parent)  # the folder of its table: no revision contains data
            policy = replace(side.policy, folder=here)
            yield replace(side, opened=replace(side.opened, policy=policy))


def _release_input(bundle: Path, trusted: Sequence[str]) -> DiffInput:
    """Return the policy file of a release, from its audit/."""
    try:
        record = read_document(bundle / "audit" / AUDIT_FILE)
        file = bundle / "audit" / POLICY_FILE
        made = open_policy(file, root=file.parent, find=lambda *_: load_registry(trusted))
    except UnreadableError as error:
        raise PolicyError(Problem("RR260", f"{bundle} has no audit/ to read the policy from: {error}")) from error
    if faults(record, AuditRecord) or made.policy.digest() != record["policy_digest"]:
        message = f"the policy in {bundle} is not the one that the release was made under"
        raise PolicyError(Problem("RR260", message, hint=f"`rrpolicy verify {bundle}` shows the changes"))
    return replace(
        _diff_input(str(bundle), made, _merged_tree(file, file.parent, made)), release=record["public"]["digest"]
    )


def _relocated_problem(problem: Problem, folder: str, shown: str) -> Problem:
    """Return a problem of a policy that was read from another folder, with the caller's name of that folder."""
    words = (None if t is None else t.replace(folder + os.sep, shown) for t in (problem.message, problem.hint))
    message, hint = (None if t is None else t.replace(folder, f"'{shown.rstrip(':')}'") for t in words)
    place = None if problem.place is None else _relocated_place(problem.place, folder, shown)
    return replace(problem, message=message or "", hint=hint, place=place)


def _relocated_place(place: Place, folder: str, shown: str) -> Place:
    inside = folder and place.file.startswith(folder + os.sep)
    return replace(place, file=shown + place.file[len(folder) + 1 :]) if inside else place
