"""Entries that need attention, at their lines of the policy: commands for GitHub, a report for GitLab."""

from __future__ import annotations

from collections.abc import Mapping

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
from rrpolicy.escaping.printable import inert_text, visible, visible_lines
from rrpolicy.wording import WAIVED

COMMANDS: Mapping[EntryLevel, str] = {
    EntryLevel.ERROR: "error",
    EntryLevel.WARNING: "warning",
    EntryLevel.NOTE: "notice",
}
"""Level of an entry -> command, the most severe first: a step shows only so many of each."""


def github(outcome: CommandOutcome) -> str:
    """Return an outcome as workflow commands, and a last line with the result."""
    told = [(_command(entry), subject, entry) for subject, entry in outcome.entries()]
    lines = [
        _line(outcome, command, subject, entry)
        for wanted in COMMANDS.values()
        for command, subject, entry in told
        if command == wanted
    ]
    counted = ", ".join(f"{sum(word == w for w, _, _ in told)} {word}s" for word in COMMANDS.values())
    end = f"rrpolicy {outcome.command}: exit status {outcome.exit_status}, {outcome.meaning} ({counted})"
    return "\n".join([*lines, end]) + "\n"


def _command(entry: OutcomeEntry) -> str | None:
    return "notice" if entry.waived is not None else COMMANDS.get(entry.level)


def _line(outcome: CommandOutcome, command: str | None, subject: OutcomeSubject, entry: OutcomeEntry) -> str:
    path = outcome.path(subject, entry)
    at: dict[str, str] = {"file": path} if path else {}
    if entry.place is not None:
        end = entry.place.column + entry.place.width
        at |= {"line": str(entry.place.line), "col": str(entry.place.column), "endColumn": str(end)}
    at["title"] = entry.rule if entry.waived is None else f"{entry.rule}, {WAIVED}"
    message = "\n".join((entry.message, *([str(entry.waived)] if entry.waived else []), *entry.advice))
    properties = ",".join(f"{name}={_property(value)}" for name, value in at.items())
    return f"::{command} {properties}::{_data(visible_lines(message))}"


def _data(text: str) -> str:
    """Return text that no runner interprets as the end of a command, or as another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")


def gitlab(outcome: CommandOutcome) -> str:
    """Return an outcome as a code quality report."""
    quiet = {EntryLevel.NONE}
    entries = [_issue(outcome, *told) for told in fingerprint_entries(outcome) if told[1].level not in quiet]
    return inert_text(pretty(entries).decode())


def _issue(outcome: CommandOutcome, subject: OutcomeSubject, entry: OutcomeEntry, mark: str) -> Json:
    return {
        "description": "; ".join((entry.message, *([str(entry.waived)] if entry.waived else []), *entry.advice)),
        "check_name": entry.rule,
        "fingerprint": mark,
        "severity": _severity(entry),
        "location": {
            "path": outcome.path(subject, entry) or ".",
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
