"""A baseline is a floor: the keys in which a policy is weaker than the baseline that it extends, by their direction."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from msgspec import Struct

from rrpolicy.declarations import REVIEW_KEY
from rrpolicy.errors import Problem
from rrpolicy.policy.baseline.category_contents import category_name_node, contents_text, table_category_contents
from rrpolicy.policy.directions import DIRECTION_RULES, NAME_KEY, Direction, DirectionRule
from rrpolicy.policy.folder.root import split_counts_uri
from rrpolicy.policy.tree.document import Node
from rrpolicy.policy.tree.problems import short_toml

DROPPED_ROLES = ("identifier", "excluded")
URI_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The beginning of a uri that is not a path."""


class _ComparedKey(Struct, frozen=True):
    """A key of a policy with the baseline's.

    Attributes:
        key: dotted, such as `attributes.age.bins`.
        column: the column that has the key; None for keys outside of columns.
        old: the baseline's value, if it states one.
        new: the policy's, if it states one.
        above: the policy's table of the key, even if the key is missing there.
        named: the baseline has the column, too; outside of columns, the baseline locates its data.
    """

    key: str
    column: str | None
    old: Node | None
    new: Node | None
    above: Node
    named: bool

    @property
    def told(self) -> str:
        last = f"`{self.key.rpartition('.')[2]}`"
        return last if self.column is None else f"{last} of '{self.column}'"

    @property
    def dropped(self) -> bool:
        role = self.above.get("role")
        return self.column is not None and role is not None and role.value in DROPPED_ROLES


def floor_violations(base: Node, relaxable: frozenset[str], child: Node) -> Iterator[Problem]:
    """Yield a problem for everything in which a policy is weaker than its baseline and may not be.

    `base` has its own baselines folded in, `child` has not. `relaxable` are dotted keys, or their last parts, in which
    a policy may be weaker.
    """
    for key, rule in DIRECTION_RULES.items():
        if rule.direction in _OF_LEDGER and base.get("ledger") is None:
            continue
        if rule.direction is Direction.UNIT and not is_relaxable(key, relaxable):
            yield from _unit_problems(key, base, child)
        for compared in _comparable_keys(key, base, child):
            if rule.direction is Direction.PASSED_ON:
                yield from _relaxable_problems(compared, relaxable)
            elif rule.direction is Direction.ROLE:
                yield from _role_problems(compared)
            elif rule.direction is Direction.HELD and not is_relaxable(compared.key, relaxable):
                yield from _renamed_categories(compared, base)
            else:
                weaker = _OF_LEDGER.get(rule.direction, _weakenings)
                for at, what in weaker(compared, rule):
                    if not is_relaxable(compared.key, relaxable):
                        yield _weakening_problem(compared.key, at, what)


def is_relaxable(key: str, relaxable: frozenset[str]) -> bool:
    """Return whether a dotted key may be relaxed."""
    return key in relaxable or key.rpartition(".")[2] in relaxable


def _comparable_keys(key: str, base: Node, child: Node) -> Iterator[_ComparedKey]:
    """Yield a key of a policy with its baseline's; a column's once for every column that the policy names."""
    section, _, last = key.rpartition(".")
    if section == "attributes.*":
        attributes = child.get("attributes")
        for name, table in attributes.table.items() if attributes is not None else ():
            before = base.get("attributes", name)
            old = None if before is None else before.get(last)
            if old is None and table.get(last) is not None:
                old = base.get("source", last)  # the value for columns without one
            yield _ComparedKey(f"attributes.{name}.{last}", name, old, table.get(last), table, before is not None)
    elif section == "privacy":
        yield from _compared_entry_options(last, base, child)
    elif key == "waivers":
        of_baseline = _baseline_waivers(base, child.get(key))
        if of_baseline is not None:
            yield _ComparedKey(key, None, base.get(key), of_baseline, child, named=True)
    elif section and last != "*":
        above, before = (root.get(*section.split(".")) for root in (child, base))
        if above is None:
            return
        named = base.get("source", "uri") is not None
        old, new = _table_key(before, last), _table_key(above, last)
        if new is not None or _replaces_mechanism(section, base, child) or _changes_count_column(key, above, before):
            yield _ComparedKey(key, None, old, new, above, named)


def _table_key(table: Node | None, last: str) -> Node | None:
    """Return the value of a key of a table; the uri, too, may name the column of counts."""
    stated = None if table is None else table.get(last)
    uri = None if table is None or last != "multiplicity" else table.get("uri")
    if stated is not None or uri is None:
        return stated
    counts = split_counts_uri(str(uri.value))[0]
    return None if counts is None else Node(counts, uri.place, uri.key)


def _changes_count_column(key: str, above: Node, before: Node | None) -> bool:
    inherited = before is None or before.get("multiplicity") is not None
    return key == "source.multiplicity" and not inherited and above.get("uri") is not None


def _baseline_waivers(base: Node, waivers: Node | None) -> Node | None:
    """Return waivers of the baseline's requirements: a policy may waive only its own."""
    if waivers is None:
        return None
    utility, review = base.get("utility"), base.get("context", "review_by")
    metrics = {m.value for entry in (utility.items if utility is not None else ()) if (m := entry.get("metric"))}
    demands = base.get("context", "demands")
    asked = review is not None or REVIEW_KEY in (demands.plain() if demands is not None else ())
    kept = []
    for item in waivers.items:
        finding = item.get("finding")
        name = str(finding.value) if finding is not None else ""
        metric = name.removeprefix("utility/").partition("?")[0].partition("#")[0]
        own = (name.startswith("utility/") and metric not in metrics) or (name == REVIEW_KEY and not asked)
        kept += [] if own else [item]
    return Node(kept, waivers.place, waivers.key, waivers.wrong)


def _compared_entry_options(option: str, base: Node, child: Node) -> Iterator[_ComparedKey]:
    """Yield an option of each [[privacy]] entry of a model that the baseline requires, with the baseline's."""
    for entry in _privacy_entries(child):
        model = entry.get("model")
        before = [
            e for e in _privacy_entries(base) if model is not None and (m := e.get("model")) and m.value == model.value
        ]
        if before and entry.get(option) is not None:
            old = next((e.get(option) for e in before if _equal_except(e, entry, option)), None)
            yield _ComparedKey(f"privacy.{option}", None, old, entry.get(option), entry, named=True)


def _privacy_entries(root: Node) -> list[Node]:
    privacy = root.get("privacy")
    return [] if privacy is None else [entry for entry in privacy.items if isinstance(entry.value, dict)]


def remove_restated(base: Node, relaxable: frozenset[str], child: Node) -> Node:
    """Return a baseline without the [[privacy]] entries that a policy restates, but for an option that it may relax."""
    options = [key for key in DIRECTION_RULES if key.startswith("privacy.") and is_relaxable(key, relaxable)]
    names = [key.rpartition(".")[2] for key in options]
    restated = [
        e
        for e in _privacy_entries(base)
        if any(_equal_except(e, new, n) for new in _privacy_entries(child) for n in names)
    ]
    privacy = base.get("privacy")
    if privacy is None or not restated:
        return base
    kept = [entry for entry in privacy.items if not any(entry is gone for gone in restated)]
    return Node({**base.table, "privacy": Node(kept, privacy.place, privacy.key, privacy.wrong)}, base.place, base.key)


def _equal_except(one: Node, other: Node, option: str) -> bool:
    said = [{k: v for k, v in entry.plain().items() if k != option} for entry in (one, other)]
    return bool(said[0] == said[1])


def _replaces_mechanism(section: str, base: Node, child: Node) -> bool:
    """Return whether a policy replaces the whole [mechanism], including keys that it does not state."""
    old, new = base.get("mechanism", "name"), child.get("mechanism", "name")
    return section == "mechanism" and old is not None and new is not None and old.value != new.value


def _weakenings(one: _ComparedKey, rule: DirectionRule) -> Iterator[tuple[Node, str]]:
    """Yield each weakening of a key: the node, and the policy's change."""
    old, new = one.old, one.new
    match rule.direction:
        case Direction.STATED | Direction.ASSUMED if new is not None:
            yield from _added_statements(one, new, rule)
        case Direction.ADMITTED if new is not None and one.named and new.value != rule.value:
            if old is None or old.value == rule.value:
                yield new, f"states {one.told}, which the baseline does not"
        case Direction.SET if new is not None and new.value == rule.value:
            if old is None or old.value != rule.value:
                yield new, f"sets {one.told} to {short_toml(new.value)}, which the baseline does not"
        case Direction.LOWERED | Direction.RAISED | Direction.LATER | Direction.WIDER if new is not None:
            yield from _limit_excesses(one, new, rule)
        case Direction.WIDENED if new is not None and old is not None:
            yield from _added_statements(one, new, rule)
        case Direction.FINER if old is not None and not one.dropped:
            yield from _category_differences(one, old)
        case Direction.CHANGED | Direction.TABLE if not one.dropped:
            yield from _value_changes(one, rule)


def _value_changes(one: _ComparedKey, rule: DirectionRule) -> Iterator[tuple[Node, str]]:
    """Yield a problem if a value is not the baseline's, or is missing in a table that the baseline reads."""
    old, new = one.old, one.new
    if old is not None and (new is None or not _same_value(old, new, rule)):
        yield new or one.above, f"has another {one.told} than the baseline"
    elif old is None and new is not None and rule.direction is Direction.TABLE and one.named:
        yield new, f"states {one.told}, which the baseline does not of its table"


def _lower_claims(one: _ComparedKey, _: DirectionRule) -> Iterator[tuple[Node, str]]:
    """Yield a problem if a number is below the baseline's, or stated where the baseline states none."""
    new = one.new
    if new is None:
        return
    number, bound = new.value, None if one.old is None else one.old.value
    if bound is None or (isinstance(number, int) and isinstance(bound, int) and number < bound):
        yield new, f"claims {number} as {one.told}, and the baseline {'none' if bound is None else bound}"


def _weaker_choices(one: _ComparedKey, rule: DirectionRule) -> Iterator[tuple[Node, str]]:
    """Yield a problem if a value is not the baseline's or the strictest; for a list, if the baseline states none."""
    new = one.new
    several = new is not None and isinstance(new.value, list)
    if new is None or (new.value == rule.value and not several) or (several and not new.items):
        return
    if one.old is None or (one.old.value != new.value and not several):
        yield new, f"has another {one.told} than the baseline"


_OF_LEDGER = {Direction.LEDGER: _weaker_choices, Direction.CLAIMED: _lower_claims}
"""Directions that count only where the baseline keeps a ledger."""
_VERBS = {
    Direction.LOWERED: "lowers",
    Direction.RAISED: "raises",
    Direction.LATER: "puts off",
    Direction.WIDER: "widens",
}


def _limit_excesses(one: _ComparedKey, new: Node, rule: DirectionRule) -> Iterator[tuple[Node, str]]:
    """Yield a problem if a value lies beyond the baseline's, or beyond the default if that states none."""
    order = rule.value if isinstance(rule.value, tuple) else ()
    unstated = None if order else rule.value
    limit = unstated if one.old is None else one.old.value
    number: Any
    bound: Any
    number, bound = (order.index(v) if v in order else None if order else v for v in (new.value, limit))
    comparable = type(number) is type(bound) and isinstance(number, (int, date))
    if comparable and (number < bound if rule.direction is Direction.LOWERED else number > bound):
        yield new, f"{_VERBS[rule.direction]} {one.told} from {limit} to {new.value}"


def _added_statements(one: _ComparedKey, new: Node, rule: DirectionRule) -> Iterator[tuple[Node, str]]:
    """Yield statements that the baseline does not contain; of a list, each item."""
    if not isinstance(new.value, list):
        if one.old is None:
            yield new, f"states {one.told}, which the baseline does not"
        elif one.old.value != new.value and rule.direction is Direction.ASSUMED:
            yield new, f"gives another reason under {one.told} than the baseline"
        return
    known = [item.plain() for item in one.old.items] if one.old is not None else []
    for item in new.items:
        if item.plain() not in known:
            waived = item.get("finding")
            does = f"lists {short_toml(item.value)} under {one.told}" if waived is None else f"waives {waived.value}"
            yield waived or item, f"{does}, which the baseline does not"


def _category_differences(one: _ComparedKey, old: Node) -> Iterator[tuple[Node, str]]:
    """Yield each reason why categories are not the baseline's in its order, or some of them."""
    if not isinstance(old.value, list):
        return
    if one.new is None or not isinstance(one.new.value, list):
        instead = one.above.get("domain") or one.above.get("bins")
        observed = instead is not None and instead.value == "observed"
        what = f"takes the categories of '{one.column}' from the data" if observed else f"declares no {one.told}"
        yield instead or one.above, f"{what}, where the baseline declares them"
        return
    rest = iter(old.plain())
    for item in one.new.items:
        if item.plain() not in rest:
            what = f"lists {short_toml(item.value)} under {one.told}"
            yield item, f"{what}, which the baseline does not, or in another place"
            return


def _renamed_categories(one: _ComparedKey, base: Node) -> Iterator[Problem]:
    """Yield a problem if a category of the baseline has other contents under the same name."""
    before = base.get("attributes", str(one.column))
    if before is None or one.dropped:
        return
    limited = {
        name for entry in _privacy_entries(base) if (at := entry.get("thresholds")) is not None for name in at.table
    }
    old, new = table_category_contents(before, limited), table_category_contents(one.above, limited)
    for name, content in new.items():
        if old.get(name, content) != content:
            there = contents_text(old[name])
            what = f"uses the name {short_toml(name[1])} of '{one.column}' for other values than the baseline ({there})"
            yield _weakening_problem(one.key, category_name_node(one.above, name), what)
            return


def _same_value(old: Node, new: Node, rule: DirectionRule) -> bool:
    named = rule.value == NAME_KEY or any(URI_SCHEME.match(str(n.value)) for n in (old, new))
    if isinstance(old.value, str) and isinstance(new.value, str) and not named:
        files = [os.path.join(os.path.dirname(n.place.file), str(n.value)) for n in (old, new)]  # noqa: PTH118, PTH120
        return os.path.realpath(files[0]) == os.path.realpath(files[1])
    return bool(old.plain() == new.plain())


def _unit_problems(key: str, base: Node, child: Node) -> Iterator[Problem]:
    """Yield a problem if a policy has other units of protection: another name for them, or other identifiers."""
    old = _effective_unit(base)
    new = _effective_unit(base, child)
    if old is None or new == old:
        return
    attributes = child.get("attributes")
    roles = [table.get("role") for table in attributes.table.values()] if attributes is not None else []
    at = child.get(*key.split(".")) or next((role for role in roles if role is not None), child)
    yield _weakening_problem(key, at, f"distinguishes units of protection otherwise than by '{old}'")


def _effective_unit(*files: Node) -> object:
    """Return the column that identifies units, later files over earlier ones: as `Policy.unit`."""
    named, roles = None, {}
    for file in files:
        named = file.get("source", "unit") or named
        attributes = file.get("attributes")
        for name, table in attributes.table.items() if attributes is not None else ():
            role = table.get("role")
            roles[name] = None if role is None else role.value
    identifiers = [name for name, role in roles.items() if role == "identifier"]
    return named.value if named is not None else identifiers[0] if len(identifiers) == 1 else None


def _role_problems(one: _ComparedKey) -> Iterator[Problem]:
    was, role = one.old, one.new
    if was is None or role is None or not isinstance(was.value, str) or not isinstance(role.value, str):
        return
    if was.value not in {"insensitive", role.value} and role.value not in DROPPED_ROLES:
        message = f"'{one.column}' is {was.value} in the baseline and cannot become {role.value}"
        expected = f"{was.value}, or a dropped role (identifier, excluded)"
        yield Problem("RR242", message, role.place, expected, f"the baseline requires it at {was.place}")


def _relaxable_problems(one: _ComparedKey, relaxable: frozenset[str]) -> Iterator[Problem]:
    for item in one.new.items if one.new is not None else ():
        if isinstance(item.value, str) and not is_relaxable(item.value, relaxable):
            message = f"the baseline does not let '{item.value}' be relaxed, so this policy cannot pass that on"
            yield Problem("RR244", message, item.place, "a part of the baseline's `may_relax`")


def _weakening_problem(key: str, at: Node, what: str) -> Problem:
    last = key.rpartition(".")[2]
    message = f"the policy {what}; a baseline is a floor"
    hint = f'take it out, or let the baseline\'s owner add `may_relax = ["{last}"]` under its [policy]'
    return Problem("RR243", message, at.place, "at least the baseline's requirement", hint)
