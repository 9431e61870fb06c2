"""The report before the decision: the page of a plan, passing or not, and of a policy that cannot be planned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rrpolicy.bundle.manifest import build_manifest
from rrpolicy.frozen import replace
from rrpolicy.report import Fact, Obstacle, Report
from rrpolicy.reports.alternatives import alternatives
from rrpolicy.reports.attributes import true_values_sentence
from rrpolicy.reports.decision import chosen_by_optimiser, judgement_points
from rrpolicy.reports.findings import finding_row, utility_row
from rrpolicy.reports.key_figures import key_figure_tiles
from rrpolicy.reports.pairs import pair_panel, single_column_errors
from rrpolicy.reports.protection_panel import protection_panel
from rrpolicy.reports.report_builder import audit_bar, declaration_bar, dropped_columns, release_description

if TYPE_CHECKING:
    from rrpolicy.errors import Problem
    from rrpolicy.planning.plan_result import PlanResult
    from rrpolicy.policy.model import Policy
    from rrpolicy.registry import Registry
    from rrpolicy.reports.alternatives import AlternativesRecord

REFUSED = "No release satisfies this policy: nothing could be planned."


def plan_report(outlook: PlanResult, registry: Registry, compared: AlternativesRecord | None = None) -> Report:
    """Return the page of a plan."""
    plan, assessment = outlook.plan, outlook.assessment
    policy, optimised = plan.policy, chosen_by_optimiser(plan.origins)
    about = build_manifest(plan, assessment, {}, test=False, governance=outlook.governance)
    rows = tuple(finding_row(f, registry.privacy_models, solved=optimised) for f in assessment.findings)
    useful = tuple(utility_row(f, waivers=outlook.governance.waivers) for f in assessment.utility)
    remarks = tuple(dict.fromkeys((*plan.remarks, *outlook.decision.warnings)))
    decoders = plan.channel.decoders()
    panel = protection_panel(assessment.protection, assessment.findings, remarks)
    page = release_description(about, plan.origins, rows, useful)
    return replace(
        page,
        page="plan",
        bar=(*audit_bar(about, tested=assessment.tested, selected_from=assessment.selected_from), *page.bar),
        true_values=true_values_sentence(about.attributes, decoders),
        passed=outlook.passed,
        points=judgement_points(
            about.attributes, decoders, assessment.findings, outlook.governance, remarks, panel=panel
        ),
        tiles=key_figure_tiles(
            assessment.findings, about.attributes, decoders, errors=single_column_errors(outlook.errors)
        ),
        protection=panel,
        assumptions=assessment.audited,
        remarks=tuple(Fact(r.name.replace("-", " ").capitalize(), r.text) for r in plan.remarks),
        dropped=dropped_columns(policy),
        sections=plan.channel.sections(plan.records, None),
        pairs=pair_panel(outlook.errors),
        following=_next_steps(outlook),
        obstacles=tuple(map(_obstacle_row, outlook.problems)),
        alternatives=alternatives(compared),
    )


def refused_policy_report(
    policy: Policy, problems: Sequence[Problem], compared: AlternativesRecord | None = None
) -> Report:
    """Return the page of a policy that cannot be planned."""
    again = Fact("Change the policy, then plan again", "rrpolicy plan POLICY --report PAGE.html")
    return Report(
        page="plan",
        title=f"{policy.name}, version {policy.version}",
        decision=REFUSED,
        passed=False,
        facts=(Fact("Mechanism", policy.mechanism.name),),
        assumptions=(),
        findings=(),
        derived=(),
        remarks=(),
        attributes=(),
        dropped=dropped_columns(policy),
        marginals=(),
        utility=(),
        sections=(),
        provenance=(Fact("SHA-256 of the resolved policy", policy.digest()),),
        bar=declaration_bar(policy.owner, policy.purpose, policy.governance),
        following=(again,),
        obstacles=tuple(map(_obstacle_row, problems)),
        alternatives=alternatives(compared),
    )


def _obstacle_row(problem: Problem) -> Obstacle:
    place = problem.place
    where = "" if place is None else f"line {place.line}{f', {place.key}' if place.key else ''}"
    return Obstacle(problem.code, problem.message, problem.expected or "", problem.hint or "", where)


def _next_steps(outlook: PlanResult) -> tuple[Fact, ...]:
    if outlook.passed:
        return (Fact("Release exactly this", "rrpolicy release PLAN --out BUNDLE"),)
    return (Fact("Change the policy, then plan again", "rrpolicy plan POLICY --report PAGE.html"),)
