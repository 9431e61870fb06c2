"""SARIF for GitHub's code scanning, which takes every result for an alert, whatever its kind or suppression."""

from __future__ import annotations

from dataclasses import replace

from rrpolicy.ci_reports.outcome import CommandOutcome, EntryLevel, OutcomeEntry
from rrpolicy.ci_reports.sarif import sarif


def code_scanning(outcome: CommandOutcome) -> str:
    """Return an outcome as a SARIF log of what asks for attention: nothing that holds, and nothing that is waived."""
    subjects = (replace(s, entries=tuple(filter(_needs_attention, s.entries))) for s in outcome.subjects)
    return sarif(replace(outcome, subjects=tuple(subjects)))


def _needs_attention(entry: OutcomeEntry) -> bool:
    return entry.level is not EntryLevel.NONE and entry.waived is None
