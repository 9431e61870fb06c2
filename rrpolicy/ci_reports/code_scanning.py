"""SARIF for GitHub's code scanning, which takes every result for an alert, whatever its kind or suppression."""

from __future__ import annotations

from dataclasses import replace

from rrpolicy.ci_reports.outcome import Entry, Level, Outcome
from rrpolicy.ci_reports.sarif import sarif


def code_scanning(outcome: Outcome) -> str:
    """Return an outcome as a SARIF log of what asks for attention: nothing that holds, and nothing that is waived."""
    subjects = (replace(s, entries=tuple(filter(_asks, s.entries))) for s in outcome.subjects)
    return sarif(replace(outcome, subjects=tuple(subjects)))


def _asks(entry: Entry) -> bool:
    return entry.level is not Level.NONE and entry.waived is None
