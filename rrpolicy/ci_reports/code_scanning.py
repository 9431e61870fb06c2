"""SARIF for GitHub's code scanning, which treats every result as an alert, regardless of its kind or suppression."""

from __future__ import annotations

from dataclasses import replace

from rrpolicy.ci_reports.outcome import CommandOutcome, EntryLevel, OutcomeEntry
from rrpolicy.ci_reports.sarif import sarif


def code_scanning(outcome: CommandOutcome) -> str:
    """Return a SARIF log of entries that need attention: without requirements that hold or are waived."""
    subjects = (replace(s, entries=tuple(filter(_needs_attention, s.entries))) for s in outcome.subjects)
    return sarif(replace(outcome, subjects=tuple(subjects)))


def _needs_attention(entry: OutcomeEntry) -> bool:
    return entry.level is not EntryLevel.NONE and entry.waived is None
