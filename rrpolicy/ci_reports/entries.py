"""Entries from what the core found: requirements, utility gates, and problems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from rrpolicy.ci_reports.fingerprint import key_identity
from rrpolicy.ci_reports.outcome import Entry, Kind, Part
from rrpolicy.errors import OWN, Place, Problem
from rrpolicy.escaping.printable import listed
from rrpolicy.finding import CONDITION, VALUE, Companion, Finding, UtilityFinding, Verdict
from rrpolicy.planning.gate import expectation, in_the_way, shown, unmet
from rrpolicy.policy.governance import Waiver


def requirement(finding: Finding, *, accepted: Collection[str] | None = None, decided: bool = True) -> Entry:
    """Return the entry of a requirement, or of a measurement without a limit.

    Args:
        finding: what was found of it.
        accepted: ids of derived statistics that the policy accepts; None where nothing is released.
        decided: nothing decides later, so that an undecided one stands in the way.
    """
    given = finding.given if accepted is None else accepted
    problems = in_the_way((finding,), given) if finding.verdict is not None else ()
    told = problems[0] if problems and (decided or finding.verdict is Verdict.FAILED) else None
    kind = _kind(finding) if told is None or told.code != "RR108" else Kind.FAIL
    return Entry(
        rule=finding.model if told is None else told.code,
        identity=finding.identity or f"finding/{finding.code}",
        part=Part.REQUIREMENT if finding.verdict is not None else Part.CHECK,
        kind=kind,
        title=f"{finding.model}: {finding.requirement}" if finding.requirement else finding.model,
        message=_sentence(finding) if told is None else told.message,
        blocking=told is not None,
        place=finding.place,
        about=finding.adversary if finding.achieved is not None else "",
        achieved=finding.achieved,
        limit=finding.limit,
        basis=finding.basis,
        assessor=finding.assessor,
        derived=finding.given,
        hint=None if told is None else told.hint,
        beside=tuple(_beside(companion) for companion in finding.companions if VALUE not in companion.of),
    )


def utility(finding: UtilityFinding, waived: Mapping[str, Waiver] = MappingProxyType({})) -> Entry:
    """Return the entry of a utility gate.

    Args:
        finding: what is to be expected.
        waived: the waivers that count, by what they waive.
    """
    problem = unmet(finding)
    waiver = None if problem is None else waived.get(finding.identity)
    title = f"{finding.metric} of {finding.over}" if finding.over else finding.metric
    expected = "" if finding.expected is None else f": {expectation(finding)}, {finding.asked}"
    return Entry(
        rule=finding.metric if problem is None else problem.code,
        identity=finding.identity or f"utility/{finding.metric}",
        part=Part.GATE,
        kind={Verdict.SATISFIED: Kind.MET, Verdict.FAILED: Kind.FAIL}.get(finding.verdict, Kind.OPEN),
        title=f"{title} {'<=' if finding.bound == 'max' else '>='} {float(finding.limit):g}",
        message=f"{title} is met{expected}" if problem is None else problem.message,
        blocking=problem is not None and waiver is None,
        place=finding.place,
        about=finding.meaning,
        achieved=finding.expected,
        limit=Fraction(finding.limit),
        hint=None if problem is None else problem.hint,
        waived=waiver,
        beside=tuple(map(_beside, finding.companions)),
    )


def judgement(what: str, message: str, waiver: Waiver | None = None, place: Place | None = None) -> Entry:
    """Return the entry of a point of judgement, or of a review that is due.

    Args:
        what: its name, such as `warning/held-by-one?attribute=zip`.
        message: what it is.
        waiver: who lets it be.
        place: where the policy gives cause for it; None if that is not at hand.
    """
    return Entry("warning", what, Part.JUDGEMENT, Kind.REVIEW, what, message, place=place, waived=waiver)


def faults(problems: Iterable[Problem]) -> tuple[Entry, ...]:
    """Return the entries of problems: of a requirement that fails, a failure; of all others, an error."""
    return tuple(
        Entry(
            rule=problem.code,
            identity=key_identity(problem.place),
            part=Part.PROBLEM,
            kind=Kind.FAIL if problem.code.startswith(f"{OWN}1") else Kind.ERROR,
            title=f"{problem.code} {key_identity(problem.place)}".strip(),
            message=problem.message,
            blocking=True,
            place=problem.place,
            expected=problem.expected,
            hint=problem.hint,
        )
        for problem in problems
    )


def _beside(companion: Companion) -> str:
    of = f" of {companion.of}" if companion.of else ""
    return f"{companion.name}{of} = {shown(companion.measure)}" + (f", {CONDITION}" if companion.given else "")


def _kind(finding: Finding) -> Kind:
    if finding.verdict is None:
        return Kind.INFORMATIONAL
    if finding.verdict is Verdict.SATISFIED:
        return Kind.CONDITIONAL if finding.given else Kind.MET
    return Kind.FAIL if finding.verdict is Verdict.FAILED else Kind.OPEN


def _sentence(finding: Finding) -> str:
    """Return what became of a finding that nothing stands in the way of."""
    title = f"{finding.model}: {finding.requirement}" if finding.requirement else finding.model
    achieved = "" if finding.achieved is None else f", achieved {shown(finding.achieved)}"
    if finding.verdict is None:
        return f"{title}: measured{achieved}"
    if finding.verdict is Verdict.UNDECIDED:
        return f"{title} is undecided"
    if finding.given:
        return f"{title} is met{achieved}, {CONDITION}: {listed(finding.given)}"
    return f"{title} is met{achieved}"
