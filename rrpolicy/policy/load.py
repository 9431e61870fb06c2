"""Loading a policy: TOML, inheritance, options and meaning; every problem of the file at once."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rrpolicy.declarations import Change, Context, Governance, Waiver
from rrpolicy.errors import Place, PolicyError, Problem, RRPolicyError
from rrpolicy.frozen import replace
from rrpolicy.policy.baseline.inheritance import AliasFinder, TreeTransform, read_merged
from rrpolicy.policy.file import ContextTable, PolicyTable, WaiverEntry
from rrpolicy.policy.folder.root import Root
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.policy.resolve import CatalogueFinder, Resolver, settings_of
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import choices_text, short_toml


def read_governance(root: Node, head: PolicyTable | None, problems: list[Problem]) -> Governance:
    """Read [context], [[waivers]] and [[policy.changes]] of a merged tree.

    `problems` gets statements that a baseline requires and that are missing (RR248), and those that it forbids (RR249).
    """
    table = root.get("context")
    if head is None or (table is not None and table.wrong):
        return Governance()
    stated = ContextTable.model_validate({} if table is None else table.plain())
    told = {**stated.model_dump(exclude={"demands", "allows"}), "owner": head.owner, "purpose": head.purpose}
    problems += _missing_declarations(root, told, stated)
    problems += _disallowed_declarations(root, stated)
    day = None if stated.review_by is None else stated.review_by.isoformat()
    context = settings_of(Context, stated, review_by=day)
    return Governance(context, tuple(_read_waivers(root)), _read_changes(root, head))


def _read_waivers(root: Node) -> Iterator[Waiver]:
    """Yield each waiver once: a policy may restate its baseline's."""
    found: dict[Waiver, Place] = {}
    for node in _valid_entries(root, "waivers"):
        entry = WaiverEntry.model_validate(node.plain())
        waiver = Waiver(entry.finding, entry.reason, entry.approver, entry.until.isoformat())
        found.setdefault(waiver, node.table["finding"].place)
    for waiver, place in found.items():
        yield replace(waiver, place=place)


def _read_changes(root: Node, head: PolicyTable) -> tuple[Change, ...]:
    places = [node.place for node in _valid_entries(root, "policy", "changes")]
    if len(places) != len(head.changes):
        return ()
    return tuple(Change(**entry.model_dump(), place=at) for entry, at in zip(head.changes, places, strict=True))


def _valid_entries(root: Node, *keys: str) -> Iterator[Node]:
    node = root.get(*keys)
    for item in () if node is None or node.wrong else node.items:
        if not (item.wrong or any(value.wrong for value in item.table.values())):
            yield item


def _missing_declarations(root: Node, told: Mapping[str, Any], stated: ContextTable) -> Iterator[Problem]:
    node = root.get("context", "demands")
    items = {item.value: item.place for item in ([] if node is None else node.items)}
    for name in dict.fromkeys(stated.demands):
        if told[name] in (None, "", []):
            section = "policy" if name in {"owner", "purpose"} else "context"
            own = (root.get(section), root.get("policy"), root)  # a section may be the baseline's alone
            at = next(node for node in own if node is not None and node.place.file == root.place.file)
            by = items[name]
            message = f"`{name}` is not stated under [{section}], and {by} demands it"
            example = "a day such as 2027-06-30" if name == "review_by" else "a reason for auditors"
            yield Problem("RR248", message, at.place, example, f"state `{name}`; it changes no number and no plan")


def _disallowed_declarations(root: Node, stated: ContextTable) -> Iterator[Problem]:
    for name, allowed in stated.allows.model_dump(exclude_none=True).items():
        node, by = root.get("context", name), root.get("context", "allows", name)
        if node is None or by is None:
            continue
        for item in node.items if isinstance(node.value, list) else [node]:
            if item.value not in allowed:
                message = f"{short_toml(item.value)} is not allowed as `{name}`"
                yield Problem("RR249", message, item.place, choices_text(allowed), f"{by.place} lists what is allowed")


PLACEHOLDER_MARK = "fill in:"
PLACEHOLDER_CODE = "RR281"


def placeholder_problems(root: Node) -> Iterator[Problem]:
    """Yield a problem for every text of a policy with the mark, in any capitalisation."""
    for key, node in root.walk():
        if isinstance(node.value, str) and PLACEHOLDER_MARK in node.value.lower():
            start = node.value.lower().index(PLACEHOLDER_MARK) + len(PLACEHOLDER_MARK)
            name = key.rpartition(".")[2]
            message = f"'{name}' is still to be filled in"
            expected = node.value[start:].strip() or "what only you can decide"
            yield Problem(PLACEHOLDER_CODE, message, node.place, expected, "write it in place of the whole text")


def load_policy(
    path: Path,
    catalogue: CatalogueFinder,
    *,
    source: str | None = None,
    root: Path | None = None,
    alter: TreeTransform | None = None,
) -> Policy:
    """Load a policy file.

    `catalogue` is called once with the listed distributions and a function index -> place. `source` replaces the
    policy's uri. The `places` of the result have every key and value by dotted key, items of arrays by their
    index: `attributes.age.bins.0`, `privacy.1.k`. Raises PolicyError with every problem of the file and its baselines,
    in the order of their places.
    """
    problems: list[Problem] = []
    files = Root.of(Path(path), root)
    merged = read_merged(Path(path), problems, files, alter, _mechanism_aliases(catalogue))
    problems += placeholder_problems(merged.root)
    resolver = Resolver(merged.root, problems, files, complete=merged.complete)
    head = resolver.head()
    settings = resolver.source(source)
    attributes = resolver.attributes()
    release = resolver.release()
    reference = resolver.reference()
    resolver.formula_names(release, attributes)
    declared = read_governance(merged.root, head, problems)
    known = resolver.catalogue(catalogue)
    if known is None:
        raise _policy_error(problems)
    resolver.known_format(known)
    requirements = resolver.requirements(attributes, known)
    resolver.units(settings, attributes)
    resolver.selection(settings, attributes)
    mechanism = resolver.mechanism(known)
    gates = resolver.gates(known)
    ledger = resolver.ledger(attributes, known, requirements)
    if problems or head is None or settings is None or release is None or mechanism is None:
        raise _policy_error(problems)
    return Policy(
        name=head.name or "",
        version=head.version or "",
        owner=head.owner or "",
        purpose=head.purpose or "",
        plugins=resolver.plugins()[0],
        source=settings,
        attributes={name: a for name, a in attributes.items() if a is not None},
        requirements=_with_record_bound(requirements, settings.max_records),
        mechanism=mechanism,
        gates=tuple(gates),
        release=release,
        governance=declared,
        ledger=None
        if ledger is None
        else replace(ledger, budget=_with_record_bound(ledger.budget, settings.max_records)),
        reference=reference,
        folder=os.path.dirname(path) or ".",  # noqa: PTH120
        places={key: node.place for key, node in merged.root.walk()},
        files=_policy_files(merged.root),
        baselines=merged.baselines,
    )


def _mechanism_aliases(catalogue: CatalogueFinder) -> AliasFinder:
    """Return a finder of the other names of mechanisms; plugins that cannot be loaded have none here."""

    def known(*trees: Node) -> Mapping[str, str]:
        listed = [i.value for t in trees if (node := t.get("policy", "plugins")) is not None for i in node.items]
        names = tuple(dict.fromkeys(name for name in listed if isinstance(name, str) and name.strip()))
        try:
            return catalogue(names, lambda _: None).aliases
        except RRPolicyError:
            return {}

    return known


def _with_record_bound(requirements: Iterable[Requirement], max_records: int) -> tuple[Requirement, ...]:
    return tuple(replace(requirement, max_records=max_records) for requirement in requirements)


def _policy_files(root: Node) -> tuple[str, ...]:
    """Return the files from which a policy was read: itself, its baselines and hierarchies."""
    files = dict.fromkeys(node.place.file for _, node in root.walk())
    attributes = root.get("attributes")
    for attribute in attributes.table.values() if attributes else ():
        hierarchy = attribute.get("hierarchy")
        if hierarchy is not None and isinstance(hierarchy.value, str):
            files[os.path.join(os.path.dirname(hierarchy.place.file), hierarchy.value)] = None  # noqa: PTH118, PTH120
    return tuple(files)


def _policy_error(problems: list[Problem]) -> PolicyError:
    """Return every problem once, in the order of files and lines; a placeholder has no other problem."""
    open_places = {p.place for p in problems if p.code == PLACEHOLDER_CODE}
    unique = dict.fromkeys(p for p in problems if p.code == PLACEHOLDER_CODE or p.place not in open_places)
    files = {p.place.file: i for i, p in reversed(list(enumerate(unique))) if p.place is not None}
    return PolicyError(
        sorted(unique, key=lambda p: (files[p.place.file], p.place.line, p.place.column) if p.place else (-1, 0, 0))
    )
