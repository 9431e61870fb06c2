"""What a policy file declares of its context, what is waived, and why it was made weaker; held to what is demanded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from rrpolicy.errors import Place, Problem
from rrpolicy.policy.file import ContextTable, PolicyTable, WaiverEntry
from rrpolicy.policy.governance import Change, Context, Governance, Waiver
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import choices_text, short_toml


def read_governance(root: Node, head: PolicyTable | None, problems: list[Problem]) -> Governance:
    """Read [context], [[waivers]] and [[policy.changes]] of a merged tree.

    Args:
        root: the tree.
        head: [policy]; None if it has a problem.
        problems: gets what a baseline demands and is not stated (RR248), and what it does not allow (RR249).
    """
    table = root.get("context")
    if head is None or (table is not None and table.wrong):
        return Governance()
    stated = ContextTable.model_validate({} if table is None else table.plain())
    told = {**stated.model_dump(exclude={"demands", "allows"}), "owner": head.owner, "purpose": head.purpose}
    problems += _missing_declarations(root, told, stated)
    problems += _disallowed_declarations(root, stated)
    return Governance(_read_context(stated), tuple(_read_waivers(root)), _read_changes(root, head))


def _read_context(stated: ContextTable) -> Context:
    known = {field.name: getattr(stated, field.name) for field in fields(Context)}
    lists = {name: tuple(dict.fromkeys(value)) for name, value in known.items() if isinstance(value, list)}
    day = None if stated.review_by is None else stated.review_by.isoformat()
    return Context(**{**known, **lists, "review_by": day})


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
    """Yield the tables of an array of tables that have no problem."""
    node = root.get(*keys)
    for item in () if node is None or node.wrong else node.items:
        if not (item.wrong or any(value.wrong for value in item.table.values())):
            yield item


def _missing_declarations(root: Node, told: Mapping[str, Any], stated: ContextTable) -> Iterator[Problem]:
    items = {item.value: item.place for item in _array_items(root, "context", "demands")}
    for name in dict.fromkeys(stated.demands):
        if told[name] in (None, "", []):
            section = "policy" if name in {"owner", "purpose"} else "context"
            own = (root.get(section), root.get("policy"), root)  # a section may be the baseline's alone
            at = next(node for node in own if node is not None and node.place.file == root.place.file)
            by = items[name]
            message = f"`{name}` is not stated under [{section}], and {by} demands it"
            example = "a day such as 2027-06-30" if name == "review_by" else "what auditors are to be told"
            yield Problem("RR248", message, at.place, example, f"state `{name}`; it changes no number and no plan")


def _disallowed_declarations(root: Node, stated: ContextTable) -> Iterator[Problem]:
    for name, allowed in stated.allows.model_dump(exclude_none=True).items():
        node, by = root.get("context", name), root.get("context", "allows", name)
        if node is None or by is None:
            continue
        for item in node.items if isinstance(node.value, list) else [node]:
            if item.value not in allowed:
                message = f"{short_toml(item.value)} is not allowed as `{name}`"
                yield Problem("RR249", message, item.place, choices_text(allowed), f"{by.place} says what is allowed")


def _array_items(root: Node, *keys: str) -> list[Node]:
    node = root.get(*keys)
    return [] if node is None else node.items
