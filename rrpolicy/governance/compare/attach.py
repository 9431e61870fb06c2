"""Writing a comparison into audit/ of the release that is one of its candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import rrpolicy
from rrpolicy.bundle.audit import COMPARISON_FILE
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.governance.compare.comparison import CandidateComparison, CandidateResult
from rrpolicy.governance.compare.existing_candidates import is_release
from rrpolicy.registry import Registry
from rrpolicy.report import Report
from rrpolicy.reports.alternatives import AlternativesRecord, ComparedCandidate, alternatives
from rrpolicy.serialization.writing import record
from rrpolicy.verification.amend import amend_audit, require_unsigned


def release_among(named: Sequence[Path]) -> Path:
    """Return the release that a comparison is written into."""
    releases = [path for path in named if is_release(path)]
    if len(releases) != 1:
        message = f"{len(releases)} releases are among the candidates, and audit/ speaks of one"
        raise PolicyError(Problem("RR250", message, expected="one release, beside what it is compared with"))
    require_unsigned(releases[0], "the comparison")
    return releases[0]


def attach_comparison(bundle: Path, digest: str, found: CandidateComparison, registry: Registry) -> None:
    """Write a comparison into audit/ and print the audit report with it, in place of an earlier one."""
    told = comparison_record(str(bundle), digest, found)

    def shown(report: Report) -> Report:
        return replace(report, alternatives=alternatives(told))

    amend_audit(bundle, COMPARISON_FILE, record(told), shown, registry)


def comparison_record(bundle: str, digest: str, found: CandidateComparison) -> AlternativesRecord:
    """Return the record of a comparison in audit/."""
    told = found.recommended

    def one(place: int, row: CandidateResult) -> ComparedCandidate:
        finding = None if found.risk is None else row.findings.get(found.risk.id)
        released = row.file == bundle
        return ComparedCandidate(
            label="this release" if released else row.label,
            mechanism=row.mechanism,
            policy=row.policy,
            outcome=row.outcome.value,
            released=released,
            risk=row.risk(found.risk),
            conditional=finding is not None and bool(finding.given),
            error=row.error(found.error),
            front=place in found.front,
            recommended=place == told.candidate,
            problems=tuple(f"{problem.code}: {problem.message}" for problem in row.problems),
            unmet=row.unmet if row.passes else (),
            protection=row.protection,
            unchanged=row.unchanged,
            usable=row.usable,
        )

    rows = tuple(one(place, row) for place, row in enumerate(found.rows, 1))
    return AlternativesRecord(digest, rrpolicy.__version__, found.risk, found.error, rows, told.reason, told.rule)
