"""Comparison of two files, folders, revisions or releases, policy by policy."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.frozen import replace
from rrpolicy.governance.diff.changes import (
    ChangeSubject,
    Difference,
    Effect,
    ImpactBasis,
    ImpactKind,
    PlacePair,
    PolicyChange,
    PolicyDiff,
    PolicyImpact,
)
from rrpolicy.governance.diff.diff_inputs import DiffInput, is_release, open_diff_inputs
from rrpolicy.governance.diff.entries import gate_changes, plain_options, requirement_changes
from rrpolicy.governance.diff.impact import Progress, policy_impact
from rrpolicy.governance.diff.keys import column_changes, setting_changes, waiver_changes
from rrpolicy.governance.diff.revision import Revision
from rrpolicy.governance.ledger.file_account import ledger_path
from rrpolicy.governance.ledger.ledger_file import read_ledger
from rrpolicy.planning.policy_opening import PolicyLike
from rrpolicy.planning.waivers import Terms
from rrpolicy.policy.file import precedence
from rrpolicy.policy.model import Policy
from rrpolicy.source.memory.input_table import InputTable

_UNVERSIONED = ("context.", "waivers/")
"""Prefixes of keys outside the policy's digest, and so outside its version."""


def check_announcements(old: DiffInput, new: DiffInput, changes: Sequence[PolicyChange]) -> Iterator[PolicyChange]:
    """Yield each change; a weaker or possibly weaker one with its problem if it is not announced.

    The new policy needs a greater version, and a [[policy.changes]] entry for each such change that the old one does
    not have. Declarations ([context], [[waivers]]) have no version: an entry is enough.
    """
    last = old.policy.version
    greater = precedence(new.policy.version) > precedence(last)
    before = set(old.policy.governance.changes)
    told = {(c.what, c.version): c for c in new.policy.governance.changes if c not in before}
    for change in changes:
        bumped = greater or change.key.startswith(_UNVERSIONED)
        said = told.get((change.key, new.policy.version))
        problem = (
            None
            if not change.effect.announced or (bumped and said)
            else _unannounced_problem(change, new, "" if bumped else last, named=said is not None)
        )
        yield replace(change, said=said, problem=problem)


def _unannounced_problem(change: PolicyChange, new: DiffInput, above: str, *, named: bool) -> Problem:
    """Return the problem of a change; `above`: the version that the new one must exceed, "" if it does."""
    version = _next_minor_version(above) if above else new.policy.version
    lacks = [f"the version is not greater than before ({above})"] if above else []
    lacks += [] if named else ["no new [[policy.changes]] entry of this version lists it"]
    message = f"{change.key} is {change.effect} ({change.why}), and {' and '.join(lacks)}"
    head = [] if not above else [f'under [policy], version = "{version}"; and']
    hint = "\n".join([*head, changelog_entry(change.key, version)])
    return Problem("RR140", message, change.places.new or new.at("policy.version"), "a change that was decided", hint)


def changelog_entry(what: str, version: str) -> str:
    """Return the [[policy.changes]] entry to paste."""
    filled = {"version": version, "what": what, "why": "fill in: the reason", "who": "fill in: the role that decided"}
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in filled.items())
    return "\n".join(["after the keys of [policy]:", "[[policy.changes]]", *lines])


def _next_minor_version(version: str) -> str:
    major, minor, *_ = re.split(r"[.+-]", version)
    return f"{major}.{int(minor) + 1}.0"


RENAMED = 0.5
"""Minimum similarity at which a new policy counts as the successor of a removed one."""


def compare(  # noqa: PLR0917 those of `rrpolicy.diff`
    old: PolicyLike, new: PolicyLike, on: InputTable | int | None, root: Path | None, progress: Progress, terms: Terms
) -> Difference:
    """Compare; see `rrpolicy.diff` for the arguments and errors.

    Policies of folders are matched by name, then by file, then by their released columns. A renamed policy is
    compared with the one that has the same source, or at least half of the columns.
    """
    before = () if is_release(old) else open_diff_inputs(old, root)
    after = open_diff_inputs(new, root, _plugin_changes(before))
    before = before or open_diff_inputs(old, root, () if is_release(new) else _plugin_changes(after))
    if len(before) == len(after) == 1:
        return Difference((_compare_pair(before[0], after[0], on, progress, terms),))
    return _matched_comparisons(before, after, on, progress, terms)


def compare_since(  # noqa: PLR0917 those of `rrpolicy.diff`
    revision: str, new: PolicyLike, on: InputTable | int | None, root: Path | None, progress: Progress, terms: Terms
) -> Difference:
    """Compare a policy, or those of a folder, with the same path in a revision, in any notation of the path.

    Policies missing in the revision are compared with its policies that were removed since: a moved policy is not new.

    Raises RefusedError (RR440, RR443) if a ledger of the policies lacks an entry that it had in the revision.
    """
    after = open_diff_inputs(new, root)
    if isinstance(new, Policy) or is_release(new) or not Path(new).exists():
        raise PolicyError(Problem("RR250", "`since` compares a policy's file, or a folder, with a revision of it"))
    found = Revision.of(revision)
    place = found.place(Path(new))
    names = [place] if found.holds(place) else found.gone()
    before = tuple(side for name in names for side in open_diff_inputs(f"{revision}:{name}"))
    for ledger in dict.fromkeys(ledger_path(side.policy) for side in before if side.policy.ledger is not None):
        earlier = found.content_of(ledger) if found.knows(ledger) else None
        if earlier is not None:
            read_ledger(ledger).expect_all(earlier, revision)
    return _matched_comparisons(before, after, on, progress, terms)


def _matched_comparisons(
    before: tuple[DiffInput, ...],
    after: tuple[DiffInput, ...],
    on: InputTable | int | None,
    progress: Progress,
    terms: Terms,
) -> Difference:
    one, other = _index_by_name(before), _index_by_name(after)
    pairs = [(one[name], side) for name, side in other.items() if name in one]
    gone = [side for name, side in one.items() if name not in other]
    come = [side for name, side in other.items() if name not in one]
    for likeness in (_same_file_score, _shared_column_ratio):
        for pair in sorted(product(gone, come), key=lambda pair: -likeness(*pair)):
            if pair[0] in gone and pair[1] in come and likeness(*pair) >= RENAMED:
                gone.remove(pair[0])
                come.remove(pair[1])
                pairs.append(pair)
    compared = tuple(_compare_pair(*pair, on, progress, terms) for pair in pairs)
    return Difference(compared, tuple(side.file for side in come), tuple(side.file for side in gone))


def _same_file_score(old: DiffInput, new: DiffInput) -> float:
    return float(os.path.basename(old.file) == os.path.basename(new.file))  # noqa: PTH119


def _shared_column_ratio(old: DiffInput, new: DiffInput) -> float:
    one, other = old.policy, new.policy
    if (one.source.uri, one.source.table) == (other.source.uri, other.source.table):
        return 1.0
    return len(one.attributes.keys() & other.attributes.keys()) / len(one.attributes.keys() | other.attributes.keys())


def _plugin_changes(sides: tuple[DiffInput, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plugin for side in sides for plugin in side.policy.plugins))


def _index_by_name(sides: tuple[DiffInput, ...]) -> Mapping[str, DiffInput]:
    found: dict[str, DiffInput] = {}
    for side in sides:
        first = found.setdefault(side.policy.name, side)
        if first is not side:
            message = f"{first.file} and {side.file} are both called '{side.policy.name}'"
            hint = "policies of a folder are matched by name: give each its own, or compare file by file"
            raise PolicyError(Problem("RR250", message, side.at("policy.name"), hint=hint))
    return found


def _compare_pair(
    old: DiffInput, new: DiffInput, on: InputTable | int | None, progress: Progress, terms: Terms
) -> PolicyDiff:
    found = policy_impact(old, new, on, progress, terms)
    changes = [
        *setting_changes(old, new),
        *waiver_changes(old, new),
        *column_changes(old, new),
        *requirement_changes(old, new),
        *gate_changes(old, new),
    ]
    changes += _mechanism_changes(old, new, found)
    order = list(Effect)
    changes.sort(key=lambda change: order.index(change.effect))
    return PolicyDiff(old.compared, new.compared, tuple(check_announcements(old, new, changes)), found)


def _mechanism_changes(old: DiffInput, new: DiffInput, found: PolicyImpact) -> Iterator[PolicyChange]:
    one, other = old.policy.mechanism, new.policy.mechanism
    does, why = found.effect or Effect.INCOMPARABLE, _mechanism_reason(found)
    before, after = ({"name": m.name, **plain_options(m.options)} for m in (one, other))
    keys = ["name"] if one.name != other.name else dict.fromkeys([*before, *after])
    for key in (f"mechanism.{name}" for name in keys if before.get(name) != after.get(name)):
        name = key.removeprefix("mechanism.")
        places = PlacePair(old.at(key), new.at(key))
        yield PolicyChange(key, does, before.get(name), after.get(name), why, ChangeSubject.PROTECTION, places)


def _mechanism_reason(found: PolicyImpact) -> str:
    """Return the basis of a mechanism change's rating, and the parts that cannot be compared, or why none can."""
    guarantees = [price for price in found.numbers if price.kind is ImpactKind.GUARANTEE]
    unclear = quoted_list(price.of for price in guarantees if price.effect is None)
    if found.effect is not None and unclear:
        return "by whether a release passes"
    if any(price.known for price in guarantees):
        return f"by the guarantees, recomputed from {found.known}{f'; {unclear} cannot be compared' if unclear else ''}"
    if found.known is not ImpactBasis.TABLE:
        return (
            f"by the guarantees, which cannot be computed from {found.known}: plan both with --data or --expected-rows"
        )
    sides = (("old", found.before), ("new", found.after))
    refused = " and ".join(
        f"the {which} policy ({quoted_list(one.problems)})" for which, one in sides if not one.passed
    )
    return f"by the guarantees, which cannot be compared: there is no plan of {refused or 'both'}"
