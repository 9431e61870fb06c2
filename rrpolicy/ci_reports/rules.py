"""What entries are instances of, as formats describe it: codes with their pages, models and metrics with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rrpolicy.ci_reports.outcome import OutcomeEntry
from rrpolicy.error_codes import codes, page
from rrpolicy.frozen_dataclass import frozen


@frozen
class EntryRule:
    """A rule.

    Attributes:
        id: as entries name it.
        title: in a few words.
        about: in a paragraph.
        page: in Markdown; for a code what `rrpolicy explain` prints.
        tags: what it is about.
    """

    id: str
    title: str
    about: str
    page: str
    tags: tuple[str, ...]


def entry_rules(entries: Iterable[OutcomeEntry]) -> dict[str, EntryRule]:
    """Return each rule once, by id, in the order of the entries."""
    first: dict[str, OutcomeEntry] = {}
    for entry in entries:
        first.setdefault(entry.rule, entry)
    own = frozenset(codes())
    return {name: _code_rule(name, entry) if name in own else _entry_rule(entry) for name, entry in first.items()}


def _code_rule(code: str, entry: OutcomeEntry) -> EntryRule:
    text = page(code)
    title = text.partition("\n")[0].removeprefix(f"# {code}: ")
    meaning = re.search(r"## What it means\n\n(.*?)(?=\n\n|\Z)", text, re.DOTALL)
    about = title if meaning is None else meaning[1].replace("\n", " ")
    return EntryRule(code, title, about, text, ("privacy", entry.part.value.replace(" ", "-")))


def _entry_rule(entry: OutcomeEntry) -> EntryRule:
    about = entry.about or f"a {entry.part}"
    return EntryRule(entry.rule, entry.rule, about, about, ("privacy", entry.part.value.replace(" ", "-")))
