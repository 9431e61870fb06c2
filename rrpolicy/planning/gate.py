"""The gate: every requirement must be met, and every utility limit without a waiver. Undecided ones are not met."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from rrpolicy.declarations import Waiver
from rrpolicy.errors import GatedResult, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.finding import BOUND_WORDS, CONDITION, UNCHECKED, Finding, Standing, UtilityFinding, Verdict
from rrpolicy.mechanism import Remark
from rrpolicy.numbers import plain_number, strictest_limit
from rrpolicy.planning.assess import Assessment
from rrpolicy.planning.derived_statistics import acceptance_toml
from rrpolicy.planning.review_points import GIVEAWAY_REMARK
from rrpolicy.planning.waivers import (
    PROTECTION_REMARK,
    Terms,
    WaivedProblem,
    expired_problems,
    split_warnings,
    warning_id,
)
from rrpolicy.policy.model import Policy
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.privacy.protection.grade import ProtectionGrade
from rrpolicy.privacy.protection.result import ReleaseProtection
from rrpolicy.wording import (
    MET,
    UNDECIDED,
    decisive_bound_text,
    expected_value_text,
    requirement_title,
    verdict_sentence,
)

GIVEAWAY_CODE = "RR109"
"""Code of an unmodified column that reveals a randomised one."""
EXPECTED = "Cramér's V below 0.5, and certain values for less than 1 % of the records"
"""The permitted association of an unmodified column with a randomised one."""


class Decision(Struct, GatedResult, frozen=True):
    """Whether a release may be made.

    Attributes:
        problems: problems that prevent it (RR101, RR103, RR104, RR107, RR108, RR109, RR415, RR416).
        waived: problems and warnings with a waiver.
        warnings: points of judgement without a waiver.
    """

    problems: tuple[Problem, ...]
    waived: tuple[WaivedProblem, ...] = ()
    warnings: tuple[Remark, ...] = ()


def gate(assessment: Assessment, policy: Policy, terms: Terms, warnings: Iterable[Remark] = ()) -> Decision:
    """Return the decision from findings and declarations; it never depends on a draw."""
    privacy = blocking_problems(assessment.findings, policy.release.accept)
    utility, waived = _utility_gate_problems(assessment.utility, terms.in_force(policy.governance))
    overdue, put_off = expired_problems(policy, terms)
    left, judged = split_warnings(warnings, policy.governance, terms)
    graded, accepted = _protection_problems(assessment.protection, policy, terms)
    told = tuple(_giveaway_problem(remark, policy) for remark in left if remark.name == GIVEAWAY_REMARK)
    points = tuple(remark for remark in left if remark.name != GIVEAWAY_REMARK)
    problems = (*privacy, *graded, *told, *utility, *overdue)
    return Decision(problems, (*accepted, *waived, *put_off, *judged), points)


def _protection_problems(
    found: ReleaseProtection | None, policy: Policy, terms: Terms
) -> tuple[tuple[Problem, ...], tuple[WaivedProblem, ...]]:
    """Return why a grade of protection is worse than the policy requires (RR107), unless that is waived."""
    demanded = ProtectionGrade(policy.release.protection)
    if found is None or found.grade.reaches(demanded):
        return (), ()
    if found.linking is None and demanded is ProtectionGrade.WEAK:  # without the table the grade is not known
        return (), ()
    message = f"the protection of this release is graded {found.grade.value}, and {demanded.value} is demanded"
    message = f"{message}; {found.rule}"
    waiver = terms.in_force(policy.governance).get(PROTECTION_REMARK)
    if waiver is not None:
        return (), (WaivedProblem(PROTECTION_REMARK, message, waiver),)
    hint = (
        "hide more: smaller keep probabilities, larger classes, coarser columns; or have it waived by name: "
        f'[[waivers]] with finding = "{PROTECTION_REMARK}"'
    )
    place = policy.place("release.protection") or policy.place("release") or policy.place("mechanism")
    return (Problem("RR107", message, place, f"{demanded.value} or better", hint),), ()


def _giveaway_problem(remark: Remark, policy: Policy) -> Problem:
    attribute = policy.attributes.get(remark.attribute)
    both = f"[{toml_value(remark.attribute)}, {toml_value(remark.other)}]"
    hint = (
        f"randomise both together (`pram`: together = [{both}]), exclude or coarsen '{remark.attribute}', or have "
        f"`{warning_id(remark)}` waived; `assume_unlinkable` is on linkage and does not cover inference"
    )
    place = None if attribute is None else attribute.place
    return Problem(GIVEAWAY_CODE, remark.text, place, EXPECTED, hint)


def _utility_gate_problems(
    utility: Iterable[UtilityFinding], force: Mapping[str, Waiver]
) -> tuple[tuple[Problem, ...], tuple[WaivedProblem, ...]]:
    """Return the unmet utility gates: those without and those with a waiver."""
    problems, waived = [], []
    for finding in utility:
        problem, waiver = unmet_gate_problem(finding), force.get(finding.identity)
        if problem is not None and waiver is not None:
            waived.append(WaivedProblem(finding.identity, problem.message, waiver))
        elif problem is not None:
            problems.append(problem)
    return tuple(problems), tuple(waived)


def blocking_problems(findings: Sequence[Finding], accepted: Collection[str]) -> tuple[Problem, ...]:
    """Return the requirements' problems that prevent a release (RR101, RR103, RR108).

    `accepted` are ids of derived statistics that findings may be conditional on.
    """
    wrong = [_requirement_problem(f) for f in findings if f.verdict is not Verdict.SATISFIED]
    loose = [f for f in findings if f.verdict is Verdict.SATISFIED and not set(f.given) <= set(accepted)]
    return (*wrong, *(_conditional_problem(f, accepted) for f in loose))


def failure_problems(findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """Return a problem for each finding that fails; undecided ones wait."""
    return tuple(_requirement_problem(finding) for finding in findings if finding.verdict is Verdict.FAILED)


def _requirement_problem(finding: Finding) -> Problem:
    if UNCHECKED in finding.assumptions:
        message = (
            f"{requirement_title(finding)} is not shown: every record is suppressed, and no class could be checked"
        )
        return Problem("RR101", message, finding.place, hint="suppress fewer records")
    if finding.verdict is Verdict.FAILED:
        hint = (
            "hide more (smaller keep probabilities; larger sets or classes), coarsen a domain, or relax the requirement"
        )
        return Problem("RR101", verdict_sentence(finding), finding.place, hint=hint)
    hint = "plan with the data; an undecided requirement never passes"
    if finding.achieved is not None and finding.achieved.standing is Standing.ESTIMATE:
        hint = 'it is estimated, and an estimate decides only with `decided_by = "estimate"`'
    return Problem("RR103", verdict_sentence(finding), finding.place, hint=hint)


def _conditional_problem(finding: Finding, accepted: Collection[str]) -> Problem:
    missing = [item for item in finding.given if item not in accepted]
    return Problem(
        "RR108",
        f"{requirement_title(finding)} is {MET} only {CONDITION}, and the policy does not accept these disclosures:"
        f" {quoted_list(missing)}",
        finding.place,
        hint=f"{acceptance_toml((*accepted, *missing))} under [release] accepts it; or declare in the policy what "
        f"was chosen from the data, and remove what could have refused another table"
        "",
    )


def unmet_gate_problem(finding: UtilityFinding) -> Problem | None:
    """Return why a utility gate is not met (RR103, RR104); None if it is."""
    if finding.verdict is Verdict.SATISFIED:
        return None
    if finding.verdict is Verdict.FAILED and finding.expected is not None:
        side, move = ("over", "raise") if finding.bound == "max" else ("under", "lower")
        message = (
            f"{finding.metric}: {expected_value_text(finding)}{decisive_bound_text(finding)} is {side} "
            f"{plain_number(float(finding.limit))}"
        )
        limit = strictest_limit(finding.expected.end(finding.bound), BOUND_WORDS[finding.bound])
        hint = (
            f"with these requirements the plan attains `{finding.bound} = {limit}`: {move} "
            "the limit to it, relax a requirement, or release fewer attributes; or have it waived"
        )
        return Problem("RR104", message, finding.place, hint=hint)
    return Problem("RR103", f"{finding.metric} is {UNDECIDED}", finding.place, hint="plan with the data")
