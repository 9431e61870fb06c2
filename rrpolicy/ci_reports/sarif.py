"""SARIF 2.1.0: one run, one result per entry, for viewers and other programs.

A requirement met given derived statistics is a `pass` with the level `warning`, so that no viewer shows it as
unconditional. An undecided one is `open`, with the level `error` if it blocks. A waived entry keeps its kind and is
suppressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from rrpolicy import __version__
from rrpolicy.canonical_json import Json, json_number, pretty
from rrpolicy.ci_reports.fingerprint import NAME, fingerprint_entries
from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryLevel,
    OutcomeEntry,
    OutcomeKind,
    OutcomeSubject,
)
from rrpolicy.error_codes import codes, page
from rrpolicy.errors import Place
from rrpolicy.escaping.printable import inert_text
from rrpolicy.frozen import replace


class EntryRule(Struct, frozen=True):
    """A rule.

    Attributes:
        page: the explanation in Markdown; for a code, the text of `rrpolicy explain`.
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


SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
MOST_RESULTS = 25_000
"""Maximum number of results of a run for code scanning; the most severe are kept."""
REFUSED = 4
"""Exit status from which the command was not executed."""
KINDS: Mapping[OutcomeKind, str] = {
    OutcomeKind.MET: "pass",
    OutcomeKind.CONDITIONAL: "pass",
    OutcomeKind.FAIL: "fail",
    OutcomeKind.ERROR: "fail",
    OutcomeKind.OPEN: "open",
    OutcomeKind.REVIEW: "review",
    OutcomeKind.INFORMATIONAL: "informational",
}
_LOUDEST = (EntryLevel.ERROR, EntryLevel.WARNING, EntryLevel.NOTE, EntryLevel.NONE)


def sarif(outcome: CommandOutcome) -> str:
    """Return an outcome as a SARIF log."""
    found = sorted(fingerprint_entries(outcome), key=lambda item: _LOUDEST.index(item[1].level))
    kept = found[:MOST_RESULTS]
    known = entry_rules(entry for _, entry, _ in kept)
    order = {name: index for index, name in enumerate(known)}
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "rrpolicy",
                "semanticVersion": __version__,
                "rules": [_rule(rule, kept) for rule in known.values()],
            }
        },
        "invocations": [_invocation(outcome, left_out=len(found) - len(kept))],
        "originalUriBaseIds": {ROOT: {"description": {"text": "the folder that files are named from"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(outcome, subject, entry, mark, order[entry.rule]) for subject, entry, mark in kept],
    }
    return inert_text(pretty({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}).decode())


def code_scanning(outcome: CommandOutcome) -> str:
    """Return a SARIF log of the entries that need attention.

    GitHub's code scanning treats every result as an alert, whatever its kind and its suppressions.
    """
    subjects = (replace(s, entries=tuple(filter(_needs_attention, s.entries))) for s in outcome.subjects)
    return sarif(replace(outcome, subjects=tuple(subjects)))


def _needs_attention(entry: OutcomeEntry) -> bool:
    return entry.level is not EntryLevel.NONE and entry.waived is None


def _rule(rule: EntryRule, kept: list[tuple[OutcomeSubject, OutcomeEntry, str]]) -> Json:
    loudest = min((entry.level for _, entry, _ in kept if entry.rule == rule.id), key=_LOUDEST.index)
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.about},
        "help": {"text": rule.page, "markdown": rule.page},
        "defaultConfiguration": {"level": loudest.value},
        "properties": {"tags": list(rule.tags)},
    }


def _invocation(outcome: CommandOutcome, *, left_out: int) -> Json:
    said: dict[str, Json] = {
        "exitCode": outcome.exit_status,
        "exitCodeDescription": outcome.meaning,
        "executionSuccessful": outcome.exit_status < REFUSED,
        "properties": {"command": outcome.command},
    }
    if left_out:
        text = f"{left_out:,} results of the lowest levels are left out: a run contains at most {MOST_RESULTS:,}"
        said["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    return said


def _result(outcome: CommandOutcome, subject: OutcomeSubject, entry: OutcomeEntry, mark: str, index: int) -> Json:
    result: dict[str, Json] = {
        "ruleId": entry.rule,
        "ruleIndex": index,
        "kind": KINDS[entry.kind],
        "level": entry.level.value,
        "message": {"text": "\n".join((entry.message, *entry.advice))},
        "locations": [_location(outcome, subject.path(entry) or ".", entry.place)],  # code scanning requires one
        "partialFingerprints": {NAME: mark},
        "properties": _properties(subject, entry),
    }
    if entry.waived is not None:
        suppression: dict[str, Json] = {
            "kind": "external",
            "status": "accepted",
            "justification": str(entry.waived),
        }
        if entry.waived.place is not None:
            where = _location(outcome, entry.waived.place.file, entry.waived.place)
            suppression |= {"kind": "inSource", "location": where}
        result["suppressions"] = [suppression]
    return result


def _location(outcome: CommandOutcome, path: str, place: Place | None) -> Json:
    """Return the location of a file, relative to the root if it is below it, and the relevant region."""
    relative = outcome.relative(path)
    artifact: dict[str, Json] = {"uri": Path(path).resolve().as_uri()}
    if relative is not None:
        artifact = {"uri": quote(relative), "uriBaseId": ROOT}
    physical: dict[str, Json] = {"artifactLocation": artifact}
    if place is not None:
        column = place.column
        physical["region"] = {"startLine": place.line, "startColumn": column, "endColumn": column + place.width}
    return {"physicalLocation": physical}


def _properties(subject: OutcomeSubject, entry: OutcomeEntry) -> Json:
    said: dict[str, Json] = {
        "entry": entry.identity,
        "part": entry.part.value,
        "outcome": entry.kind.value,
        "policy": subject.name,
        "version": subject.version,
    }
    if entry.achieved is not None:
        said["achieved"] = json_number(entry.achieved.value)
        said["standing"] = entry.achieved.standing.value
        said |= {"error": entry.achieved.error} if entry.achieved.error else {}
    said |= {"limit_exact": str(entry.limit)} if entry.limit is not None else {}
    said |= {"basis": entry.basis.name.lower()} if entry.basis is not None else {}
    said |= {"assessor": entry.assessor} if entry.assessor else {}
    said |= {"derived": list(entry.derived)} if entry.derived else {}
    return said
