"""GitLab's code quality report: entries that need attention, at their lines of the policy."""

from __future__ import annotations

from rrpolicy.canonical_json import Json, pretty
from rrpolicy.ci_reports.fingerprint import fingerprint_entries
from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryLevel,
    EntryPart,
    OutcomeEntry,
    OutcomeKind,
    OutcomeSubject,
)
from rrpolicy.escaping.printable import inert_text


def gitlab(outcome: CommandOutcome) -> str:
    """Return an outcome as a code quality report."""
    quiet = {EntryLevel.NONE}
    entries = [_issue(outcome, *told) for told in fingerprint_entries(outcome) if told[1].level not in quiet]
    return inert_text(pretty(entries).decode())


def _issue(outcome: CommandOutcome, subject: OutcomeSubject, entry: OutcomeEntry, mark: str) -> Json:
    path = subject.path(entry)
    told = (entry.message, entry.waived and str(entry.waived), entry.hint and f"hint: {entry.hint}")
    return {
        "description": "; ".join(text for text in told if text),
        "check_name": entry.rule,
        "fingerprint": mark,
        "severity": _severity(entry),
        "location": {
            "path": outcome.relative(path) or path or ".",
            "lines": {"begin": 1 if entry.place is None else entry.place.line},
        },
    }


def _severity(entry: OutcomeEntry) -> str:
    """Return the severity of an entry, in GitLab's words."""
    if entry.waived is not None:
        return "info"
    if entry.level is EntryLevel.WARNING:
        return "minor"
    if entry.kind is OutcomeKind.ERROR:
        return "blocker"
    return "major" if entry.part is EntryPart.GATE else "critical"
