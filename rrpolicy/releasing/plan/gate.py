"""The gate: every requirement and every utility limit must hold. What is undecided does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rrpolicy.errors import Decided, Problem
from rrpolicy.finding import CONDITION, Finding, Measure, Standing, UtilityFinding, Verdict
from rrpolicy.releasing.plan.assess import Assessment
from rrpolicy.releasing.plan.derived import accept_line
from rrpolicy.untrusted.printable import listed


@dataclass(frozen=True, slots=True)
class Decision(Decided):
    """Whether a release may be made, and what stands in its way (RR101, RR103, RR104, RR108)."""

    problems: tuple[Problem, ...]


def gate(assessment: Assessment, accepted: Collection[str] = ()) -> Decision:
    """Decide from findings alone; nothing drawn is ever looked at.

    Args:
        assessment: of the channel.
        accepted: ids of derived statistics that a finding may be conditional on.
    """
    privacy = [_requirement(f) for f in assessment.findings if f.verdict is not Verdict.SATISFIED]
    privacy += [
        _conditional(f, accepted)
        for f in assessment.findings
        if f.verdict is Verdict.SATISFIED and not set(f.given) <= set(accepted)
    ]
    utility = [_utility(u) for u in assessment.utility if u.verdict is not Verdict.SATISFIED]
    return Decision(tuple(privacy + utility))


def failed(findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """Return a problem for each finding that fails; what is undecided waits."""
    return tuple(_requirement(finding) for finding in findings if finding.verdict is Verdict.FAILED)


def _requirement(finding: Finding) -> Problem:
    title = f"{finding.model}: {finding.requirement}"
    if finding.verdict is Verdict.FAILED:
        achieved = "" if finding.achieved is None else f", achieved {shown(finding.achieved)}"
        hint = "hide more (smaller keep probabilities; larger sets or classes), coarsen a domain, or ask for less"
        return Problem("RR101", f"{title} does not hold{achieved}", finding.place, hint=hint)
    return Problem(
        "RR103",
        f"{title} is undecided",
        finding.place,
        hint="plan with the data; an undecided requirement never passes",
    )


def _conditional(finding: Finding, accepted: Collection[str]) -> Problem:
    missing = [item for item in finding.given if item not in accepted]
    return Problem(
        "RR108",
        f"{finding.model}: {finding.requirement} holds only {CONDITION}, and the policy does not accept what they tell "
        f"of the table: {listed(missing)}",
        finding.place,
        hint=f"{accept_line((*accepted, *missing))} under [release] accepts it; or fix by the policy what was chosen "
        "from the data, and take out what could have refused another table",
    )


def _utility(finding: UtilityFinding) -> Problem:
    if finding.verdict is Verdict.FAILED and finding.expected is not None:
        message = f"{finding.metric}: {shown(finding.expected)} is over {float(finding.limit):g}"
        return Problem(
            "RR104", message, finding.place, hint="raise `max`, relax a requirement, or release fewer attributes"
        )
    return Problem("RR103", f"{finding.metric} is undecided", finding.place, hint="plan with the data")


def shown(measure: Measure) -> str:
    """Return a number with its standing, for messages."""
    if measure.standing is Standing.ESTIMATE:
        error = f" ± {measure.error:.2g}" if measure.error else ""
        return f"{measure.value:.6g}{error} (estimate)"
    return f"{'at most ' if measure.standing is Standing.UPPER_BOUND else ''}{measure.value:.6g}"
