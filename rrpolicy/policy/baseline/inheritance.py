"""Inheritance: a policy that extends a baseline adds to it and may not weaken it."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from pydantic import ValidationError

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.policy.baseline.floor import URI_SCHEME, floor_violations, remove_restated
from rrpolicy.policy.file import POLICY_SCHEMA_VERSION, PolicyFile
from rrpolicy.policy.folder.root import OutsideError, Root
from rrpolicy.policy.tree.document import MAX_DEPTH, Node, read_document
from rrpolicy.policy.tree.problems import mark_nodes, short_toml, validation_problems

TreeTransform: TypeAlias = Callable[[Node], Node]
"""A function that changes a file's own tree before its baselines are compared with it."""
AliasFinder: TypeAlias = Callable[[Node, Node], Mapping[str, str]]
"""The other names of mechanisms -> their names, by the plugins that a baseline and a policy list."""


class MergedPolicy(Struct, frozen=True):
    """A policy file with its baselines folded in.

    Attributes:
        root: the merged tree; each node keeps the place in the file that it came from.
        relaxable: keys that a policy that extends this one may relax; None if it extends none and states none.
        complete: every baseline could be read, so that a missing value is really missing.
        baselines: the files that it extends, the nearest first.
    """

    root: Node
    relaxable: frozenset[str]
    complete: bool = True
    baselines: tuple[str, ...] = ()


def read_merged(
    path: Path,
    problems: list[Problem],
    root: Root,
    alter: TreeTransform | None = None,
    aliases: AliasFinder = lambda *_: {},
) -> MergedPolicy:
    """Read a policy file and its baselines.

    `problems` gets the faults of every file and of their inheritance. `alter` changes the file's own tree. `aliases` is
    called where a policy and its baseline name the mechanism in two ways. Raises PolicyError only if the file itself is
    not TOML.
    """
    return _read_and_merge(path, str(path), problems, (), root, aliases, alter)


def _read_and_merge(  # noqa: PLR0917 each is another thing
    path: Path,
    shown: str,
    problems: list[Problem],
    below: tuple[str, ...],
    reach: Root,
    aliases: AliasFinder,
    alter: TreeTransform | None = None,
) -> MergedPolicy:
    root = read_document(path, shown, reach if below else None)
    if alter is not None:
        root = alter(root)
    problems += _shape_problems(root)
    extends = root.get("policy", "extends")
    listed = root.get("policy", "may_relax")
    own = frozenset(i.value for i in (listed.items if listed is not None else ()) if isinstance(i.value, str))
    if extends is None or extends.wrong:
        return MergedPolicy(root, own, extends is None)
    base = _read_baseline(extends, shown, problems, (*below, os.path.realpath(path)), reach, aliases)
    if base is None:
        return MergedPolicy(root, own, complete=False)
    root = _canonical_mechanism(base.root, root, aliases)
    problems += floor_violations(base.root, base.relaxable, root)
    relaxable = base.relaxable if listed is None else base.relaxable & own
    floor = remove_restated(base.root, base.relaxable, root)
    return MergedPolicy(_fold_child(floor, root), relaxable, base.complete, (base.root.place.file, *base.baselines))


def _shape_problems(root: Node) -> Iterator[Problem]:
    schema = root.get("schema")
    if schema is not None and (type(schema.value) is not int or schema.value != POLICY_SCHEMA_VERSION):
        mark_nodes(root, ("schema",))
        message = f"the policy language {short_toml(schema.value)} is unknown"
        quoted = isinstance(schema.value, str) and schema.value.strip() == str(POLICY_SCHEMA_VERSION)
        hint = "write the number without quotes" if quoted else "upgrade rrpolicy if the policy is newer"
        yield Problem("RR204", message, schema.place, f"schema = {POLICY_SCHEMA_VERSION}", hint)
    try:
        PolicyFile.model_validate(root.plain())
    except ValidationError as error:
        for problem in validation_problems(error, root, PolicyFile):
            if problem.code == "RR206" and problem.message.startswith("the key 'schema'"):
                hint = f"begin the file with `schema = {POLICY_SCHEMA_VERSION}`"
                expected = f"schema = {POLICY_SCHEMA_VERSION}"
                yield Problem("RR204", "the policy has no `schema` line", problem.place, expected, hint)
            elif problem.place is None or problem.place.key != "schema":
                yield problem


def _read_baseline(  # noqa: PLR0917 each is another thing
    extends: Node, shown: str, problems: list[Problem], below: tuple[str, ...], root: Root, aliases: AliasFinder
) -> MergedPolicy | None:
    written = str(extends.value)
    if URI_SCHEME.match(written):
        message = f"'{written}' is not a file"
        hint = "keep the baseline in the repository: a release must not depend on a server"
        problems.append(Problem("RR240", message, extends.place, "a path relative to this file", hint))
        return None
    beside = os.path.normpath(os.path.join(os.path.dirname(shown), written))  # noqa: PTH118, PTH120
    if os.path.realpath(beside) in below:
        message = f"'{written}' extends this policy in turn" if len(below) > 1 else "the policy extends itself"
        problems.append(Problem("RR241", message, extends.place, "a baseline that does not come back here"))
        return None
    if len(below) > MAX_DEPTH:
        message = f"more than {MAX_DEPTH} policies extend one another"
        problems.append(Problem("RR287", message, extends.place, "a baseline that people can follow"))
        return None
    try:
        return _read_and_merge(Path(beside), beside, problems, below, root, aliases)
    except OutsideError:
        message, expected, hint = root.outside(written)
        problems.append(Problem("RR289", message, extends.place, expected, hint))
        return None
    except PolicyError as error:
        for problem in error.problems:
            missing = problem.code == "RR200"
            place = extends.place if missing else problem.place
            problems.append(
                Problem("RR240" if missing else problem.code, problem.message, place, problem.expected, problem.hint)
            )
        return None


_OF_ONE = (("policy", "changes"), ("context", "approved_by"))
"""Statements about one policy only, which are not inherited."""
_ADDED = (
    *(("privacy",), ("utility",), ("waivers",), ("policy", "plugins")),
    *(("context", "auxiliary_data"), ("context", "notices"), ("context", "signatories"), ("context", "demands")),
    *(("ledger", "budget"), ("release", "require_roles"), ("release", "require_approval")),
)
"""Lists that a policy adds to."""
_RELATIVE = (
    ("source", "uri"),
    ("mechanism", "plan_on"),
    ("reference", "uri"),
    ("ledger", "file"),
    ("release", "signers"),
)
"""Keys whose relative paths start at the file that states them."""


def _canonical_mechanism(base: Node, child: Node, aliases: AliasFinder) -> Node:
    """Return a policy with the baseline's name of the mechanism, if both name one mechanism in two ways."""
    old, new = base.get("mechanism", "name"), child.get("mechanism", "name")
    if old is None or new is None or old.value == new.value or old.wrong or new.wrong:
        return child
    known = aliases(base, child)
    if known.get(str(old.value), old.value) != known.get(str(new.value), new.value):
        return child
    table = child.table["mechanism"]
    named = Node({**table.table, "name": Node(old.value, new.place, new.key)}, table.place, table.key, table.wrong)
    return Node({**child.table, "mechanism": named}, child.place, child.key, child.wrong)


def _fold_child(base: Node, child: Node) -> Node:
    for section, key in _OF_ONE:
        base = _without_key(base, section, key)
    folded = _override_node(base, child)
    for *above, key in _ADDED:
        into, old, new = folded.get(*above), base.get(*above), child.get(*above)
        if into is not None and old is not None and new is not None:
            _append_entries(into, old, new, key)
    attributes, new = base.get("attributes"), child.get("attributes")
    if attributes is not None and new is not None:
        folded.table["attributes"] = Node({**attributes.table, **new.table}, new.place, new.key, new.wrong)
    name, old = child.get("mechanism", "name"), base.get("mechanism", "name")
    if name is not None and old is not None and name.value != old.value:
        folded.table["mechanism"] = child.table["mechanism"]
    for place in _RELATIVE:
        _rebase_uri(folded, base, child, *place)
    return folded


def _without_key(node: Node, section: str, key: str) -> Node:
    table = node.get(section)
    if table is None or key not in table.table:
        return node
    kept = {name: one for name, one in table.table.items() if name != key}
    return Node({**node.table, section: Node(kept, table.place, table.key, table.wrong)}, node.place, node.key)


def _override_node(base: Node, child: Node) -> Node:
    if not (isinstance(base.value, dict) and isinstance(child.value, dict)):
        return child
    merged = dict(base.value)
    for key, node in child.value.items():
        merged[key] = _override_node(merged[key], node) if key in merged else node
    return Node(merged, child.place, child.key, base.wrong or child.wrong)


def _append_entries(into: Node, base: Node, child: Node, key: str) -> None:
    old, new = base.get(key), child.get(key)
    if old is not None and new is not None:
        into.table[key] = Node([*old.items, *new.items], new.place, new.key, old.wrong or new.wrong)


def _rebase_uri(folded: Node, base: Node, child: Node, section: str, key: str) -> None:
    """Make a uri from the baseline relative to the policy's own folder."""
    uri, table = base.get(section, key), folded.get(section)
    if uri is None or table is None or folded.get(section, key) is not uri or not isinstance(uri.value, str):
        return
    if not URI_SCHEME.match(uri.value) and not os.path.isabs(uri.value):  # noqa: PTH117
        there, here = (os.path.dirname(n.place.file) or "." for n in (base, child))  # noqa: PTH120
        moved = os.path.normpath(os.path.join(os.path.relpath(there, here), uri.value))  # noqa: PTH118
        uri = Node(moved, uri.place, uri.key, uri.wrong)
        folded.table[section] = Node({**table.table, key: uri}, table.place, table.key, table.wrong)
