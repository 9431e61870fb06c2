"""Entries of outcomes: requirements, utility gates, and problems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from rrpolicy.ci_reports.fingerprint import key_identity
from rrpolicy.ci_reports.outcome import EntryPart, OutcomeEntry, OutcomeKind
from rrpolicy.declarations import Waiver
from rrpolicy.errors import CODE_PREFIX, Place, Problem
from rrpolicy.finding import VALUE, Finding, UtilityFinding, Verdict
from rrpolicy.numbers import plain_number
from rrpolicy.planning.gate import blocking_problems, unmet_gate_problem
from rrpolicy.wording import MET, expected_value_text, related_measure_text, requirement_title, verdict_sentence


def requirement_entry(
    finding: Finding, *, accepted: Collection[str] | None = None, decided: bool = True
) -> OutcomeEntry:
    """Return the entry of a requirement, or of a measurement without a limit.

    `accepted` has the ids of accepted derived statistics; None without a release. An undecided requirement blocks if no
    later step decides (`decided`).
    """
    given = finding.given if accepted is None else accepted
    problems = blocking_problems((finding,), given) if finding.verdict is not None else ()
    told = problems[0] if problems and (decided or finding.verdict is Verdict.FAILED) else None
    kind = _entry_kind(finding) if told is None or told.code != "RR108" else OutcomeKind.FAIL
    return OutcomeEntry(
        rule=finding.model if told is None else told.code,
        identity=finding.identity or f"finding/{finding.code}",
        part=EntryPart.REQUIREMENT if finding.verdict is not None else EntryPart.CHECK,
        kind=kind,
        title=requirement_title(finding),
        message=verdict_sentence(finding) if told is None else told.message,
        blocking=told is not None,
        place=finding.place,
        about=finding.adversary if finding.achieved is not None else "",
        achieved=finding.achieved,
        limit=finding.limit,
        basis=finding.basis,
        assessor=finding.assessor,
        derived=finding.given,
        hint=None if told is None else told.hint,
        beside=tuple(related_measure_text(companion) for companion in finding.companions if VALUE not in companion.of),
    )


def utility_entry(finding: UtilityFinding, waived: Mapping[str, Waiver] = MappingProxyType({})) -> OutcomeEntry:
    """Return the entry of a utility gate."""
    problem = unmet_gate_problem(finding)
    waiver = None if problem is None else waived.get(finding.identity)
    title = f"{finding.metric} of {finding.over}" if finding.over else finding.metric
    expected = "" if finding.expected is None else f": {expected_value_text(finding)}, {finding.asked}"
    return OutcomeEntry(
        rule=finding.metric if problem is None else problem.code,
        identity=finding.identity or f"utility/{finding.metric}",
        part=EntryPart.GATE,
        kind={Verdict.SATISFIED: OutcomeKind.MET, Verdict.FAILED: OutcomeKind.FAIL}.get(
            finding.verdict, OutcomeKind.OPEN
        ),
        title=f"{title} {'<=' if finding.bound == 'max' else '>='} {plain_number(float(finding.limit))}",
        message=f"{title} is {MET}{expected}" if problem is None else problem.message,
        blocking=problem is not None and waiver is None,
        place=finding.place,
        about=finding.meaning,
        achieved=finding.expected,
        limit=Fraction(finding.limit),
        hint=None if problem is None else problem.hint,
        waived=waiver,
        beside=tuple(map(related_measure_text, finding.companions)),
    )


def review_entry(what: str, message: str, waiver: Waiver | None = None, place: Place | None = None) -> OutcomeEntry:
    """Return the entry of a point that needs judgement, or of a review that is due."""
    return OutcomeEntry(
        "warning", what, EntryPart.JUDGEMENT, OutcomeKind.REVIEW, what, message, place=place, waived=waiver
    )


def problem_entries(problems: Iterable[Problem]) -> tuple[OutcomeEntry, ...]:
    """Return the entries of problems: failures for failed requirements, errors for all others."""
    return tuple(
        OutcomeEntry(
            rule=problem.code,
            identity=key_identity(problem.place),
            part=EntryPart.PROBLEM,
            kind=OutcomeKind.FAIL if problem.code.startswith(f"{CODE_PREFIX}1") else OutcomeKind.ERROR,
            title=f"{problem.code} {key_identity(problem.place)}".strip(),
            message=problem.message,
            blocking=True,
            place=problem.place,
            expected=problem.expected,
            hint=problem.hint,
        )
        for problem in problems
    )


def _entry_kind(finding: Finding) -> OutcomeKind:
    if finding.verdict is None:
        return OutcomeKind.INFORMATIONAL
    if finding.verdict is Verdict.SATISFIED:
        return OutcomeKind.CONDITIONAL if finding.given else OutcomeKind.MET
    return OutcomeKind.FAIL if finding.verdict is Verdict.FAILED else OutcomeKind.OPEN
