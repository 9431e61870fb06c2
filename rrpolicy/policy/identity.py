"""Names of a policy's entries for programs: by the entry's subject, never by its position or its numbers.

A waiver, a fingerprint in a report for CI and a comparison of two policies all name entries so. An entry inserted
before another changes no name, and an entry whose limit changes keeps its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum
from urllib.parse import quote

from msgspec import Struct
from pydantic import BaseModel

from rrpolicy.canonical_json import category_text
from rrpolicy.declarations import ASSOCIATION_PREFIX
from rrpolicy.policy.directions import DIRECTION_RULES
from rrpolicy.policy.model import Gate, Policy, Requirement

_SYNTAX = frozenset("%?&=,#")


class Identities(Struct, frozen=True):
    """The names of a policy's entries, each once, in the order of the entries."""

    requirements: tuple[str, ...]
    gates: tuple[str, ...]


def entry_identities(policy: Policy) -> Identities:
    """Return the names of a policy's entries.

    Entries that differ only in their numbers are numbered in order: `…#2` is the second.
    """
    return Identities(
        _unique_names(requirement_id(requirement) for requirement in policy.requirements),
        _unique_names(map(gate_id, policy.gates)),
    )


def requirement_id(requirement: Requirement) -> str:
    """Return the name of a [[privacy]] entry, such as `privacy/l-diversity?kind=entropy&where.sex=female`."""
    where = {f"where.{name}": _escaped_identity_text(category_text(value)) for name, value in requirement.where.items()}
    return _entry_name("privacy", requirement.model, {**_textual_options("privacy", requirement.options), **where})


def gate_id(gate: Gate) -> str:
    """Return the name of a [[utility]] entry, such as `utility/expected-l2?attributes=age,sex`."""
    return _entry_name("utility", gate.metric, _textual_options("utility", gate.options))


def association_id(exact: str, randomised: str) -> str:
    """Return the name of a column that reveals another one, such as `association/hiv_code/hiv`."""
    return ASSOCIATION_PREFIX + "/".join(
        _escaped_identity_text(name).replace("/", "%2F") for name in (exact, randomised)
    )


def _textual_options(section: str, options: BaseModel) -> dict[str, str]:
    """Return options in words if they are not the default; numbers are limits, and limits change.

    Keys that every entry of the section may state are part of no name: they do not identify the entry's subject.
    """
    found = {}
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        text = None if value == field.get_default(call_default_factory=True) else _identity_text(value)
        if text is not None and f"{section}.{name}" not in DIRECTION_RULES:
            found[name] = text
    return found


def _identity_text(value: object) -> str | None:
    """Return the value as a name has it; None if it is a number or contains one."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _escaped_identity_text(value)
    if isinstance(value, (tuple, list, frozenset, set)) and all(isinstance(item, str) for item in value):
        return ",".join(sorted(map(_escaped_identity_text, value)))
    return None


def _entry_name(section: str, name: str, said: Mapping[str, str]) -> str:
    told = "&".join(f"{_escaped_identity_text(key)}={text}" for key, text in sorted(said.items()))
    return f"{section}/{_escaped_identity_text(name)}{'?' if told else ''}{told}"


def _escaped_identity_text(text: str) -> str:
    """Return text on one line without characters that separate the parts of a name."""
    return "".join(quote(c, safe="") if c in _SYNTAX or not c.isprintable() else c for c in text)


def _unique_names(names: Iterable[str]) -> tuple[str, ...]:
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(found)
