"""Entries of outcomes: requirements, utility gates, and problems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from rrpolicy.ci_reports.fingerprint import key_identity
from rrpolicy.ci_reports.outcome import EntryPart, OutcomeEntry, OutcomeKind
from rrpolicy.declarations import Waiver
from rrpolicy.errors import CODE_PREFIX, Place, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import CONDITION, VALUE, Companion, Finding, UtilityFinding, Verdict
from rrpolicy.planning.gate import (
    blocking_problems,
    expected_value_text,
    measure_text,
    unmet_gate_problem,
)


def requirement_entry(
    finding: Finding, *, accepted: Collection[str] | None = None, decided: bool = True
) -> OutcomeEntry:
    """Return the entry of a requirement, or of a measurement without a limit.

    Args:
        finding: on the requirement.
        accepted: ids of derived statistics that the policy accepts; None without a release.
        decided: no later step decides, so that an undecided one blocks.
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
        title=f"{finding.model}: {finding.requirement}" if finding.requirement else finding.model,
        message=_outcome_sentence(finding) if told is None else told.message,
        blocking=told is not None,
        place=finding.place,
        about=finding.adversary if finding.achieved is not None else "",
        achieved=finding.achieved,
        limit=finding.limit,
        basis=finding.basis,
        assessor=finding.assessor,
        derived=finding.given,
        hint=None if told is None else told.hint,
        beside=tuple(_related_measure(companion) for companion in finding.companions if VALUE not in companion.of),
    )


def utility_entry(finding: UtilityFinding, waived: Mapping[str, Waiver] = MappingProxyType({})) -> OutcomeEntry:
    """Return the entry of a utility gate.

    Args:
        finding: the expected value.
        waived: the valid waivers, by the id of the waived entry.
    """
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
        title=f"{title} {'<=' if finding.bound == 'max' else '>='} {float(finding.limit):g}",
        message=f"{title} is met{expected}" if problem is None else problem.message,
        blocking=problem is not None and waiver is None,
        place=finding.place,
        about=finding.meaning,
        achieved=finding.expected,
        limit=Fraction(finding.limit),
        hint=None if problem is None else problem.hint,
        waived=waiver,
        beside=tuple(map(_related_measure, finding.companions)),
    )


def review_entry(what: str, message: str, waiver: Waiver | None = None, place: Place | None = None) -> OutcomeEntry:
    """Return the entry of a point that needs judgement, or of a review that is due.

    Args:
        what: its name, such as `warning/held-by-one?attribute=zip`.
        message: description.
        waiver: of the point.
        place: position of its cause in the policy; None if not available.
    """
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


def _related_measure(companion: Companion) -> str:
    of = f" of {companion.of}" if companion.of else ""
    return f"{companion.name}{of} = {measure_text(companion.measure)}" + (f", {CONDITION}" if companion.given else "")


def _entry_kind(finding: Finding) -> OutcomeKind:
    if finding.verdict is None:
        return OutcomeKind.INFORMATIONAL
    if finding.verdict is Verdict.SATISFIED:
        return OutcomeKind.CONDITIONAL if finding.given else OutcomeKind.MET
    return OutcomeKind.FAIL if finding.verdict is Verdict.FAILED else OutcomeKind.OPEN


def _outcome_sentence(finding: Finding) -> str:
    """Return the result of a finding that blocks nothing, as a sentence."""
    title = f"{finding.model}: {finding.requirement}" if finding.requirement else finding.model
    achieved = "" if finding.achieved is None else f", achieved {measure_text(finding.achieved)}"
    if finding.verdict is None:
        return f"{title}: measured{achieved}"
    if finding.verdict is Verdict.UNDECIDED:
        return f"{title} is undecided"
    if finding.given:
        return f"{title} is met{achieved}, {CONDITION}: {quoted_list(finding.given)}"
    return f"{title} is met{achieved}"
