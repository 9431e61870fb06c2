"""Whether what became weaker was made so on purpose: a greater version, and an entry that says why and who decided."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rrpolicy.errors import Problem
from rrpolicy.governance.diff.changes import PolicyChange
from rrpolicy.governance.diff.diff_inputs import DiffInput
from rrpolicy.policy.file import precedence

_UNVERSIONED = ("context.", "waivers/")
"""What is no part of the policy's digest, and so of no version of it."""


def check_announcements(old: DiffInput, new: DiffInput, changes: Sequence[PolicyChange]) -> Iterator[PolicyChange]:
    """Yield each change; one that is weaker, or cannot be told not to be, with its problem if it is not announced.

    Args:
        old: the policy before.
        new: the policy after: it needs a greater version, and a [[policy.changes]] entry for each such change that the
            old one does not have. What people declare ([context], [[waivers]]) has no version: an entry is enough.
        changes: that were found.
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
    """Return the problem of a change; `above`: the version that the new one has to be above, "" if it is."""
    version = _next_minor_version(above) if above else new.policy.version
    lacks = [f"the version is not greater than before ({above})"] if above else []
    lacks += [] if named else ["no new [[policy.changes]] entry of this version names it"]
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
    """Return the next minor version."""
    major, minor, *_ = re.split(r"[.+-]", version)
    return f"{major}.{int(minor) + 1}.0"
