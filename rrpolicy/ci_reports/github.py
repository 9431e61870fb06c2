"""Annotations of GitHub: a workflow command for each entry that needs attention, at its line of the policy."""

from __future__ import annotations

from collections.abc import Mapping

from rrpolicy.ci_reports.outcome import (
    CommandOutcome,
    EntryLevel,
    OutcomeEntry,
    OutcomeSubject,
)
from rrpolicy.escaping.printable import visible, visible_lines

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
    path = subject.path(entry)
    at: dict[str, str] = {"file": outcome.relative(path) or path} if path else {}
    if entry.place is not None:
        end = entry.place.column + entry.place.width
        at |= {"line": str(entry.place.line), "col": str(entry.place.column), "endColumn": str(end)}
    at["title"] = entry.rule if entry.waived is None else f"{entry.rule}, waived"
    told = (entry.message, entry.waived and str(entry.waived), entry.expected and f"expected: {entry.expected}")
    message = "\n".join(text for text in (*told, entry.hint and f"hint: {entry.hint}") if text)
    properties = ",".join(f"{name}={_property(value)}" for name, value in at.items())
    return f"::{command} {properties}::{_data(visible_lines(message))}"


def _data(text: str) -> str:
    """Return text that no runner interprets as the end of a command, or as another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
