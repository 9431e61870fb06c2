"""GitLab's code quality report: what asks for attention, at its line of the policy."""

from __future__ import annotations

from rrpolicy.canonical import Json, pretty
from rrpolicy.ci_reports.fingerprint import fingerprinted
from rrpolicy.ci_reports.outcome import Entry, Kind, Level, Outcome, Part, Subject
from rrpolicy.escaping.printable import inert


def gitlab(outcome: Outcome) -> str:
    """Return an outcome as a code quality report."""
    quiet = {Level.NONE}
    entries = [_issue(outcome, *told) for told in fingerprinted(outcome) if told[1].level not in quiet]
    return inert(pretty(entries).decode())


def _issue(outcome: Outcome, subject: Subject, entry: Entry, mark: str) -> Json:
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


def _severity(entry: Entry) -> str:
    """Return how grave an entry is, in GitLab's words."""
    if entry.waived is not None:
        return "info"
    if entry.level is Level.WARNING:
        return "minor"
    if entry.kind is Kind.ERROR:
        return "blocker"
    return "major" if entry.part is Part.GATE else "critical"
