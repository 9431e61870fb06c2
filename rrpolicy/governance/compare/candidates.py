"""The candidates: each policy, with each mechanism and each combination of varied values, opened like a policy."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import category_text
from rrpolicy.errors import DataError, PolicyError, Problem, RequirementError
from rrpolicy.frozen import replace
from rrpolicy.governance.diff.diff_inputs import is_release
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.check import check
from rrpolicy.planning.file import read_plan
from rrpolicy.planning.plan import Plan
from rrpolicy.planning.policy_opening import OpenedPolicy, open_policy
from rrpolicy.policy.identity import entry_identities
from rrpolicy.policy.model import Policy
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import choices_text, suggest
from rrpolicy.registry import Registry
from rrpolicy.safe_io.tempdirs import scratch_folder
from rrpolicy.source.memory.input_table import InputTable
from rrpolicy.verification.audit import verify_records

PLAN_SUFFIX = ".json"


class ExistingCandidate(Struct, frozen=True):
    """A plan with the results in its documents.

    Attributes:
        plan: the plan, with the table from the caller, if given.
        assessment: findings and utility, as written.
        table: whether its table is available; that of a release is only if the caller names it.
        release: digest of release.json; "" for a plan.
    """

    plan: Plan
    registry: Registry
    assessment: Assessment
    table: bool
    release: str


def is_plan_or_release(path: Path) -> bool:
    """Return whether a caller names a plan's file, or a release."""
    return path.suffix == PLAN_SUFFIX or is_release(path)


def open_existing(path: Path, handed: InputTable, root: Path | None, trusted: Sequence[str]) -> ExistingCandidate:
    """Read a plan's file, or a release.

    A release cannot load plugins by itself: it may use those of `trusted`.
    """
    if path.suffix == PLAN_SUFFIX and not path.is_dir():
        found = read_plan(path, source=handed.uri, root=root)
        registry = found.opened.registry.opening(handed.engines)
        return ExistingCandidate(
            found.plan, registry, _with_identities(found.assessment, found.plan), table=True, release=""
        )
    if not (path / "audit").is_dir():
        message = f"{path} has no audit/, which states its plan"
        raise PolicyError(Problem("RR260", message, expected="a whole bundle, as `rrpolicy release` writes it"))
    with scratch_folder() as spilled:
        side, audit = verify_records(path, spilled.folder, trusted, handed.engines, uri=handed.uri or "")
    stated, known = _with_identities(audit.stated, audit.plan), handed.uri is not None
    return ExistingCandidate(audit.plan, side.registry, stated, table=known, release=side.manifest.digest)


def _with_identities(assessment: Assessment, plan: Plan) -> Assessment:
    """Return findings with the ids of the policy's entries that require them, which are in no document."""
    names = entry_identities(plan.policy).requirements
    pairs = zip(assessment.findings, names, strict=True)
    return replace(assessment, findings=tuple(replace(finding, identity=name) for finding, name in pairs))


Vary: TypeAlias = Mapping[str, Sequence[object]]
"""Dotted key of the policy's file -> its values, one per candidate."""
MAX_CANDIDATES = 200
"""Maximum number of candidates in one comparison."""


class Candidate(Struct, frozen=True):
    """One policy of a comparison.

    Attributes:
        file: file of the policy that it is made from, as the caller named it.
        changed: options set by the caller: dotted key and value, as text.
        opened: the policy with its plugins; None if it is invalid.
        accepting: opens it with the derived statistics that it accepts; None if the file's acceptance applies to this
            mechanism.
        written: plan or release, which is compared unchanged.
    """

    file: str
    mechanism: str
    changed: tuple[tuple[str, str], ...]
    opened: OpenedPolicy | None
    problems: tuple[Problem, ...] = ()
    accepting: Callable[[Sequence[str]], OpenedPolicy] | None = None
    written: ExistingCandidate | None = None

    @property
    def asking(self) -> tuple[Policy, Registry] | None:
        """Return the policy with its requirements and gates, and its plugins; None if it is invalid."""
        if self.written is not None:
            return self.written.plan.policy, self.written.registry
        return None if self.opened is None else (self.opened.policy, self.opened.registry)

    @property
    def label(self) -> str:
        """Return its label: the file and the changes; for a release its digest as well."""
        if self.written is not None and self.written.release:
            return f"{self.file}, release {self.written.release.removeprefix('sha256:')[:12]}"
        return ", ".join([self.file, *(f"{key} = {value}" for key, value in self.changed)])


def parse_vary(text: str) -> tuple[str, tuple[object, ...]]:
    """Return the key and the values of `KEY=VALUE,VALUE`: TOML, or text for words that are not TOML."""
    key, sign, rest = text.partition("=")
    if not (key.strip() and sign and rest.strip()):
        expected = "KEY=VALUE,VALUE, such as privacy.0.threshold=1/2,1/3"
        raise PolicyError(Problem("RR250", f"--vary '{text}' is not a key with values", expected=expected))
    found = _toml(f"[{rest}]")
    if isinstance(found, list):
        return key.strip(), tuple(found)
    return key.strip(), tuple(_value(word.strip()) for word in rest.split(","))


def _value(word: str) -> object:
    found = _toml(word)
    return word if found is None else found


def _toml(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}", parse_float=Decimal)["value"]
    except ValueError:
        return None


def candidates(  # noqa: PLR0917 each is another thing
    named: Sequence[Path],
    mechanisms: Sequence[str],
    vary: Vary,
    root: Path | None,
    handed: InputTable,
    trusted: Sequence[str] = (),
) -> Iterator[Candidate]:
    """Yield every candidate, each policy's own first; candidates that resolve to the same policy are merged.

    The mechanisms replace each policy's own; all combinations of the varied values are candidates.
    """
    written = [path for path in named if is_plan_or_release(path)]
    policies = [path for path in named if not is_plan_or_release(path)]
    if written and not policies and (mechanisms or vary):
        message = f"{written[0]} is planned already: only policies have other mechanisms and values tried on them"
        raise PolicyError(Problem("RR250", message, expected="a policy file"))
    each = list(product(*([(key, value) for value in values] for key, values in vary.items())))
    if len(policies) * max(1, len(mechanisms)) * len(each) > MAX_CANDIDATES:
        message = f"more than {MAX_CANDIDATES} candidates"
        raise PolicyError(Problem("RR250", message, hint="vary fewer keys, or name fewer values"))
    for path in named:
        if is_plan_or_release(path):
            found = open_existing(path, handed, root, trusted)
            yield Candidate(os.fspath(path), found.plan.policy.mechanism.name, (), None, written=found)
        else:
            yield from _policy_candidates(path, mechanisms, each, root, handed)


def _policy_candidates(
    file: Path,
    mechanisms: Sequence[str],
    each: Sequence[tuple[tuple[str, object], ...]],
    root: Path | None,
    handed: InputTable,
) -> Iterator[Candidate]:
    made = open_policy(file, source=handed.uri, root=root)
    seen = set()
    for given in mechanisms or (made.policy.mechanism.name,):
        name = _canonical_mechanism(given, made.registry)
        for values in each:
            one = _candidate(os.fspath(file), made, name, dict(values), root, handed, named=bool(mechanisms))
            same = one.label if one.opened is None else one.opened.policy.digest()
            if same not in seen:
                seen.add(same)
                yield one


def _canonical_mechanism(name: str, registry: Registry) -> str:
    name = registry.mechanisms.aliases.get(name, name)
    known = sorted(registry.mechanisms)
    if name not in known:
        problem = Problem("RR250", f"there is no mechanism '{name}'", None, choices_text(known), suggest(name, known))
        raise PolicyError(problem)
    return name


def _candidate(  # noqa: PLR0917 each is another thing
    file: str,
    made: OpenedPolicy,
    mechanism: str,
    values: Mapping[str, object],
    root: Path | None,
    handed: InputTable,
    *,
    named: bool,
) -> Candidate:
    """Return one candidate; a policy refused by the language or its baseline is kept with the reasons."""
    swapped = mechanism != made.policy.mechanism.name
    changed = [("mechanism.name", mechanism)] if named else []
    told = (*changed, *((key, _value_text(value)) for key, value in values.items()))

    def accepting(accept: Sequence[str]) -> OpenedPolicy:
        def alter(tree: Node) -> Node:
            for key, value in values.items():
                tree = _tree_with_key(tree, key, value)
            return _tree_with_mechanism(tree, made, mechanism, accept) if swapped else tree

        return open_policy(Path(file), source=handed.uri, root=root, alter=alter).reading(handed)

    try:
        opened = accepting(())
        if swapped:  # statistics that the file accepts for another mechanism need not be derived by this one
            known = {one.id for one in check(opened).derived}
            opened = accepting([item for item in made.policy.release.accept if item in known])
    except (PolicyError, RequirementError, DataError) as error:
        if any(problem.code == "RR250" for problem in error.problems):
            raise
        return Candidate(file, mechanism, told, None, error.problems)
    return Candidate(file, mechanism, told, opened, (), accepting if swapped else None)


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value_text, value))}]"
    return category_text(value) if isinstance(value, (str, int, float, bool)) else str(value)


def _tree_with_key(root: Node, key: str, value: object) -> Node:
    known = {name: node for name, node in root.walk() if not isinstance(node.value, dict)}
    if key not in known:
        ends = [name for name in known if name.endswith(f".{key}")]
        near = f"did you mean {' or '.join(map(repr, ends))}?" if ends else suggest(key, list(known))
        raise PolicyError(
            Problem("RR250", f"--vary: the policy's own file has no key '{key}'", root.place, choices_text(known), near)
        )
    return _replace_node(root, key.split("."), known[key], value)


def _replace_node(node: Node, path: Sequence[str], old: Node, value: object) -> Node:
    if node is old:
        return _value_node(value, old)
    below: dict[str, Node] | list[Node] | object
    if isinstance(node.value, dict):
        below = {key: _replace_node(child, path, old, value) for key, child in node.value.items()}
    elif isinstance(node.value, list):
        below = [_replace_node(child, path, old, value) for child in node.value]
    else:
        below = node.value
    return Node(below, node.place, node.key, node.wrong)


def _value_node(value: object, at: Node) -> Node:
    if isinstance(value, dict):
        return Node({str(key): _value_node(one, at) for key, one in value.items()}, at.place, at.key)
    if isinstance(value, (list, tuple)):
        return Node([_value_node(one, at) for one in value], at.place, at.key)
    if isinstance(value, float):
        return Node(Decimal(repr(value)), at.place, at.key)
    if not isinstance(value, (str, int, Decimal, date, datetime, time)):
        raise PolicyError(Problem("RR250", f"a policy contains no {type(value).__name__}", expected="a value of TOML"))
    return Node(value, at.place, at.key)


def _tree_with_mechanism(root: Node, made: OpenedPolicy, name: str, accept: Sequence[str]) -> Node:
    """Return a tree with another mechanism, the options of the file that it has too, and its accepted statistics."""
    old, release = root.get("mechanism"), root.get("release")
    options = made.registry.catalogue.mechanisms[name].model_fields
    shared = {*(field.alias or key for key, field in options.items()), "plan_on", "plan_on_table"}
    kept = {} if old is None else {key: node for key, node in old.table.items() if key in shared}
    at = root if old is None else old
    mechanism = Node({"name": Node(name, at.place, at.key), **kept}, at.place, at.key)
    above = root if release is None else release
    settings = dict(above.table) if release is not None else {}
    settings["accept"] = _value_node(list(accept), above)
    tables = {**root.table, "mechanism": mechanism, "release": Node(settings, above.place, above.key)}
    return Node(tables, root.place, root.key)
