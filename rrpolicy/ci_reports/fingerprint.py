"""Fingerprints of entries that are stable when their file changes around them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rrpolicy.canonical_json import canonical, digest
from rrpolicy.ci_reports.outcome import CommandOutcome, OutcomeEntry, OutcomeSubject
from rrpolicy.errors import Place
from rrpolicy.safe_io.document import read_following_links

NAME = "rrpolicy/v1"
"""Name of the fingerprint's version; another method has another name."""
LARGEST = 2**24
_NAMING = ("model", "metric", "finding", "version", "name")
"""Keys that distinguish the tables of an array."""
_INDEX = re.compile(r"(\.\d+)+$")


def fingerprint_entries(outcome: CommandOutcome) -> Iterator[tuple[OutcomeSubject, OutcomeEntry, str]]:
    """Yield every entry with its fingerprint.

    It is made of the policy's name, the entry's identity and the code: neither an inserted line nor an inserted entry
    changes it. Entries equal in all three are numbered.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    for subject, entry in outcome.entries():
        told = (subject.name, entry.identity, entry.rule)
        seen[told] += 1
        yield subject, entry, digest(canonical([*told, seen[told]])).removeprefix("sha256:")[:32]


def key_identity(place: Place | None) -> str:
    """Return the id of a key of an invalid policy, such as `privacy/pk-anonymity:k`."""
    if place is None or not place.key:
        return ""
    section, _, rest = place.key.partition(".")
    index, _, key = rest.partition(".")
    if not index.isdigit():
        return _INDEX.sub("", place.key)
    items = _read_tables(place.file).get(section, [])
    named = _table_identity(items[int(index)]) if isinstance(items, list) and int(index) < len(items) else ""
    return f"{section}/{named or 'unnamed'}" + (f":{_INDEX.sub('', key)}" if key else "")


def _table_identity(item: Any) -> str:
    """Return the identifying value of a table in an array, with the subgroup that it is limited to."""
    if not isinstance(item, dict):
        return ""
    name = next((str(item[key]) for key in _NAMING if isinstance(item.get(key), str)), "")
    where = item.get("where")
    limited = [f"where.{key}={value}" for key, value in sorted(where.items())] if isinstance(where, dict) else []
    return name + ("?" + "&".join(limited) if limited else "")


def _read_tables(file: str) -> dict[str, Any]:
    """Return the content of a policy's file, if it can be read."""
    try:
        return tomllib.loads(read_following_links(Path(file), LARGEST).decode())
    except (OSError, ValueError):
        return {}


def stated_name(file: str) -> tuple[str, str]:
    """Return the name and version that a policy's file states; without a name, the file's name and ""."""
    head = _read_tables(file).get("policy")
    name, version = (head.get("name"), head.get("version")) if isinstance(head, dict) else (None, None)
    own = re.split(r"[/\\]", file)[-1]
    return (name if isinstance(name, str) and name else own), (version if isinstance(version, str) else "")
