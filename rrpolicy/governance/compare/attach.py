"""Writing a comparison into audit/ of the release that is one of its candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import rrpolicy
from rrpolicy.bundle.audit import COMPARISON_FILE
from rrpolicy.canonical_json import exact
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.finding import Verdict
from rrpolicy.frozen import replace
from rrpolicy.governance.compare.comparison import CandidateComparison, CandidateResult
from rrpolicy.governance.diff.diff_inputs import is_release
from rrpolicy.policy.identity import entry_identities
from rrpolicy.registry import Registry
from rrpolicy.report import Report
from rrpolicy.reports.alternatives import AlternativesRecord, ComparedCandidate, alternatives
from rrpolicy.serialization import record
from rrpolicy.verification.amend import amend_audit, require_unsigned

if TYPE_CHECKING:
    from rrpolicy.finding import Finding
    from rrpolicy.governance.compare.candidates import Vary
    from rrpolicy.governance.compare.comparison import CandidateComparison
    from rrpolicy.policy.model import Policy, Requirement


def release_among(named: Sequence[Path]) -> Path:
    """Return the release that a comparison is written into."""
    releases = [path for path in named if is_release(path)]
    if len(releases) != 1:
        message = f"{len(releases)} releases are among the candidates, and audit/ describes one"
        raise PolicyError(Problem("RR250", message, expected="one release, and the candidates to compare it with"))
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


FACTORS = (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2), Fraction(2))
"""Factors of the limit."""
WIDE_FACTORS = (Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3), Fraction(10), Fraction(100), Fraction(1000))
"""Factors if no release satisfies the policy unchanged."""


def vary_limits(
    policy: Policy, findings: Sequence[Finding], compared: Callable[[Vary, str | None], CandidateComparison]
) -> AlternativesRecord | None:
    """Return the comparison of other limits of one requirement: the first one that has an effect.

    Inherited keys cannot be varied. `findings` are in the order of the requirements; empty if no release satisfies
    the policy unchanged. The result has no candidates if no limit affects the release, and is None if no limit can be
    varied.
    """
    tried = []
    for name, key, values in _by_distance_to_limit(policy, findings):
        found = compared({key: values}, name if findings else None)
        if len({found.point(row) for row in found.rows} - {None}) > bool(findings):
            return comparison_record("", "", found)
        tried.append(f"{key} = {', '.join(map(str, values))}")
    if not tried or not findings:
        return None
    reason = f"Other limits do not change what would be released. Tried: {'; '.join(tried)}."
    return AlternativesRecord("", rrpolicy.__version__, None, None, (), reason, "")


def _by_distance_to_limit(policy: Policy, findings: Sequence[Finding]) -> Iterator[tuple[str, str, Sequence[object]]]:
    """Yield each requirement's identity, the key of its limit and values of it; first the one nearest its limit."""
    found = {finding.identity: finding for finding in findings}
    every = zip(entry_identities(policy).requirements, policy.requirements, strict=True)
    own = [(name, r) for name, r in every if r.place is None or r.place.file == policy.files[0]]
    places = {name: place for place, (name, _) in enumerate(own)}
    for name, requirement in sorted(own, key=lambda one: _distance_to_limit(found.get(one[0]))):
        for key, values in _trial_limits(requirement, FACTORS if findings else WIDE_FACTORS).items():
            yield name, f"privacy.{places[name]}.{key}", values


def _distance_to_limit(finding: Finding | None) -> float:
    """Return a requirement's distance from its limit, as a share of it; a missed one is nearest."""
    if finding is None or finding.achieved is None or not finding.limit:
        return math.inf
    distance = abs(finding.achieved.value / float(finding.limit) - 1)
    return -distance if finding.verdict is Verdict.FAILED else distance


def _trial_limits(requirement: Requirement, factors: Sequence[Fraction]) -> Mapping[str, Sequence[object]]:
    """Return the key of a limit with the values to try; empty if the limit has not exactly one key."""
    limit = requirement.limit
    stated = {key: getattr(requirement.options, key) for key in type(requirement.options).model_fields}
    keys = [key for key, value in stated.items() if isinstance(value, int | Fraction) and value == limit]
    if limit is None or len(keys) != 1:
        return {}
    values = dict.fromkeys(limit * factor for factor in factors)
    whole = isinstance(stated[keys[0]], int)
    return {keys[0]: [int(v) for v in values if v.denominator == 1] if whole else [exact(v) for v in values]}
