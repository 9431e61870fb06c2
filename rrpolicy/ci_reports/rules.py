"""What entries are instances of, as formats describe it: codes with their pages, models and metrics with a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rrpolicy.ci_reports.outcome import Entry
from rrpolicy.error_codes import codes, page
from rrpolicy.frozen import frozen


@frozen
class Rule:
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


def rules(entries: Iterable[Entry]) -> dict[str, Rule]:
    """Return each rule once, by id, in the order of the entries."""
    first: dict[str, Entry] = {}
    for entry in entries:
        first.setdefault(entry.rule, entry)
    own = frozenset(codes())
    return {name: _of_code(name, entry) if name in own else _of_entry(entry) for name, entry in first.items()}


def _of_code(code: str, entry: Entry) -> Rule:
    text = page(code)
    title = text.partition("\n")[0].removeprefix(f"# {code}: ")
    meaning = re.search(r"## What it means\n\n(.*?)(?=\n\n|\Z)", text, re.DOTALL)
    about = title if meaning is None else meaning[1].replace("\n", " ")
    return Rule(code, title, about, text, ("privacy", entry.part.value.replace(" ", "-")))


def _of_entry(entry: Entry) -> Rule:
    about = entry.about or f"a {entry.part}"
    return Rule(entry.rule, entry.rule, about, about, ("privacy", entry.part.value.replace(" ", "-")))
